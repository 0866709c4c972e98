"""What quotas leave: for pods that are wanted, for rolling updates, and for autoscalers."""

from pathlib import Path
from typing import Any

import pytest
from tests.tiers.clusters import (
    audited,
    container,
    deployment,
    found_in,
    governed,
    named,
    owned_by,
    sizes,
    snapshot,
    tiered,
)

from remuda.model.findings import Finding
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.output.findings import describe
from remuda.tiers.decide.audit import audit
from remuda.tiers.decide.headroom import Room, charge
from remuda.tiers.snapshot import Containers

#: a quarter of what tier 3-edge has of memory is 8Gi
SIZE: dict[str, Any] = {
    "containers": [container("app", sizes({"cpu": "1", "memory": "2Gi"}, {"memory": "2Gi"}))]
}
FULL = {"requests.cpu": "4", "requests.memory": "31Gi", "pods": "4"}


def pods(count: int, owner: str = "web", kind: str = "ReplicaSet") -> list[dict[str, Any]]:
    labels = {"pod-template-hash": "5d"} if kind == "ReplicaSet" else {}
    whose = owned_by(kind, f"{owner}-5d" if kind == "ReplicaSet" else owner)
    return [tiered(f"{owner}-{n}", ownerReferences=whose, labels=labels, **SIZE) for n in range(count)]


def found_of(tmp_path: Path, used: dict[str, str], *items: dict[str, Any]) -> list[Finding]:
    return found_in(audited(tmp_path, *governed("shop", used=used), *items))


def test_a_deployment_that_cannot_roll_because_the_quota_is_full_is_an_error(tmp_path: Path) -> None:
    (found,) = found_of(tmp_path, FULL, deployment("web", pod_spec=SIZE, replicas=3), *pods(3))
    assert (found.severity, found.rule, found.subject) == ("error", "rollout-blocked", "Deployment shop/web")
    assert describe(found).found == (
        "requests.memory of quota shop-quota: 31Gi of 32Gi used, one more pod takes 2Gi; maxSurge 1, maxUnavailable 0 of 3 pods"
    )
    assert found.field == "spec.strategy"


@pytest.mark.parametrize(
    ("replicas", "strategy", "rules"),
    [
        pytest.param(4, {}, ["rollout-slow"], id="a quarter of four may be missing"),
        pytest.param(3, {"type": "Recreate"}, [], id="recreated"),
        pytest.param(3, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, [], id="no surge"),
        pytest.param(3, {"rollingUpdate": {"maxSurge": "1%", "maxUnavailable": "1%"}}, ["rollout-blocked"], id="a percent is a pod more"),
        pytest.param(3, {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}, ["rollout-slow"], id="one may be missing"),
        pytest.param(0, {}, [], id="no pods"),
    ],
)  # fmt: skip
def test_whether_a_rolling_update_goes_on_without_room(
    tmp_path: Path, replicas: int, strategy: dict[str, Any], rules: list[str]
) -> None:
    made = deployment("web", pod_spec=SIZE, replicas=replicas, strategy=strategy)
    assert [each.rule for each in found_of(tmp_path, FULL, made, *pods(replicas))] == rules


def test_room_for_one_pod_is_enough_to_roll(tmp_path: Path) -> None:
    used = FULL | {"requests.memory": "30Gi"}
    assert found_of(tmp_path, used, deployment("web", pod_spec=SIZE, replicas=3), *pods(3)) == []


@pytest.mark.parametrize(
    ("used", "resource"),
    [
        pytest.param({"pods": "30"}, "pods of quota shop-quota: 30 of 30 used, one more pod takes 1", id="pods"),
        pytest.param({"requests.cpu": "15500m"}, "requests.cpu of quota shop-quota: 15500m of 16 used, one more pod takes 1", id="CPU"),
        pytest.param({"requests.memory": "40Gi"}, "requests.memory of quota shop-quota: 40Gi of 32Gi used", id="more than there is"),
    ],
)  # fmt: skip
def test_the_resource_that_is_full_is_named(tmp_path: Path, used: dict[str, str], resource: str) -> None:
    found = found_of(tmp_path, used, deployment("web", pod_spec=SIZE, replicas=1), *pods(1))
    (blocked,) = [each for each in found if each.rule == "rollout-blocked"]
    assert describe(blocked).found.startswith(resource)


def test_a_template_that_does_not_say_takes_the_defaults_of_its_tier(tmp_path: Path) -> None:
    bare = deployment("web", replicas=1)
    assert found_of(tmp_path, {"requests.memory": "32512Mi", "pods": "1"}, bare, *pods(1)) == []
    (found,) = found_of(tmp_path, {"requests.memory": "32513Mi"} | {"pods": "1"}, bare, *pods(1))
    assert "one more pod takes 256Mi" in describe(found).found


def test_pods_that_are_wanted_and_refused_are_an_error(tmp_path: Path) -> None:
    (found,) = found_of(
        tmp_path, FULL | {"requests.memory": "29Gi"}, deployment("web", pod_spec=SIZE, replicas=5), *pods(2)
    )
    assert (found.severity, found.rule) == ("error", "replicas-refused")
    assert describe(found).found.startswith("3 of 5 pods missing; requests.memory of quota shop-quota")
    assert describe(found).expected == "room for 3 more, now for 1"
    still = deployment("web", pod_spec=SIZE, replicas=3)
    (blocked,) = found_of(tmp_path, FULL | {"requests.memory": "30Gi"}, still, *pods(2))
    assert blocked.rule == "rollout-blocked", "what is missing comes first, and takes the room that is left"


def test_a_stateful_set_replaces_in_place_and_lacks_pods_all_the_same(tmp_path: Path) -> None:
    template = {"spec": SIZE}
    db = named("StatefulSet", "db", "shop", "apps/v1", spec={"replicas": 2, "template": template})
    assert found_of(tmp_path, FULL, db, *pods(2, "db", "StatefulSet")) == []
    assert [each.rule for each in found_of(tmp_path, FULL, db, *pods(1))] == ["replicas-refused"]


def test_jobs_and_daemon_sets_are_not_said_to_lack_pods(tmp_path: Path) -> None:
    template = {"spec": SIZE}
    job = named("CronJob", "j", "shop", "batch/v1", spec={"jobTemplate": {"spec": {"template": template}}})
    daemons = named(
        "DaemonSet", "d", "shop", "apps/v1", spec={"template": template}, status={"desiredNumberScheduled": 3}
    )
    assert found_of(tmp_path, FULL, job, daemons) == []
    daemons["spec"]["updateStrategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    (found,) = found_of(tmp_path, FULL, daemons)
    assert (found.rule, found.field) == ("rollout-blocked", "spec.updateStrategy")


def test_an_autoscaler_that_may_want_more_than_the_quota_allows_is_told(tmp_path: Path) -> None:
    scaler = named(
        "HorizontalPodAutoscaler", "h", "shop", "autoscaling/v2",
        spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 10},
    )  # fmt: skip
    made = deployment("web", pod_spec=SIZE, replicas=2)
    (found,) = found_of(tmp_path, {"requests.memory": "24Gi"}, made, *pods(2), scaler)
    assert (found.severity, found.rule) == ("info", "autoscaler-above-quota")
    assert describe(found).expected == "at most 6 pods, for which there is room"
    assert describe(found).found.startswith("up to 10 pods; requests.memory of quota")
    assert found_of(tmp_path, {"requests.memory": "4Gi"}, made, *pods(2), scaler) == []


def test_a_quota_that_was_not_counted_is_reckoned_by_the_pods(tmp_path: Path) -> None:
    items = governed("shop")
    del items[2]["status"]
    made = audited(tmp_path, *items, *pods(2))
    rooms = {room.resource: room for room in made.namespaces[0].rooms}
    assert (rooms["pods"].used, rooms["requests.memory"].used, rooms["requests.cpu"].used) == (
        2,
        4 * 2**30,
        2000,
    )
    assert rooms["requests.memory"].free == 28 * 2**30
    unread = audit(snapshot(tmp_path, *items), (DEFAULT_POLICY,), 0)
    assert unread.namespaces[0].rooms == ()


def test_a_quota_that_counts_some_pods_alone_bounds_nobody_here(tmp_path: Path) -> None:
    scoped = named(
        "ResourceQuota",
        "s",
        "shop",
        spec={"hard": {"pods": "0"}, "scopes": ["BestEffort"]},
        status={"hard": {"pods": "0"}},
    )
    assert found_of(tmp_path, {}, scoped, deployment("web", pod_spec=SIZE, replicas=1), *pods(1)) == []


def test_a_quota_of_what_pods_do_not_take_bounds_nobody(tmp_path: Path) -> None:
    labels = {"remuda.dev/own-quota": "true"}
    items = [item for item in governed("shop", labels=labels) if item["kind"] != "ResourceQuota"]
    storage = named(
        "ResourceQuota",
        "s",
        "shop",
        spec={"hard": {"requests.storage": "1Gi"}},
        status={"hard": {"requests.storage": "0"}},
    )
    assert (
        found_in(audited(tmp_path, *items, storage, deployment("web", pod_spec=SIZE, replicas=1), *pods(1)))
        == []
    )


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("pods", 1), ("count/pods", 1), ("cpu", 1), ("requests.cpu", 1), ("requests.memory", 2), ("memory", 2), ("limits.memory", 3),
        ("limits.cpu", 0), ("requests.nvidia.com/gpu", 4), ("requests.storage", 0),
    ],
)  # fmt: skip
def test_what_a_pod_takes_of_a_quota(resource: str, expected: int) -> None:
    taken = Containers(requests={"cpu": 1, "memory": 2, "nvidia.com/gpu": 4}, limits={"memory": 3})
    assert charge(resource, taken) == expected


def test_amounts_of_a_quota_are_written_as_quotas_are() -> None:
    assert Room("q", "limits.memory", 2**30, 0).text(2**30) == "1Gi"
    assert Room("q", "requests.cpu", 1000, 0).text(1500) == "1500m"
