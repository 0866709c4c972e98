"""Whether KubeVirt is there, whole, and its own pods find nodes."""

from remuda.diagnose.decide.placing import obstacles, wish_of
from remuda.diagnose.decide.verdicts import Seen, listed
from remuda.diagnose.snapshot import COMPONENT, KubeVirt, Snapshot
from remuda.model.checks import CheckResult
from remuda.model.pods import Pod

_ROLES = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_DOCS = "docs/guides/kubevirt.md says how"


def kubevirt(snapshot: Snapshot) -> CheckResult:
    """The installation: its kinds, its object, what that says of itself, and whether there are pools of VMs."""
    seen = Seen("kubevirt")
    if not snapshot.served.get("virtualmachines.kubevirt.io", ("?",)):
        seen.add(
            "the cluster knows no virtualmachines.kubevirt.io", f"install KubeVirt 1.3 or newer: {_DOCS}"
        )
        return seen.problem("KubeVirt is not installed")
    if trouble := snapshot.trouble("discovery", "kubevirts"):
        return seen.unread(snapshot, trouble)
    if not snapshot.kubevirts:
        seen.add(
            "its kinds are there, and no KubeVirt object",
            "kubectl apply -f kubevirt-cr.yaml of the same release as the operator",
        )
        return seen.problem("KubeVirt is not installed whole")
    for item in snapshot.kubevirts:
        where = f"KubeVirt {item.metadata.namespace}/{item.metadata.name}"
        if item.status.phase != "Deployed":
            seen.add(
                f"{where} is {item.status.phase or 'not looked at by its operator'}, not Deployed",
                _describe(item),
            )
        for condition in item.status.conditions:
            is_bad = condition.status == ("False" if condition.type == "Available" else "True")
            if is_bad and condition.type in ("Available", "Degraded"):
                message = condition.message or condition.reason
                seen.add(f"{where}: {condition.type} is {condition.status}: {message}", _describe(item))
    for workload in snapshot.components:
        if workload.spec.replicas and not workload.status.ready_replicas:
            where = f"{workload.metadata.namespace}/{workload.name}"
            seen.add(f"Deployment {where}: 0 of {workload.spec.replicas} ready", "see the check operator")
    if seen:
        return seen.problem("KubeVirt is not ready")
    version = snapshot.kubevirts[0].status.observed_kube_virt_version or "of an unknown version"
    pools = snapshot.served.get("virtualmachinepools.pool.kubevirt.io", ())
    line = (
        f"VirtualMachinePools are served as {', '.join(pools)}"
        if pools
        else "no pools: VMs are made directly"
    )
    return seen.ok(f"KubeVirt {version} is deployed", (line,))


def operator(snapshot: Snapshot) -> CheckResult:
    """KubeVirt's own pods that no node takes, above all because no node is called a control plane."""
    seen = Seen("operator")
    if trouble := snapshot.trouble("kubevirt pods", "nodes"):
        return seen.unread(snapshot, trouble)
    pods = [pod for pod in snapshot.component_pods if pod.metadata.labels.get(COMPONENT) != "virt-handler"]
    for pod in pods:
        if pod.unplaced is None:
            continue
        seen.add(f"pod {pod.metadata.namespace}/{pod.name} has no node: {pod.unplaced.message}")
        if _wants_control_plane(pod) and not any(
            role in node.metadata.labels for role in _ROLES for node in snapshot.nodes
        ):
            node = next((node.name for node in snapshot.nodes if node.is_up), "NODE")
            seen.add(
                f"its node affinity is hard and asks for {listed(_terms(pod))}, and no node has that label, as in most "
                "managed clusters",
                f"either: kubectl label node {node} node-role.kubernetes.io/control-plane=",
                f"or: {_relax(pod)}",
            )
        elif (near := _nearest(snapshot, pod)) is not None:
            seen.add(
                near, "remove what is in the way, or set spec.infra.nodePlacement of the KubeVirt object"
            )
    if seen:
        return seen.problem("no node takes KubeVirt's own pods")
    if not pods:
        return seen.unknown("no pod of KubeVirt's operator was found")
    return seen.ok("KubeVirt's own pods have nodes")


def _describe(item: KubeVirt) -> str:
    return f"kubectl describe kubevirt {item.metadata.name} -n {item.metadata.namespace}"


def _wants_control_plane(pod: Pod) -> bool:
    return any(term in _ROLES for term in _keys(pod)) or any(
        role in pod.spec.node_selector for role in _ROLES
    )


def _keys(pod: Pod) -> list[str]:
    return [match.key for term in pod.spec.required_terms for match in term.match_expressions]


def _terms(pod: Pod) -> list[str]:
    found = [str(match) for term in pod.spec.required_terms for match in term.match_expressions]
    return found + [f"{key}={value}" for key, value in pod.spec.node_selector.items() if key in _ROLES]


def _relax(pod: Pod) -> str:
    namespace = pod.metadata.namespace
    if pod.metadata.labels.get(COMPONENT) == "virt-operator":
        return (
            f"kubectl patch deployment virt-operator -n {namespace} --type=json "
            '-p \'[{"op":"remove","path":"/spec/template/spec/affinity/nodeAffinity"}]\''
        )
    return (
        f"kubectl patch kubevirt kubevirt -n {namespace} --type=merge "
        '-p \'{"spec":{"infra":{"nodePlacement":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}\''
    )


def _nearest(snapshot: Snapshot, pod: Pod) -> str | None:
    """What is in the way on the node where least is."""
    wish = wish_of(pod)
    found = [(node.name, list(obstacles(wish, node, snapshot.taken))) for node in snapshot.nodes]
    if not found:
        return None
    name, what = min(found, key=lambda item: len(item[1]))
    return f"node {name} " + " and ".join(item.message for item in what) if what else None
