"""What is rarely found: parts that are fine beside one that is not, and what is not known yet."""

from typing import Any

import msgspec
import pytest
from tests.diagnose.snapshots import (
    GUEST_LOG,
    NAMESPACE,
    component,
    condition,
    healthy,
    launcher,
    node,
    own_pod,
    pool,
    unplaced,
    vm,
    vm_pool,
    vmi,
    workload,
)

from remuda.diagnose.decide.controller import controller, secret_keys
from remuda.diagnose.decide.guests import cold_start, guests
from remuda.diagnose.decide.kubevirt import operator
from remuda.diagnose.decide.metrics import metrics_server, prometheus
from remuda.diagnose.decide.nodes import placement, virt_handler
from remuda.diagnose.decide.scaling import configuration, rollout, scaling
from remuda.diagnose.measurements import Api, Component, Measurements
from remuda.diagnose.snapshot import SecretKeys, Snapshot
from remuda.model.manifests import Condition

CLASS = {"circleci": {"url": "https://circleci.example"}}


def no_runner(**fields: Any) -> Snapshot:
    return healthy(lead=None, **fields)


def said(console: str) -> Snapshot:
    return healthy(consoles={"linux-0": console})


def test_a_condition_of_a_deployment_that_is_no_failure_is_not_named() -> None:
    made = workload("remuda", NAMESPACE, ready=0)
    conditions = (
        Condition("Available", "False", "", "too few"),
        Condition("ReplicaFailure", "True", "", "quota"),
    )
    broken = msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=conditions))
    found = controller(no_runner(controllers=(broken,), pods=()))
    assert "Deployment remuda: quota" in found.evidence
    assert "too few" not in "".join(found.evidence)


def test_of_two_containers_only_the_one_that_is_not_ready_is_named() -> None:
    status = {
        "containerStatuses": [
            {"name": "fine", "ready": True, "state": {"running": {}}},
            {"name": "slow", "ready": False, "state": {"running": {}}},
        ]
    }
    found = controller(no_runner(pods=(own_pod(ready=False, status=status),)))
    assert [line for line in found.evidence if "runs and is not ready" in line] == [
        "pod remuda-x: container slow runs and is not ready: it left no log"
    ]


def test_a_secret_without_the_token_is_no_token() -> None:
    containers = [
        {"envFrom": [{"secretRef": {"name": "other"}}, {"secretRef": {"name": "circle"}}]},
        {"env": [{"name": "HOME", "value": "/"}]},
    ]
    snapshot = healthy(
        pools=(pool(source=CLASS),),
        controllers=(workload("remuda", NAMESPACE, containers=containers),),
        secrets={"circle": SecretKeys(("circle-token", "class-token")), "other": SecretKeys(("A",))},
    )
    (line,) = secret_keys(snapshot).evidence
    assert line.startswith("pool linux names no token for CircleCI")


@pytest.mark.parametrize(
    ("step", "reason", "fix"),
    [
        pytest.param(
            "start", "401 Unauthorized", "put the resource class token of this very class", id="refused"
        ),
        pytest.param(
            "start", "dial tcp: no such host", "let guests reach source.circleci.url", id="not reached"
        ),
        pytest.param(
            "install", "403 Forbidden", "put the resource class token", id="refused while it installs"
        ),
        pytest.param("nonesuch", "out of luck", "look at the whole console", id="a step nobody knows"),
    ],
)
def test_a_guest_that_failed_is_given_the_fix_of_what_it_says(step: str, reason: str, fix: str) -> None:
    found = guests(said(f"remuda-guest: FAILED step={step} reason={reason}"))
    assert found.evidence == (f"VM linux-0: failed at {step}: {reason}",)
    assert found.fix[0].startswith(fix)


def test_a_guest_that_is_between_two_steps_is_given_time() -> None:
    between = GUEST_LOG.partition("remuda-guest: step=start")[0]
    assert guests(said(between)).evidence == ()


def test_a_vm_whose_instance_does_not_run_is_no_guest() -> None:
    snapshot = healthy(
        vms=(vm(), vm("linux-1"), vm("linux-2")), vmis=(vmi(), vmi("linux-1", phase="Scheduling"))
    )
    assert "mean of 1 VM" in cold_start(snapshot).evidence[0]


def test_when_its_containers_started_stands_in_for_when_it_was_scheduled() -> None:
    forgotten = msgspec.convert(
        msgspec.to_builtins(vmi()) | {"status": {"phase": "Running", "nodeName": "node-1"}}, type(vmi())
    )
    (line, _) = cold_start(healthy(vmis=(forgotten,))).evidence
    assert "schedule 2 + pull 7 + " in line


def test_what_is_not_known_of_a_start_is_left_out() -> None:
    nothing = launcher(status={"phase": "Running", "conditions": [], "containerStatuses": []})
    (line, _) = cold_start(healthy(pods=(own_pod(), nothing))).evidence
    assert line == "pool linux, mean of 1 VM: 36 s = boot 26 + install 11"


def test_without_nodes_nothing_is_in_the_way_of_a_pod_but_that() -> None:
    refused = {
        "phase": "Pending",
        "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/0 nodes")],
    }
    pod = component("virt-operator", ready=False, spec={"nodeName": ""}, status=refused)
    found = operator(healthy(component_pods=(pod,), nodes=()))
    assert found.evidence == ("pod kubevirt/virt-operator-x has no node: 0/0 nodes",)


def test_of_two_components_only_the_one_that_is_down_is_named() -> None:
    up, down = (
        Component("Deployment", "monitoring", name, 1, ready) for name, ready in (("up", 1), ("down", 0))
    )
    for found in (
        prometheus(Measurements(0, prometheis=(up, down))),
        metrics_server(Measurements(0, api=Api(), servers=(up, down))),
    ):
        assert found.verdict == "problem"
        assert found.evidence == ("Deployment monitoring/down: 0 of 1 ready",)


def test_a_handler_that_should_run_on_more_nodes_than_are_seen_is_a_problem() -> None:
    made = workload("virt-handler", ready=1)
    short = msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, desired_number_scheduled=2)
    )
    found = virt_handler(healthy(handlers=(short,)))
    assert found.evidence == ("1 of 2 are ready",)


def test_a_pool_without_vms_says_nothing_about_nodes_and_one_with_a_selector_does() -> None:
    apart = node("node-2", labels={"disk": "fast"})
    here = pool("here", provider={"process": {"command": ["true"]}})
    assert virt_handler(healthy(nodes=(node(), apart), pools=(here,))).verdict == "ok"
    chosen = pool(provider={"kubevirt": {"spec": {"domain": {}, "nodeSelector": {"disk": "fast"}}}})
    found = virt_handler(healthy(nodes=(node(), apart), pools=(here, chosen)))
    assert found.evidence == ("node node-2 has no virt-handler",)
    assert placement(healthy(pools=(here,), pods=())).verdict == "ok"


def test_more_vms_than_are_worth_naming_are_counted() -> None:
    waiting = tuple(unplaced(f"linux-{number}") for number in range(30))
    found = placement(healthy(pods=waiting, nodes=()))
    named = [line for line in found.evidence if line.endswith("has no node: 0/1 nodes are available")]
    assert found.message == "30 VMs without a node"
    assert found.evidence[-1] == f"and {30 - len(named)} more wait"
    assert found.fix == ()


def test_a_node_that_would_take_a_vm_is_not_in_its_way() -> None:
    full = node("node-2", room={"cpu": "1", "memory": "1Gi", "pods": "110"})
    found = placement(healthy(pods=(unplaced(),), nodes=(node(), full)))
    assert [line.split()[1] for line in found.evidence[1:]] == ["node-2"]


def test_a_label_that_a_pool_asks_for_may_be_given_to_a_node() -> None:
    found = placement(healthy(pods=(unplaced(nodeSelector={"disk": "fast"}),)))
    assert found.evidence[1] == "node node-1 has no label disk=fast"
    assert found.fix[0].startswith("label node node-1 so, or change nodeSelector")


def test_a_pool_that_was_just_made_is_unknown() -> None:
    new = pool(status={"observedGeneration": 1, "conditions": []})
    found = configuration(healthy(pools=(new,)))
    assert (found.verdict, found.evidence) == ("unknown", ("not looked at yet: linux",))
    found = scaling(healthy(pools=(new,)))
    assert found.verdict == "unknown"
    assert found.evidence[0].startswith("pool linux: ")


def test_the_configuration_of_another_pool_makes_no_vm_old() -> None:
    other = vm_pool("windows", template="t9")
    assert rollout(healthy(vm_pools=(other, vm_pool()))).verdict == "ok"
    assert rollout(healthy(vm_pools=(other, vm_pool(template="t2")))).verdict == "problem"
