"""Why a pod, a namespace or a node fares as it does, in words: the same for commands, programs and the page Why."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from remuda.errors import BadInput, NotFound
from remuda.model.findings import Finding, Severity
from remuda.objects.problems import nearest, quoted
from remuda.output.findings import describe
from remuda.output.steps import Step
from remuda.tiers.answers import Cause, WhyAnswer
from remuda.tiers.decide.why_namespace import why_namespace
from remuda.tiers.decide.why_node import why_node
from remuda.tiers.decide.why_pod import why_pod
from remuda.tiers.decide.why_world import World
from remuda.tiers.snapshot import Snapshot

_LABELS: dict[Severity, str] = {"error": "because", "warning": "note", "info": "is"}


Explain: TypeAlias = Callable[[World, str], WhyAnswer]


def explain_pod(world: World, name: str) -> WhyAnswer:
    """Of `NAMESPACE/NAME`: a pod, one that is gone, or the workload whose pods are missing."""
    namespace, _, own = name.partition("/")
    if not namespace or not own or "/" in own:
        raise BadInput(f"{quoted(name, 120)} is no pod: write NAMESPACE/NAME, as shop/web-0")
    found = why_pod(world, namespace, own)
    if found is None:
        raise _unknown("pod", name, pod_names(world.snapshot), world.snapshot.source)
    if not found:
        return _answer(world, f"pod/{name}", f"{name}: nothing keeps its pods from running", ())
    return _answer(world, f"pod/{name}", f"{found[0].subject}: {describe(found[0]).found}", found)


def explain_namespace(world: World, name: str) -> WhyAnswer:
    """Of a namespace by its name."""
    found = why_namespace(world, name)
    if found is None:
        raise _unknown("namespace", name, world.snapshot.namespaces, world.snapshot.source)
    return _answer(world, f"namespace/{name}", f"{found[0].subject}: {describe(found[0]).found}", found)


def explain_node(world: World, name: str) -> WhyAnswer:
    """Of a node by its name."""
    found = why_node(world, name)
    if found is None:
        raise _unknown("node", name, (each.name for each in world.snapshot.nodes), world.snapshot.source)
    return _answer(world, f"node/{name}", f"{found[0].subject}: {describe(found[0]).found}", found)


EXPLAIN: dict[str, Explain] = {"pod": explain_pod, "namespace": explain_namespace, "node": explain_node}


def pod_names(snapshot: Snapshot) -> list[str]:
    """What can be asked about as a pod: pods, and workloads."""
    found = [pod.id for pod in snapshot.pods]
    return [*found, *(f"{each.id.namespace}/{each.id.name}" for each in snapshot.workloads)]


def _answer(world: World, subject: str, headline: str, found: Sequence[Finding]) -> WhyAnswer:
    causes = tuple(
        Cause(each.rule, each.severity, each.subject, *(text or "" for text in describe(each)))
        for each in found
    )
    steps = [step for each in causes for step in _steps(each, headline)]
    code = found[0].code if found else ""
    return WhyAnswer(subject, headline, code, world.snapshot.at, world.snapshot.source, causes, tuple(steps))


def _steps(item: Cause, headline: str) -> list[Step]:
    """A cause line by line; what the headline says already is not said again."""
    made = []
    if not headline.endswith(f": {item.found}"):
        about = "" if headline.startswith(f"{item.subject}: ") else f"{item.subject}: "
        made.append(Step(_LABELS[item.severity], f"{about}{item.found}"))
    if item.expected:
        made.append(Step("expected", item.expected))
    if item.fix:
        made.append(Step("fix", item.fix))
    return made


def _unknown(kind: str, name: str, known: Iterable[str], source: str) -> NotFound:
    near = nearest(name, known)
    hint = f"; did you mean {near}?" if near else ""
    return NotFound(f"there is no {kind} {quoted(name, 120)} in {source}{hint}")
