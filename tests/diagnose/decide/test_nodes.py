"""Nodes that take no VMs, and VMs that find none."""

import json

import pytest
from msgspec import structs
from tests.diagnose.snapshots import (
    ROOM,
    component,
    healthy,
    kube_virt,
    launcher,
    node,
    pool,
    unplaced,
    workload,
)

from remuda.diagnose.decide.nodes import images, kvm, nodes, placement, virt_handler
from remuda.diagnose.decide.placing import obstacles, wish_of
from remuda.diagnose.snapshot import Device, Node, Snapshot

TAINT = {"key": "kubevirt", "value": "true", "effect": "NoSchedule"}
TOLERATION = {"key": "kubevirt", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
NO_KVM = {name: value for name, value in ROOM.items() if "kvm" not in name}


@pytest.mark.parametrize(
    ("given", "evidence"),
    [
        pytest.param(
            node(labels={}), "none of 1 node has the label kubevirt.io/schedulable=true", id="no label"
        ),
        pytest.param(node(is_cordoned=True), "node node-1 is cordoned", id="cordoned"),
        pytest.param(node(is_ready=False), "node node-1 is not Ready", id="not ready"),
    ],
)
def test_without_a_node_for_vms_there_is_a_problem(given: Node, evidence: str) -> None:
    found = nodes(healthy(nodes=(given,)))
    assert (found.verdict, found.evidence) == ("problem", (evidence,))
    assert found.fix


def test_a_node_without_kvm_is_a_problem_when_no_other_has_it() -> None:
    found = kvm(healthy(nodes=(node(room=NO_KVM),)))
    assert found.evidence == ("devices.kubevirt.io/kvm is not allocatable on: node-1",)
    assert "never patched on" in found.fix[0]
    assert kvm(healthy(nodes=(node(room=NO_KVM), node("node-2")))).verdict == "ok"


def test_a_node_that_reports_its_capacity_alone_has_all_of_it() -> None:
    """As Kubernetes and the capacity audit read it: nothing allocatable means the capacity, an empty list means nothing."""
    made = node()
    status = structs.replace(made.status, allocatable=None, capacity=ROOM)
    assert kvm(healthy(nodes=(structs.replace(made, status=status),))).verdict == "ok"
    empty = structs.replace(status, allocatable={})
    assert kvm(healthy(nodes=(structs.replace(made, status=empty),))).verdict == "problem"


GONE = "ls: cannot access '/dev/kvm': No such file or directory"
THERE = "crw-rw-rw- 1 root kvm 10, 232 Nov 16 10:00 /dev/kvm"
REFUSED = 'running ls in pods kubevirt/h-1: 403 Forbidden: user "x" cannot create resource "pods/exec"'
OFFER = "kubectl delete pod -n kubevirt h-1: its successor offers the device"


@pytest.mark.parametrize(
    ("device", "message", "fixes"),
    [
        pytest.param(
            Device("missing", GONE, "kubevirt/h-1"),
            "no node has /dev/kvm",
            ["make a node pool"],
            id="missing",
        ),
        pytest.param(
            Device("there", THERE, "kubevirt/h-1"),
            "nodes have /dev/kvm and do not offer it",
            [OFFER],
            id="there",
        ),
        pytest.param(
            Device("unsure", "no answer within 10 s", "kubevirt/h-1"),
            "no node has /dev/kvm",
            ["make a node pool"],
            id="no answer",
        ),
        pytest.param(
            Device("unsure", REFUSED, "kubevirt/h-1"),
            "no node has /dev/kvm",
            ["make a node pool", "to know more: remuda rbac diagnose --optional"],
            id="a missing verb",
        ),
    ],
)
def test_what_virt_handler_sees_counts_where_kvm_is_not_offered(
    device: Device, message: str, fixes: list[str]
) -> None:
    found = kvm(healthy(nodes=(node(room=NO_KVM),), devices={"node-1": device}))
    assert (found.verdict, found.message) == ("problem", message)
    assert found.evidence == (
        "devices.kubevirt.io/kvm is not allocatable on: node-1",
        f"virt-handler on node node-1: {device.message}",
    )
    assert len(found.fix) == len(fixes)
    assert all(fix.startswith(begins) for fix, begins in zip(found.fix, fixes, strict=True))


def test_of_several_nodes_each_gets_its_own_remedy() -> None:
    snapshot = healthy(
        nodes=(node(room=NO_KVM), node("node-2", room=NO_KVM)),
        devices={
            "node-1": Device("there", THERE, "kubevirt/h-1"),
            "node-2": Device("missing", GONE, "k/h-2"),
        },
    )
    assert [fix[:20] for fix in kvm(snapshot).fix] == [OFFER[:20], "make a node pool who"]


def test_a_node_that_does_not_offer_its_device_is_reported_also_when_another_does() -> None:
    snapshot = healthy(
        nodes=(node(room=NO_KVM), node("node-2")), devices={"node-1": Device("there", THERE, "kubevirt/h-1")}
    )
    assert kvm(snapshot).verdict == "ok"
    assert f"virt-handler on node node-1: {THERE}" in kvm(snapshot).evidence


def test_emulation_needs_no_kvm() -> None:
    emulating = kube_virt(configuration={"developerConfiguration": {"useEmulation": True}})
    snapshot = healthy(nodes=(node(room=NO_KVM),), kubevirts=(emulating,))
    assert kvm(snapshot).verdict == "ok"
    assert placement(snapshot).verdict == "ok"


def test_virt_handler_that_is_kept_off_by_a_taint_is_let_on_through_the_kubevirt_object() -> None:
    apart = node("node-2", labels={}, taints=[TAINT])
    daemon_set = workload("virt-handler", tolerations=[{"key": "gpu", "operator": "Exists"}])
    found = virt_handler(healthy(nodes=(node(), apart), handlers=(daemon_set,)))
    assert found.verdict == "problem"
    assert found.evidence == (
        "node node-2 has no virt-handler: it has the taint kubevirt=true:NoSchedule",
        "its DaemonSet does not tolerate kubevirt=true:NoSchedule",
    )
    (fix,) = found.fix
    assert fix.startswith("kubectl patch kubevirt kubevirt -n kubevirt --type=merge -p '")
    assert "never patch the DaemonSet" in fix
    (patch,) = json.loads(fix.split("'")[1])["spec"]["customizeComponents"]["patches"]
    assert patch["resourceName"] == "virt-handler"
    assert json.loads(patch["patch"])["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "gpu", "operator": "Exists"},
        TOLERATION,
    ]


@pytest.mark.parametrize(
    ("snapshot", "evidence"),
    [
        pytest.param(healthy(handlers=()), "there is no DaemonSet virt-handler", id="no DaemonSet"),
        pytest.param(
            healthy(component_pods=(component("virt-handler", ready=False),)),
            "virt-handler on node node-1 is not ready",
            id="not ready",
        ),
        pytest.param(healthy(component_pods=()), "node node-1 has no virt-handler", id="absent on a node"),
    ],
)
def test_virt_handler_that_is_not_there_is_a_problem(snapshot: Snapshot, evidence: str) -> None:
    found = virt_handler(snapshot)
    assert (found.verdict, found.evidence[0]) == ("problem", evidence)


def test_a_node_that_is_not_for_vms_needs_no_virt_handler() -> None:
    gpu = node("gpu-1", labels={}, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    assert virt_handler(healthy(nodes=(node(), gpu))).verdict == "ok"
    tolerant = {"spec": {"domain": {}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}}
    found = virt_handler(healthy(nodes=(node(), gpu), pools=(pool(provider={"kubevirt": tolerant}),)))
    assert found.evidence[0] == "node gpu-1 has no virt-handler: it has the taint gpu:NoSchedule"


BIG = {"requests": {"cpu": "2", "memory": "40Gi", "devices.kubevirt.io/kvm": "1"}}
FITS_AN_EMPTY_ONE = {"requests": {"memory": "30Gi"}}


@pytest.mark.parametrize(
    ("given", "resources", "evidence", "fix"),
    [
        pytest.param(
            node(),
            BIG,
            "node node-1 has 14Gi memory too little (26Gi memory free of 32Gi memory, 40Gi memory asked for)",
            "too small even when it is empty",
            id="nothing is big enough, and by how much",
        ),
        pytest.param(
            node(),
            FITS_AN_EMPTY_ONE,
            "node node-1 has 4Gi memory too little (26Gi memory free of 32Gi memory, 30Gi memory asked for)",
            "add nodes, or free some of node-1",
            id="nothing has room now",
        ),
        pytest.param(
            node(room=NO_KVM),
            {"requests": {"devices.kubevirt.io/kvm": "1"}},
            "node node-1 has no devices.kubevirt.io/kvm",
            "node-1 is nearest",
            id="no /dev/kvm",
        ),
        pytest.param(
            node(taints=[TAINT]),
            {},
            "node node-1 has the taint kubevirt=true:NoSchedule, which is not tolerated",
            f"the toleration {json.dumps(TOLERATION, separators=(',', ':'))}",
            id="a taint without a toleration",
        ),
        pytest.param(
            node(labels={}),
            {},
            "node node-1 has no label kubevirt.io/schedulable=true",
            "let virt-handler run on node-1",
            id="no label",
        ),
        pytest.param(
            node(is_cordoned=True), {}, "node node-1 is cordoned", "kubectl uncordon node-1", id="cordoned"
        ),
    ],
)
def test_a_vm_without_a_node_is_told_what_is_in_the_way(
    given: Node, resources: dict[str, object], evidence: str, fix: str
) -> None:
    waiting = unplaced(containers=[{"name": "compute", "resources": resources}])
    found = placement(healthy(nodes=(given,), pods=(waiting,)))
    assert found.verdict == "problem"
    assert found.evidence[0] == "virt-launcher-linux-0 has no node: 0/1 nodes are available"
    assert found.evidence[1].startswith(evidence)
    assert fix in "\n".join(found.fix)


def test_the_nearest_node_comes_first() -> None:
    small = {**ROOM, "memory": "8Gi"}
    snapshot = healthy(
        nodes=(node("a", room=small), node("b")),
        taken={},
        pods=(unplaced(containers=[{"name": "compute", "resources": BIG}]),),
    )
    assert [line.split()[1] for line in placement(snapshot).evidence[1:]] == ["b", "a"]


def test_a_pool_whose_vms_would_fit_nowhere_is_reported_beforehand() -> None:
    spec = {"domain": {"memory": {"guest": "64Gi"}, "cpu": {"cores": 4}}}
    found = placement(healthy(pools=(pool(provider={"kubevirt": {"spec": spec}}),)))
    assert found.verdict == "problem"
    assert found.evidence[0] == "a VM of pool linux would find no node, even an empty one"
    assert "64Gi memory asked for" in found.evidence[1]


def test_a_selector_and_an_affinity_that_no_node_meets_are_in_the_way() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    }
    wish = wish_of(unplaced(nodeSelector={"disk": "fast"}, affinity=affinity))
    assert [item.kind for item in obstacles(wish, node(), {})] == ["selector", "affinity"]
    fitting = node(labels={"disk": "fast", "zone": "a"})
    assert list(obstacles(wish, fitting, {})) == []


def test_an_image_of_a_vm_that_cannot_be_pulled_is_named() -> None:
    status = {
        "name": "volumeroot",
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}},
    }
    found = images(healthy(pods=(launcher(status={"containerStatuses": [status]}),)))
    assert (found.verdict, found.message) == ("problem", "images of 1 VM cannot be pulled")
    assert found.evidence == (
        "pod virt-launcher-linux-0: ImagePullBackOff of images.example/ubuntu:24.04: not found",
    )


def test_launchers_that_are_over_are_no_vms() -> None:
    found = images(healthy(pods=(launcher(), launcher("linux-1", status={"phase": "Succeeded"}))))
    assert (found.verdict, found.message) == ("ok", "no image of 1 VM is missing")


def test_a_handler_that_covers_everything_covers_every_taint() -> None:
    apart = node("node-2", labels={}, taints=[TAINT])
    daemon_set = workload("virt-handler", ready=1, tolerations=[{"operator": "Exists"}])
    found = virt_handler(healthy(nodes=(node(), apart), handlers=(daemon_set,)))
    assert found.evidence == ("node node-2 has no virt-handler",)


def test_one_node_that_could_take_a_vm_is_enough() -> None:
    small = node(room=ROOM | {"memory": "1Gi"})
    assert placement(healthy(nodes=(small, node("node-2")))).verdict == "ok"
    assert placement(healthy(nodes=(small,))).verdict == "problem"
