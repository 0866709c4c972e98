"""
Strategies by name: those built in, and those that other packages bring.

A package offers one by an entry point of the group `remuda.strategies` that is a `Strategy`, or a class of which one is
made without arguments. It is looked for only when a name is asked for that is not built in.
"""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from remuda.errors import BadInput
from remuda.objects.problems import did_you_mean
from remuda.rightsize.estimate.estimator import MOST_AMOUNT, Estimate
from remuda.rightsize.estimate.strategies import STRATEGIES, Answer, Strategy
from remuda.rightsize.estimate.usage import Pod

if TYPE_CHECKING:  # which takes as long to import as a small review
    from importlib.metadata import EntryPoint

GROUP = "remuda.strategies"


class Plugged(Struct, frozen=True):
    """A strategy of another package: what it gets wrong is reported as its mistake."""

    name: str
    #: the package and where in it
    source: str
    inner: Any

    def answer(self, pod: Pod) -> Answer:
        """What each container of the pod needs; `BadInput` where it fails, or answers with something else."""
        try:
            answer = self.inner.answer(pod)
        except Exception as error:
            raise BadInput(
                f"the strategy {self.name} of {self.source} failed: {_one_line_of(error)}"
            ) from error
        if not isinstance(answer, Answer) or not _is_complete(answer, pod):
            raise BadInput(
                f"the strategy {self.name} of {self.source} must answer with a "
                "remuda.rightsize.estimate.strategies.Answer that has an estimate, or why it is lacking, for each container"
            )
        for container, estimate in answer.estimates.items():
            if not _makes_sense(estimate):
                raise BadInput(
                    f"the strategy {self.name} of {self.source} makes no sense of container {container}: amounts are whole "
                    f"numbers from 0 to {MOST_AMOUNT:,}, and the target is between its bounds"
                )
        return answer


def find_strategy(name: str) -> Strategy:
    """The strategy of that name. `BadInput` when there is none, or it cannot be loaded."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    offered = _offered()
    of_name = offered.get(name, [])
    if not of_name:
        known = [*STRATEGIES, *offered]
        raise BadInput(
            f"strategy {name!r:.60} is not one of {', '.join(known)}; "
            f"a package brings others by entry points of the group {GROUP}{did_you_mean(name, known)}"
        )
    if len(of_name) > 1:
        sources = " and ".join(sorted(_source(each) for each in of_name))
        raise BadInput(f"strategy {name} is brought by {sources}: uninstall all but one")
    return _load(of_name[0])


def _offered() -> "dict[str, list[EntryPoint]]":
    """The entry points by name. Those called as what is built in are never used, and so not reported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only for what is not built in

    found: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        if each.name not in STRATEGIES and each not in found.setdefault(each.name, []):
            found[each.name].append(each)
    return found


def _load(point: "EntryPoint") -> Plugged:
    source = _source(point)
    try:
        loaded = point.load()
        inner = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise BadInput(
            f"the strategy {point.name} of {source} cannot be loaded: {_one_line_of(error)}"
        ) from error
    if not callable(getattr(inner, "answer", None)):
        raise BadInput(f"the strategy {point.name} of {source} cannot be used: it has no method `answer`")
    return Plugged(point.name, source, inner)


def _source(point: "EntryPoint") -> str:
    return f"{point.dist.name} ({point.value})" if point.dist is not None else point.value


def _is_complete(answer: Answer, pod: Pod) -> bool:
    return (
        {*answer.estimates, *answer.lacking} >= set(pod)
        and set(answer.estimates) <= set(pod)
        and all(isinstance(each, Estimate) for each in answer.estimates.values())
    )


def _makes_sense(estimate: Estimate) -> bool:
    """Whether both resources have three whole amounts in order."""
    lower, target, upper = (
        (each.cpu_millicores, each.memory_bytes)
        for each in (estimate.lower_bound, estimate.target, estimate.upper_bound)
    )
    return all(
        all(type(amount) is int for amount in amounts)
        and 0 <= amounts[0] <= amounts[1] <= amounts[2] <= MOST_AMOUNT
        for amounts in zip(lower, target, upper, strict=True)
    )


def _one_line_of(error: Exception) -> str:
    """The error on one line."""
    words = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
