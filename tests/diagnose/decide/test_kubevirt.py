"""KubeVirt that is missing, not ready, or whose own pods find no node."""

import json

import pytest
from tests.diagnose.snapshots import CONTROL_PLANE, component, condition, healthy, kube_virt, node, workload

from remuda.diagnose.decide.kubevirt import kubevirt, operator
from remuda.diagnose.snapshot import Snapshot

HARD = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": CONTROL_PLANE, "operator": "Exists"}]}]
        }
    }
}
REFUSED = {
    "phase": "Pending",
    "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/1 nodes")],
}


@pytest.mark.parametrize(
    ("snapshot", "message", "evidence"),
    [
        pytest.param(
            healthy(served={"virtualmachines.kubevirt.io": ()}),
            "KubeVirt is not installed",
            "the cluster knows no virtualmachines.kubevirt.io",
            id="it is absent",
        ),
        pytest.param(
            healthy(kubevirts=()),
            "KubeVirt is not installed whole",
            "its kinds are there, and no KubeVirt object",
            id="its object is missing",
        ),
        pytest.param(
            healthy(kubevirts=(kube_virt("Deploying"),)),
            "KubeVirt is not ready",
            "KubeVirt kubevirt/kubevirt is Deploying, not Deployed",
            id="it is being deployed",
        ),
        pytest.param(
            healthy(
                kubevirts=(kube_virt(conditions=[condition("Available", "False", message="no virt-api")]),)
            ),
            "KubeVirt is not ready",
            "KubeVirt kubevirt/kubevirt: Available is False: no virt-api",
            id="it is not available",
        ),
        pytest.param(
            healthy(components=(workload("virt-controller", replicas=2, ready=0),)),
            "KubeVirt is not ready",
            "Deployment kubevirt/virt-controller: 0 of 2 ready",
            id="a part of it is not ready",
        ),
    ],
)
def test_kubevirt_that_is_not_whole_is_reported(snapshot: Snapshot, message: str, evidence: str) -> None:
    found = kubevirt(snapshot)
    assert (found.verdict, found.message) == ("problem", message)
    assert evidence in found.evidence
    assert found.fix


def test_a_cluster_without_pools_of_vms_is_fine() -> None:
    served = {"virtualmachines.kubevirt.io": ("v1",)}
    found = kubevirt(healthy(served=served))
    assert (found.verdict, found.evidence) == ("ok", ("no pools: VMs are made directly",))


def test_an_operator_that_insists_on_a_control_plane_gets_two_commands() -> None:
    pod = component("virt-operator", ready=False, spec={"nodeName": "", "affinity": HARD}, status=REFUSED)
    found = operator(healthy(component_pods=(pod,)))
    assert found.verdict == "problem"
    assert f"asks for {CONTROL_PLANE} Exists, and no node has that label" in found.evidence[1]
    label, patch = found.fix
    assert label == f"either: kubectl label node node-1 {CONTROL_PLANE}="
    command, _, body = patch.partition(" -p ")
    assert command == "or: kubectl patch deployment virt-operator -n kubevirt --type=json"
    assert json.loads(body.strip("'")) == [
        {"op": "remove", "path": "/spec/template/spec/affinity/nodeAffinity"}
    ]


def test_where_there_is_a_control_plane_something_else_is_in_the_way() -> None:
    pod = component("virt-operator", ready=False, spec={"nodeName": "", "affinity": HARD}, status=REFUSED)
    labels = {CONTROL_PLANE: "", "kubevirt.io/schedulable": "true"}
    tainted = node(labels=labels, taints=[{"key": CONTROL_PLANE, "effect": "NoSchedule"}])
    found = operator(healthy(component_pods=(pod,), nodes=(tainted,)))
    assert (
        found.evidence[1] == f"node node-1 has the taint {CONTROL_PLANE}:NoSchedule, which is not tolerated"
    )


def test_virt_api_is_freed_through_the_kubevirt_object() -> None:
    pod = component("virt-api", ready=False, spec={"nodeName": "", "affinity": HARD}, status=REFUSED)
    fix = operator(healthy(component_pods=(pod,))).fix
    assert fix[1].startswith("or: kubectl patch kubevirt kubevirt -n kubevirt --type=merge ")
