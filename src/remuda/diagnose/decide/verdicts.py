"""How a check ends: what every verdict needs, in one way."""

from collections.abc import Iterable

from remuda.diagnose.snapshot import Snapshot
from remuda.model.checks import CheckResult

#: so much of what others wrote is shown
_LONGEST = 400


class Seen:
    """Collects what a check sees; a fix that is message twice is message once."""

    def __init__(self, check: str) -> None:
        self._check = check
        self._evidence: list[str] = []
        self._fix: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._evidence)

    def add(self, evidence: str, *fix: str) -> None:
        """Something that is wrong, and what to do."""
        self._evidence.append(cut(evidence))
        self.advise(*fix)

    def advise(self, *fix: str) -> None:
        """What to do."""
        self._fix.update(dict.fromkeys(fix))

    def problem(self, message: str) -> CheckResult:
        """It is wrong."""
        return CheckResult(self._check, "problem", message, tuple(self._evidence), tuple(self._fix))

    def ok(self, message: str, evidence: Iterable[str] = ()) -> CheckResult:
        """It is right."""
        return CheckResult(self._check, "ok", message, tuple(map(cut, evidence)))

    def unknown(self, message: str, evidence: Iterable[str] = (), fix: Iterable[str] = ()) -> CheckResult:
        """It cannot be said."""
        return CheckResult(self._check, "unknown", message, tuple(map(cut, evidence)), tuple(fix))

    def unread(self, snapshot: Snapshot, lines: tuple[str, ...]) -> CheckResult:
        """It cannot be said, because something could not be read."""
        grant = f"remuda rbac diagnose --namespace {snapshot.namespace} | kubectl apply -f -, and bind yourself to it"
        is_refused = any("403" in line for line in lines)
        return self.unknown("what it needs could not be read", lines, (grant,) if is_refused else ())


def cut(text: str) -> str:
    """On one line, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def counted(count: int, noun: str) -> str:
    """`1 VM`, `3 VMs`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Some names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
