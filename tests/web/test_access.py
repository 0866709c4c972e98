"""Who is known, by what, and what they may do; and what a stranger can try."""

import hashlib
import os
from pathlib import Path

import pytest
from tests.web.clock import NOW

from remuda.errors import BadInput
from remuda.web.access import (
    Access,
    AccessSpec,
    Asked,
    Person,
    ProxySpec,
    TokenSpec,
    is_proven,
    known_token,
    own_token,
    read_access,
)
from remuda.web.page import Role
from remuda.web.signed_out import SESSION

OWN = "the-token-of-the-owner"
READ = "the-token-of-a-reader"
SPEC = AccessSpec(
    tokens=(TokenSpec("dashboard", hashlib.sha256(READ.encode()).hexdigest()),),
    proxy=ProxySpec(networks=("10.1.0.0/16", "::1"), writers=("ann", "admins")),
)
ACCESS = Access(OWN, SPEC)


def asked(peer: str = "127.0.0.1", cookie: str = "", **headers: str) -> Asked:
    return Asked({name.replace("_", "-"): value for name, value in headers.items()}, cookie, peer)


def who(found: Person | None) -> tuple[str, Role] | None:
    return (found.name, found.role) if found else None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, None, id="nobody without a token, on loopback too"),
        pytest.param({"Authorization": f"Bearer {OWN}"}, ("owner", Role.WRITE), id="the owner may write"),
        pytest.param({"Authorization": f"bearer  {READ} "}, ("dashboard", Role.READ), id="a reader may read"),
        pytest.param({"Authorization": f"Basic {OWN}"}, None, id="another scheme is not taken"),
        pytest.param({"Authorization": "Bearer "}, None, id="an empty token is none"),
        pytest.param({"Authorization": "Bearer " + "x" * 100_000}, None, id="a huge token is none"),
        pytest.param({"Authorization": "Bearer \udcff\udcfe"}, None, id="bytes that are no text"),
        pytest.param({"X-Forwarded-User": "ann"}, None, id="a header from elsewhere is not believed"),
    ],
)
def test_a_token_says_who_asks(headers: dict[str, str], expected: tuple[str, Role] | None) -> None:
    assert who(ACCESS.person(Asked(headers, "", "127.0.0.1"), NOW)) == expected


@pytest.mark.parametrize(
    ("peer", "user", "groups", "expected"),
    [
        pytest.param("10.1.2.3", "ann", "", ("ann", Role.WRITE), id="a writer by name"),
        pytest.param("10.1.2.3", "bob", "dev, admins", ("bob", Role.WRITE), id="a writer by group"),
        pytest.param("10.1.2.3", "bob", "dev", ("bob", Role.READ), id="everybody else may read"),
        pytest.param("10.1.2.3", "", "admins", None, id="without a user nobody"),
        pytest.param("10.2.2.3", "ann", "", None, id="another network is not believed"),
        pytest.param("::1", "ann", "", ("ann", Role.WRITE), id="an address of version 6"),
        pytest.param("", "ann", "", None, id="an address that is none"),
    ],
)
def test_a_proxy_says_who_asks_when_it_is_the_one_that_is_trusted(
    peer: str, user: str, groups: str, expected: tuple[str, Role] | None
) -> None:
    found = ACCESS.person(asked(peer, X_Forwarded_User=user, X_Forwarded_Groups=groups), NOW)
    assert who(found) == expected


def test_a_cookie_stands_for_its_token_until_it_ends() -> None:
    cookie = ACCESS.cookie_for(READ, NOW)
    assert READ not in cookie
    assert who(ACCESS.person(asked(cookie=cookie), NOW + SESSION - 1)) == ("dashboard", Role.READ)
    assert ACCESS.person(asked(cookie=cookie), NOW + SESSION) is None


def test_a_cookie_that_has_ended_does_not_keep_out_whom_the_proxy_knows() -> None:
    found = ACCESS.person(asked("10.1.2.3", cookie="stale.1.2", X_Forwarded_User="M\udcfcller"), NOW)
    assert who(found) == ("M\udcfcller", Role.READ)


def test_a_cookie_ends_with_the_token_it_stands_for() -> None:
    cookie = ACCESS.cookie_for(READ, NOW)
    assert Access(OWN).person(asked(cookie=cookie), NOW) is None


@pytest.mark.parametrize(
    "cookie", ["", ".", "..", "a.b.c", "é.1.2", "a.b.\udcff\udcfe", "x" * 9_000, f"{'0' * 24}.{NOW * 2}."]
)
def test_a_cookie_that_was_made_up_is_none(cookie: str) -> None:
    assert ACCESS.person(asked(cookie=cookie), NOW) is None


def test_a_cookie_that_was_changed_is_none() -> None:
    known, ends, number, signature = ACCESS.cookie_for(READ, NOW).split(".")
    own = ACCESS.cookie_for(OWN, NOW).split(".")[0]
    for changed in (
        f"{own}.{ends}.{number}.{signature}",
        f"{known}.{int(ends) + 1}.{number}.{signature}",
        f"{known}.{ends}.0.{signature}",
    ):
        assert ACCESS.person(asked(cookie=changed), NOW) is None


def test_only_a_page_of_ours_proves_that_a_browser_meant_it() -> None:
    person = ACCESS.person(asked(cookie=ACCESS.cookie_for(OWN, NOW)), NOW)
    assert person is not None
    assert is_proven(person, person.csrf, "http://here:8420", "here:8420")
    assert is_proven(person, person.csrf, None, "here:8420")
    assert not is_proven(person, "", "http://here:8420", "here:8420")
    assert not is_proven(person, person.csrf, "http://evil", "here:8420")
    assert not is_proven(person, "é", None, "here:8420")
    program = ACCESS.person(asked(Authorization=f"Bearer {OWN}"), NOW)
    assert program is not None
    assert is_proven(program, "", "http://anywhere", "here:8420"), "who holds the token needs no more proof"


def test_the_proof_of_one_session_is_none_for_another() -> None:
    first = ACCESS.person(asked(cookie=ACCESS.cookie_for(OWN, NOW)), NOW)
    second = ACCESS.person(asked(cookie=ACCESS.cookie_for(OWN, NOW + 1)), NOW)
    assert first is not None
    assert second is not None
    assert not is_proven(second, first.csrf, None, "here")


def test_the_owners_token_is_made_once_and_only_they_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "web-token"
    token = own_token(path)
    assert len(token) >= 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert own_token(path) == token


def test_a_token_file_that_others_can_read_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "web-token"
    own_token(path)
    path.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        own_token(path)
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(BadInput, match="cannot be read"):
        own_token(link)
    for content in (b"short\n", b"\xff\xfe" * 20, b""):
        path.write_bytes(content)
        with pytest.raises(BadInput, match="at least 16"):
            own_token(path)


def test_what_is_no_file_has_no_token_and_nobody_waits_for_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        with pytest.raises(BadInput, match="is no file"):
            own_token(tmp_path / name)
    assert known_token(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def test_the_access_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(
        f"""
tokens:
  - {{name: ci, role: write, sha256: "{"0" * 64}"}}
proxy: {{networks: [10.0.0.0/8], userHeader: X-Auth-Request-Email, writers: [ann]}}
"""
    )
    spec = read_access(path)
    assert [(token.name, token.role) for token in spec.tokens] == [("ci", "write")]
    assert spec.proxy is not None
    assert spec.proxy.user_header == "X-Auth-Request-Email"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("tokens: {", "access.yaml", id="not YAML"),
        pytest.param(
            "tokens:\n  - {name: a, sha256: secret}", "sha256", id="a token in the place of its digest"
        ),
        pytest.param("people: []", "people", id="an unknown field"),
        pytest.param("proxy: {networks: [everywhere]}", "is no network", id="no network"),
        pytest.param("proxy: {networks: []}", "networks", id="a proxy from nowhere"),
        pytest.param("tokens: []\n---\ntokens: []", "one document", id="two documents"),
    ],
)
def test_an_access_file_with_a_problem_is_refused_and_says_which(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=says):
        read_access(path)


def test_an_access_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_access(tmp_path / "none.yaml")
