"""Why a pod is refused, finds no node, was preempted, killed or evicted."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tiers.clusters import NOW, container, deployment, named, owned_by, pod, sizes
from tests.tiers.why import GI, MI, asked, node, waiting, world

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.why_memory import Advice
from remuda.tiers.decide.why_pod import why_pod

SHOP = named("Namespace", "shop", labels={"tier": "4-aux"})
QUOTA = (
    'pods "web-1" is forbidden: exceeded quota: shop-quota, requested: requests.memory=1Gi,requests.cpu=1, used:'
    " requests.memory=15872Mi,requests.cpu=2, limited: requests.memory=16Gi,requests.cpu=8"
)


def refused(words: str, **spec: Any) -> dict[str, Any]:
    status = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": words}]}
    return deployment("web", **spec) | {"status": status}


def test_a_pod_over_the_quota_is_told_with_the_three_numbers(tmp_path: Path) -> None:
    [(rule, found, fix)] = asked(world(tmp_path, SHOP, refused(QUOTA)), "web")
    assert rule == "pod-over-quota"
    assert found == (
        "requests.memory: 15872Mi of 16Gi used, 1Gi asked for, 512Mi too much for ResourceQuota shop-quota, of tier 4-aux"
    )
    assert fix.startswith("free some of it, or raise quota of tier 4-aux in the TierPolicy")
    assert "labelled remuda.dev/own-quota=true" in fix


def test_the_event_of_its_replica_set_says_it_as_well_and_the_last_one_counts(tmp_path: Path) -> None:
    about = {"kind": "ReplicaSet", "namespace": "shop", "name": "web-1"}
    events = [
        named("Event", name, "shop", involvedObject=about, reason="FailedCreate", message=f"Error creating: {words}",
              lastTimestamp=f"2026-11-18T0{hour}:00:00Z")
        for name, words, hour in (("a", QUOTA, 8), ("b", QUOTA.replace("1Gi,", "2Gi,"), 9), ("c", QUOTA, 7))
    ]  # fmt: skip
    items = [
        deployment("web"),
        named("ReplicaSet", "web-1", "shop", "apps/v1", ownerReferences=owned_by("Deployment", "web")),
        *events,
    ]
    [(rule, found, fix)] = asked(world(tmp_path, *items, policies=()), "web")
    assert (rule, "2Gi asked for, 1536Mi too much" in found) == ("pod-over-quota", True)
    assert "tier" not in found
    assert "labelled - " not in fix


def test_what_is_not_refused_any_more_is_no_cause(tmp_path: Path) -> None:
    running = pod("web-1", ownerReferences=owned_by("Deployment", "web"))
    assert asked(world(tmp_path, refused(QUOTA, replicas=1), running, node()), "web") == []


@pytest.mark.parametrize(
    ("words", "rule", "found"),
    [
        pytest.param(
            'pods "web-1" is forbidden: failed quota: shop-quota: must specify requests.cpu for: app; requests.memory for: app',
            "pod-must-specify", "ResourceQuota shop-quota wants requests.cpu, requests.memory of every container", id="nothing gives requests",
        ),
        pytest.param(
            'pods "web-1" is forbidden: failed quota: q: must specify count/x', "pod-must-specify",
            "ResourceQuota q wants count/x of every container", id="something else",
        ),
        pytest.param(
            'pods "web-1" is forbidden: maximum memory usage per Container is 4Gi, but limit is 8Gi', "pod-refused",
            "maximum memory usage per Container is 4Gi, but limit is 8Gi", id="a LimitRange",
        ),
        pytest.param("exceeded quota: q, requested: x=??, used: x=1, limited: x=1", "pod-refused",
                     "exceeded quota: q, requested: x=??, used: x=1, limited: x=1", id="words that nobody understands"),
    ],
)  # fmt: skip
def test_other_refusals_are_told_apart(tmp_path: Path, words: str, rule: str, found: str) -> None:
    assert [each[:2] for each in asked(world(tmp_path, refused(words)), "web")] == [(rule, found)]


def test_a_pod_larger_than_any_node_is_told_by_its_default(tmp_path: Path) -> None:
    annotations = {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container app"
    }
    big = waiting(requests={"cpu": "5", "memory": "1Gi"}, annotations=annotations)
    [(rule, found, fix)] = asked(world(tmp_path, big, node(), node("n2", cpu="2")), "web")
    assert rule == "pod-too-big"
    assert found == (
        "it asks for 5 of cpu, a default that nobody wrote: 5 of app by the LimitRange, and the largest of 2 nodes that it may go"
        " to, n1, has 4"
    )
    assert fix.startswith("write a smaller request into the template")


def test_a_pod_larger_than_any_node_by_its_own_will(tmp_path: Path) -> None:
    [(rule, found, fix)] = asked(world(tmp_path, waiting(requests={"memory": "9Gi"}), node()), "web")
    assert (rule, found) == (
        "pod-too-big", "it asks for 9Gi of memory, and the largest of 1 node that it may go to, n1, has 8Gi",
    )  # fmt: skip
    assert fix == "ask for less, or add a larger node"


@pytest.mark.parametrize(
    ("priority", "words"),
    [(200_000, "its priority 200000 pushes nobody out"), (None, "with a PriorityClass")],
)
def test_a_pod_without_room_is_told_where_most_is_left(
    tmp_path: Path, priority: int | None, words: str
) -> None:
    taken = {"containers": [container("app", sizes({"cpu": "3"}))]}
    spec = {} if priority is None else {"priority": priority}
    items = [
        waiting(requests={"cpu": "2"}, spec=spec), node(), node("n2", cpu="3"), pod("a", spec=taken),
        pod("b", spec=taken | {"nodeName": "n2"}), pod("over", spec=taken, status={"phase": "Succeeded"}),
    ]  # fmt: skip
    [(rule, found, fix)] = asked(world(tmp_path, *items), "web")
    assert (rule, found) == (
        "pod-no-room", "it asks for 2 of cpu; of 2 nodes that it may go to n1 has the most left: 1 of 4",
    )  # fmt: skip
    assert words in fix


def test_a_node_full_of_pods_has_no_room(tmp_path: Path) -> None:
    small = node(room={"pods": "1"})
    [(rule, found, _)] = asked(world(tmp_path, waiting(), small, pod("a")), "web")
    assert (rule, "it asks for 1 of pods" in found) == ("pod-no-room", True)


TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def test_a_taint_that_is_not_tolerated_is_the_cause_and_never_a_soft_one(tmp_path: Path) -> None:
    soft = {"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}
    [(rule, found, fix)] = asked(world(tmp_path, waiting(), node(taints=[soft, TAINT])), "web")
    assert (rule, found) == ("pod-tainted", "team=a:NoSchedule on 1 node")
    assert fix == "tolerate team with effect NoSchedule or none, if it belongs there"
    [(rule, found, _)] = asked(world(tmp_path, waiting(), node(taints=[soft])), "web")
    assert (rule, found) == ("pod-unplaced", "0/1 nodes")


def test_a_node_that_is_cordoned_or_down_lets_nobody_in(tmp_path: Path) -> None:
    down = [{"type": "Ready", "status": "False"}]
    items = [waiting(), node(unschedulable=True), node("n2", conditions=down)]
    [(rule, found, fix)] = asked(world(tmp_path, *items), "web")
    assert (rule, found) == ("pod-tainted", "n1 cordoned; n2 not ready")
    assert fix == "uncordon a node, or see why none is ready"


@pytest.mark.parametrize(
    ("spec", "found", "hostname"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "it wants disk=ssd, and none of 1 node has that", False),
        ({"nodeSelector": {"kubernetes.io/hostname": "old"}}, "it wants kubernetes.io/hostname=old, and none of 1 node has that", True),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["old"]}]}]}}}},
            "it wants kubernetes.io/hostname In old, and none of 1 node has that", True,
        ),
    ],
)  # fmt: skip
def test_labels_that_no_node_has_are_named(
    tmp_path: Path, spec: dict[str, Any], found: str, hostname: bool
) -> None:
    [(rule, is_, fix)] = asked(world(tmp_path, waiting(spec=spec), node()), "web")
    assert (rule, is_) == ("pod-no-such-node", found)
    assert ("instead of old" in fix) == hostname


def test_an_affinity_that_a_node_meets_lets_a_pod_go_on(tmp_path: Path) -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    spec = {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    }
    [(rule, _, _)] = asked(world(tmp_path, waiting(spec=spec), node(labels={"disk": "ssd"})), "web")
    assert rule == "pod-unplaced"


def test_without_nodes_the_scheduler_is_quoted(tmp_path: Path) -> None:
    assert asked(world(tmp_path, waiting(words="no nodes available")), "web")[0][:2] == (
        "pod-unplaced",
        "no nodes available",
    )
    [(_, found, _)] = asked(world(tmp_path, waiting(words=""), named("Namespace", "shop")), "web")
    assert found == "Unschedulable"


CARD, MARK = {"feature.node.kubernetes.io/pci-10de.present": "true"}, {"nvidia.com/gpu.present": "true"}
SELECTS = {"nodeSelector": MARK}
ASKS = {"nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("labels", "room", "spec", "asks", "rule"),
    [
        pytest.param({}, {}, SELECTS, ASKS, "pod-gpu-no-card", id="no card"),
        pytest.param({}, {}, {}, ASKS, "pod-gpu-no-card", id="no card, and no selector"),
        pytest.param(CARD, {}, SELECTS, ASKS, "pod-gpu-not-marked", id="a card that is not marked"),
        pytest.param(CARD, ASKS, SELECTS, ASKS, "pod-gpu-not-marked", id="a card that is not marked though it is offered"),
        pytest.param(CARD, {}, SELECTS, {}, "pod-gpu-not-marked", id="selected alone"),
        pytest.param(CARD, {}, {}, ASKS, "pod-gpu-not-allocatable", id="a card of which nothing is offered"),
        pytest.param(CARD | MARK, {}, SELECTS, ASKS, "pod-gpu-not-allocatable", id="marked, and nothing offered"),
        pytest.param(MARK, {}, SELECTS, ASKS, "pod-gpu-not-allocatable", id="marked by hand, and nothing offered"),
        pytest.param(CARD | MARK, ASKS, SELECTS, ASKS, "pod-no-room", id="offered and taken"),
        pytest.param(CARD | MARK, ASKS, SELECTS | {"nodeSelector": {**MARK, "disk": "ssd"}}, ASKS, "pod-no-such-node", id="another label is what lacks"),
        pytest.param(CARD | MARK, {}, SELECTS, {}, "pod-unplaced", id="marked, and no GPU asked for"),
        pytest.param({}, {}, {}, {}, "pod-unplaced", id="no GPU wanted"),
    ],
)  # fmt: skip
def test_a_gpu_that_is_not_there_not_marked_and_not_offered_are_told_apart(
    tmp_path: Path,
    labels: dict[str, str],
    room: dict[str, str],
    spec: dict[str, Any],
    asks: dict[str, str],
    rule: str,
) -> None:
    taken = pod("other", spec={"containers": [container("app", sizes(ASKS))]})
    items = [waiting(requests=asks, spec=spec), node(labels=labels, room=room), taken]
    [(found, words, fix)] = asked(world(tmp_path, *items), "web")
    assert found == rule
    if rule.startswith("pod-gpu"):
        assert ("n1" in words) == (rule != "pod-gpu-no-card")
        assert fix


def test_a_gpu_is_also_selected_by_an_affinity_and_not_looked_at_where_the_policy_has_none(
    tmp_path: Path,
) -> None:
    match = {"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}
    terms = [{"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}, match]}]
    spec = {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    }
    items = [waiting(spec=spec), node(labels=CARD)]
    assert asked(world(tmp_path, *items), "web")[0][0] == "pod-gpu-not-marked"
    without = replace(DEFAULT_POLICY, gpu=None)
    assert asked(world(tmp_path, *items, policies=(without,)), "web")[0][0] == "pod-no-such-node"
    assert asked(world(tmp_path, *items, policies=()), "web")[0][0] == "pod-no-such-node"


def preempted(**rest: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "shop", "name": "low"}
    message = "Preempted by pod 1-2 on node n1"
    return named("Event", "e", "shop", involvedObject=about, reason="Preempted", message=message, **rest)


BY = {"related": {"kind": "Pod", "namespace": "core", "name": "high"}}
CORE = named("Namespace", "core", labels={"tier": "0-core"})


def test_a_pod_that_is_gone_was_preempted_by_somebody(tmp_path: Path) -> None:
    high = pod("high", "core", spec={"priority": 900_000})
    [(rule, found, fix)] = asked(world(tmp_path, SHOP, CORE, preempted(**BY), high), "low")
    assert (rule, found) == (
        "pod-preempted",
        "Pod core/high took its place on n1: priority 900000 of tier 0-core",
    )
    assert "preempts: false" in fix


def test_a_pod_on_its_way_out_says_what_it_had_itself(tmp_path: Path) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "m",
    }
    low = pod(
        "low",
        spec={"priority": 200_000},
        status={"conditions": [condition]},
        deletionTimestamp="2026-11-18T08:00:00Z",
    )
    [(rule, found, _)] = asked(world(tmp_path, SHOP, low), "low")
    assert (rule, found) == ("pod-preempted", "a pod of higher priority took its place on n1 against 200000")
    [(_, found, _)] = asked(world(tmp_path, SHOP, low, preempted(**BY)), "low")
    assert found == "Pod core/high took its place on n1 against 200000"


def test_a_pod_that_goes_for_another_reason_was_not_preempted(tmp_path: Path) -> None:
    gone = pod("low", status={"phase": "Failed", "reason": "NodeShutdown", "message": "was stopped"})
    assert asked(world(tmp_path, gone), "low") == [("pod-over", "it failed: NodeShutdown was stopped", "")]
    assert asked(world(tmp_path, pod("low", status={"phase": "Succeeded"})), "low") == [
        ("pod-over", "it succeeded", "")
    ]


def killed(limits: dict[str, str] | None = None, **rest: Any) -> dict[str, Any]:
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-18T08:00:00Z"}}
    statuses = [{"name": "app", "restartCount": 3, "lastState": ended}, {"name": "other", "restartCount": 1}]
    spec = {"containers": [container("app", sizes({}, limits or {"memory": "256Mi"}))]}
    return pod("web", spec=spec, status={"containerStatuses": statuses}, **rest)


ADVISED = ("shop", "Pod", "web", "app")


@pytest.mark.parametrize(
    ("advice", "rule", "words"),
    [
        (None, "pod-oom-killed", "container app was killed at its limit of 256Mi, 3 times, last at 2026-11-18T08:00:00Z"),
        (Advice(NOW, 512 * MI), "pod-oom-below-advice", "container app was killed at 256Mi; the review of 2026-11-18T09:00:00Z advises 512Mi, 3 times"),
        (Advice(NOW, 512 * MI, leaks=True), "pod-oom-leak", "by the review of 2026-11-18T09:00:00Z its memory rises until it is killed"),
        (Advice(NOW, 128 * MI), "pod-oom-killed", "the last review of sizes advises no more than that"),
        (Advice(NOW), "pod-oom-killed", "container app was killed at its limit of 256Mi, 3 times"),
    ],
)  # fmt: skip
def test_a_kill_for_memory_is_told_by_what_says_most(
    tmp_path: Path, advice: Advice | None, rule: str, words: str
) -> None:
    advices = {} if advice is None else {ADVISED: advice}
    [(found, text, fix), *_] = asked(world(tmp_path, killed(), advices=advices), "web")
    assert found == rule
    assert words in text
    assert fix


def test_a_kill_at_a_default_says_that_nobody_wrote_it(tmp_path: Path) -> None:
    text = "LimitRanger plugin set: cpu request for container app; memory limit for container app"
    [(rule, found, _), *_] = asked(
        world(tmp_path, killed(annotations={"kubernetes.io/limit-ranger": text})), "web"
    )
    assert (rule, "killed at 256Mi, the default" in found) == ("pod-oom-on-default", True)
    other = text.replace("memory limit for container app", "memory limit for container other")
    assert (
        asked(world(tmp_path, killed(annotations={"kubernetes.io/limit-ranger": other})), "web")[0][0]
        == "pod-oom-killed"
    )


def test_a_kill_without_a_limit_says_so(tmp_path: Path) -> None:
    [(_, found, _), *_] = asked(world(tmp_path, killed({"cpu": "1"})), "web")
    assert "killed at its limit of none of its own" in found


LOW = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki. Container app was using 307200Ki,"
    " request is 128Mi, has larger consumption of memory. "
)


@pytest.mark.parametrize(
    ("message", "words", "fix"),
    [
        (LOW, "n1 was low on memory: available 50Mi, threshold 100Mi; container app used 300Mi and requests 128Mi", "raise requests.memory of app to 300Mi or more"),
        ("The node was low on resource: memory.", "n1 was low on memory", "raise its requests to what it uses"),
        ("Pod was evicted", "its node was low on something", "raise its requests to what it uses"),
    ],
)  # fmt: skip
def test_an_eviction_is_told_with_what_was_left_and_used(
    tmp_path: Path, message: str, words: str, fix: str
) -> None:
    item = pod(
        "web", spec={"priority": 200_000}, status={"phase": "Failed", "reason": "Evicted", "message": message}
    )
    [(rule, found, how)] = asked(world(tmp_path, SHOP, item), "web")
    assert (rule, found) == ("pod-evicted", words)
    assert how.startswith(fix)
    assert "its priority 200000 is of tier 4-aux: a higher tier goes later; or give n1 more memory" in how


def test_a_pod_that_was_evicted_and_is_gone_is_told_by_its_event(tmp_path: Path) -> None:
    about = {"kind": "Pod", "namespace": "shop", "name": "web"}
    odd = LOW.replace("51200Ki", "much")
    event = named("Event", "e", "shop", involvedObject=about, reason="Evicted", message=odd)
    [(rule, found, _)] = asked(world(tmp_path, event), "web")
    assert (rule, "available much" in found) == ("pod-evicted", True)


def used(memory: dict[str, int], name: str = "web") -> dict[str, Any]:
    containers = [{"name": key, "usage": {"memory": str(value)}} for key, value in memory.items()]
    return named("PodMetrics", name, "shop", "metrics.k8s.io/v1beta1", containers=containers)


def test_a_running_pod_is_told_its_place_in_the_order_of_eviction(tmp_path: Path) -> None:
    spec = {"containers": [container("app", sizes({"memory": "256Mi"}))], "priority": 200_000}
    items = [
        SHOP,
        pod("web", spec=spec, status={"qosClass": "Burstable"}),
        pod("b", spec=spec | {"priority": 0}),
        used({"app": GI}, "b"),
        node(),
    ]
    runs, place = asked(world(tmp_path, *items, used({"app": 300 * MI})), "web")
    assert runs == ("pod-runs", "it runs on n1, Burstable, priority 200000, tier 4-aux", "")
    assert place[:2] == (
        "pod-evicted-next", "2 of 2 to go on n1: it uses 300Mi and requests 256Mi, 44Mi above, priority 200000 (tier 4-aux)",
    )  # fmt: skip
    assert place[2].startswith("raise requests.memory to 300Mi or more; a higher tier goes later")
    assert place[2].endswith("Pod shop/b goes first")
    _, place = asked(world(tmp_path, *items[:2], node(), used({"app": MI})), "web")
    assert "it goes first" in place[2]
    assert not place[2].startswith("raise")


def test_a_pod_that_was_not_measured_or_is_never_evicted_has_no_place(tmp_path: Path) -> None:
    assert [each[0] for each in asked(world(tmp_path, pod("web"), node()), "web")] == ["pod-runs"]
    critical = pod("web", spec={"priority": 2_000_001_000})
    assert [each[0] for each in asked(world(tmp_path, critical, used({"app": MI})), "web")] == ["pod-runs"]


def test_of_a_workload_the_pods_that_do_not_just_run_are_told(tmp_path: Path) -> None:
    owner = owned_by("StatefulSet", "db")
    items = [
        named("StatefulSet", "db", "shop", "apps/v1", spec={"template": {"spec": {"containers": []}}, "replicas": 2}),
        pod("db-0", ownerReferences=owner), waiting("db-1", requests={"cpu": "9"}, ownerReferences=owner), node(),
    ]  # fmt: skip
    assert [each[0] for each in asked(world(tmp_path, *items), "db")] == ["pod-too-big"]


def test_what_nobody_knows_has_no_answer(tmp_path: Path) -> None:
    assert why_pod(world(tmp_path, pod("web")), "shop", "absent") is None
    event = named(
        "Event",
        "e",
        "shop",
        involvedObject={"kind": "Pod", "namespace": "shop", "name": "x"},
        reason="FailedScheduling",
    )
    assert why_pod(world(tmp_path, event), "shop", "x") is None
