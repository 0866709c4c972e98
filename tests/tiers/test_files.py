"""Files of a cluster, read into what an audit of tiers looks at."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.tiers.clusters import NOW, container, deployment, named, owned_by, pod, read, sizes, snapshot

from remuda.model.pods import Taint
from remuda.model.times import read_instant
from remuda.model.workloads import WorkloadId
from remuda.tiers.observe.files import read_files
from remuda.tiers.snapshot import (
    EVENTS,
    NAMESPACES,
    QUOTAS,
    SUMMARIES,
    USAGE,
    WORKLOADS,
    Autoscaler,
    ContainerState,
    Defaulted,
    Event,
    LimitRangeItem,
    NodeMemory,
    PodMemory,
    Snapshot,
)

GIB = 1024**3
MIB = 1024**2
SIZES = sizes({"cpu": "100m", "memory": "1Gi"}, {"memory": "2Gi"})


def of_pod(tmp_path: Path, name: str, *items: dict[str, Any]) -> Any:
    return next(each for each in snapshot(tmp_path, *items).pods if each.name == name)


def of_workload(tmp_path: Path, item: dict[str, Any], *others: dict[str, Any]) -> Any:
    (made,) = (
        each
        for each in snapshot(tmp_path, item, *others).workloads
        if each.id == (item["metadata"]["namespace"], item["kind"], item["metadata"]["name"])
    )
    return made


def test_namespaces_come_with_their_labels_and_without_those_on_their_way_out(tmp_path: Path) -> None:
    found = snapshot(
        tmp_path,
        named("Namespace", "shop", labels={"tier": "3-edge"}),
        named("Namespace", "gone", deletionTimestamp="2026-11-18T08:00:00Z"),
        named("Namespace", "bare"),
    )
    assert found.namespaces == {"bare": {}, "shop": {"tier": "3-edge"}}


def test_a_pod_is_read_with_all_that_a_tier_says_something_about(tmp_path: Path) -> None:
    written = pod(
        "web-1",
        labels={"app": "web"},
        annotations={
            "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container app; memory limit for"
            " container app; cpu request for init container first"
        },
        creationTimestamp="2026-11-18T08:00:00Z",
        spec={
            "containers": [container("app", SIZES)],
            "initContainers": [container("first"), container("beside", restartPolicy="Always")],
            "priorityClassName": "tier-3-edge",
            "priority": 300_000,
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
        status={"qosClass": "Burstable"},
    )
    made = of_pod(tmp_path, "web-1", written)
    assert (made.id, made.node, made.phase, made.qos) == ("shop/web-1", "n1", "Running", "Burstable")
    assert made.owner == WorkloadId("shop", "Pod", "web-1")
    assert made.created == read_instant("2026-11-18T08:00:00Z")
    first, beside, app = made.spec.containers.all
    assert (first.is_init, first.lasts) == (True, False)
    assert (beside.is_sidecar, beside.lasts) == (True, True)
    assert (app.requests, app.limits) == ({"cpu": 100, "memory": GIB}, {"memory": 2 * GIB})
    assert made.spec.containers.requests == {"cpu": 100, "memory": GIB}
    assert (made.spec.priority_class, made.spec.priority) == ("tier-3-edge", 300_000)
    assert made.spec.placement.node_selector == {"disk": "ssd"}
    assert made.spec.placement.tolerations[0].key == "gpu"
    assert made.defaulted == (
        Defaulted("app", "request", ("cpu", "memory")),
        Defaulted("app", "limit", ("memory",)),
        Defaulted("first", "request", ("cpu",)),
    )
    assert made.runs
    assert made.states == ()


def test_what_the_pod_as_a_whole_asks_for_is_kept_beside_what_its_containers_do(tmp_path: Path) -> None:
    made = of_pod(
        tmp_path, "web", pod("web", spec={"resources": sizes(limits={"cpu": "1", "memory": "1Gi"})})
    )
    assert made.spec.containers.pod.asks == {"cpu": 1000, "memory": GIB}
    assert made.spec.containers.requests == {"cpu": 1000, "memory": GIB}


def test_hard_and_soft_affinities_to_nodes_are_read(tmp_path: Path) -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}],
        }
    }
    made = of_pod(tmp_path, "web", pod("web", spec={"affinity": affinity})).spec.placement
    assert made.required == made.preferred
    assert made.required[0].match_expressions[0].values == ("n1",)


def test_pods_of_one_template_share_what_they_are_made_of(tmp_path: Path) -> None:
    found = snapshot(tmp_path, *(pod(f"web-{n}", labels={"app": "web"}) for n in range(3)))
    assert len({id(each.spec) for each in found.pods}) == 1
    assert len({id(each.labels) for each in found.pods}) == 1


def test_a_pod_that_no_node_takes_says_why(tmp_path: Path) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    waiting = pod("web", spec={"nodeName": ""}, status={"phase": "Pending", "conditions": [condition]})
    made = of_pod(tmp_path, "web", waiting)
    assert (made.unplaced, made.runs) == ("0/3 nodes", False)
    placed = pod("web", status={"conditions": [condition | {"status": "True"}]})
    assert of_pod(tmp_path, "web", placed).unplaced == ""


def test_a_pod_that_was_taken_away_says_by_whom(tmp_path: Path) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": "low",
    }
    over = pod(
        "web", status={"phase": "Failed", "reason": "Evicted", "message": "low", "conditions": [condition]}
    )
    made = of_pod(tmp_path, "web", over)
    assert made.disruption == ("TerminationByKubelet", "low")
    assert (made.reason, made.is_over, made.runs) == ("Evicted", True, False)
    calm = pod("web", status={"conditions": [condition | {"status": "False"}]})
    assert of_pod(tmp_path, "web", calm).disruption == ("", "")


def test_containers_that_ended_wait_or_came_again_are_told(tmp_path: Path) -> None:
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-18T08:00:00Z"}}
    statuses = [
        {"name": "fine", "state": {"running": {}}},
        {
            "name": "app",
            "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended,
        },
        {"name": "odd", "restartCount": 1, "state": {"running": {}}},
        {"name": "when", "state": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "soon"}}},
    ]
    made = of_pod(tmp_path, "web", pod("web", status={"containerStatuses": statuses}))
    assert made.states == (
        ContainerState("app", 3, "CrashLoopBackOff", "OOMKilled", 137, read_instant("2026-11-18T08:00:00Z")),
        ContainerState("odd", 1),
        ContainerState("when", 0, "", "Error", 1),
    )


@pytest.mark.parametrize(
    ("owner", "labels", "others", "expected"),
    [
        pytest.param(
            ("ReplicaSet", "web-5d"),
            {},
            [named("ReplicaSet", "web-5d", "shop", "apps/v1", ownerReferences=owned_by("Deployment", "web"))],
            ("Deployment", "web"),
            id="through a ReplicaSet",
        ),
        pytest.param(
            ("ReplicaSet", "web-5d"), {}, [named("ReplicaSet", "web-5d", "shop", "apps/v1")], ("ReplicaSet", "web-5d"),
            id="of a ReplicaSet of nobody",
        ),
        pytest.param(
            ("ReplicaSet", "web-5d"), {"pod-template-hash": "5d"}, [], ("Deployment", "web"),
            id="through a ReplicaSet that was not read",
        ),
        pytest.param(
            ("ReplicaSet", "web-5d"), {"rollouts-pod-template-hash": "5d"}, [], ("Rollout", "web"),
            id="of a Rollout",
        ),
        pytest.param(("ReplicaSet", "web-5d"), {}, [], ("ReplicaSet", "web-5d"), id="with nothing that says more"),
        pytest.param(
            ("Job", "dump-29384760"), {}, [named("CronJob", "dump", "shop", "batch/v1")], ("CronJob", "dump"),
            id="of a CronJob whose Job was not read",
        ),
        pytest.param(("Job", "dump-29384760"), {}, [], ("Job", "dump-29384760"), id="of a Job that was not read"),
        pytest.param(("Job", "dump"), {}, [], ("Job", "dump"), id="of a Job that no CronJob made"),
        pytest.param(("StatefulSet", "db"), {}, [], ("StatefulSet", "db"), id="of a StatefulSet"),
        pytest.param(
            ("ReplicaSet", "web-5d"),
            {"rollouts-pod-template-hash": "5d"},
            [
                deployment("web"),
                named(
                    "Rollout", "web", "shop", "argoproj.io/v1alpha1",
                    spec={"replicas": 2, "workloadRef": {"kind": "Deployment", "name": "web"}},
                ),
            ],
            ("Deployment", "web"),
            id="of a Rollout that has its template in a Deployment",
        ),
    ],
)  # fmt: skip
def test_a_pod_belongs_to_the_workload_in_the_end(
    tmp_path: Path,
    owner: tuple[str, str],
    labels: dict[str, str],
    others: list[dict[str, Any]],
    expected: tuple[str, str],
) -> None:
    made = of_pod(tmp_path, "x", pod("x", labels=labels, ownerReferences=owned_by(*owner)), *others)
    assert made.owner == ("shop", *expected)


def test_a_static_pod_is_of_its_node(tmp_path: Path) -> None:
    written = pod(
        "etcd", annotations={"kubernetes.io/config.mirror": "1"}, ownerReferences=owned_by("Node", "n1")
    )
    made = of_pod(tmp_path, "etcd", written)
    assert (made.is_static, made.owner.kind) == (True, "Node")


@pytest.mark.parametrize(
    ("spec", "replicas", "surge", "unavailable"),
    [
        pytest.param({}, 1, 1, 0, id="one pod, a quarter each way"),
        pytest.param({"replicas": 3}, 3, 1, 0, id="a quarter of three is none less, rounded down"),
        pytest.param({"replicas": 4}, 4, 1, 1, id="a quarter of four is one each way"),
        pytest.param({"replicas": 5, "strategy": {"rollingUpdate": {"maxSurge": "30%"}}}, 5, 2, 1, id="rounded up"),
        pytest.param({"replicas": 3, "strategy": {"type": "Recreate"}}, 3, 0, 3, id="recreated"),
        pytest.param(
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}}, 3, 0, 1,
            id="neither more nor fewer is one fewer",
        ),
        pytest.param(
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}}, 3, 2, 0,
            id="as it says",
        ),
    ],
)  # fmt: skip
def test_how_many_pods_a_rolling_update_of_a_deployment_adds_and_takes(
    tmp_path: Path, spec: dict[str, Any], replicas: int, surge: int, unavailable: int
) -> None:
    made = of_workload(tmp_path, deployment("web", **spec))
    assert (made.replicas, made.surge, made.unavailable) == (replicas, surge, unavailable)
    assert made.pod_labels == {"app": "web"}


TEMPLATE = {"template": {"spec": {"containers": [container("app", SIZES)], "nodeName": "n9"}}}
JOB_TEMPLATE = {"jobTemplate": {"spec": TEMPLATE}}


@pytest.mark.parametrize(
    ("kind", "api", "rest", "numbers"),
    [
        pytest.param("StatefulSet", "apps/v1", {"spec": {"replicas": 3, **TEMPLATE}}, (3, 0, 3), id="a StatefulSet"),
        pytest.param(
            "DaemonSet", "apps/v1", {"spec": TEMPLATE, "status": {"desiredNumberScheduled": 7}}, (7, 0, 1),
            id="a DaemonSet",
        ),
        pytest.param(
            "DaemonSet", "apps/v1",
            {
                "spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}, **TEMPLATE},
                "status": {"desiredNumberScheduled": 7},
            },
            (7, 1, 0), id="a DaemonSet that surges",
        ),
        pytest.param("ReplicaSet", "apps/v1", {"spec": {"replicas": 2, **TEMPLATE}}, (2, 0, 2), id="a ReplicaSet"),
        pytest.param("Job", "batch/v1", {"spec": {"parallelism": 4, **TEMPLATE}}, (4, 0, 4), id="a Job"),
        pytest.param("Job", "batch/v1", {"spec": {"suspend": True, **TEMPLATE}}, (0, 0, 0), id="a Job that sleeps"),
        pytest.param(
            "Job", "batch/v1",
            {"spec": TEMPLATE, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}, (0, 0, 0),
            id="a Job that is done",
        ),
        pytest.param("CronJob", "batch/v1", {"spec": JOB_TEMPLATE}, (1, 0, 1), id="a CronJob"),
        pytest.param("CronJob", "batch/v1", {"spec": {"suspend": True, **JOB_TEMPLATE}}, (0, 0, 0), id="one that sleeps"),
        pytest.param(
            "Rollout", "argoproj.io/v1alpha1",
            {"spec": {"replicas": 4, "strategy": {"canary": {"maxSurge": "50%"}}, **TEMPLATE}}, (4, 2, 1),
            id="a Rollout",
        ),
        pytest.param(
            "Rollout", "argoproj.io/v1alpha1", {"spec": {"replicas": 4, "strategy": {"blueGreen": {}}, **TEMPLATE}},
            (4, 4, 0), id="blue and green",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_workload_is_read_with_its_template(
    tmp_path: Path, kind: str, api: str, rest: dict[str, Any], numbers: tuple[int, int, int]
) -> None:
    made = of_workload(tmp_path, named(kind, "x", "shop", api, **rest))
    assert (made.replicas, made.surge, made.unavailable) == numbers
    assert made.node_name == "n9"
    assert made.spec.containers.requests == {"cpu": 100, "memory": GIB}


def test_a_rollout_with_the_template_of_a_deployment_gives_it_its_pods(tmp_path: Path) -> None:
    rollout = named(
        "Rollout", "r", "shop", "argoproj.io/v1alpha1",
        spec={"replicas": 5, "workloadRef": {"kind": "Deployment", "name": "web"}},
    )  # fmt: skip
    assert of_workload(tmp_path, deployment("web", replicas=0), rollout).replicas == 5
    alone = snapshot(tmp_path, rollout)
    assert alone.workloads == ()
    assert [each.part for each in alone.unknown if "Rollout" in each.part] == ["Rollout shop/r"]


def test_nodes_are_read_with_taints_room_and_what_presses_them(tmp_path: Path) -> None:
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "MemoryPressure", "status": "True"},
        {"type": "DiskPressure", "status": "False"},
    ]
    (made,) = snapshot(
        tmp_path,
        named(
            "Node",
            "n1",
            labels={"a": "b"},
            spec={"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
            status={
                "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                "capacity": {"memory": "17Gi"},
                "conditions": conditions,
            },
        ),
    ).nodes
    assert made.allocatable == {"cpu": 4000, "memory": 16 * GIB, "pods": 110}
    assert made.capacity == {"memory": 17 * GIB}
    assert (made.taints, made.labels) == ((Taint("k", "", "NoSchedule"),), {"a": "b"})
    assert (made.is_cordoned, made.is_ready, made.pressures) == (True, True, ("MemoryPressure",))


def test_a_node_that_is_not_ready_says_so_and_one_that_says_nothing_is(tmp_path: Path) -> None:
    down = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    found = snapshot(tmp_path, named("Node", "a", status=down), named("Node", "b"))
    assert [each.is_ready for each in found.nodes] == [False, True]


def test_limit_ranges_quotas_classes_and_autoscalers_are_read(tmp_path: Path) -> None:
    term = {"scopeName": "PriorityClass", "operator": "In", "values": ["tier-0-core"]}
    found = snapshot(
        tmp_path,
        named(
            "LimitRange", "defaults", "shop", labels={"x": "y"},
            spec={"limits": [{"type": "Container", "default": {"memory": "256Mi"}, "max": {"cpu": "2"}}]},
        ),
        named(
            "ResourceQuota", "q", "shop",
            spec={"hard": {"requests.cpu": "2", "pods": "5"}, "scopes": ["BestEffort"], "scopeSelector": {"matchExpressions": [term]}},
            status={"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "500m"}},
        ),
        named("PriorityClass", "tier-0-core", api="scheduling.k8s.io/v1", value=9, preemptionPolicy="Never"),
        named(
            "HorizontalPodAutoscaler", "h", "shop", "autoscaling/v2",
            spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 8},
        ),
    )  # fmt: skip
    (limits,), (quota,), (priority,) = found.limit_ranges, found.quotas, found.priority_classes
    assert limits.items == (LimitRangeItem("Container", {"memory": 256 * MIB}, max={"cpu": 2000}),)
    assert limits.labels == {"x": "y"}
    assert (quota.hard, quota.enforced) == ({"requests.cpu": 2000, "pods": 5}, {"requests.cpu": 1000})
    assert quota.used == {"requests.cpu": 500}
    assert quota.scopes == ("BestEffort", "PriorityClass In tier-0-core")
    assert (priority.name, priority.value, priority.preemption_policy) == ("tier-0-core", 9, "Never")
    assert found.autoscalers == (Autoscaler("shop", "h", WorkloadId("shop", "Deployment", "web"), 1, 8),)


def test_events_are_kept_that_tell_why(tmp_path: Path) -> None:
    about = {"kind": "Pod", "namespace": "shop", "name": "web"}
    found = snapshot(
        tmp_path,
        named("Event", "a", "shop", involvedObject=about, reason="Pulled"),
        named("Event", "b", "shop", involvedObject=about, reason="Preempted", message="by x", count=2,
              lastTimestamp="2026-11-18T08:00:00Z"),
        named("Event", "c", "shop", involvedObject=about, reason="Evicted", eventTime="2026-11-18T08:00:00.000000Z",
              series={"count": 3, "lastObservedTime": "2026-11-18T08:30:00.000000Z"}),
    )  # fmt: skip
    assert found.events == (
        Event("Pod", "shop", "web", "Preempted", "by x", read_instant("2026-11-18T08:00:00Z"), 2),
        Event("Pod", "shop", "web", "Evicted", "", read_instant("2026-11-18T08:30:00Z"), 3),
    )


def test_what_pods_use_comes_from_the_metrics_server_or_from_kubelets(tmp_path: Path) -> None:
    metrics = named(
        "PodMetrics", "web", "shop", "metrics.k8s.io/v1beta1",
        containers=[{"name": "app", "usage": {"cpu": "5m", "memory": "100Mi"}}],
    )  # fmt: skip
    summary = {
        "node": {
            "nodeName": "n1",
            "memory": {"availableBytes": 1, "usageBytes": 2, "workingSetBytes": 3, "rssBytes": 4},
            "systemContainers": [{"name": "kubelet", "memory": {"workingSetBytes": 5}}, {"name": "odd"}],
        },
        "pods": [
            {
                "podRef": {"namespace": "shop", "name": "db"},
                "containers": [{"name": "pg", "memory": {"workingSetBytes": 7}}],
                "memory": {"workingSetBytes": 9},
            },
            {"podRef": {"namespace": "shop", "name": "old"}, "containers": [{"name": "pg"}]},
        ],
    }
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    found = read_files([tmp_path], NOW)
    assert found.problems == ()
    assert found.snapshot.memory_used == {
        ("shop", "db"): PodMemory(9, {"pg": 7}),
        ("shop", "old"): PodMemory(0, {"pg": 0}),
        ("shop", "web"): PodMemory(100 * MIB, {"app": 100 * MIB}),
    }
    assert found.snapshot.node_memory == {"n1": NodeMemory(1, 2, 3, 4, {"kubelet": 5, "odd": 0})}
    assert not found.snapshot.is_unknown(USAGE)
    assert not found.snapshot.is_unknown(SUMMARIES)


def test_what_no_file_holds_is_unknown_with_the_command_that_prints_it(tmp_path: Path) -> None:
    found = snapshot(tmp_path, pod("web"))
    why = {each.part: each for each in found.unknown}
    assert "kubectl get namespaces -o json" in why[NAMESPACES].why
    assert "kubectl get resourcequotas -A" in why[QUOTAS].why
    assert why[EVENTS].is_quiet
    assert not why[WORKLOADS].is_quiet
    assert "pods" not in why


@pytest.mark.parametrize(
    ("item", "path", "words"),
    [
        pytest.param(
            pod("x", spec={"containers": [container("app", sizes({"memory": "1GB"}))]}),
            "Pod shop/x: spec.containers[0].resources.requests.memory", "did you mean", id="an amount of a pod",
        ),
        pytest.param(
            named("ResourceQuota", "q", "shop", status={"used": {"pods": "many"}}),
            "ResourceQuota shop/q: status.used.pods", "is not a quantity", id="an amount of a quota",
        ),
        pytest.param(
            named("LimitRange", "l", "shop", spec={"limits": [{"type": "Container", "max": {"cpu": "x"}}]}),
            "LimitRange shop/l: spec.limits[0].max.cpu", "is not a quantity", id="an amount of a LimitRange",
        ),
        pytest.param(
            named("Node", "n", status={"allocatable": {"cpu": "-1"}}),
            "Node n: status.allocatable.cpu", "below zero", id="an amount of a node",
        ),
        pytest.param(
            deployment("x", strategy={"rollingUpdate": {"maxSurge": "a"}}),
            "Deployment shop/x: spec.strategy.rollingUpdate.maxSurge", "no number of pods", id="a surge",
        ),
        pytest.param(
            deployment("x", strategy={"rollingUpdate": {"maxUnavailable": -1}}),
            "Deployment shop/x: spec.strategy.rollingUpdate.maxUnavailable", "no number of pods", id="what may be missing",
        ),
        pytest.param(
            named("DaemonSet", "x", "shop", "apps/v1", spec={"updateStrategy": {"rollingUpdate": {"maxSurge": "a"}}}),
            "DaemonSet shop/x: spec.updateStrategy.rollingUpdate.maxSurge", "no number of pods", id="of a DaemonSet",
        ),
        pytest.param(
            named("Rollout", "x", "shop", "argoproj.io/v1alpha1", spec={"strategy": {"canary": {"maxSurge": "a"}}}),
            "Rollout shop/x: spec.strategy.canary.maxSurge", "no number of pods", id="of a Rollout",
        ),
        pytest.param(
            named("HorizontalPodAutoscaler", "h", "shop", "autoscaling/v2", spec={"scaleTargetRef": {"kind": "Deployment"}}),
            "HorizontalPodAutoscaler shop/h: spec.scaleTargetRef.name", "is required", id="an autoscaler of nothing",
        ),
        pytest.param(
            named("Pod", "x", spec={}), "Pod x: metadata.namespace", "is required", id="a pod of nowhere"
        ),
        pytest.param(
            named("PodMetrics", "x", "shop", "metrics.k8s.io/v1beta1", containers=[{"name": "a", "usage": {"memory": "x"}}]),
            "PodMetrics shop/x: containers[0].usage.memory", "is not a quantity", id="what is used",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_field_and_nothing_is_taken(
    tmp_path: Path, item: dict[str, Any], path: str, words: str
) -> None:
    found = read(tmp_path, item)
    (problem,) = found.problems
    assert problem.path == path
    assert words in problem.message
    made = found.snapshot
    assert [*made.pods, *made.workloads, *made.quotas, *made.limit_ranges, *made.memory_used] == []


def test_an_object_that_comes_again_replaces_what_it_was(tmp_path: Path) -> None:
    once = named("Job", "j", "shop", "batch/v1", ownerReferences=owned_by("CronJob", "c"))
    again = named("Job", "j", "shop", "batch/v1")
    found = read(tmp_path, once, again, pod("web", status={"phase": "Pending"}), pod("web"))
    assert [str(each.id) for each in found.snapshot.workloads] == ["Job shop/j"]
    assert [each.phase for each in found.snapshot.pods] == ["Running"]
    assert any("1 Pod more than once" in note for note in found.notes)


def test_yaml_says_the_same_as_json(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    items = [
        pod("web", annotations={"kubernetes.io/limit-ranger": "x"}),
        deployment("web"),
        named("Namespace", "shop"),
    ]
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all(items))
    (tmp_path / "b.json").write_text("\n".join(map(json.dumps, items)))

    def said(name: str) -> Snapshot:
        found = read_files([tmp_path / name], NOW)
        assert found.problems == ()
        return found.snapshot

    first, second = said("a.yaml"), said("b.json")
    assert (first.pods, first.workloads, first.namespaces) == (
        second.pods,
        second.workloads,
        second.namespaces,
    )
