"""Sessions that were ended stay ended."""

import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remuda.web.dashboard import agree
from remuda.web.peers import SIGNED_OUT
from remuda.web.signed_out import SESSION, SignedOut


def test_what_was_signed_out_is_remembered_over_a_restart_until_it_would_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "web-signed-out"
    SignedOut(path).add("one", 1_000)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = SignedOut(path)
    assert "one" in again
    assert "two" not in again
    again.add("two", 1_000 + SESSION)
    assert "one" not in again
    assert "two" in SignedOut(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"a": "b"}'])
def test_a_file_that_is_broken_keeps_nobody_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "web-signed-out"
    path.write_bytes(content)
    found = SignedOut(path)
    assert "a" not in found
    found.add("a", 0)
    assert "a" in SignedOut(path)


def test_it_is_ended_here_though_it_cannot_be_kept(tmp_path: Path) -> None:
    found = SignedOut(tmp_path / "none" / "web-signed-out")
    with pytest.raises(OSError, match="No such file"):
        found.add("a", 0)
    assert "a" in found


ONE, TWO, THREE = "1" * 32, "2" * 32, "3" * 32


@dataclass
class Replica:
    """One of those that share a lease, which is a dictionary here."""

    lease: dict[str, str]
    is_leader: bool = False
    signed_out: SignedOut = field(default_factory=SignedOut)
    lasting: dict[str, str] = field(default_factory=dict)

    def annotation(self, name: str) -> str:
        return self.lease.get(name, "")

    def holds(self) -> bool:
        return self.is_leader

    async def say_lasting(self) -> None:
        self.lease |= self.lasting

    async def look(self, now: int) -> None:
        await agree(self.signed_out, self, now)
        if self.is_leader:
            self.lease.clear()
            self.lease |= self.lasting


async def test_who_signed_out_anywhere_is_out_at_every_replica_whoever_leads_later() -> None:
    lease: dict[str, str] = {}
    leader, asked, third = Replica(lease, is_leader=True), Replica(lease), Replica(lease)
    asked.signed_out.add(ONE, 1_000)
    leader.signed_out.add(TWO, 1_000)
    for _ in range(2):
        for each in (asked, leader, third):
            await each.look(2_000)
    assert all(session in each.signed_out for session in (ONE, TWO) for each in (leader, asked, third))
    # The leader is gone, and somebody signs out while nobody leads.
    asked.signed_out.add(THREE, 3_000)
    await asked.look(3_000)
    third.is_leader = True
    await third.look(4_000)
    assert all(session in third.signed_out for session in (ONE, TWO, THREE))
    late = Replica(lease)
    await late.look(5_000)
    assert all(session in late.signed_out for session in (ONE, TWO, THREE)), "one that starts now, too"
    await third.look(4_000 + SESSION)
    assert not lease.get(SIGNED_OUT), "what has ended by itself is forgotten"


@pytest.mark.parametrize(
    "text", ["nonsense", "1:2:3", f"{ONE}:", f"{ONE}:-1", f"{ONE}:9\u0661", "x" * 32 + ":9000000", f"{ONE}:5"]
)
def test_what_makes_no_sense_or_is_over_is_not_heard(text: str) -> None:
    found = SignedOut()
    assert found.hear(text, 1_000)
    assert found.said(1_000) == ""


def test_nobody_is_kept_out_for_longer_than_a_session_lasts() -> None:
    found = SignedOut()
    found.hear(f"{ONE}:999999999999999", 1_000)
    assert found.said(1_000) == f"{ONE}:{1_000 + SESSION}"
