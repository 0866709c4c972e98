"""
What pods and templates ask for that is not as their tier says: requests, limits, helpers on defaults, classes of priority.

Pods are judged by what they have, templates by what the API server would make of them. Runners of GitHub's controller, and
pods with a class of their own for a reason, are told apart: nothing refuses them, so what is found about them is an info.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from remuda.model.amount_texts import quantity
from remuda.model.findings import Finding, Severity
from remuda.model.sentences import some
from remuda.model.workloads import WorkloadId
from remuda.rules.tiers import is_guaranteed, sidecar_of
from remuda.tiers.decide.context import Batch, Place, is_runner
from remuda.tiers.decide.qos import missing_for_guaranteed, qos_of
from remuda.tiers.snapshot import Container, Containers, Workload

_MOST_NAMES = 5


class Unit(Struct, frozen=True):
    """What is judged together: a workload and its pods, or pods whose workload was not read."""

    who: WorkloadId
    template: Workload | None
    batches: tuple[Batch, ...]
    #: why nothing refuses its pods; empty for most
    exempt: str

    @property
    def count(self) -> int:
        """How many pods there are."""
        return sum(len(batch.pods) for batch in self.batches)

    def severity(self, severity: Severity) -> Severity:
        """How severe a finding about it is."""
        return "info" if self.exempt else severity

    @property
    def where(self) -> str:
        """Where its containers are."""
        if self.template is None:
            return "spec.containers"
        prefix = "spec.jobTemplate." if self.who.kind == "CronJob" else ""
        return f"{prefix}spec.template.spec.containers"


def units_of(place: Place) -> Iterator[Unit]:
    """Everything of a namespace that is judged."""
    known = {workload.id: workload for workload in place.workloads}
    for who in dict.fromkeys((*known, *place.by_workload)):
        template, batches = known.get(who), place.by_workload.get(who, ())
        yield Unit(who, template, batches, _exempt(place, template, batches))


def _exempt(place: Place, template: Workload | None, batches: tuple[Batch, ...]) -> str:
    labels: Mapping[str, str] = template.pod_labels if template else {}
    if is_runner(labels) or any(batch.is_runner for batch in batches):
        return "a runner"
    names = [batch.spec.priority_class for batch in batches] or (
        [template.spec.priority_class] if template else []
    )
    return next((f"of class {name}" for name in names if place.has_own_class(name)), "")


def of_units(place: Place, units: Iterable[Unit]) -> Iterator[Finding]:
    """Everything that is wrong with sizes in a namespace."""
    for unit in units:
        yield from _cpu_limits(place, unit)
        yield from _no_requests(place, unit)
        yield from _uneven(place, unit)
        yield from _refused(place, unit)
        yield from _on_defaults(place, unit)
        yield from _not_guaranteed(place, unit)
    yield from _sidecars(place)


def _about(
    place: Place, unit: Unit, rule: str, severity: Severity, names: Iterable[str], **terms: str | int
) -> Finding:
    found = list(dict.fromkeys(names))
    more: dict[str, str | int] = {"containers": some(found, _MOST_NAMES), **terms}
    if unit.exempt:
        more["exempt"] = unit.exempt
    return place.about_workload(unit.who, rule, unit.severity(severity), unit.where, **more)


def _cpu_limits(place: Place, unit: Unit) -> Iterator[Finding]:
    """CPU limits that pods bring themselves; what a LimitRange injected is a finding about that one."""
    if is_guaranteed(*unit.who, place.policy):
        return
    in_pods = [
        name
        for batch in unit.batches
        for name in _limited(batch.spec.containers)
        if not any(
            each.container == name and each.kind == "limit" and "cpu" in each.resources
            for each in batch.defaulted
        )
    ]
    written = _limited(unit.template.spec.containers) if unit.template else []
    if place.policy.cpu_limits == "strip" and unit.batches and not in_pods:
        return  # admission takes them out, as it should
    if names := [*written, *in_pods]:
        severity: Severity = "error" if place.policy.cpu_limits == "deny" else "warning"
        yield _about(place, unit, "cpu-limit", severity, names)


def _limited(pod: Containers) -> list[str]:
    whole = ["spec.resources"] if pod.pod is not None and "cpu" in pod.pod.limits else []
    return [*(each.name for each in pod.all if "cpu" in each.limits), *whole]


def _stored(place: Place, unit: Unit) -> tuple[Containers, ...]:
    """What its pods are made of, or would be where there are none."""
    if unit.batches:
        return tuple(batch.spec.containers for batch in unit.batches)
    return (place.made_of(unit.template.spec.containers),) if unit.template else ()


def _no_requests(place: Place, unit: Unit) -> Iterator[Finding]:
    names = []
    resources: set[str] = set()
    for pod in _stored(place, unit):
        for each in pod.all:
            missing = [name for name in ("cpu", "memory") if name not in each.asks and not _of_pod(pod, name)]
            if missing and each.lasts:
                names.append(each.name)
                resources.update(missing)
    if names:
        yield _about(place, unit, "no-requests", "warning", names, resources=" and ".join(sorted(resources)))


def _of_pod(pod: Containers, resource: str) -> bool:
    return pod.pod is not None and resource in pod.pod.asks


def _uneven(place: Place, unit: Unit) -> Iterator[Finding]:
    if place.tier.burst or place.keeps_limits:
        return
    names = [
        f"{each.name} {_text(each.asks)} of {_text(each.limits)}"
        for pod in _stored(place, unit)
        for each in pod.all
        if _is_uneven(each) and sidecar_of(each.name, place.policy) is None
    ]
    if names:
        yield _about(place, unit, "uneven-memory", "warning", names)


def _is_uneven(container: Container) -> bool:
    """Whether a request is below its limit, or one of them is missing; a request above its limit is refused anyway."""
    request, limit = container.asks.get("memory"), container.limits.get("memory")
    return request != limit and not (request is not None and limit is not None and request > limit)


def _text(amounts: Mapping[str, int]) -> str:
    return quantity("memory", amounts["memory"]) if "memory" in amounts else "none"


def _refused(place: Place, unit: Unit) -> Iterator[Finding]:
    """What the API server, or admission by the policy, refuses."""
    if place.keeps_limits:
        return
    tier = place.tier
    specs = (
        [unit.template.spec.containers]
        if unit.template
        else [batch.spec.containers for batch in unit.batches]
    )
    above_default, above_memory, above_cpu = [], [], []
    for pod in specs:
        for each in pod.all:
            memory, cpu = (
                max(each.asks.get("memory", 0), each.limits.get("memory", 0)),
                each.asks.get("cpu", 0),
            )
            if memory > tier.max_memory:
                above_memory.append(f"{each.name} {quantity('memory', memory)}")
            elif memory > tier.default_limit and "memory" not in each.limits and not _has_limit(unit, each):
                above_default.append(f"{each.name} {quantity('memory', memory)}")
            if cpu > tier.max_cpu:
                above_cpu.append(f"{each.name} {quantity('cpu', cpu)}")
    if above_default and unit.template:
        yield _about(
            place, unit, "request-above-default-limit", "error", above_default,
            default=quantity("memory", tier.default_limit),
        )  # fmt: skip
    if above_memory:
        yield _about(
            place, unit, "above-max-memory", "error", above_memory, most=quantity("memory", tier.max_memory)
        )
    if above_cpu:
        yield _about(place, unit, "above-max-cpu", "error", above_cpu, most=quantity("cpu", tier.max_cpu))


def _has_limit(unit: Unit, container: Container) -> bool:
    """Whether a pod of this template got a limit that allows its request: then something gives it one, as admission may."""
    return any(
        each.name == container.name and each.asks.get("memory") == container.asks.get("memory") and "memory" in each.limits
        for batch in unit.batches
        for each in batch.spec.containers.all
    )  # fmt: skip


def _on_defaults(place: Place, unit: Unit) -> Iterator[Finding]:
    names = [
        f"{each.container} ({', '.join(each.resources)} {each.kind})"
        for batch in unit.batches
        for each in batch.defaulted
        if sidecar_of(each.container, place.policy) is None
    ]
    if names:
        yield _about(place, unit, "on-defaults", "info", names, count=unit.count)


def _sidecars(place: Place) -> Iterator[Finding]:
    """Helpers that got the memory of a whole application: how many, and what that wastes."""
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for batch in place.batches:
        filled = {
            each.container
            for each in batch.defaulted
            if each.kind == "request" and "memory" in each.resources
        }
        for each in batch.spec.containers.all:
            sidecar = sidecar_of(each.name, place.policy)
            memory = each.asks.get("memory", 0)
            if sidecar is not None and each.name in filled and memory > sidecar.memory:
                found.setdefault((memory, sidecar.memory), []).append((each.name, len(batch.pods)))
    for (memory, enough), parts in sorted(found.items()):
        count = sum(pods for _, pods in parts)
        wasted = memory - enough
        yield place.about(
            "sidecars-on-defaults", "warning", "",
            count=count, containers=some(dict.fromkeys(name for name, _ in parts), _MOST_NAMES),
            default=quantity("memory", memory), enough=quantity("memory", enough),
            each=quantity("memory", wasted), wasted=quantity("memory", wasted * count),
        )  # fmt: skip


def _not_guaranteed(place: Place, unit: Unit) -> Iterator[Finding]:
    """A workload that the policy says is to be Guaranteed, and what it lacks."""
    if not is_guaranteed(*unit.who, place.policy):
        return
    for pod in _stored(place, unit):
        if qos_of(pod) != "Guaranteed":
            missing = some(missing_for_guaranteed(pod), _MOST_NAMES)
            yield _about(place, unit, "not-guaranteed", "warning", (), qos=qos_of(pod), missing=missing)
            return


def of_priorities(place: Place) -> Iterator[Finding]:
    """Pods without the class of their tier: those that have none, another tier's, and those with one of their own."""
    bare: dict[str, int] = {}
    own: dict[str, int] = {}
    runners = 0
    wanted = 0
    for batch in place.batches:
        tier, name = place.tier_for(batch.labels), batch.spec.priority_class
        if batch.is_runner:
            runners += len(batch.pods)
        elif place.has_own_class(name):
            own[name] = own.get(name, 0) + len(batch.pods)
        elif name != tier.priority_class:
            wanted += len(batch.pods)
            if name in {each.priority_class for each in place.policy.tiers.values()}:
                yield place.about_workload(
                    batch.owner, "class-of-another-tier", "warning", "spec.priorityClassName",
                    name=name, wanted=tier.priority_class, count=len(batch.pods),
                )  # fmt: skip
            else:
                bare[str(batch.owner)] = bare.get(str(batch.owner), 0) + len(batch.pods)
        else:
            wanted += len(batch.pods)
    if bare:
        yield place.about(
            "no-priority-class", "warning", "",
            count=sum(bare.values()), of=wanted, workloads=some(bare, _MOST_NAMES), name=place.tier.priority_class,
        )  # fmt: skip
    if own or runners:
        classes = [f"{count} of class {name}{place.why_own(name)}" for name, count in sorted(own.items())]
        classes += [f"{runners} of GitHub's runners"] if runners else []
        yield place.about("own-priority-class", "info", "", classes=some(classes, _MOST_NAMES))
