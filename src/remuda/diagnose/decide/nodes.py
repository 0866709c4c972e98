"""Whether there are nodes for VMs, whether they can run them, and why a VM that waits has none."""

from collections.abc import Iterator

import msgspec

from remuda.diagnose.decide.controller import pull_trouble
from remuda.diagnose.decide.placing import Obstacle, Wish, obstacles, untolerated, wish_of
from remuda.diagnose.decide.verdicts import Seen, counted, listed
from remuda.diagnose.snapshot import COMPONENT, SCHEDULABLE, Node, Snapshot
from remuda.model.amounts import KVM
from remuda.model.checks import CheckResult
from remuda.model.pods import Meta, Taint, Toleration

_NESTED = (
    "make a node pool whose machines have hardware virtualization, nested or bare metal; it is set when nodes are made, "
    "never patched on: docs/guides/kubevirt.md says how"
)
_GRANT = (
    "to know more: remuda rbac diagnose --optional | kubectl apply -f -, and bind yourself to it (it allows commands in "
    "pods, and virt-handler's is root on its node)"
)
#: virt-handler has it by itself, and a patch replaces the list
_CRITICAL = Toleration("CriticalAddonsOnly", "Exists")
#: of this many VMs it is reported why they wait
_MOST = 5


def nodes(snapshot: Snapshot) -> CheckResult:
    """Nodes that KubeVirt would put a VM on."""
    seen = Seen("nodes")
    if trouble := snapshot.trouble("nodes"):
        return seen.unread(snapshot, trouble)
    labelled = [node for node in snapshot.nodes if node.metadata.labels.get(SCHEDULABLE) == "true"]
    usable = [node for node in labelled if node.is_up]
    if usable:
        return seen.ok(
            f"{counted(len(usable), 'node')} of {len(snapshot.nodes)} take VMs",
            (listed(n.name for n in usable),),
        )
    if not labelled:
        seen.add(
            f"none of {counted(len(snapshot.nodes), 'node')} has the label {SCHEDULABLE}=true",
            "virt-handler sets it where it runs: see the check virt-handler",
        )
    for node in labelled:
        what = "cordoned" if node.spec.unschedulable else "not Ready"
        seen.add(
            f"node {node.name} is {what}",
            f"kubectl uncordon {node.name}" if what == "cordoned" else f"fix {node.name}",
        )
    return seen.problem("no node takes VMs")


def kvm(snapshot: Snapshot) -> CheckResult:
    """Nodes that have /dev/kvm to give, which they list as allocatable; of others virt-handler says what it sees."""
    seen = Seen("kvm")
    if trouble := snapshot.trouble("nodes"):
        return seen.unread(snapshot, trouble)
    asked = [node for node in snapshot.nodes if node.metadata.labels.get(SCHEDULABLE) == "true"]
    if not asked:
        return seen.unknown("no node takes VMs", ("see the check nodes",))
    lacking = [node.name for node in snapshot.lacking_kvm()]
    if lacking and any(item.emulates for item in snapshot.kubevirts):
        return seen.ok(
            "useEmulation is set: VMs run without /dev/kvm, many times slower",
            (f"no KVM: {listed(lacking)}",),
        )
    known = [(name, snapshot.devices[name]) for name in lacking if name in snapshot.devices]
    lines = [f"virt-handler on node {name}: {device.message}" for name, device in known[:_MOST]]
    if len(lacking) < len(asked):
        some = (f"no {KVM} on: {listed(lacking)}", *lines) if lacking else ()
        return seen.ok(f"{counted(len(asked) - len(lacking), 'node')} with /dev/kvm", some)
    seen.add(f"{KVM} is not allocatable on: {listed(lacking)}")
    for line in lines:
        seen.add(line)
    unoffered = [device for _, device in known if device.outcome == "there"]
    for device in unoffered[:_MOST]:
        namespace, _, pod = device.pod.partition("/")
        seen.advise(
            f"kubectl delete pod -n {namespace} {pod}: its successor offers the device to the kubelet again; when it does "
            "not, its log says why"
        )
    if len(unoffered) < len(lacking):
        seen.advise(_NESTED)
    if any("403" in device.message for _, device in known if device.outcome == "unsure"):
        seen.advise(_GRANT)
    return seen.problem("nodes have /dev/kvm and do not offer it" if unoffered else "no node has /dev/kvm")


def virt_handler(snapshot: Snapshot) -> CheckResult:
    """KubeVirt's agent on every node that is meant for VMs."""
    seen = Seen("virt-handler")
    if trouble := snapshot.trouble("nodes", "daemonsets", "kubevirt pods"):
        return seen.unread(snapshot, trouble)
    if not snapshot.handlers:
        seen.add("there is no DaemonSet virt-handler", "see the checks kubevirt and operator")
        return seen.problem("virt-handler is not there")
    daemon_set = snapshot.handlers[0]
    tolerations = daemon_set.spec.template.spec.tolerations
    running = {
        pod.spec.node_name: pod.is_ready
        for pod in snapshot.component_pods
        if pod.metadata.labels.get(COMPONENT) == "virt-handler"
    }
    for node in snapshot.nodes:
        if running.get(node.name) or not node.is_up or not _takes_vms(snapshot, node):
            continue
        if node.name in running:
            where = f"-n {daemon_set.metadata.namespace} -l {COMPONENT}=virt-handler"
            seen.add(f"virt-handler on node {node.name} is not ready", f"kubectl describe pod {where}")
            continue
        seen.add(f"node {node.name} has no virt-handler" + _because(list(untolerated(node, tolerations))))
        for taint in untolerated(node, tolerations):
            seen.add(f"its DaemonSet does not tolerate {taint}", *_tolerate(snapshot, taint))
    status = daemon_set.status
    if not seen and status.number_ready < max(1, status.desired_number_scheduled):
        seen.add(
            f"{status.number_ready} of {status.desired_number_scheduled} are ready",
            f"kubectl get pods -A -l {COMPONENT}=virt-handler -o wide",
        )
    if seen:
        return seen.problem("virt-handler is not where VMs should run")
    return seen.ok(f"virt-handler is ready on {counted(status.number_ready, 'node')}")


def placement(snapshot: Snapshot) -> CheckResult:
    """VMs that wait for a node, and pools whose VMs would: what is in the way, and how much is short."""
    seen = Seen("placement")
    if trouble := snapshot.trouble("nodes", "pods"):
        return seen.unread(snapshot, trouble)
    wishes = list(_waiting(snapshot))
    for wish, reason in wishes[:_MOST]:
        seen.add(f"{wish.name} has no node: {reason}")
        _explain(snapshot, wish, seen)
    if len(wishes) > _MOST:
        seen.add(f"and {len(wishes) - _MOST} more wait")
    if seen:
        return seen.problem(f"{counted(len(wishes), 'VM')} without a node")
    for wish in _wishes(snapshot):
        if snapshot.nodes and all(list(obstacles(wish, node, None)) for node in snapshot.nodes):
            seen.add(f"a VM of {wish.name} would find no node, even an empty one")
            _explain(snapshot, wish, seen)
    if seen:
        return seen.problem("no node can take a VM of a pool")
    known = (
        ()
        if snapshot.taken is not None
        else ("what pods on the nodes take is not known: only whole nodes were compared",)
    )
    return seen.ok("no VM waits for a node", known)


def images(snapshot: Snapshot) -> CheckResult:
    """Images of VMs that cannot be pulled."""
    seen = Seen("images")
    if trouble := snapshot.trouble("pods"):
        return seen.unread(snapshot, trouble)
    launchers = [
        pod
        for pod in snapshot.pods
        if pod.metadata.labels.get(COMPONENT) == "virt-launcher" and not pod.is_over
    ]
    failing = sum(pull_trouble(snapshot, pod, seen) for pod in launchers)
    if seen:
        return seen.problem(f"images of {counted(failing, 'VM')} cannot be pulled")
    return seen.ok(f"no image of {counted(len(launchers), 'VM')} is missing")


def _waiting(snapshot: Snapshot) -> Iterator[tuple[Wish, str]]:
    for pod in snapshot.pods:
        if pod.metadata.labels.get(COMPONENT) == "virt-launcher" and pod.unplaced is not None:
            yield wish_of(pod), pod.unplaced.message


def _wishes(snapshot: Snapshot) -> Iterator[Wish]:
    """The least that VMs of pools will ask for."""
    emulates = any(item.emulates for item in snapshot.kubevirts)
    for pool in snapshot.pools:
        vms = pool.words.vms
        if vms is not None and vms.asks:
            asks = {name: value for name, value in vms.asks.items() if not (emulates and name == KVM)}
            selector = {**vms.node_selector, SCHEDULABLE: "true"}
            yield Wish(f"pool {pool.name}", asks, selector, vms.tolerations)


def _explain(snapshot: Snapshot, wish: Wish, seen: Seen) -> None:
    """What is in the way node by node, nearest first, and what to do about the nearest."""
    found = sorted(
        ((node, list(obstacles(wish, node, snapshot.taken))) for node in snapshot.nodes),
        key=lambda item: (len(item[1]), _shortage(item[1]), item[0].name),
    )
    for node, what in found[:_MOST]:
        if what:
            seen.add(f"node {node.name} " + " and ".join(item.message for item in what))
    if found:
        node, what = found[0]
        seen.advise(*(_cure(node, item) for item in what))


def _takes_vms(snapshot: Snapshot, node: Node) -> bool:
    """A node that KubeVirt uses already, or that is set apart for VMs by a taint or a pool's selector."""
    if node.metadata.labels.get(SCHEDULABLE) == "true":
        return True
    if any("kubevirt" in taint.key for taint in node.spec.taints):
        return True
    for pool in snapshot.pools:
        vms = pool.words.vms
        if vms is None:
            continue
        labels = node.metadata.labels
        if vms.node_selector and all(labels.get(key) == value for key, value in vms.node_selector.items()):
            return True
        if any(item.covers(taint) for item in vms.tolerations if item.key for taint in node.spec.taints):
            return True
    return False


def _because(taints: list[Taint]) -> str:
    return f": it has the taint {listed(map(str, taints))}" if taints else ""


def _shortage(what: list[Obstacle]) -> int:
    return sum(by for item in what for by in item.short.values())


def _cure(node: Node, item: Obstacle) -> str:
    match item.kind:
        case "label":
            return (
                f"let virt-handler run on {node.name}, which then gets the label: see the check virt-handler"
            )
        case "down":
            return f"kubectl uncordon {node.name}" if node.spec.unschedulable else f"fix node {node.name}"
        case "taint" if item.taint is not None:
            return f"give the pool's spec the toleration {_json(_toleration(item.taint))}"
        case "room" if item.is_too_small:
            return f"use bigger nodes, or ask for less: {node.name} is nearest, and too small even when it is empty"
        case "room":
            return f"add nodes, or free some of {node.name}, or lower max or a Ceiling so that nothing waits in vain"
        case _:
            return f"label node {node.name} so, or change nodeSelector and affinity of the pool's spec"


def _toleration(taint: Taint) -> dict[str, str]:
    fields = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "value": taint.value}
    return {name: value for name, value in (fields | {"effect": taint.effect}).items() if value}


def _tolerate(snapshot: Snapshot, taint: Taint) -> Iterator[str]:
    """Through the KubeVirt object: its operator would undo a change of the DaemonSet."""
    fields = {_CRITICAL: None}
    for handler in snapshot.handlers:
        fields.update(dict.fromkeys(handler.spec.template.spec.tolerations))
    tolerations = [*map(_plain, fields), _toleration(taint)]
    patch = {"spec": {"template": {"spec": {"tolerations": tolerations}}}}
    whole = {
        "resourceType": "DaemonSet",
        "resourceName": "virt-handler",
        "type": "strategic",
        "patch": _json(patch),
    }
    item = next((found.metadata for found in snapshot.kubevirts), Meta("kubevirt", "kubevirt"))
    body = _json({"spec": {"customizeComponents": {"patches": [whole]}}})
    yield (
        f"kubectl patch kubevirt {item.name} -n {item.namespace} --type=merge -p '{body}' (with the patches that are there "
        "already; never patch the DaemonSet itself)"
    )


def _plain(toleration: Toleration) -> dict[str, str]:
    return {name: value for name, value in msgspec.structs.asdict(toleration).items() if value}


def _json(data: object) -> str:
    return msgspec.json.encode(data).decode()
