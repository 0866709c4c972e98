"""The answer for a need that somebody names."""

from typing import TYPE_CHECKING

from remuda.errors import NotFound
from remuda.fleet.answers import NeedWhy
from remuda.objects.problems import nearest, quoted

if TYPE_CHECKING:
    from remuda.fleet.trial import Trial


def answer_need(trial: "Trial", name: str) -> NeedWhy:
    """What is said of a need; `NotFound` with what is near when nobody asks for it."""
    from remuda.fleet.show.why import why_need  # noqa: PLC0415 - needs NumPy
    from remuda.fleet.show.wording import need_name  # noqa: PLC0415

    names = {need_name(trial.fleet, code): code for code in trial.needs}
    if name not in names:
        raise unknown_need(name, [*names])
    return why_need(trial, names[name], changes=True)


def unknown_need(name: str, known: list[str]) -> NotFound:
    """That nobody asks for it, and what is near."""
    near = nearest(name, known)
    there = f"did you mean {near}?" if near else f"there is: {', '.join(sorted(known)[:10]) or 'none'}"
    return NotFound(f"nobody asks for {quoted(name)}, written CLUSTER/NAME; {there}")
