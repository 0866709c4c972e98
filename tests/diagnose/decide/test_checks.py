"""All is well, or something cannot be read: what holds of every check."""

import pytest
from tests.diagnose.snapshots import NAMESPACE, NOON, healthy, pool

from remuda.diagnose.decide import judge_kubevirt, judge_pools
from remuda.diagnose.snapshot import Snapshot

EVERYTHING = (
    "runnerpools", "deployments", "leases", "pods", "events", "secrets", "permissions", "virtualmachines",
    "virtualmachineinstances", "virtualmachinepools", "nodes", "kubevirts", "daemonsets", "kubevirt pods",
    "kubevirt deployments", "all pods", "discovery",
)  # fmt: skip


def test_where_all_is_well_every_check_says_so() -> None:
    findings = list(judge_pools(healthy()))
    assert {item.check: item.verdict for item in findings} == dict.fromkeys(
        [
            "controller", "configuration", "secrets", "permissions", "kubevirt", "operator", "virt-handler", "nodes",
            "kvm", "placement", "images", "guests", "cold-start", "demand", "scaling", "rollout",
        ],
        "ok",
    )  # fmt: skip
    assert not any(item.fix for item in findings)


def test_kubevirt_is_checked_without_any_pool() -> None:
    findings = list(judge_kubevirt(healthy(pools=(), vms=(), vmis=(), controllers=(), lead=None)))
    assert [item.check for item in findings] == [
        "kubevirt", "operator", "virt-handler", "nodes", "kvm", "placement",
    ]  # fmt: skip
    assert {item.verdict for item in findings} == {"ok"}


def test_kubevirt_is_no_matter_where_no_pool_has_vms() -> None:
    shell = pool("shell", source={"queue": {}}, provider={"process": {}})
    findings = list(judge_pools(healthy(pools=(shell,), kubevirts=(), served={}, nodes=())))
    assert "kubevirt" not in {item.check for item in findings}
    assert {item.verdict for item in findings} == {"ok"}


def test_only_the_pools_that_are_named_count() -> None:
    snapshot = healthy(pools=(pool(), pool("arm", max=0)))
    assert [item.verdict for item in judge_pools(snapshot) if item.check == "demand"] == ["problem"]
    assert [item.verdict for item in judge_pools(snapshot, ["linux"]) if item.check == "demand"] == ["ok"]


def test_an_empty_world_crashes_no_check() -> None:
    assert list(judge_pools(Snapshot(NOON, NAMESPACE)))
    assert list(judge_kubevirt(Snapshot(NOON, NAMESPACE)))


def test_what_cannot_be_read_is_unknown_and_never_a_problem() -> None:
    unread = dict.fromkeys(EVERYTHING, "403 Forbidden: no")
    blind = Snapshot(NOON, NAMESPACE, pools=(pool(),), unread=unread)
    findings = list(judge_pools(blind))
    assert {item.verdict for item in findings} == {"unknown"}
    assert {item.fix for item in findings if item.check == "nodes"} == {
        ("remuda rbac diagnose --namespace ci | kubectl apply -f -, and bind yourself to it",)
    }


@pytest.mark.parametrize("what", EVERYTHING)
def test_one_thing_that_cannot_be_read_makes_no_problem(what: str) -> None:
    snapshot = healthy(unread={what: "500 it broke"})
    assert not [item for item in judge_pools(snapshot) if item.verdict == "problem"]
