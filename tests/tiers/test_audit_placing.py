"""What an audit of tiers finds about where pods may go, and about nodes."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tiers.clusters import (
    FINE,
    audited,
    container,
    deployment,
    found_in,
    governed,
    named,
    node,
    owned_by,
    sizes,
    snapshot,
    tiered,
)

from remuda.model.findings import Finding
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.output.findings import describe
from remuda.tiers.decide.audit import audit

HOST = "kubernetes.io/hostname"
PRESENT = "nvidia.com/gpu.present"
DEVICE = "feature.node.kubernetes.io/pci-10de.present"
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}


def affinity(key: str, operator: str, values: list[str], part: str = "matchExpressions") -> dict[str, Any]:
    term = {part: [{"key": key, "operator": operator} | ({"values": values} if values else {})]}
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        }
    }


def template(**spec: Any) -> dict[str, Any]:
    return deployment("web", pod_spec={"containers": [container("app", FINE)], **spec}, replicas=0)


def gpu_template(**spec: Any) -> dict[str, Any]:
    asked = sizes({"cpu": "50m", "memory": "64Mi"}, {"memory": "128Mi", "nvidia.com/gpu": "1"})
    return deployment("web", pod_spec={"containers": [container("app", asked)], **spec}, replicas=0)


def card(name: str = "gpu-1", **rest: Any) -> dict[str, Any]:
    labels = {DEVICE: "true", PRESENT: "true"} | rest.pop("labels", {})
    return node(name, labels=labels, spec={"taints": [TAINT]}, offers={"nvidia.com/gpu": "1"}) | rest


def found_of(tmp_path: Path, *items: dict[str, Any]) -> list[Finding]:
    return found_in(audited(tmp_path, *governed("shop"), *items))


# hostnames


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"nodeSelector": {HOST: "n1"}}, "spec.nodeSelector", id="a selector"),
        pytest.param({"nodeName": "n1"}, "spec.nodeName", id="a node by name"),
        pytest.param(affinity(HOST, "In", ["n1"]), "spec.affinity.nodeAffinity", id="an affinity"),
        pytest.param(affinity("metadata.name", "In", ["n1"], "matchFields"), "spec.affinity.nodeAffinity", id="a field"),
    ],
)  # fmt: skip
def test_a_workload_that_is_pinned_to_a_hostname_is_told(
    tmp_path: Path, spec: dict[str, Any], field: str
) -> None:
    (found,) = found_of(tmp_path, template(**spec))
    assert (found.severity, found.rule, found.subject) == ("warning", "pinned-to-host", "Deployment shop/web")
    assert (found.field, describe(found).found) == (field, "only on n1")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeSelector": {"disk": "ssd"}}, id="a label"),
        pytest.param(affinity("disk", "In", ["ssd"]), id="an affinity to a label"),
        pytest.param(affinity(HOST, "Exists", []), id="any hostname"),
        pytest.param({}, id="nothing"),
    ],
)
def test_what_selects_by_labels_is_not_pinned(tmp_path: Path, spec: dict[str, Any]) -> None:
    assert found_of(tmp_path, template(**spec)) == []


def test_pods_of_a_daemon_set_are_placed_by_their_controller_and_not_pinned(tmp_path: Path) -> None:
    placed = tiered(
        "d-1",
        ownerReferences=owned_by("DaemonSet", "d"),
        spec=affinity("metadata.name", "In", ["n1"], "matchFields"),
    )
    assert found_of(tmp_path, placed) == []
    spec = {"template": {"spec": {"containers": [container("app", FINE)]}}}
    daemons = named("DaemonSet", "d", "shop", "apps/v1", spec=spec, status={"desiredNumberScheduled": 1})
    assert found_of(tmp_path, placed, daemons) == []
    spec["template"]["spec"] |= {"nodeSelector": {HOST: "n1"}}  # type: ignore[dict-item]
    assert [each.rule for each in found_of(tmp_path, placed, daemons)] == ["pinned-to-host"]


def test_a_pod_of_nobody_is_on_a_node_without_being_pinned(tmp_path: Path) -> None:
    assert found_of(tmp_path, tiered("web")) == []
    assert [each.rule for each in found_of(tmp_path, tiered("web", spec={"nodeSelector": {HOST: "n1"}}))] == [
        "pinned-to-host"
    ]


def test_what_stays_off_gpu_nodes_by_hostname_is_told_what_to_say(tmp_path: Path) -> None:
    (found,) = found_of(tmp_path, card(), template(**affinity(HOST, "NotIn", ["gpu-1", "n9"])))
    assert (found.severity, found.rule) == ("warning", "off-gpu-by-host")
    assert describe(found).expected == "nvidia.com/gpu.present NotIn true"
    (other,) = found_of(tmp_path, card(), template(**affinity(HOST, "NotIn", ["n9"])))
    assert (other.severity, other.rule) == ("info", "off-hosts")


def test_without_gpus_to_look_after_a_hostname_is_one_like_any_other(tmp_path: Path) -> None:
    policy = replace(DEFAULT_POLICY, gpu=None)
    made = audited(
        tmp_path,
        *governed("shop"),
        card(),
        template(**affinity(HOST, "NotIn", ["gpu-1"])),
        policies=(policy,),
    )
    assert [each.rule for each in found_in(made)] == ["off-hosts"]


# GPUs


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeSelector": {PRESENT: "true"}, "tolerations": [TOLERATION]}, id="a selector"),
        pytest.param(affinity(PRESENT, "In", ["true"]) | {"tolerations": [TAINT]}, id="an affinity and an equal toleration"),
        pytest.param(affinity(PRESENT, "Exists", []) | {"tolerations": [{"operator": "Exists"}]}, id="any value, and all tolerated"),
    ],
)  # fmt: skip
def test_a_pod_with_a_gpu_that_selects_and_tolerates_is_as_it_should_be(
    tmp_path: Path, spec: dict[str, Any]
) -> None:
    assert found_of(tmp_path, card(), gpu_template(**spec)) == []


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"nodeSelector": {PRESENT: "false"}}, id="another value"),
        pytest.param(affinity("disk", "In", ["ssd"]), id="another label"),
        pytest.param(affinity(PRESENT, "NotIn", ["true"]), id="the contrary"),
    ],
)
def test_a_pod_with_a_gpu_that_does_not_select_the_feature_is_told(
    tmp_path: Path, spec: dict[str, Any]
) -> None:
    (found,) = found_of(tmp_path, card(), gpu_template(tolerations=[TOLERATION], **spec))
    assert (found.severity, found.rule) == ("warning", "gpu-not-selected")
    assert describe(found).expected == "nvidia.com/gpu.present=true in nodeSelector"


def test_a_toleration_of_another_effect_does_not_match(tmp_path: Path) -> None:
    selects = {"nodeSelector": {PRESENT: "true"}}
    (found,) = found_of(
        tmp_path, card(), gpu_template(**selects, tolerations=[TAINT | {"effect": "NoSchedule"}])
    )
    assert (found.severity, found.rule) == ("warning", "gpu-not-tolerated")
    assert describe(found).found == (
        "no toleration of nvidia.com/gpu=true:PreferNoSchedule: one with effect NoSchedule does not match it"
    )
    assert describe(found).fix == "add the toleration, or remove effect NoSchedule of the one that is there"
    (none,) = found_of(
        tmp_path,
        card(),
        gpu_template(**selects, tolerations=[{"key": "other", "operator": "Exists", "effect": "NoSchedule"}]),
    )
    assert describe(none).found == "no toleration of nvidia.com/gpu=true:PreferNoSchedule"


def test_pods_tell_what_admission_added_to_their_template(tmp_path: Path) -> None:
    owner: dict[str, Any] = {
        "ownerReferences": owned_by("ReplicaSet", "web-5d"),
        "labels": {"pod-template-hash": "5d"},
    }
    asked = sizes({"cpu": "50m", "memory": "64Mi"}, {"memory": "128Mi", "nvidia.com/gpu": "1"})
    made = tiered(
        "web-1",
        containers=[container("app", asked)],
        spec={"nodeSelector": {PRESENT: "true"}, "tolerations": [TOLERATION]},
        **owner,
    )
    assert found_of(tmp_path, card(), gpu_template(nodeSelector={PRESENT: "true"}), made) == []


def test_a_pod_on_gpu_nodes_without_a_gpu_is_told_unless_it_is_on_every_node(tmp_path: Path) -> None:
    (found,) = found_of(tmp_path, card(), template(nodeSelector={PRESENT: "true"}))
    assert (found.severity, found.rule) == ("info", "gpu-not-requested")
    spec = {"template": {"spec": {"containers": [container("app", FINE)], "nodeSelector": {PRESENT: "true"}}}}
    assert found_of(tmp_path, card(), named("DaemonSet", "d", "shop", "apps/v1", spec=spec)) == []


def test_runners_with_gpus_are_left_alone(tmp_path: Path) -> None:
    asked = sizes({"cpu": "50m", "memory": "64Mi"}, {"memory": "128Mi", "nvidia.com/gpu": "1"})
    runner = tiered(
        "r", containers=[container("app", asked)], labels={"actions.github.com/scale-set-name": "x"}
    )
    assert [each.rule for each in found_of(tmp_path, card(), runner)] == ["own-priority-class"]


def plain(**rest: Any) -> dict[str, Any]:
    return node("n1", **rest)


@pytest.mark.parametrize(
    ("item", "rules"),
    [
        pytest.param(card(), [], id="as it should be"),
        pytest.param(card(spec={"taints": []}), ["gpu-node-untainted"], id="no taint"),
        pytest.param(card(spec={"taints": [TAINT | {"effect": "NoSchedule"}]}), ["gpu-node-untainted"], id="a taint of another effect"),
        pytest.param(card(labels={PRESENT: "false"}), ["gpu-node-unlabelled"], id="no feature label"),
        pytest.param(
            node("gpu-1", labels={DEVICE: "true", PRESENT: "true"}, spec={"taints": [TAINT]}), ["gpu-not-offered"], id="nothing offered"
        ),
        pytest.param(
            node("gpu-1", offers={"nvidia.com/gpu": "2"}, spec={"taints": [TAINT]}), ["gpu-node-unlabelled"],
            id="without feature discovery",
        ),
        pytest.param(plain(spec={"taints": [TAINT]}), ["gpu-taint-without-device"], id="a taint without a card"),
        pytest.param(plain(labels={DEVICE: "false"}, spec={"taints": [TAINT | {"effect": "NoSchedule"}]}), ["gpu-taint-without-device"],
                     id="of any effect"),
        pytest.param(plain(labels={DEVICE: "false"}), [], id="no card"),
    ],
)  # fmt: skip
def test_how_nodes_with_gpus_are_marked(tmp_path: Path, item: dict[str, Any], rules: list[str]) -> None:
    found = found_of(tmp_path, item)
    assert [(each.severity, each.rule) for each in found] == [("warning", rule) for rule in rules]


def test_a_taint_of_another_effect_is_told(tmp_path: Path) -> None:
    (found,) = found_of(tmp_path, card(spec={"taints": [TAINT | {"effect": "NoSchedule"}]}))
    assert describe(found).found.endswith("and nvidia.com/gpu=true:NoSchedule")


# memory of nodes


def large(name: str, memory: str, limit: str = "", **rest: Any) -> dict[str, Any]:
    size = sizes({"cpu": "50m", "memory": memory}, {"memory": limit} if limit else None)
    return tiered(name, containers=[container("app", size)], **rest)


def test_memory_limits_beyond_what_a_node_has_are_told_with_who_goes_first(tmp_path: Path) -> None:
    pods = [large(f"web-{n}", "1Gi", "4Gi") for n in range(5)]
    made = audited(
        tmp_path,
        *governed("shop"),
        node(memory="8Gi"),
        *pods,
        large("over", "1Gi", "4Gi", status={"phase": "Failed"}),
    )
    (found,) = [each for each in found_in(made) if each.rule == "memory-overcommitted"]
    assert (found.severity, found.subject) == ("warning", "Node n1")
    assert describe(found).found == "20Gi of 8Gi, 250 %; requested are 5Gi"
    assert describe(found).fix.endswith("the first to go are shop/web-0, shop/web-1, shop/web-2 and 2 more")
    (one,) = made.nodes
    assert (one.pods, one.requested, one.limits, one.unlimited, one.memory) == (
        5,
        5 * 2**30,
        20 * 2**30,
        0,
        8 * 2**30,
    )


def test_pods_without_a_memory_limit_are_counted(tmp_path: Path) -> None:
    whole = large("w", "1Gi", spec={"resources": sizes({"cpu": "1", "memory": "1Gi"}, {"memory": "9Gi"})})
    made = audited(tmp_path, *governed("shop"), node(memory="8Gi"), large("open", "1Gi"), whole)
    (found,) = [each for each in found_in(made) if each.rule == "memory-overcommitted"]
    assert ", and 1 pod without a limit;" in describe(found).found


@pytest.mark.parametrize("memory", ["20Gi", "0"], ids=["just enough", "a node that says nothing"])
def test_limits_within_what_a_node_has_are_fine(tmp_path: Path, memory: str) -> None:
    made = audited(
        tmp_path, *governed("shop"), node(memory=memory), *(large(f"web-{n}", "1Gi", "4Gi") for n in range(5))
    )
    assert [each.rule for each in found_in(made) if each.rule == "memory-overcommitted"] == []


def test_nothing_is_said_of_memory_where_pods_were_not_read(tmp_path: Path) -> None:
    made = audit(snapshot(tmp_path, node(), *governed("shop")), (DEFAULT_POLICY,), 0)
    assert [each.rule for each in made.findings if each.rule == "memory-overcommitted"] == []


def metrics(name: str, memory: str) -> dict[str, Any]:
    return named(
        "PodMetrics", name, "shop", "metrics.k8s.io/v1beta1",
        containers=[{"name": "app", "usage": {"memory": memory}}],
    )  # fmt: skip


def test_who_goes_before_a_lower_tier_for_using_more_than_it_requests_is_told(tmp_path: Path) -> None:
    low = tiered("low", "aux", "4-aux")
    greedy = [
        large(f"web-{n}", "1Gi", "4Gi", ownerReferences=owned_by("StatefulSet", "web")) for n in range(2)
    ]
    calm = large("calm", "1Gi", "4Gi")
    used = [metrics("web-0", "1500Mi"), metrics("web-1", "1300Mi"), metrics("calm", "1Gi")]
    theirs = named(
        "PodMetrics",
        "low",
        "aux",
        "metrics.k8s.io/v1beta1",
        containers=[{"name": "app", "usage": {"memory": "1Mi"}}],
    )
    made = audited(tmp_path, *governed("shop"), *governed("aux", "4-aux"), low, *greedy, calm, *used, theirs)
    (found,) = found_in(made)
    assert (found.severity, found.rule, found.subject) == (
        "warning",
        "evicted-before-lower-tier",
        "StatefulSet shop/web",
    )
    assert (
        describe(found).found == "2 pods; web-0 uses 1.46Gi of 1Gi requested, and goes before aux/low on n1"
    )
    assert [rank.pod.name for rank in made.nodes[0].order] == ["web-0", "web-1", "low", "calm"]


def test_who_is_of_the_lowest_tier_or_of_none_is_not_told(tmp_path: Path) -> None:
    greedy = large("web-0", "1Gi", "4Gi")
    calm = large("calm", "1Gi", "4Gi")
    used = [metrics("web-0", "1500Mi"), metrics("calm", "1Gi")]
    assert found_in(audited(tmp_path, *governed("shop"), greedy, calm, *used)) == []
    made = audited(
        tmp_path,
        named("Namespace", "shop"),
        *governed("x"),
        greedy,
        tiered("calm", spec={"priority": 1}),
        *used,
    )
    assert [each.rule for each in found_in(made)] == ["no-tier"]


# quotas and the cluster


def test_quotas_that_promise_more_than_the_cluster_has_are_told(tmp_path: Path) -> None:
    own = named(
        "ResourceQuota",
        "own",
        "a",
        spec={"hard": {"requests.memory": "1Gi"}},
        status={"hard": {"requests.memory": "1Gi"}},
    )
    scoped = named(
        "ResourceQuota",
        "s",
        "b",
        spec={"hard": {"memory": "999Gi"}, "scopes": ["BestEffort"]},
        status={"hard": {"memory": "9Gi"}},
    )
    made = audited(
        tmp_path, *governed("a"), *governed("b"), own, scoped, node("n1", "16Gi"), node("n2", "16Gi")
    )
    (found,) = found_in(made)
    assert (found.severity, found.rule, found.subject) == ("info", "quotas-above-cluster", "cluster")
    assert describe(found).found == "33Gi memory of 32Gi"
    more = audited(
        tmp_path, *governed("a"), *governed("b"), node("n1", "64Gi", offers={"cpu": "31", "pods": "10"})
    )
    assert describe(found_in(more)[0]).found == "32 CPU of 31, 60 pods of 10"
