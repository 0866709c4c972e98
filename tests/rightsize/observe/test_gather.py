"""What is made of objects: workloads, their owners, and what bounds them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.rightsize.observe.clusters import (
    MIB,
    NAMESPACE,
    NOW,
    WEB,
    advised,
    advisor,
    autoscaler,
    by_resource,
    container,
    cron_job,
    job,
    killed,
    limit_range,
    look,
    owned,
    pod,
    quota,
    read,
    recommendation,
    template,
    workload,
    written,
)

from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.observe.bounds import METRICS
from remuda.rightsize.observe.files import read_files
from remuda.rightsize.observe.owners import Owning
from remuda.rightsize.snapshot import (
    Advisor,
    Ask,
    Autoscaler,
    Container,
    InitContainer,
    Kill,
    LimitRange,
    Quota,
    Size,
    Workload,
)

# Workloads


def test_a_workload_is_read_with_what_its_containers_ask_for(tmp_path: Path) -> None:
    asked = {
        "requests": {"cpu": 1, "memory": "0.5Gi", "ephemeral-storage": "1Gi"},
        "limits": {"cpu": "1500m", "memory": "1G", "nvidia.com/gpu": 1},
    }
    first = [
        {"name": "migrate", "resources": {"requests": {"memory": "1Gi"}}},
        container("proxy", restartPolicy="Always", resources={}),
        {"name": "warm"},
    ]
    pods = template(
        container(resources=asked), container("bare", resources={}), labels={"a": "pod", "b": "pod"},
        initContainers=first,
    )  # fmt: skip
    item = workload(replicas=3, template=pods, meta={"labels": {"a": "own"}})
    assert read(tmp_path, item).workloads == (
        Workload(
            WEB,
            (
                Container(
                    "app",
                    Size(Ask(1000, 512 * MIB), Ask(1500, 10**9)),
                    {"nvidia.com/gpu": "1"},
                    other_requests={"ephemeral-storage": "1Gi"},
                    index=0,
                    written={
                        "requests": {"cpu": "1", "memory": "0.5Gi", "ephemeral-storage": "1Gi"},
                        "limits": {"cpu": "1500m", "memory": "1G", "nvidia.com/gpu": "1"},
                    },
                ),
                Container("bare", index=1, written={}),
                Container("proxy", is_sidecar=True, index=1, written={}),
            ),
            {"a": "own", "b": "pod"},
            replicas=3,
            surge=1,
            init_containers=("migrate", "proxy", "warm"),
            initial=(
                InitContainer("migrate", Size(Ask(None, 1024 * MIB))),
                InitContainer("warm", sidecars=("proxy",)),
            ),
        ),
    )


def test_what_is_finer_than_a_unit_is_rounded_up(tmp_path: Path) -> None:
    asked = {"requests": {"cpu": "100u", "memory": "1m"}}
    [made] = read(tmp_path, workload(template=template(container(resources=asked)))).workloads
    assert made.containers[0].size.requests == Ask(1, 1)


def rolling(surge: Any, kind: str = "RollingUpdate") -> dict[str, Any]:
    return {"type": kind, "rollingUpdate": {"maxSurge": surge}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(workload(), (1, 1), id="a Deployment says nothing"),
        pytest.param(workload(replicas=5), (5, 2), id="a quarter, rounded up"),
        pytest.param(workload(replicas=0), (0, 0), id="scaled to nothing"),
        pytest.param(workload(replicas=4, strategy=rolling(3)), (4, 3), id="a number"),
        pytest.param(workload(replicas=4, strategy=rolling(0)), (4, 0), id="zero"),
        pytest.param(workload(replicas=7, strategy=rolling("50%")), (7, 4), id="a percentage"),
        pytest.param(workload(replicas=4, strategy=rolling("150%")), (4, 6), id="over all"),
        pytest.param(workload(replicas=4, strategy={"type": "Recreate"}), (4, 0), id="Recreate"),
        pytest.param(workload("StatefulSet", replicas=4), (4, 0), id="a StatefulSet"),
        pytest.param(
            workload("DaemonSet", status={"desiredNumberScheduled": 7}), (7, 0), id="a DaemonSet says nothing"
        ),
        pytest.param(
            workload("DaemonSet", updateStrategy=rolling("10%"), status={"desiredNumberScheduled": 7}),
            (7, 1),
            id="a DaemonSet surges",
        ),
        pytest.param(
            workload("DaemonSet", updateStrategy=rolling(3, "OnDelete"), status={"desiredNumberScheduled": 7}),
            (7, 0),
            id="nothing is replaced",
        ),
        pytest.param(workload("ReplicaSet", replicas=4), (4, 0), id="a ReplicaSet of nobody"),
        pytest.param(job("once", parallelism=3), (3, 0), id="a Job of nobody"),
        pytest.param(job("once"), (1, 0), id="a Job says nothing"),
        pytest.param(job("once", suspend=True), (0, 0), id="a Job that waits"),
        pytest.param(
            job("once", status={"conditions": [{"type": "Complete", "status": "True"}]}), (0, 0), id="a Job is over"
        ),
        pytest.param(cron_job("nightly", job_spec={"parallelism": 2}), (2, 0), id="a CronJob between runs"),
        pytest.param(
            cron_job("nightly", status={"active": [{"kind": "Job", "name": n} for n in "abc"]}),
            (3, 0),
            id="a CronJob whose runs overlap",
        ),
        pytest.param(cron_job("nightly", suspend=True), (0, 0), id="a CronJob that rests"),
    ],
)  # fmt: skip
def test_pods_are_counted_and_what_a_change_adds(
    tmp_path: Path, item: dict[str, Any], expected: tuple[int, int]
) -> None:
    [made] = read(tmp_path, item).workloads
    assert (made.replicas, made.surge) == expected


# Owners and kills


def test_pods_belong_to_what_is_at_the_top(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        pod("odd-name-1", ("ReplicaSet", "web-5d4f8")),
        pod("odd-name-2", ("Job", "nightly-1")),
        pod("odd-name-3", ("StatefulSet", "db")),
        pod("odd-name-4", ("ReplicaSet", "bare")),
        pod("odd-name-5", ("ReplicaSet", "rolled")),
        pod("odd-name-6"),
        workload(),
        workload("ReplicaSet", "web-5d4f8", meta=owned("Deployment", "web")),
        cron_job("nightly"),
        job("nightly-1", meta=owned("CronJob", "nightly")),
        workload("StatefulSet", "db"),
        workload("ReplicaSet", "bare"),
        workload("ReplicaSet", "rolled", meta=owned("Rollout", "roll")),
    )
    kinds = ("Deployment web", "CronJob nightly", "StatefulSet db", "ReplicaSet bare", "Rollout roll")
    ids = [WorkloadId(NAMESPACE, *each.split()) for each in (*kinds, "Pod odd-name-6")]
    assert found.owners == {(NAMESPACE, f"odd-name-{n}"): each for n, each in enumerate(ids, 1)}
    assert {each.id for each in found.workloads} == {*ids[:4]}
    message = [Owning(found).of(NAMESPACE, f"odd-name-{n}") for n in range(1, 7)]
    assert message == [*ids[:4], None, None]


def test_a_pod_whose_replica_set_was_not_read_is_known_by_its_name(tmp_path: Path) -> None:
    found = read(tmp_path, workload(), pod("web-5d4f8-x2x4z", ("ReplicaSet", "web-5d4f8")))
    assert found.owners == {}
    assert Owning(found).of(NAMESPACE, "web-5d4f8-x2x4z") == WEB


def status(**states: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "app", **states}]}


def test_containers_that_ran_out_of_memory_are_reported(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        workload("StatefulSet", "db"),
        pod("db-0", ("StatefulSet", "db"), status=status(state={"running": {}}, lastState=killed())),
        pod(
            "db-1",
            ("StatefulSet", "db"),
            status={"phase": "Failed"} | status(state=killed("2025-12-31T13:00:00Z"), lastState=killed()),
        ),
        pod("db-2", ("StatefulSet", "db"), status=status(lastState=killed(reason="Error"))),
        pod("db-3", ("StatefulSet", "db"), status=status(lastState=killed("0001-01-01T00:00:00Z"))),
        pod("alone", status=status(lastState=killed())),
    )
    noon, db = NOW // 1000 - 43_200, WorkloadId(NAMESPACE, "StatefulSet", "db")
    assert found.kills == (
        Kill(db, "app", "db-0", noon, 64 * MIB, 128 * MIB),
        Kill(db, "app", "db-1", noon, 64 * MIB, 128 * MIB),
        Kill(db, "app", "db-1", noon + 3600, 64 * MIB, 128 * MIB),
        Kill(db, "app", "db-3", NOW // 1000, 64 * MIB, 128 * MIB),
    )


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, (None, None)),
        ({"limits": {"memory": "1Mi"}}, (MIB, MIB)),
        ({"requests": {"cpu": "1"}}, (None, None)),
        ({"requests": {"memory": "1Mi"}, "limits": {"memory": "2Mi"}}, (MIB, 2 * MIB)),
    ],
)
def test_what_was_requested_when_a_container_was_killed_may_be_its_limit(
    tmp_path: Path, resources: Any, expected: tuple[int | None, int | None]
) -> None:
    item = pod("db-0", ("StatefulSet", "db"), status=status(lastState=killed()))
    item["spec"]["containers"] = [container("other"), container(resources=resources)]
    [kill] = read(tmp_path, workload("StatefulSet", "db"), item).kills
    assert (kill.requested, kill.limit) == expected


def test_a_sidecar_that_ran_out_of_memory_is_reported(tmp_path: Path) -> None:
    states = {"initContainerStatuses": [{"name": "proxy", "lastState": killed()}]}
    item = pod("db-0", ("StatefulSet", "db"), status=states)
    item["spec"]["initContainers"] = [container("proxy", restartPolicy="Always")]
    [kill] = read(tmp_path, workload("StatefulSet", "db"), item).kills
    assert (kill.container, kill.requested) == ("proxy", 64 * MIB)


# Bounds


def test_namespaces_are_read_with_their_labels(tmp_path: Path) -> None:
    item = written("v1", "Namespace", "shop", meta={"namespace": "", "labels": {"tier": "3-edge"}})
    assert read(tmp_path, item).namespaces == {"shop": {"tier": "3-edge"}}


def test_a_limit_range_bounds_containers_and_pods(tmp_path: Path) -> None:
    item = limit_range(
        min={"cpu": "10m"}, max={"cpu": 2, "memory": "4Gi"}, maxLimitRequestRatio={"memory": "1500m", "cpu": 10},
        default={"memory": "256Mi"}, defaultRequest={"cpu": "50m"},
    )  # fmt: skip
    item["spec"]["limits"] += [
        {"type": "Pod", "max": {"memory": "8Gi"}, "maxLimitRequestRatio": {"cpu": "4"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}},
    ]
    assert read(tmp_path, item).limit_ranges == (
        LimitRange(
            NAMESPACE,
            "limits",
            "Container",
            Ask(10, None),
            Ask(2000, 4096 * MIB),
            1.5,
            Size(Ask(50, None), Ask(None, 256 * MIB)),
            10,
        ),
        LimitRange(NAMESPACE, "limits", "Pod", most=Ask(None, 8192 * MIB), cpu_ratio=4),
    )


def test_a_quota_is_what_is_enforced(tmp_path: Path) -> None:
    hard = {"requests.cpu": "4", "limits.memory": "32Gi", "pods": "30", "requests.nvidia.com/gpu": 2}
    used = {"requests.cpu": "1500m", "limits.memory": "1Gi", "pods": "3"}
    found = read(
        tmp_path,
        quota("counted", spec={"hard": {"pods": 99}}, status={"hard": hard, "used": used}),
        quota("new", spec={"hard": {"cpu": "250m", "memory": "1Gi"}}),
        quota(
            "some",
            spec={
                "hard": {"pods": "1"},
                "scopes": ["BestEffort"],
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "low"]}
                    ]
                },
            },
        ),
    )
    assert found.quotas == (
        Quota(
            NAMESPACE,
            "counted",
            {"requests.cpu": 4000, "limits.memory": 32 * 2**30, "pods": 30, "requests.nvidia.com/gpu": 2},
            {"requests.cpu": 1500, "limits.memory": 2**30, "pods": 3},
        ),
        Quota(NAMESPACE, "new", {"cpu": 250, "memory": 2**30}),
        Quota(NAMESPACE, "some", {"pods": 1}, scopes=("BestEffort", "PriorityClass In high, low")),
    )


ALPHA = json.dumps([{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 80}}])
V1 = "autoscaling/v1"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(autoscaler(by_resource("cpu")), [("cpu", "")], id="utilization"),
        pytest.param(autoscaler(by_resource("memory", value="1Gi")), [("memory", "")], id="an average value"),
        pytest.param(
            autoscaler(by_resource("cpu", of="app"), by_resource("memory")),
            [("cpu", "app"), ("memory", "")],
            id="one container, and all",
        ),
        pytest.param(autoscaler(by_resource("cpu"), by_resource("cpu")), [("cpu", "")], id="twice"),
        pytest.param(autoscaler(by_resource("ephemeral-storage")), [], id="another resource"),
        pytest.param(
            autoscaler({"type": "External", "external": {"metric": {"name": "queue"}}}), [], id="no resource"
        ),
        pytest.param(autoscaler(), [("cpu", "")], id="nothing, which is the CPU"),
        pytest.param(
            autoscaler(version=V1, targetCPUUtilizationPercentage=80), [("cpu", "")], id="an older version"
        ),
        pytest.param(
            autoscaler(version=V1, meta={"annotations": {METRICS: ALPHA}}),
            [("memory", "")],
            id="what an older version keeps aside",
        ),
    ],
)
def test_autoscalers_tell_which_resources_pods_are_counted_by(
    tmp_path: Path, item: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    found = read(tmp_path, item).autoscalers
    assert [(each.resource, each.container) for each in found] == expected
    if found:
        assert found[0] == Autoscaler("scaler", WEB, found[0].resource, found[0].container, 9)


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_an_advisor_is_read_with_its_estimates(tmp_path: Path, version: str) -> None:
    item = advisor(version=version, recommendation=recommendation())
    assert read(tmp_path, item).advisors == (
        Advisor(
            "web",
            WEB,
            "Off",
            {"app": Estimate(Amounts(25, 262_144_000), Amounts(10, 100 * MIB), Amounts(2000, 2**30))},
        ),
    )


def test_an_advisor_that_does_not_say_recreates_pods(tmp_path: Path) -> None:
    [found] = read(tmp_path, advisor(mode="")).advisors
    assert (found.mode, found.estimates, found.complaints) == ("Recreate", {}, {})


def test_bounds_that_an_advisor_leaves_out_are_its_target(tmp_path: Path) -> None:
    item = advisor(recommendation=recommendation(advised(lowerBound={}, upperBound={"cpu": "1"})))
    [found] = read(tmp_path, item).advisors
    estimate = found.estimates["app"]
    assert (estimate.lower_bound, estimate.upper_bound) == (estimate.target, Amounts(1000, 262_144_000))


def test_half_a_recommendation_is_none_and_that_is_reported(tmp_path: Path) -> None:
    item = advisor(recommendation=recommendation(advised(target={"memory": "1Gi"}), advised("other")))
    [found] = read(tmp_path, item).advisors
    assert found.estimates.keys() == {"other"}
    assert found.complaints == {"recommendation.app": "holds no cpu"}


def test_conditions_that_tell_why_there_is_nothing_are_kept(tmp_path: Path) -> None:
    conditions = [
        {"type": "RecommendationProvided", "status": "False", "message": "no samples"},
        {"type": "NoPodsMatched", "status": "True", "reason": "NoPodsMatched"},
        {"type": "LowConfidence", "status": "False", "message": "all is well"},
        {"type": "FetchingHistory", "status": "Unknown"},
    ]
    [found] = read(tmp_path, advisor(conditions=conditions)).advisors
    assert found.complaints == {"RecommendationProvided": "no samples", "NoPodsMatched": "NoPodsMatched"}
    fine = [{"type": "RecommendationProvided", "status": "True"}]
    [found] = read(tmp_path, advisor(conditions=fine)).advisors
    assert found.complaints == {}


# What is wrong

CONTAINER = "spec.template.spec.containers"
RECOMMENDED = "status.recommendation.containerRecommendations[0]"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            workload(template=template(container(resources={"limits": {"memory": "lots", "cpu": "-1"}}))),
            [
                f"{CONTAINER}[0].resources.limits.cpu: '-1' is not a quantity: it cannot be below zero",
                f"{CONTAINER}[0].resources.limits.memory: 'lots' is not a quantity: write a number",
            ],
            id="amounts",
        ),
        pytest.param(
            workload(template=template(container(resources={"limits": {"nvidia.com/gpu": "one"}}))),
            [f"{CONTAINER}[0].resources.limits[\"nvidia.com/gpu\"]: 'one' is not a quantity: write"],
            id="another resource",
        ),
        pytest.param(
            workload(strategy=rolling("many"), replicas=-1),
            [
                "spec.replicas: wants at least 0, found -1",
                "spec.strategy.rollingUpdate.maxSurge: 'many' is no number of pods: write a whole one, or a",
            ],
            id="replicas and surge",
        ),
        pytest.param(
            workload("DaemonSet", "agent", updateStrategy=rolling(-1)),
            ["spec.updateStrategy.rollingUpdate.maxSurge: -1 is no number of pods: write a whole one, or a"],
            id="a surge below zero",
        ),
        pytest.param(
            workload(template=template(container(), container())),
            [f"{CONTAINER}: app is there 2 times: a name is of one container"],
            id="containers of one name",
        ),
        pytest.param(
            workload(template={"spec": {"containers": [{}]}}),
            [f"{CONTAINER}[0].name: is required: the name of the container"],
            id="a container without a name",
        ),
        pytest.param(
            quota(spec={"hard": {"pods": "all"}}),
            ["spec.hard.pods: 'all' is not a quantity: write a number"],
            id="a quota",
        ),
        pytest.param(
            limit_range(maxLimitRequestRatio={"memory": "-2"}),
            ["spec.limits[0].maxLimitRequestRatio.memory: '-2' is not a quantity: it cannot be below zero"],
            id="a ratio",
        ),
        pytest.param(
            advisor(recommendation=recommendation(advised(upperBound={"cpu": "-1", "memory": "1Gi"}))),
            [f"{RECOMMENDED}.upperBound.cpu: '-1' is not a quantity: it cannot be below zero"],
            id="a recommendation",
        ),
        pytest.param(
            autoscaler(scaleTargetRef={}),
            [
                "spec.scaleTargetRef.kind: is required: it says what is scaled",
                "spec.scaleTargetRef.name: is required: it says what is scaled",
            ],
            id="an autoscaler of nothing",
        ),
        pytest.param(
            autoscaler(scaleTargetRef=[]),
            ["spec.scaleTargetRef: wants a mapping with keys like kind, name, found a list"],
            id="what is broken is told once",
        ),
        pytest.param(
            autoscaler(version=V1, meta={"annotations": {METRICS: "[{"}}),
            [f'metadata.annotations["{METRICS}"]: is no list of metrics: Input data was truncated'],
            id="metrics that are none",
        ),
        pytest.param(
            workload(meta={"namespace": ""}),
            ["metadata.namespace: is required: `kubectl get` writes it"],
            id="no namespace",
        ),
    ],
)
def test_everything_wrong_with_an_object_is_reported_with_its_name_and_field(
    tmp_path: Path, item: dict[str, Any], expected: list[str]
) -> None:
    meta = item["metadata"]
    whose = f"{item['kind']} {'/'.join(filter(None, (meta['namespace'], meta['name'])))}"
    # and the rest is read
    found = look(tmp_path, workload("StatefulSet", "db"), item)
    assert [each.id.name for each in found.snapshot.workloads] == ["db"]
    message = [f"{problem.path}: {problem.message}" for problem in found.problems]
    assert len(message) == len(expected)
    for line, begin in zip(message, expected, strict=True):
        assert line.startswith(f"{whose}: {begin}")


def test_the_newest_pod_tells_whether_a_container_has_a_cpu_limit(tmp_path: Path) -> None:
    def of(name: str, created: str, phase: str = "Running", **limits: str) -> dict[str, Any]:
        made = pod(name, ("StatefulSet", "db"), status={"phase": phase})
        made["metadata"]["creationTimestamp"] = created
        made["spec"]["containers"][0]["resources"] = {"limits": limits}
        return made

    bare = of("db-0", "2026-01-01T00:00:00Z")
    limited = of("db-1", "2026-01-02T00:00:00Z", cpu="1")
    over = of("db-2", "2026-01-03T00:00:00Z", "Succeeded", cpu="1")
    db = workload("StatefulSet", "db")
    for pods, at in (
        ((bare,), 1_767_225_600),
        ((bare, limited), None),
        ((bare, over), 1_767_225_600),
        ((), None),
    ):
        [found] = read(tmp_path, db, *pods).workloads
        assert found.containers[0].unlimited_at == at


# Custom resources


def custom(kind: str, version: str, name: str = "web", **fields: Any) -> dict[str, Any]:
    return {**workload("Deployment", name), "kind": kind, "apiVersion": version} | fields


ARGO, OPENSHIFT, STRIMZI = "argoproj.io/v1alpha1", "apps.openshift.io/v1", "core.strimzi.io/v1beta2"


@pytest.mark.parametrize(
    ("strategy", "surge"),
    [
        pytest.param({"canary": {"maxSurge": 2}}, 2, id="a number"),
        pytest.param({"canary": {"maxSurge": "50%"}}, 5, id="a percentage"),
        pytest.param({"canary": {}}, 3, id="a quarter by default"),
        pytest.param({"blueGreen": {"activeService": "web"}}, 10, id="all of them twice"),
    ],
)
def test_a_rollout_is_read_as_a_deployment_is(tmp_path: Path, strategy: dict[str, Any], surge: int) -> None:
    spec = {"replicas": 10, "strategy": strategy, "template": template(container())}
    found = read(
        tmp_path,
        custom("Rollout", ARGO, spec=spec),
        workload("ReplicaSet", "web-5d4f8", meta=owned("Rollout", "web")),
        pod("web-5d4f8-x2x4z", ("ReplicaSet", "web-5d4f8")),
    )
    [made] = found.workloads
    assert made.id == WorkloadId(NAMESPACE, "Rollout", "web")
    assert (made.replicas, made.surge) == (10, surge)
    assert made.containers[0].size == read(tmp_path, workload()).workloads[0].containers[0].size
    assert found.owners == {(NAMESPACE, "web-5d4f8-x2x4z"): made.id}
    # of a pod that is gone the name tells
    assert Owning(found).of(NAMESPACE, "web-6c7d9-bcdfg") == made.id


def test_pods_of_a_rollout_whose_template_a_deployment_has_are_that_ones(tmp_path: Path) -> None:
    spec = {"replicas": 4, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    found = read(
        tmp_path,
        custom("Rollout", ARGO, "roll", spec=spec),
        workload(replicas=0),
        workload("ReplicaSet", "roll-5d4f8", meta=owned("Rollout", "roll")),
        pod("roll-5d4f8-x2x4z", ("ReplicaSet", "roll-5d4f8")),
        autoscaler(scaleTargetRef={"kind": "Rollout", "name": "roll"}),
    )
    [made] = found.workloads
    assert (made.id, made.replicas) == (WEB, 4)
    assert found.owners == {(NAMESPACE, "roll-5d4f8-x2x4z"): WEB}
    assert {each.target for each in found.autoscalers} == {WEB}
    assert not [each for each in found.unknown if each.part.startswith("Rollout")]


def test_a_rollout_whose_template_was_not_read_is_reported(tmp_path: Path) -> None:
    spec = {"workloadRef": {"kind": "Deployment", "name": "gone"}}
    found = read(tmp_path, custom("Rollout", ARGO, spec=spec), workload())
    assert [each.why for each in found.unknown if each.part == f"Rollout {NAMESPACE}/web"] == [
        f"has its template in Deployment {NAMESPACE}/gone, which was not read: it is not sized"
    ]


@pytest.mark.parametrize(
    ("strategy", "surge"),
    [
        pytest.param({"type": "Rolling", "rollingParams": {"maxSurge": 1}}, 1, id="a number"),
        pytest.param({"type": "Rolling"}, 1, id="a quarter by default"),
        pytest.param({"type": "Recreate"}, 0, id="none"),
    ],
)
def test_a_deployment_config_is_read_with_the_pods_of_its_controllers(
    tmp_path: Path, strategy: dict[str, Any], surge: int
) -> None:
    spec = {"replicas": 2, "strategy": strategy, "template": template(container())}
    controller = workload("ReplicaSet", "web-3", meta=owned("DeploymentConfig", "web"))
    found = read(
        tmp_path,
        custom("DeploymentConfig", OPENSHIFT, spec=spec),
        controller | {"kind": "ReplicationController", "apiVersion": "v1"},
        pod("odd", ("ReplicationController", "web-3")),
        pod("web-4-x2x4z", ("ReplicationController", "web-4")),
    )
    [made] = found.workloads
    assert made.id == WorkloadId(NAMESPACE, "DeploymentConfig", "web")
    assert (made.replicas, made.surge) == (2, surge)
    assert found.owners == {(NAMESPACE, "odd"): made.id}
    assert Owning(found).of(NAMESPACE, "web-4-x2x4z") == made.id
    assert Owning(found).of(NAMESPACE, "web-4-deploy") is None


@pytest.mark.parametrize(
    ("name", "labels", "place"),
    [
        pytest.param(
            "events-kafka",
            {"strimzi.io/cluster": "events", "strimzi.io/kind": "Kafka"},
            "spec.kafka.resources of Kafka shop/events",
            id="brokers",
        ),
        pytest.param(
            "events-zookeeper",
            {"strimzi.io/cluster": "events", "strimzi.io/kind": "Kafka"},
            "spec.zookeeper.resources of Kafka shop/events",
            id="ZooKeeper",
        ),
        pytest.param(
            "events-brokers",
            {"strimzi.io/cluster": "events", "strimzi.io/kind": "Kafka", "strimzi.io/pool-name": "brokers"},
            "spec.resources of KafkaNodePool shop/brokers",
            id="a pool of nodes",
        ),
        pytest.param(
            "sink-connect",
            {"strimzi.io/cluster": "sink", "strimzi.io/kind": "KafkaConnect"},
            "spec.resources of KafkaConnect shop/sink",
            id="connectors",
        ),
        pytest.param("events-kafka", {}, "spec.kafka.resources of Kafka shop/events", id="without labels"),
    ],
)
def test_a_set_of_strimzis_pods_is_read_with_the_place_of_its_size(
    tmp_path: Path, name: str, labels: dict[str, str], place: str
) -> None:
    spec = {"pods": [{**template(container()), "apiVersion": "v1", "kind": "Pod"}] * 3}
    item = custom("StrimziPodSet", STRIMZI, name, spec=spec)
    item["metadata"] = {**item["metadata"], "labels": labels}
    found = read(tmp_path, item, pod(f"{name}-0", ("StrimziPodSet", name)))
    [made] = found.workloads
    assert (made.replicas, made.sized_by) == (3, place.replace("shop/", f"{NAMESPACE}/"))
    assert found.owners == {(NAMESPACE, f"{name}-0"): made.id}
    assert Owning(found).of(NAMESPACE, f"{name}-7") == made.id


@pytest.mark.parametrize(
    ("kind", "version", "spec", "path"),
    [
        pytest.param(
            "Rollout",
            ARGO,
            {"strategy": {"canary": {"maxSurge": "x"}}},
            "spec.strategy.canary.maxSurge",
            id="Rollout",
        ),
        pytest.param(
            "DeploymentConfig",
            OPENSHIFT,
            {"strategy": {"rollingParams": {"maxSurge": "x"}}},
            "spec.strategy.rollingParams.maxSurge",
            id="DeploymentConfig",
        ),
        pytest.param(
            "StrimziPodSet",
            STRIMZI,
            {"pods": [template(container(), container())]},
            "spec.pods[0].spec.containers",
            id="twice",
        ),
    ],
)
def test_what_is_wrong_with_a_custom_resource_is_a_problem(
    tmp_path: Path, kind: str, version: str, spec: dict[str, Any], path: str
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(custom(kind, version, spec=spec)))
    assert [each.path for each in read_files([file], NOW).problems] == [f"{kind} {NAMESPACE}/web: {path}"]
