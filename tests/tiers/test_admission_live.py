"""
What pods of each tier really end up with, on a real API server: with MutatingAdmissionPolicies, and without.

The numbers stand here as the documentation says them, and not as the code does.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl
from tests.servers.loopback import Answer
from tests.tiers.live import (
    MUTATING_FLAGS,
    World,
    apply,
    container,
    namespace,
    sizes,
    standing,
    warned,
)
from tests.tiers.webhook import injecting

from remuda.objects.tiers import DEFAULT_POLICY, MOST_LETTERS
from remuda.rules.tiers import CpuLimits, Sidecar, TierPolicy, Workload
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.desired import limit_range

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Facts:
    """What is written about a tier."""

    cpu: str
    memory: str
    limit: str
    most: int
    most_cpu: int
    quota_cpu: int
    priority: int
    is_even: bool = True


TIERS = {
    "0-core": Facts("500m", "512Mi", "512Mi", 8, 4, 32, 900_000),
    "1-cluster": Facts("500m", "512Mi", "512Mi", 4, 2, 16, 700_000),
    "2-gpu": Facts("1", "2Gi", "2Gi", 16, 8, 48, 500_000),
    "3-edge": Facts("250m", "256Mi", "4Gi", 4, 2, 16, 300_000, is_even=False),
    "4-aux": Facts("250m", "256Mi", "4Gi", 4, 2, 8, 200_000, is_even=False),
}
MODES: tuple[CpuLimits, ...] = ("warn", "deny", "strip")
RUNNER = {"labels": {"actions.github.com/scale-set-name": "linux", "actions-ephemeral-runner": "True"}}
UNEVEN = "memory request and limit should be equal in tier"
NO_CPU_LIMITS = "wants no CPU limits"


def policies() -> list[TierPolicy]:
    guaranteed = (
        Workload("*-0-core", "Deployment", "db-*"),
        Workload("*-0-core", "CronJob", "nightly"),
        Workload("*-0-core", "Pod", "alone"),
    )
    return [
        replace(DEFAULT_POLICY, name=mode, namespaces=(f"{mode}-*",), cpu_limits=mode, guaranteed=guaranteed)
        for mode in MODES
    ]


@pytest.fixture(scope="module", params=["v1beta1", None], ids=["mutating", "judging alone"])
def world(request: pytest.FixtureRequest, programs: Programs) -> Iterator[World]:
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager")
    flags = MUTATING_FLAGS if request.param else ()
    with Cluster(names, extras=("kube-controller-manager",), flags=flags) as running:
        made = World(running, request.param)
        made.has(policies())
        yield made


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def expected(world: World, tier: str, qos: str = "Burstable") -> tuple[str | None, int, str]:
    """The standing of a pod that says nothing of its own."""
    if world.mutating is None:
        return None, 0, qos
    return f"tier-{tier}", TIERS[tier].priority, qos


def test_a_pod_without_resources_gets_requests_and_a_memory_limit_and_no_cpu_limit(
    world: World, tier: str
) -> None:
    facts = TIERS[tier]
    answer = world.create(f"warn-{tier}", [container()])
    assert sizes(answer) == {"app": ({"cpu": facts.cpu, "memory": facts.memory}, {"memory": facts.limit})}
    assert standing(answer) == expected(world, tier)
    assert answer.warnings == ()


def test_a_pod_without_resources_in_4_aux_has_no_cpu_limit(world: World) -> None:
    answer = world.create("warn-4-aux", [container()])
    assert sizes(answer) == {"app": ({"cpu": "250m", "memory": "256Mi"}, {"memory": "4Gi"})}
    assert standing(answer)[2] == "Burstable"


def test_a_pod_with_requests_alone_keeps_them_and_gets_the_default_limit(world: World, tier: str) -> None:
    facts = TIERS[tier]
    answer = world.create(f"warn-{tier}", [container(requests={"cpu": "100m", "memory": "64Mi"})])
    assert sizes(answer) == {"app": ({"cpu": "100m", "memory": "64Mi"}, {"memory": facts.limit})}
    assert standing(answer) == expected(world, tier)
    assert (
        f"{UNEVEN} {tier}, by TierPolicy warn: spec.containers[app] differs" in warned(answer)
    ) == facts.is_even


def test_a_memory_request_above_the_default_limit_raises_it_or_is_refused(world: World, tier: str) -> None:
    facts = TIERS[tier]
    answer = world.create(f"warn-{tier}", [container(requests={"memory": "3Gi"})])
    if facts.is_even and world.mutating is None:
        assert answer.status == 422
        assert f"must be less than or equal to memory limit of {facts.limit}" in answer.text
        return
    limit = "3Gi" if facts.is_even else "4Gi"
    assert sizes(answer) == {"app": ({"cpu": facts.cpu, "memory": "3Gi"}, {"memory": limit})}
    assert standing(answer) == expected(world, tier)
    assert answer.warnings == ()


def test_a_limit_that_its_author_wrote_below_the_request_is_refused_and_not_raised(world: World) -> None:
    answer = world.create("warn-0-core", [container(requests={"memory": "1Gi"}, limits={"memory": "512Mi"})])
    assert answer.status == 422
    assert "must be less than or equal to memory limit of 512Mi" in answer.text


@pytest.mark.parametrize("mode", MODES)
def test_a_cpu_limit_is_warned_of_refused_or_gone(world: World, tier: str, mode: CpuLimits) -> None:
    given = {"cpu": "1", "memory": "256Mi"}
    answer = world.create(f"{mode}-{tier}", [container(requests=given, limits=given)])
    if mode == "deny":
        assert answer.status == 422
        words = "TierPolicy deny wants no CPU limits: spec.containers[app] has one; a CPU limit slows a container down"
        assert words in answer.text
        return
    is_stripped = mode == "strip" and world.mutating is not None
    limits = {"memory": "256Mi"} if is_stripped else given
    assert sizes(answer) == {"app": (given, limits)}
    assert standing(answer) == expected(world, tier, "Burstable" if is_stripped else "Guaranteed")
    assert (NO_CPU_LIMITS in warned(answer)) != is_stripped


def test_a_cpu_limit_alone_becomes_the_request_before_it_is_stripped(world: World, tier: str) -> None:
    answer = world.create(f"strip-{tier}", [container(limits={"cpu": "2"})])
    requests, limits = sizes(answer)["app"]
    assert requests == {"cpu": "2", "memory": TIERS[tier].memory}
    assert ("cpu" in limits) == (world.mutating is None)


@pytest.mark.parametrize("mode", MODES)
def test_cpu_limits_of_init_containers_and_of_the_whole_pod_count(
    world: World, tier: str, mode: CpuLimits
) -> None:
    given = {"cpu": "1", "memory": "128Mi"}
    answer = world.create(
        f"{mode}-{tier}",
        [container(requests=given, limits={"memory": "128Mi"})],
        initContainers=[container("first", requests=given, limits=given)],
        resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
    )
    if mode == "deny":
        assert answer.status == 422
        assert "spec.initContainers[first], spec.resources has one" in answer.text
        return
    is_stripped = mode == "strip" and world.mutating is not None
    kept = {} if is_stripped else {"cpu": "1"}
    assert sizes(answer)["first"] == (given, {**kept, "memory": "128Mi"})
    whole = answer.json()["spec"]["resources"]
    assert whole["limits"] == ({"memory": "1Gi"} if is_stripped else {"cpu": "2", "memory": "1Gi"})
    assert (NO_CPU_LIMITS in warned(answer)) != is_stripped


def test_more_memory_than_the_maximum_is_refused(world: World, tier: str) -> None:
    most = TIERS[tier].most
    much = {"memory": f"{most + 1}Gi"}
    answer = world.create(f"warn-{tier}", [container(requests=much, limits=much)])
    assert answer.status == 403
    assert f"maximum memory usage per Container is {most}Gi, but limit is {most + 1}Gi" in answer.text


def test_a_request_above_the_maximum_of_cpu_is_refused_wherever_it_is(world: World, tier: str) -> None:
    most = TIERS[tier].most_cpu
    much, enough = container("much", requests={"cpu": f"{most}001m"}), container(requests={"cpu": str(most)})
    words = f"tier {tier} allows a container to request at most {most} CPU, by TierPolicy warn: "
    for containers, first, place in (
        ([enough, much], [], "spec.containers[much]"),
        ([enough], [much], "spec.initContainers[much]"),
    ):
        answer = world.create(f"warn-{tier}", containers, initContainers=first)
        assert answer.status == 422
        assert f"{words}{place} requests more" in answer.text
    whole = {"requests": {"cpu": f"{2 * most}001m", "memory": "4Gi"}}
    answer = world.create(f"warn-{tier}", [container(), container("b")], resources=whole)
    assert f"{words}spec.resources requests more" in answer.text
    assert sizes(world.create(f"warn-{tier}", [enough]))["app"][0]["cpu"] == str(most)


def test_memory_of_a_whole_pod_below_what_containers_get_by_default_is_refused(
    world: World, tier: str
) -> None:
    facts = TIERS[tier]
    whole = {"limits": {"memory": "128Mi"}}
    answer = world.create(f"warn-{tier}", [container()], resources=whole)
    assert answer.status == 422
    assert f"must be greater than or equal to aggregate container requests of {facts.memory}" in answer.text
    stated = {"memory": "64Mi"}
    answer = world.create(f"warn-{tier}", [container(requests=stated, limits=stated)], resources=whole)
    assert sizes(answer) == {"app": ({"cpu": facts.cpu, "memory": "64Mi"}, stated)}


def test_more_than_the_quota_is_refused(world: World, tier: str) -> None:
    facts = TIERS[tier]
    count = facts.quota_cpu // facts.most_cpu + 1
    small = {"cpu": str(facts.most_cpu), "memory": "16Mi"}
    containers = [container(f"c{n}", requests=small, limits={"memory": "16Mi"}) for n in range(count)]
    answer = world.create(f"warn-{tier}", containers)
    assert answer.status == 403
    assert (
        f"exceeded quota: warn-{tier}-quota, requested: requests.cpu={count * facts.most_cpu},"
        f" used: requests.cpu=0, limited: requests.cpu={facts.quota_cpu}" in answer.text
    )


def test_each_of_several_containers_gets_what_it_does_not_say(world: World, tier: str) -> None:
    facts = TIERS[tier]
    both = {"cpu": "100m", "memory": "128Mi"}
    answer = world.create(
        f"warn-{tier}",
        [container("a"), container("b", requests=both, limits={"memory": "128Mi"})],
        initContainers=[container("first"), container("stays", restartPolicy="Always")],
    )
    defaults = ({"cpu": facts.cpu, "memory": facts.memory}, {"memory": facts.limit})
    stated = (both, {"memory": "128Mi"})
    assert sizes(answer) == {"a": defaults, "b": stated, "first": defaults, "stays": defaults}
    assert standing(answer) == expected(world, tier)
    assert answer.warnings == ()


def test_a_sidecar_on_defaults_gets_its_own_sizes_and_one_that_says_keeps_them(
    world: World, tier: str
) -> None:
    facts = TIERS[tier]
    stated = {"memory": "48Mi"}
    answer = world.create(
        f"warn-{tier}",
        [
            container(),
            container("csi-provisioner"),
            container("csi-attacher", requests={"memory": "100Mi"}),
            container("csi-resizer", requests=stated, limits=stated),
        ],
        initContainers=[container("node-driver-registrar", restartPolicy="Always")],
    )
    found = sizes(answer)
    default = ({"cpu": facts.cpu, "memory": facts.memory}, {"memory": facts.limit})
    small = ({"cpu": "10m", "memory": "32Mi"}, {"memory": "80Mi"})
    sized = default if world.mutating is None else small
    assert found["app"] == default
    assert found["csi-provisioner"] == found["node-driver-registrar"] == sized
    cpu = facts.cpu if world.mutating is None else "10m"
    # its request is above what sidecars may have
    limit = facts.limit if world.mutating is None else "100Mi"
    assert found["csi-attacher"] == ({"cpu": cpu, "memory": "100Mi"}, {"memory": limit})
    assert found["csi-resizer"] == ({"cpu": cpu, "memory": "48Mi"}, {"memory": "48Mi"})
    assert standing(answer) == expected(world, tier)
    assert answer.warnings == ()


@pytest.mark.parametrize("mode", MODES)
def test_a_pod_with_a_class_of_its_own_and_a_runner_are_admitted_untouched(
    world: World, tier: str, mode: CpuLimits
) -> None:
    most = TIERS[tier].most_cpu
    requests = {"cpu": f"{most}500m", "memory": "128Mi"}
    limits = {"cpu": f"{most}500m", "memory": "256Mi"}
    given = [container("csi-provisioner", requests=requests, limits=limits)]
    critical = world.create(f"{mode}-{tier}", given, priorityClassName="system-cluster-critical")
    runner = world.create(f"{mode}-{tier}", given, RUNNER)
    mirror = world.create(
        f"{mode}-{tier}",
        given,
        {"annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}},
        nodeName="node",
    )
    for answer in (critical, runner, mirror):
        assert sizes(answer) == {"csi-provisioner": (requests, limits)}
        assert answer.warnings == ()
    assert standing(critical) == ("system-cluster-critical", 2_000_000_000, "Burstable")
    assert standing(runner) == standing(mirror) == (None, 0, "Burstable")


def test_a_runner_is_kept_from_being_refused_for_a_default_below_its_request(world: World) -> None:
    answer = world.create("deny-0-core", [container(requests={"memory": "3Gi"})], RUNNER)
    if world.mutating is None:
        assert answer.status == 422
        return
    assert sizes(answer) == {"app": ({"cpu": "500m", "memory": "3Gi"}, {"memory": "3Gi"})}
    assert standing(answer) == (None, 0, "Burstable")


def test_sidecars_of_a_critical_pod_are_sized_too_and_those_of_a_runner_are_not(world: World) -> None:
    critical = world.create(
        "warn-4-aux", [container("csi-provisioner")], priorityClassName="system-node-critical"
    )
    runner = world.create("warn-4-aux", [container("csi-provisioner")], RUNNER)
    default = ({"cpu": "250m", "memory": "256Mi"}, {"memory": "4Gi"})
    small = ({"cpu": "10m", "memory": "32Mi"}, {"memory": "80Mi"})
    assert sizes(critical) == {"csi-provisioner": default if world.mutating is None else small}
    assert sizes(runner) == {"csi-provisioner": default}


@pytest.mark.parametrize("key", ["remuda.dev/tier", "tier"])
def test_a_workloads_own_tier_decides_its_priority_alone(world: World, key: str) -> None:
    answer = world.create("warn-4-aux", [container()], {"labels": {key: "1-cluster"}})
    assert sizes(answer) == {"app": ({"cpu": "250m", "memory": "256Mi"}, {"memory": "4Gi"})}
    assert standing(answer) == expected(world, "1-cluster")
    unknown = world.create("warn-4-aux", [container()], {"labels": {key: "7-heaven"}})
    assert standing(unknown) == expected(world, "4-aux")


def owned(kind: str, name: str, **labels: str) -> dict[str, object]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    return {"ownerReferences": [owner], "labels": labels}


@pytest.mark.parametrize(
    ("meta", "is_meant"),
    [
        (owned("ReplicaSet", "db-main-7c9f", **{"pod-template-hash": "7c9f"}), True),
        (owned("ReplicaSet", "web-7c9f", **{"pod-template-hash": "7c9f"}), False),
        (owned("ReplicaSet", "db-main", **{"pod-template-hash": "7c9f"}), False),
        (owned("Job", "nightly-29384756"), True),
        (owned("Job", "nightly"), False),
        ({"name": "alone"}, True),
        ({"name": "", "generateName": "other-"}, False),
    ],
)
def test_cpu_limits_of_workloads_that_are_to_be_guaranteed_are_meant(
    world: World, meta: dict[str, object], is_meant: bool
) -> None:
    given = {"cpu": "1", "memory": "256Mi"}
    denied = world.create("deny-0-core", [container(limits=given)], meta)
    assert (denied.status == 201) == is_meant, denied.text
    stripped = world.create("strip-0-core", [container(limits=given)], meta)
    kept = is_meant or world.mutating is None
    assert ("cpu" in sizes(stripped)["app"][1]) == kept
    assert (standing(stripped)[2] == "Guaranteed") == kept
    # the same name elsewhere is not meant
    assert world.create("deny-1-cluster", [container(limits=given)], meta).status == 422


def test_a_namespace_with_limits_of_its_own_keeps_its_sizes_and_gets_its_priority(world: World) -> None:
    labels = {"tier": "0-core", "remuda.dev/own-limits": "true"}
    apply(world.cluster, *namespace("deny-own", labels))
    own = {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "own", "namespace": "deny-own"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "9", "memory": "1Gi"}}]},
    }  # fmt: skip
    apply(world.cluster, own)
    answer = world.create("deny-own", [container("csi-provisioner", requests={"cpu": "5", "memory": "64Mi"})])
    # the LimitRange gave the CPU limit, and not the pod
    assert sizes(answer) == {
        "csi-provisioner": ({"cpu": "5", "memory": "64Mi"}, {"cpu": "9", "memory": "1Gi"})
    }
    assert standing(answer) == expected(world, "0-core")
    refused = world.create("deny-own", [container(limits={"cpu": "1"})])
    assert NO_CPU_LIMITS in refused.text


def test_a_namespace_of_no_tier_and_one_that_is_excluded_are_left_alone(world: World) -> None:
    apply(world.cluster, *namespace("warn-none"), *namespace("warn-odd", {"tier": "7-heaven"}))
    apply(world.cluster, *namespace("kube-odd", {"tier": "0-core"}))
    given = {"cpu": "90"}
    for name in ("warn-none", "warn-odd", "kube-odd"):
        answer = world.create(name, [container(limits=given)])
        assert sizes(answer) == {"app": (given, given)}
        assert standing(answer) == (None, 0, "Burstable")
        assert answer.warnings == ()


def test_the_server_finds_no_fault_with_the_types_of_expressions(world: World) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    found = [each for each in world.cluster.request("GET", path).json()["items"] if "status" in each]
    assert len(found) == 6
    assert [each["status"].get("typeChecking") for each in found] == [{}] * 6


def test_pods_can_be_made_after_every_single_step_of_applying(world: World) -> None:
    """Classes come first: a pod that is given one that is not there is forbidden."""
    tier = replace(DEFAULT_POLICY.tiers["4-aux"], name="9-late", priority=7)
    late = replace(
        DEFAULT_POLICY, name="late", tiers={"9-late": tier}, namespaces=("late-*",), default_tier="9-late"
    )
    apply(world.cluster, *namespace("late-on"))
    objects = cluster_objects(late, mutating=world.mutating)
    for each in objects:
        apply(world.cluster, each)
        assert world.create("late-on", [container()]).status == 201
    if world.mutating is not None:
        eventually(lambda: standing(world.create("late-on", [container()]))[0] == "tier-9-late", "its class")
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses/tier-9-late"
        assert world.cluster.request("DELETE", classes).status == 200
        words = "no PriorityClass with name tier-9-late was found"
        eventually(lambda: words in world.create("late-on", [container()]).text, "a class that is missing")


def test_a_container_that_a_webhook_adds_is_sized_too_and_nothing_is_done_twice(world: World) -> None:
    apply(world.cluster, *namespace("strip-mesh", {"tier": "0-core"}))
    policy = next(each for each in policies() if each.name == "strip")
    apply(world.cluster, limit_range(policy, policy.tiers["0-core"], "strip-mesh"))
    with injecting(world.cluster, "csi-attacher", "strip-mesh"):
        memory = "256Mi" if world.mutating is None else "1280Mi"
        given = [container("csi-resizer", requests={"memory": memory}, limits={"cpu": "1"})]
        made = eventually(
            lambda: found if len(sizes(found := world.create("strip-mesh", given))) == 2 else None,
            "the webhook",
        )
    default = ({"cpu": "500m", "memory": "512Mi"}, {"memory": "512Mi"})
    if world.mutating is None:
        assert sizes(made)["csi-attacher"] == default
        return
    assert sizes(made) == {
        "csi-resizer": ({"cpu": "1", "memory": "1280Mi"}, {"memory": "1280Mi"}),
        "csi-attacher": ({"cpu": "10m", "memory": "32Mi"}, {"memory": "80Mi"}),
    }
    assert standing(made) == expected(world, "0-core")
    assert made.warnings == ()


def test_the_pods_of_a_deployment_have_what_their_tier_gives(world: World) -> None:
    body = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()]}},
        },
    }
    made = world.cluster.request("POST", "/apis/apps/v1/namespaces/warn-3-edge/deployments", body)
    assert made.status == 201, made.text

    def pods() -> list[dict[str, Any]] | None:
        found = world.cluster.request("GET", "/api/v1/namespaces/warn-3-edge/pods").json()["items"]
        return found if len(found) == 2 else None

    for pod in eventually(pods, "two pods"):
        answer = Answer(201, json.dumps(pod))
        assert sizes(answer) == {"app": ({"cpu": "250m", "memory": "256Mi"}, {"memory": "4Gi"})}
        assert standing(answer) == expected(world, "3-edge")


def test_the_class_that_a_cluster_gives_everybody_is_no_reason_of_a_pods_own(world: World) -> None:
    shared = {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True}
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    apply(world.cluster, *namespace("usual-on", {"tier": "4-aux"}))
    policy = replace(DEFAULT_POLICY, name="usual", namespaces=("usual-*",), sidecars=())
    apply(world.cluster, *cluster_objects(policy, mutating=world.mutating, default_class="usual"))
    assert world.cluster.request("POST", path, shared).status == 201
    try:
        much = [container(requests={"cpu": "3"})]

        def is_known() -> bool:
            elsewhere = standing(world.create("default", [container()]))[0]
            return elsewhere == "usual" and "at most 2 CPU" in world.create("usual-on", much).text

        eventually(is_known, "the usual class")
        found = ("tier-4-aux", 200_000) if world.mutating else ("usual", 5)
        eventually(lambda: standing(world.create("usual-on", [container()]))[:2] == found, "its class")
        own = world.create("usual-on", much, priorityClassName="system-node-critical")
        assert own.status == 201
    finally:
        world.cluster.request("DELETE", f"{path}/usual")


def test_the_longest_policy_that_may_be_written_is_one_that_the_server_takes(world: World) -> None:
    names = tuple(f"huge-{n:010}.x?" for n in range(MOST_LETTERS // 20))
    tiers = {f"{n}-of-many": replace(DEFAULT_POLICY.tiers["0-core"], name=f"{n}-of-many") for n in range(100)}
    policy = replace(
        DEFAULT_POLICY,
        name="huge",
        tiers=tiers,
        namespaces=(*names, "huge-on"),
        excluded=names,
        sidecars=tuple(Sidecar(names[n::100], 10, 2**20, 2**21) for n in range(100)),
        guaranteed=tuple(Workload("*", "Deployment", f"{n:09}.") for n in range(1000)),
        cpu_limits="strip",
    )
    apply(world.cluster, *namespace("huge-on", {"tier": "7-of-many"}))
    apply(world.cluster, *cluster_objects(policy, mutating=world.mutating, others=[policy, *policies()]))
    given = [container(limits={"cpu": "1", "memory": "1Gi"}, name=f"c{n}") for n in range(20)]
    meta = owned("ReplicaSet", "web-7c9f", **{"pod-template-hash": "7c9f"})
    if world.mutating is None:
        eventually(lambda: NO_CPU_LIMITS in warned(world.create("huge-on", given, meta)), "a warning")
        return
    found = {f"c{n}": ({"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"}) for n in range(20)}
    eventually(lambda: sizes(world.create("huge-on", given, meta)) == found, "no CPU limits")
    eventually(lambda: standing(world.create("huge-on", given, meta))[0] == "tier-7-of-many", "its class")
