"""Why a node is short of memory, and why a namespace has the tier it has."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tiers.clusters import NOW, container, named, pod, sizes
from tests.tiers.why import GI, MI, about_namespace, about_node, causes, node, world

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.why_namespace import why_namespace
from remuda.tiers.decide.why_node import why_node
from remuda.tiers.decide.why_world import World
from remuda.tiers.observe.files import read_files

SHOP = named("Namespace", "shop", labels={"tier": "4-aux"})
PRESSED = [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "True"}]


def measured(
    tmp_path: Path, working_set: int | None, of_pods: dict[str, int], *items: dict[str, Any], **system: int
) -> World:
    """A cluster of objects and what the kubelet of n1 says."""
    stats = {
        "node": {
            "nodeName": "n1",
            "memory": {} if working_set is None else {"workingSetBytes": working_set},
            "systemContainers": [
                {"name": name, "memory": {"workingSetBytes": size}} for name, size in system.items()
            ],
        },
        "pods": [
            {"podRef": {"namespace": "shop", "name": name}, "memory": {"workingSetBytes": size}}
            for name, size in of_pods.items()
        ],
    }
    (tmp_path / "summary.json").write_text(json.dumps(stats))
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = read_files([tmp_path], NOW)
    assert found.problems == ()
    return World(found.snapshot, (DEFAULT_POLICY,))


def test_what_is_used_beside_the_pods_is_told_with_who_uses_it(tmp_path: Path) -> None:
    big = node(capacity={"memory": "9Gi"}, conditions=PRESSED)
    of = measured(
        tmp_path, 7 * GI, {"a": 512 * MI, "b": 512 * MI}, SHOP, named("Namespace", "free"), big, pod("a"), pod("b"),
        kubelet=256 * MI, runtime=GI, pods=GI, odd=0,
    )  # fmt: skip
    [first, *_] = about_node(of)
    assert first[:2] == (
        "node-beyond-pods",
        "6Gi of 7Gi are beside the pods: kubelet 256Mi, runtime 1Gi; kernel and active page cache about 4.75Gi; pods use 1Gi",
    )
    assert first[2].startswith("look at runtime: systemctl status on the node; for the cache, sync; echo 1 >")
    assert (found := why_node(of, "n1")) is not None
    assert found[0].severity == "error"


def test_pods_of_no_tier_are_told_apart(tmp_path: Path) -> None:
    of = measured(tmp_path, 4 * GI, {"a": GI}, named("Namespace", "shop"), node(), pod("a"))
    [(rule, found, fix), *_] = about_node(of)
    assert rule == "node-beyond-pods"
    assert found.endswith("pods use 1Gi, of these 1Gi by pods of no tier")
    assert fix.startswith("for the cache")
    exact = measured(tmp_path, 4 * GI, {"a": GI}, SHOP, node(), pod("a"), kubelet=3 * GI)
    assert "page cache" not in about_node(exact)[0][1]
    assert "sync" not in about_node(exact)[0][2]


def test_a_node_whose_pods_use_it_says_which(tmp_path: Path) -> None:
    wide = {"containers": [container("app", sizes({"memory": "4Gi"}))]}
    items = [SHOP, node(), pod("a", spec=wide), pod("b"), pod("c")]
    of = measured(tmp_path, 4 * GI, {"a": 3 * GI, "b": 512 * MI}, *items)
    [(rule, found, fix), *_] = about_node(of)
    assert (rule, found) == (
        "node-pods-large", "pods use 3.5Gi of 4Gi: the largest are shop/a (3Gi), shop/b (512Mi), shop/c (0)",
    )  # fmt: skip
    assert fix == "remuda rightsize review for those that use more than they request: 1 pod"
    empty = about_node(measured(tmp_path, 0, {}, node()))
    assert empty[0][:2] == ("node-pods-large", "pods use 0 of 0: the largest are none")


@pytest.mark.parametrize("has_summary", [True, False])
def test_a_node_that_was_not_measured_says_how_to(tmp_path: Path, has_summary: bool) -> None:
    of = measured(tmp_path, None, {}, node()) if has_summary else world(tmp_path, node())
    [(rule, found, fix), *_] = about_node(of)
    assert rule == "node-not-measured"
    assert ("kubelet says nothing" in found) == has_summary
    assert "/api/v1/nodes/n1/proxy/stats/summary" in fix


def test_pods_that_are_over_hold_disk_and_no_memory(tmp_path: Path) -> None:
    over = pod("old", status={"phase": "Failed"})
    found = about_node(world(tmp_path, node(), over, pod("else", spec={"nodeName": "n2"})))
    assert found[-1][:2] == ("node-dead-containers", "1 pod of it ended")
    assert found[-1][2].endswith("frees disk, not memory")


def test_what_an_audit_finds_of_a_node_is_told_as_well(tmp_path: Path) -> None:
    wide = {"containers": [container("app", sizes({}, {"memory": "20Gi"}))]}
    found = about_node(world(tmp_path, SHOP, node(), pod("a", spec=wide)))
    assert any("20Gi" in each[1] for each in found[1:])


def test_a_node_that_is_not_there_has_no_answer(tmp_path: Path) -> None:
    assert why_node(world(tmp_path, node()), "n2") is None


@pytest.mark.parametrize(
    ("name", "labels", "fields", "words"),
    [
        ("shop", {"tier": "4-aux"}, {}, "tier 4-aux of TierPolicy default: its label tier is 4-aux"),
        ("0-core-x", {}, {}, "tier 0-core of TierPolicy default: its name begins with 0-core"),
        ("shop", {}, {"default_tier": "3-edge"}, "tier 3-edge of TierPolicy default: it says none, and 3-edge is the defaultTier"),
        ("0-core-x", {"tier": "4-aux"}, {}, "its label tier is 4-aux; its name begins with 0-core, which does not count beside a label"),
        ("shop", {"tier": "4-aux", "remuda.dev/tier": "0-core"}, {}, "its label remuda.dev/tier is 0-core; its label tier says 4-aux, which does not count"),
    ],
)  # fmt: skip
def test_a_namespace_says_its_tier_and_by_what(
    tmp_path: Path, name: str, labels: dict[str, str], fields: dict[str, Any], words: str
) -> None:
    policy = replace(DEFAULT_POLICY, **fields)
    found = about_namespace(
        world(tmp_path, named("Namespace", name, labels=labels), policies=(policy,)), name
    )
    assert found[0][0] == "namespace-tier"
    assert found[0][1].endswith(words)


@pytest.mark.parametrize(
    ("labels", "policies", "words"),
    [
        ({}, (DEFAULT_POLICY,), "no label remuda.dev/tier or tier, no tier in its name, and no defaultTier in TierPolicy default"),
        ({"tier": "gold"}, (DEFAULT_POLICY,), "its label tier is gold, and TierPolicy default has no such tier"),
        ({}, (DEFAULT_POLICY, replace(DEFAULT_POLICY, name="b")), "TierPolicies b, default all claim it"),
        ({}, (replace(DEFAULT_POLICY, excluded=("shop",)),), "no TierPolicy is for shop"),
        ({}, (), "no TierPolicy is for shop"),
    ],
)  # fmt: skip
def test_a_namespace_without_a_tier_says_why(
    tmp_path: Path, labels: dict[str, str], policies: Any, words: str
) -> None:
    of = world(tmp_path, named("Namespace", "shop", labels=labels), policies=policies)
    [(rule, found, fix)] = about_namespace(of)
    assert (rule, found) == ("namespace-no-tier", words)
    assert fix.startswith("kubectl label namespace shop ")


def test_what_quotas_leave_is_told_and_what_is_not_as_the_tier_says(tmp_path: Path) -> None:
    hard = {"requests.cpu": "8", "pods": "20"}
    quota = named("ResourceQuota", "shop-quota", "shop", spec={"hard": hard},
                  status={"hard": hard, "used": {"requests.cpu": "8", "pods": "3"}})  # fmt: skip
    of = world(tmp_path, SHOP, quota)
    found = why_namespace(of, "shop")
    assert [each[:2] for each in causes(found)[-2:]] == [
        ("namespace-headroom", "pods: 3 of 20 used, 17 left by ResourceQuota shop-quota"),
        ("namespace-headroom", "requests.cpu: 8 of 8 used, 0 left by ResourceQuota shop-quota"),
    ]
    assert found is not None
    assert [each.severity for each in found[-2:]] == ["info", "warning"]
    assert "quota-differs" in {each.rule for each in found}


def test_a_namespace_that_is_not_there_has_no_answer(tmp_path: Path) -> None:
    assert why_namespace(world(tmp_path, SHOP), "absent") is None
