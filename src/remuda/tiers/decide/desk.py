"""What one cycle may still do: nothing twice, nothing too soon after a failure, and not everything at once."""

from typing import Literal, TypeAlias

from remuda.model.plans import Operation, Reason
from remuda.model.times import Instant
from remuda.tiers.decide.model import Failure, Memory, TierAction

#: changes under way at a time; the rest comes with later cycles
MOST_CHANGES = 200
_FIRST_WAIT_MS, _LONGEST_WAIT_MS = 1_000, 300_000
#: what became of an action that is wanted: it goes out, is out already, waits for its turn, or for a failure to pass
Standing: TypeAlias = Literal["planned", "under-way", "failed", "waiting"]


class Desk:
    """Takes the actions of one cycle, and knows what became of earlier ones."""

    def __init__(self, operations: tuple[Operation[TierAction], ...], memory: Memory, now: Instant) -> None:
        self._now = now
        self._failures = failures_after(operations, memory)
        self._under_way = {item.action.target for item in operations if item.outcome is None}
        self._room = MOST_CHANGES - len(self._under_way)
        self._kept: dict[str, Failure] = {}
        self.actions: list[TierAction] = []

    def ask(self, action: TierAction) -> Standing:
        """Take an action if it may go out now; its failures are remembered only while it is still wanted."""
        target = action.target
        failure = self._failures.get(target)
        if failure is not None:
            self._kept[target] = failure
        if target in self._under_way:
            return "under-way"
        if failure is not None and failure.retry_at > self._now:
            return "failed"
        if self._room <= 0:
            return "waiting"
        self._room -= 1
        self.actions.append(action)
        return "planned"

    def failure(self, target: str) -> Failure:
        """Why an action waits that failed."""
        return self._failures[target]

    @property
    def failures(self) -> dict[str, Failure]:
        """What the next cycle has to know."""
        return self._kept


def failures_after(operations: tuple[Operation[TierAction], ...], memory: Memory) -> dict[str, Failure]:
    """What failed and how often in a row, with what ended since; what was refused is tried again like a failure."""
    failures = dict(memory.failures)
    for operation in operations:
        if operation.outcome is None:
            continue
        target = operation.action.target
        before = failures.pop(target, None)
        if operation.outcome.status != "done":
            count = before.count + 1 if before else 1
            doubled = min(count - 1, 16)  # pragma: no mutate - the longest wait comes long before
            wait = min(_FIRST_WAIT_MS * 2**doubled, _LONGEST_WAIT_MS)
            failures[target] = Failure(count, operation.outcome.at + wait, operation.outcome.detail)
    return failures


def failed(code: str, subject: str, failure: Failure, object_: str) -> Reason:
    """The reason of a subject that waits for a failure to pass."""
    return Reason(
        code,
        subject,
        {
            "object": object_,
            "detail": failure.detail,
            "retry_at": failure.retry_at,
            "failures": failure.count,
        },
    )
