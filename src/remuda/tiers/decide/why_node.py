"""
Why a node is short of memory although its pods are small: what is used beside them.

A kubelet says how much its node uses, and each pod and daemon; what is left over is the kernel's and the active page cache, which
nothing counts to a pod. Containers that ended hold disk, and no memory.
"""

from collections.abc import Iterator

from remuda.model.amount_texts import bytes_text
from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term
from remuda.model.sentences import some
from remuda.tiers.decide.causes import cause
from remuda.tiers.decide.why_world import World, judged
from remuda.tiers.snapshot import Node, NodeMemory, Pod

#: what kubelets call the sum of all pods, which is no daemon
_PODS = "pods"
#: as much beside the pods is worth a word, in percent of what is used
_MUCH = 25


def why_node(world: World, name: str) -> tuple[Finding, ...] | None:
    """What uses the memory of a node, the gravest first; None where there is no such node."""
    node = next((each for each in world.snapshot.nodes if each.name == name), None)
    if node is None:
        return None
    pods = [pod for pod in world.snapshot.pods if pod.node == name]
    running = [pod for pod in pods if pod.runs]
    found = [*_used(world, node, running), *judged(world, f"Node {name}")]
    if over := sum(pod.is_over for pod in pods):
        found.append(cause(f"Node {name}", "node-dead-containers", "info", pods=over, node=name))
    return tuple(found)


def _used(world: World, node: Node, pods: list[Pod]) -> Iterator[Finding]:
    memory = world.snapshot.node_memory.get(node.name)
    if memory is None or memory.working_set is None:
        why = next(
            (each.why for each in world.snapshot.unknown if each.part == "summaries"),
            "its kubelet says nothing",
        )
        yield cause(f"Node {node.name}", "node-not-measured", "warning", why=why, node=node.name)
        return
    used = {
        pod.id: known.all
        for pod in pods
        if (known := world.snapshot.memory_used.get((pod.namespace, pod.name)))
    }
    of_pods, all_used = sum(used.values()), memory.working_set
    beyond = max(all_used - of_pods, 0)
    if beyond and 100 * beyond >= _MUCH * all_used:
        yield _beyond(world, node, memory, pods, used)
        return
    largest = sorted(pods, key=lambda pod: (-used.get(pod.id, 0), pod.id))[:3]
    above = [pod for pod in pods if used.get(pod.id, 0) > pod.spec.containers.requests.get("memory", 0)]
    terms: dict[str, Term] = {
        "pods": bytes_text(of_pods),
        "used": bytes_text(all_used),
        "largest": some(f"{pod.id} ({bytes_text(used.get(pod.id, 0))})" for pod in largest) or "none",
        "above": len(above),
    }
    severity: Severity = "error" if "MemoryPressure" in node.pressures else "info"
    yield cause(f"Node {node.name}", "node-pods-large", severity, **terms)


def _beyond(world: World, node: Node, memory: NodeMemory, pods: list[Pod], used: dict[str, int]) -> Finding:
    working_set = memory.working_set or 0
    of_pods = sum(used.values())
    beyond = max(working_set - of_pods, 0)
    system = {name: size for name, size in sorted(memory.system.items()) if name != _PODS and size}
    cache = max(beyond - sum(system.values()), 0)
    untiered = sum(used.get(pod.id, 0) for pod in pods if not world.tier(pod))
    reserved = node.capacity.get("memory", 0) - node.allocatable.get("memory", 0)
    terms: dict[str, Term] = {
        "beyond": bytes_text(beyond),
        "used": bytes_text(working_set),
        "pods": bytes_text(of_pods),
        "system": ", ".join(f"{name} {bytes_text(size)}" for name, size in system.items()) or None,
        "cache": bytes_text(cache) if cache else None,
        "untiered": bytes_text(untiered) if untiered else None,
        "reserved": f", {bytes_text(reserved)}" if reserved > 0 else "",
        "largest": max(system, key=lambda name: system[name]) if system else None,
    }
    severity: Severity = "error" if "MemoryPressure" in node.pressures else "warning"
    return cause(f"Node {node.name}", "node-beyond-pods", severity, **terms)
