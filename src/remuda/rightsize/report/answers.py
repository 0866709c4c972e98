"""Why a workload should have the size a review says: each container with its numbers, their steps and its findings."""

from collections.abc import Iterator

from msgspec import Struct

from remuda.errors import BadInput, NotFound
from remuda.model.times import Instant
from remuda.objects.problems import nearest, quoted
from remuda.output.steps import Step
from remuda.rightsize.report.figures import RISKS, findings_of, is_partial, key_of, names, write_pair
from remuda.rightsize.review import ContainerReview, Finding, Review, Risk, Verdict, WorkloadReview
from remuda.rightsize.snapshot import Size

_FORM = "NAMESPACE/NAME, NAMESPACE/KIND/NAME, or one of these with /CONTAINER"
_MOST_LISTED = 10


class ContainerAnswer(Struct, frozen=True):
    """One container: what it asks for, what it should, and how that came about."""

    name: str
    headline: str
    verdict: Verdict
    risk: Risk
    now: Size
    recommended: Size
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()


class Answer(Struct, frozen=True):
    """What a review says of a workload."""

    subject: str
    headline: str
    at: Instant
    source: str
    usage: str
    strategy: str
    containers: tuple[ContainerAnswer, ...]


def why(review: Review, name: str) -> Answer:
    """
    The answer for a workload, or one container of it.

    `NotFound` names the nearest where there is none; `BadInput` lists them where the name means several.
    """
    found = list(_named(review, name))
    called = names(review)
    if not found:
        near = nearest(name, _all_names(review))
        known = list(called.values())[:_MOST_LISTED]
        hint = f"did you mean {near}?" if near else f"there is: {', '.join(known) or 'none'}"
        raise NotFound(
            f"no workload of {review.source} is called {quoted(name, 120)}, written {_FORM}; {hint}"
        )
    if len(found) > 1:
        several = ", ".join(
            "/".join((*key_of(workload), *([container] if container else [])))
            for workload, container in found
        )
        raise BadInput(f"{quoted(name, 120)} is {len(found)} workloads: say which of {several}")
    workload, container = found[0]
    about = findings_of(review)
    pods = f"{workload.replicas} pod{'s' * (workload.replicas != 1)}"
    tier = f", tier {workload.shown_tier}" if workload.shown_tier else ""
    return Answer(
        subject=f"workload/{'/'.join(key_of(workload))}",
        headline=f"{workload.kind} {workload.namespace}/{workload.name}: {pods}{tier}",
        at=review.at,
        source=review.source,
        usage=review.usage,
        strategy=review.strategy,
        containers=tuple(
            _container(item, [review.findings[n] for n in about[*key_of(workload), item.name]])
            for item in workload.containers
            if container in (None, item.name)
        ),
    )


def has_workload(review: Review, name: str) -> bool:
    """Whether a name, in any of its forms, is of something that was reviewed."""
    return any(_named(review, name))


def _named(review: Review, name: str) -> Iterator[tuple[WorkloadReview, str | None]]:
    """The workloads of a name, with the container where it names one."""
    parts = name.split("/")
    for workload in review.workloads:
        namespace, kind, own = key_of(workload)
        containers = {item.name for item in workload.containers}
        if parts[0] != namespace:
            continue
        match parts[1:]:
            case [second] if second == own:
                yield workload, None
            case [second, third] if second == own and third in containers:
                yield workload, third
            case [second, third] if second.lower() == kind.lower() and third == own:
                yield workload, None
            case [second, third, fourth] if (
                second.lower() == kind.lower() and third == own and fourth in containers
            ):
                yield workload, fourth


def _all_names(review: Review) -> Iterator[str]:
    for workload in review.workloads:
        namespace, kind, own = key_of(workload)
        for base in (f"{namespace}/{own}", f"{namespace}/{kind}/{own}"):
            yield base
            yield from (f"{base}/{item.name}" for item in workload.containers)


def _container(item: ContainerReview, findings: list[Finding]) -> ContainerAnswer:
    marks = [RISKS[item.risk]] if item.risk else []
    marks += ["provisional: too little data"] * item.is_provisional
    marks += ["partial: not all samples could be read"] * is_partial(item)
    headline = f"{item.name}: {item.verdict}" + (f" ({'; '.join(marks)})" if marks else "")
    return ContainerAnswer(
        name=item.name,
        headline=headline,
        verdict=item.verdict,
        risk=item.risk,
        now=item.now,
        recommended=item.recommended,
        steps=item.steps,
        findings=tuple(findings),
    )


def sizes_and_steps(answer: ContainerAnswer) -> tuple[Step, ...]:
    """What is, what should be, and how that came about, line by line."""
    return (
        Step("now", _sizes(answer.now), "request/limit"),
        Step("should be", _sizes(answer.recommended), "request/limit"),
        *answer.steps,
    )


def shown_steps(answer: ContainerAnswer) -> tuple[Step, ...]:
    """The same with the findings, a line each."""
    return sizes_and_steps(answer) + tuple(
        Step(item.severity, f"{item.rule}: {item.is_}", f"should be {item.should}; fix: {item.fix}")
        for item in answer.findings
    )


def _sizes(size: Size) -> str:
    return f"cpu {write_pair('cpu', size)}, memory {write_pair('memory', size)}"
