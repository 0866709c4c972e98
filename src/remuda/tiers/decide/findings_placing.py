"""
Where pods may go: GPUs are asked for by what a node has, never by its name, and nothing else depends on a hostname either.

Pods of a DaemonSet are placed by their controller, one on each node by its name, and are judged by their template alone.
"""

from collections.abc import Iterable, Iterator

from remuda.model.findings import Finding
from remuda.model.pods import Match, Taint, Term
from remuda.model.sentences import some
from remuda.rules.tiers import Gpu
from remuda.tiers.decide.context import Place
from remuda.tiers.decide.findings_pods import Unit
from remuda.tiers.snapshot import Node, Placement, PodSpec

HOSTNAME, NODE_NAME = "kubernetes.io/hostname", "metadata.name"
_ONLY, _NEVER = "In", "NotIn"


def gpu_nodes(nodes: Iterable[Node], gpu: Gpu | None) -> frozenset[str]:
    """Names of nodes with such a card, by any sign of it."""
    return frozenset(node.name for node in nodes if gpu is not None and has_device(node, gpu))


def has_device(node: Node, gpu: Gpu) -> bool:
    """Whether a node carries the card: feature discovery says so, or its device plugin offers it."""
    return node.labels.get(gpu.device_label) == gpu.device_value or node.allocatable.get(gpu.resource, 0) > 0


def of_placement(place: Place, units: Iterable[Unit], with_gpu: frozenset[str]) -> Iterator[Finding]:
    """Everything that is wrong with where pods may go."""
    for unit in units:
        yield from _hostnames(place, unit, with_gpu)
        if place.policy.gpu is not None and not unit.exempt:
            yield from _gpu(place, unit, place.policy.gpu)


def _hostnames(place: Place, unit: Unit, with_gpu: frozenset[str]) -> Iterator[Finding]:
    if unit.template is None and unit.who.kind == "DaemonSet":
        return
    spec = unit.template.spec if unit.template else unit.batches[0].spec
    found = list(_named(spec.placement))
    if unit.template is not None and unit.template.node_name:
        found.append(("spec.nodeName", _ONLY, (unit.template.node_name,)))
    for field, operator, names in found:
        if operator == _ONLY:
            yield place.about_workload(unit.who, "pinned-to-host", "warning", field, hosts=some(names))
        elif with_gpu and set(names) & with_gpu:
            gpu = place.policy.gpu
            label, value = (gpu.feature_label, gpu.feature_value) if gpu else ("", "")
            yield place.about_workload(
                unit.who, "off-gpu-by-host", "warning", field, hosts=some(names), label=label, value=value
            )
        else:
            yield place.about_workload(unit.who, "off-hosts", "info", field, hosts=some(names))


def _named(placement: Placement) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Field, operator and names of everything that depends on a hostname."""
    if HOSTNAME in placement.node_selector:
        yield "spec.nodeSelector", _ONLY, (placement.node_selector[HOSTNAME],)
    affinity = "spec.affinity.nodeAffinity"
    for term in placement.required:
        for match in (*term.match_expressions, *term.match_fields):
            if match.key in {HOSTNAME, NODE_NAME} and match.operator in {_ONLY, _NEVER}:
                yield affinity, match.operator, match.values


def _gpu(place: Place, unit: Unit, gpu: Gpu) -> Iterator[Finding]:
    """Of a workload its pods tell, where there are any: admission may have added a toleration."""
    spec = unit.batches[0].spec if unit.batches else unit.template.spec if unit.template else PodSpec()
    terms = {"resource": gpu.resource, "label": gpu.feature_label, "value": gpu.feature_value}
    selects = _selects(spec.placement, gpu)
    if not any(each.asks.get(gpu.resource) for each in spec.containers.all):
        if selects and unit.who.kind != "DaemonSet":
            yield place.about_workload(unit.who, "gpu-not-requested", "info", unit.where, **terms)
        return
    if not selects:
        yield place.about_workload(unit.who, "gpu-not-selected", "warning", "spec.nodeSelector", **terms)
    taint = Taint(*gpu.taint)
    if any(each.covers(taint) for each in spec.placement.tolerations):
        return
    other = next(
        (
            each.effect
            for each in spec.placement.tolerations
            if each.effect and each.covers(Taint(taint.key, taint.value, each.effect))
        ),
        "",
    )
    yield place.about_workload(
        unit.who,
        "gpu-not-tolerated",
        "warning",
        "spec.tolerations",
        taint=str(taint),
        effect=taint.effect,
        other=other,
    )


def _selects(placement: Placement, gpu: Gpu) -> bool:
    if placement.node_selector.get(gpu.feature_label) == gpu.feature_value:
        return True
    return bool(placement.required) and all(_wants(term, gpu) for term in placement.required)


def _wants(term: Term, gpu: Gpu) -> bool:
    return any(_is_wish(match, gpu) for match in term.match_expressions)


def _is_wish(match: Match, gpu: Gpu) -> bool:
    if match.key != gpu.feature_label:
        return False
    return match.operator == "Exists" or (match.operator == _ONLY and match.values == (gpu.feature_value,))
