"""
What a decision returns: a plan of guarded actions, and a reason for each and for doing nothing.

A `Reason` is a stable code, the subject it speaks of (`pool/shell`, `machine/shell-7`) and terms with numbers.
Sentences are made from it in `remuda.output.words` and nowhere else.
"""

from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from remuda.model.times import Instant

Term: TypeAlias = int | str | None


class Reason(Struct, frozen=True, gc=False):
    """Why: a code that never changes its meaning, whom it is about, and the numbers behind it."""

    code: str
    subject: str
    terms: dict[str, Term] = {}


class Action(Struct, frozen=True, kw_only=True):
    """
    Something to do to one target.

    `expects` is what the action must still find when it is carried out; anything else is refused, because the plan
    is stale then. Each job has its own tagged subclasses.
    """

    target: str
    expects: str
    reason: Reason


class Outcome(Struct, frozen=True, gc=False):
    """How an operation ended: `done`, `refused` (the world was not as expected) or `failed`."""

    status: str
    at: Instant
    detail: str = ""


A = TypeVar("A", bound=Action)


class Operation(Struct, Generic[A], frozen=True):
    """An action that was recorded and started. `id` is given by the ledger and never used twice."""

    id: int
    action: A
    outcome: Outcome | None = None


class Plan(Struct, Generic[A], frozen=True):
    """Actions in the order they are started, and one reason per subject that was judged."""

    actions: tuple[A, ...] = ()
    reasons: tuple[Reason, ...] = ()
