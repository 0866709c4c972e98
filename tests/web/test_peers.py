"""What one replica states and another believes; and what somebody who is none can try."""

import base64
import itertools
import json

import pytest
from tests.web.clock import SetClock

from remuda.web.access import Person
from remuda.web.page import Role
from remuda.web.peers import (
    VALID,
    Disbelieved,
    Leader,
    Peers,
    Replicas,
    checked_address,
    is_about,
    published_address,
    written,
)

TOKEN = "the-token-of-all-replicas"
ANN = Person("ann ✓", Role.READ, csrf="proof")
ASKED = written("POST", "/v1/ask?x=%2f", b"{}")
CLOCK = SetClock()


def replica(identity: str, token: str = TOKEN, leader: str = "one", clock: SetClock = CLOCK) -> Peers:
    numbers = map(str, itertools.count())
    who = Leader(leader, "127.0.0.1:1", is_self=leader == identity)
    return Peers(token, Replicas(identity, lambda: who), clock, lambda: f"{identity}-{next(numbers)}")


def test_the_leader_believes_who_asks_and_for_what() -> None:
    header, proof = replica("two").state(ANN, "one", ASKED)
    one = replica("one")
    stated = one.believe(header)
    assert stated.person == ANN
    assert is_about(stated, ASKED)
    assert one.proof(stated.number) == proof


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(written("GET", "/v1/ask?x=%2f", b"{}"), id="another method"),
        pytest.param(written("POST", "/v1/ask", b"{}"), id="another query"),
        pytest.param(written("POST", "/v1/ask?x=%2f", b'{"a": 1}'), id="another body"),
    ],
)
def test_a_statement_is_about_one_request(other: bytes) -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    assert not is_about(replica("one").believe(header), other)


def test_neither_the_token_nor_what_it_gives_is_in_a_statement() -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    body = base64.urlsafe_b64decode(header.partition(".")[0])
    assert TOKEN.encode() not in body
    assert json.loads(body).keys() == {"to", "person", "digest", "at", "number"}


@pytest.mark.parametrize("header", ["", ".", "x", "e30=.", "\udcff", "é.é", "a" * 9_000])
def test_nonsense_is_not_believed(header: str) -> None:
    with pytest.raises(Disbelieved, match="same --web-token") as found:
        replica("one").believe(header)
    assert found.value.number == ""


def test_who_has_another_token_is_no_replica() -> None:
    header, proof = replica("two", token="another-token-of-somebody").state(ANN, "one", ASKED)
    with pytest.raises(Disbelieved, match="same --web-token"):
        replica("one").believe(header)
    assert replica("one").proof("two-0") != proof


def test_a_role_cannot_be_changed_on_the_way() -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    body, _, signature = header.partition(".")
    changed = base64.urlsafe_b64decode(body).replace(b'"read"', b'"write"')
    assert b'"write"' in changed
    with pytest.raises(Disbelieved):
        replica("one").believe(f"{base64.urlsafe_b64encode(changed).decode()}.{signature}")


def test_each_statement_is_believed_once() -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    one = replica("one")
    one.believe(header)
    with pytest.raises(Disbelieved, match="passed on before"):
        one.believe(header)


def test_a_statement_is_for_one_replica() -> None:
    header, _ = replica("two").state(ANN, "three", ASKED)
    with pytest.raises(Disbelieved, match="passed on to three, and one is another"):
        replica("one").believe(header)


def test_who_does_not_lead_any_more_says_so_and_passes_nothing_on() -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    with pytest.raises(Disbelieved, match="one does not lead any more") as found:
        replica("one", leader="two").believe(header)
    assert found.value.number == "two-0", "who asked can be told by a proof that it was a replica who said so"


@pytest.mark.parametrize("apart", [-VALID - 1_000, VALID + 1_000])
def test_a_statement_holds_for_a_minute_and_clocks_that_are_apart_are_named(apart: int) -> None:
    header, _ = replica("two").state(ANN, "one", ASKED)
    with pytest.raises(Disbelieved, match="clocks of the replicas are 61 s apart"):
        replica("one", clock=SetClock(CLOCK.at + apart)).believe(header)


def test_what_was_used_is_remembered_as_long_as_it_would_hold_and_no_longer() -> None:
    clock = SetClock()
    one = replica("one", clock=clock)
    header, _ = replica("two", clock=SetClock(clock.at + VALID)).state(ANN, "one", ASKED)
    one.believe(header)
    clock.at += 2 * VALID  # the last moment at which its own time would let it in
    with pytest.raises(Disbelieved, match="passed on before"):
        one.believe(header)
    clock.at += 1
    one.believe(replica("three", clock=clock).state(ANN, "one", ASKED)[0])
    with pytest.raises(Disbelieved, match="apart"):
        one.believe(header)


@pytest.mark.parametrize(
    ("pod", "listens_at", "expected"),
    [
        ("10.0.0.7", "0.0.0.0", "10.0.0.7:8420"),
        ("fd00::7", "::", "[fd00::7]:8420"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1:8420"),
        ("10.0.0.7", "127.0.0.1", ""),
        ("", "0.0.0.0", ""),
        ("a-name", "0.0.0.0", ""),
        ("10.0.0.7", "a-name", ""),
    ],
)
def test_an_address_is_published_where_others_reach_it(pod: str, listens_at: str, expected: str) -> None:
    assert published_address(pod, listens_at, 8420) == expected


@pytest.mark.parametrize(
    "text",
    ["", ":1", "10.0.0.7", "10.0.0.7:", "10.0.0.7:0", "10.0.0.7:65536", "a-name:80", "10.0.0.7:8420/x"],
)
def test_nobody_is_sent_to_what_is_no_address(text: str) -> None:
    assert checked_address(text) == ""
    assert checked_address("[fd00::7]:8420") == "[fd00::7]:8420"
