"""Where a store on PostgreSQL is: read with care, and shown without its password."""

import pytest

from remuda.errors import BadInput
from remuda.ledger.address import find_address, read_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@db.example:5432/history", "postgresql://me:***@db.example:5432/history"),
        ("postgres://me@db/history", "postgresql://me@db/history"),
        ("postgresql:///history", "postgresql:///history"),
        ("postgresql://me:s%40cret@a:1,b:2/history?sslmode=require", "postgresql://me:***@a:1,b:2/history"),
        (
            "postgresql://me:secret@[::1]:5432/history?schema=two",
            "postgresql://me:***@[::1]:5432/history?schema=two",
        ),
        ("postgresql://%2Fvar%2Frun%2Fpostgresql/history", "postgresql://%2Fvar%2Frun%2Fpostgresql/history"),
        ("postgresql://me@db/history?password=secret", "postgresql://me@db/history"),
    ],
)
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    found = read_address(text, "--store")
    assert str(found) == shown
    assert "cret" not in f"{found} {found!r}"


def test_the_schema_is_ours_and_the_other_options_are_libpqs() -> None:
    found = read_address("postgresql://me:pw@db/h?sslmode=require&schema=two&connect_timeout=3", "--store")
    assert found.schema == "two"
    assert found.url == "postgresql://me:pw@db/h?sslmode=require&connect_timeout=3"
    assert read_address("postgresql://db/h", "--store").schema == "remuda"


@pytest.mark.parametrize(
    "text",
    [
        "mysql://me:hush@db/h",
        "hush",
        "postgresql://me:hu@sh@db/h",
        "postgresql://me:hu/sh@db/h",
        "postgresql://me:hu#sh@db/h",
        "postgresql://me:hu?sh@db/h",
        "postgresql://me:hu sh@db/h",
        "postgresql://me:hush@db:port/h",
        "postgresql://db/h?schema=Robert'); DROP",
    ],
)
def test_what_is_no_address_is_refused_without_a_piece_of_it(text: str) -> None:
    with pytest.raises(BadInput, match="--store") as refused:
        read_address(text, "--store")
    assert "hu" not in str(refused.value).replace("should", "")
    assert refused.value.__cause__ is None


def test_what_is_given_comes_before_the_environment() -> None:
    environ = {"REMUDA_STORE": "postgresql://db/env"}
    assert find_address(None, {}) is None
    assert find_address(None, {"REMUDA_STORE": ""}) is None
    assert str(find_address(None, environ)) == "postgresql://db/env"
    assert str(find_address("postgresql://db/given", environ)) == "postgresql://db/given"
    with pytest.raises(BadInput, match="REMUDA_STORE wants"):
        find_address(None, {"REMUDA_STORE": "nonsense"})


def test_a_password_is_taken_out_of_what_others_say() -> None:
    address = read_address("postgresql://me:s%40cret@db/h", "--store", {"PGPASSWORD": "hushhush"})
    assert address.without_secrets("no s@cret, s%40cret or hushhush here") == "no ***, *** or *** here"
