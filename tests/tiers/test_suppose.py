"""What another policy, another tier and one more workload would do."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tiers.clusters import container, deployment, named, owned_by, pod, sizes
from tests.tiers.why import GI, MI, node, world

from remuda.model.workloads import WorkloadId
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.suppose import Change, First, Moved, Outcome, outcome_of
from remuda.tiers.snapshot import Container, Containers, PodSpec, Workload

SHOP = named("Namespace", "shop", labels={"tier": "4-aux"})
HARD = {"requests.cpu": "8", "requests.memory": "16Gi", "pods": "20"}
OURS = {"app.kubernetes.io/managed-by": "remuda", "remuda.dev/tier-policy": "default"}


def one_more(
    namespace: str = "shop", replicas: int = 1, labels: dict[str, str] | None = None, **requests: int
) -> Workload:
    containers = Containers((Container("app", requests),), requests=requests)
    return Workload(
        WorkloadId(namespace, "Deployment", "more"), {}, labels or {}, PodSpec(containers), replicas=replicas
    )


def tried(tmp_path: Path, change: Change, *items: dict[str, Any]) -> Outcome:
    of = world(tmp_path, *items)
    return outcome_of(of.snapshot, of.policies, change)


def test_a_workload_that_fits_changes_nothing(tmp_path: Path) -> None:
    made = tried(tmp_path, Change(workloads=(one_more(cpu=500, memory=256 * MI),)), SHOP, node())
    assert (made.appears, made.goes, made.moved, made.first) == ((), (), (), ())
    [fit] = made.fits
    assert fit.tight is not None
    assert (fit.tier, fit.unplaced, fit.tight.fits) == ("4-aux", None, 16)


def test_a_workload_beyond_the_quota_is_told_with_how_many_pods_it_admits(tmp_path: Path) -> None:
    quota = named("ResourceQuota", "shop-quota", "shop", labels=OURS, spec={"hard": HARD},
                  status={"hard": HARD, "used": {"requests.cpu": "7", "requests.memory": "1Gi", "pods": "3"}})  # fmt: skip
    made = tried(
        tmp_path,
        Change(workloads=(one_more(replicas=3, cpu=500, memory=256 * MI),)),
        SHOP,
        quota,
        pod("a", "else"),
    )
    assert "replicas-refused" in {each.rule for each in made.appears}
    [fit] = made.fits
    assert fit.tight is not None
    assert (fit.tight.fits, fit.tight.terms()["used"]) == (2, "7")


def test_what_nobody_counted_is_counted_by_the_pods(tmp_path: Path) -> None:
    running = pod("a", spec={"containers": [container("app", sizes({"cpu": "7500m"}))]})
    made = tried(tmp_path, Change(workloads=(one_more(cpu=1_000, memory=MI),)), SHOP, running)
    [fit] = made.fits
    assert fit.tight is not None
    assert (fit.tight.fits, fit.tight.terms()["used"]) == (0, "7500m")


def test_a_workload_that_is_refused_or_finds_no_node_is_told(tmp_path: Path) -> None:
    made = tried(tmp_path, Change(workloads=(one_more(cpu=3_000, memory=5 * GI),)), SHOP, node(cpu="2"))
    assert {"above-max-cpu", "above-max-memory"} <= {each.rule for each in made.appears}
    [fit] = made.fits
    assert fit.unplaced is not None
    assert fit.unplaced.rule == "pod-too-big"


def test_a_workloads_own_label_decides_its_priority(tmp_path: Path) -> None:
    [fit] = tried(tmp_path, Change(workloads=(one_more(labels={"tier": "0-core"}, cpu=1),)), SHOP).fits
    assert fit.tier == "0-core"


def test_a_workload_in_a_namespace_without_a_tier_is_bounded_by_nothing(tmp_path: Path) -> None:
    [fit] = tried(tmp_path, Change(workloads=(one_more(cpu=1),)), named("Namespace", "shop"), node()).fits
    assert (fit.tier, fit.tight, fit.unplaced) == ("", None, None)


@pytest.mark.parametrize(
    ("labels", "moved"),
    [({"tier": "4-aux"}, "4-aux"), ({"remuda.dev/tier": "4-aux"}, "4-aux"), ({}, "")],
)
def test_another_tier_is_that_of_the_label_that_says_it(
    tmp_path: Path, labels: dict[str, str], moved: str
) -> None:
    made = tried(
        tmp_path, Change(tiers={"shop": "0-core", "new": "3-edge"}), named("Namespace", "shop", labels=labels)
    )
    assert made.moved == (Moved("new", "", "3-edge"), Moved("shop", moved, "0-core"))
    assert not {each.rule for each in made.appears} & {
        "labels-disagree",
        "quota-missing",
        "quota-not-counted",
    }


def test_another_policy_says_who_would_no_longer_fit(tmp_path: Path) -> None:
    aux = replace(
        DEFAULT_POLICY.tiers["4-aux"],
        max_memory=GI,
        quota={"requests.cpu": 1_000, "requests.memory": GI, "pods": 2},
    )
    small = replace(DEFAULT_POLICY, tiers=DEFAULT_POLICY.tiers | {"4-aux": aux})
    big = {"containers": [container("app", sizes({"cpu": "900m", "memory": "512Mi"}, {"memory": "2Gi"}))]}
    items = [
        SHOP,
        deployment("web", pod_spec=big, replicas=1),
        pod("web-1", spec=big, ownerReferences=owned_by("Deployment", "web")),
    ]
    made = tried(tmp_path, Change(policies=(small,)), *items)
    assert {"above-max-memory", "rollout-blocked"} <= {each.rule for each in made.appears}
    assert made.goes == ()
    back = outcome_of(world(tmp_path, *items).snapshot, (small,), Change(policies=(DEFAULT_POLICY,)))
    assert {"above-max-memory", "rollout-blocked"} <= {each.rule for each in back.goes}


def used(name: str, amount: int, namespace: str) -> dict[str, Any]:
    containers = [{"name": "app", "usage": {"memory": str(amount)}}]
    return named("PodMetrics", name, namespace, "metrics.k8s.io/v1beta1", containers=containers)


def test_who_is_evicted_first_changes_with_the_tier(tmp_path: Path) -> None:
    spec = {"containers": [container("app", sizes({"memory": "256Mi"}))]}
    items = [
        SHOP, named("Namespace", "home", labels={"tier": "3-edge"}), node(), node("n2"),
        pod("a", spec=spec), pod("b", "home", spec=spec), used("a", GI, "shop"), used("b", GI, "home"),
        pod("own", spec=spec | {"priorityClassName": "mine", "priority": 5}),
    ]  # fmt: skip
    made = tried(tmp_path, Change(tiers={"shop": "0-core"}), *items)
    assert made.first == (First("n1", "shop/a", "home/b"),)


def test_a_namespace_that_keeps_its_own_keeps_it(tmp_path: Path) -> None:
    labels = {"tier": "4-aux", "remuda.dev/own-quota": "true", "remuda.dev/own-limits": "true"}
    hard = {"requests.cpu": "1"}
    own = named(
        "ResourceQuota",
        "mine",
        "shop",
        spec={"hard": hard},
        status={"hard": hard, "used": {"requests.cpu": "0"}},
    )
    [fit] = tried(
        tmp_path, Change(workloads=(one_more(cpu=2_000),)), named("Namespace", "shop", labels=labels), own
    ).fits
    assert fit.tight is not None
    assert (fit.tight.fits, fit.tight.room.quota) == (0, "mine")
