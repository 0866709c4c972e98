"""Sizes by a TierPolicy: which tier a workload is of, what that bounds, and what holds where there is none."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from tests.rightsize.decide.builders import (
    WEB,
    container,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    steps_of,
    the,
    workload,
)

from remuda.model.quantities import Quantity
from remuda.objects.scalars import LabelKey, ObjectName
from remuda.objects.tiers import DEFAULT_POLICY, GpuSpec, QuotaSpec, TierPolicySpec, TierSpec, policy_of
from remuda.rightsize.decide.tiers import SizingTiers
from remuda.rightsize.objects import RightsizePolicySpec, TierName, WorkloadSpec
from remuda.rightsize.objects import TierSpec as OldTierSpec
from remuda.rightsize.snapshot import Workload
from remuda.rightsize.tier_policies import BUILT_IN_TIERS
from remuda.rules.tiers import TierPolicy

GOLD = TierSpec(
    ObjectName("gold"),
    default_cpu=Quantity.parse("1"),
    max_cpu=Quantity.parse("8"),
    default_memory=Quantity.parse("1Gi"),
    max_memory=Quantity.parse("8Gi"),
    quota=QuotaSpec(Quantity.parse("8"), Quantity.parse("8Gi"), 10),
    priority=1_000,
)


def policy(name: str = "home", **fields: Any) -> TierPolicy:
    return policy_of(name, TierPolicySpec(**fields))


def by(*policies: TierPolicy) -> SizingTiers:
    return SizingTiers(policies, are_built_in=False)


def in_namespace(name: str, **labels: str) -> Workload:
    made = workload(id=WEB._replace(namespace=name))
    return replace(made, labels={key.replace("_", "/", 1): value for key, value in labels.items()})


@pytest.mark.parametrize(
    ("namespace", "labels", "own", "fields", "tier", "why"),
    [
        pytest.param("shop", {}, {}, {}, "", "no label remuda.dev/tier or tier", id="none"),
        pytest.param("shop", {"remuda.dev/tier": "0-core"}, {}, {}, "0-core", "its namespace's label remuda.dev/tier is 0-core", id="the label"),
        pytest.param("shop", {"tier": "4-aux"}, {}, {}, "4-aux", "its namespace's label tier is 4-aux", id="the plain label"),
        pytest.param("3-edge-dns", {}, {}, {}, "3-edge", "its namespace's name begins with 3-edge", id="the prefix"),
        pytest.param("3-edge-dns", {"tier": "0-core"}, {}, {}, "0-core", "label", id="a label before the prefix"),
        pytest.param("shop", {}, {}, {"default_tier": ObjectName("4-aux")}, "4-aux", "the defaultTier of TierPolicy home", id="the default"),
        pytest.param("shop", {"tier": "0-core"}, {"tier": "4-aux"}, {}, "4-aux", "its label tier is 4-aux", id="the workload's own label"),
        pytest.param("shop", {"tier": "0-core"}, {"tier": "frontend"}, {}, "0-core", "namespace's", id="a workload's label that means something else"),
        pytest.param("shop", {"team/class": "gold"}, {}, {"tier_label": "team/class", "tiers": (GOLD,)}, "gold", "team/class is gold", id="a label and a tier of one's own"),
        pytest.param("kube-system", {"tier": "0-core"}, {}, {}, "", "no TierPolicy is for namespace kube-system", id="a namespace that is excluded"),
    ],
)  # fmt: skip
def test_a_tier_is_that_of_the_tier_policy(
    namespace: str, labels: dict[str, str], own: dict[str, str], fields: dict[str, Any], tier: str, why: str
) -> None:
    made = judge(
        replace(in_namespace(namespace), labels=own),
        tiers=by(policy(**fields)),
        namespaces={namespace: labels},
    )
    assert made.workloads[0].tier_name == made.workloads[0].shown_tier == tier
    assert why in steps_of(the(made), "tier")[0][1]
    assert not rules(made) & {"tier-not-read", "tier-unclear"}


def test_the_digit_of_a_tier_stays_what_programs_read() -> None:
    names = {"0-core": 0, "4-aux": 4, "gold": None}
    for name, number in names.items():
        made = judge(tiers=by(policy(tiers=(GOLD,))), namespaces={"shop": {"tier": name}})
        assert (made.workloads[0].tier_name, made.workloads[0].tier) == (name, number)


@pytest.mark.parametrize(
    ("tier", "burst", "requested"),
    [("0-core", None, 672), ("2-gpu", None, 672), ("3-edge", None, 500), ("0-core", True, 500), ("4-aux", False, 672)],
)  # fmt: skip
def test_whether_memory_is_requested_in_full_is_what_the_tier_says(
    tier: str, burst: bool | None, requested: int
) -> None:
    written = TierSpec(ObjectName(tier), burst=UNSET if burst is None else burst)
    made = judge(tiers=by(policy(tiers=(written,))), namespaces={"shop": {"tier": tier}})
    assert memory_of(the(made)) == (requested, 672)
    assert the(made).recommended == the(made).vpa_rule


def test_bounds_are_those_of_the_tier_and_named_after_its_policy() -> None:
    small = TierSpec(ObjectName("4-aux"), max_memory=Quantity.parse("600Mi"), min_cpu=Quantity.parse("250m"))
    made = judge(
        workload(container(cpu=1000, memory=None, memory_limit=300)),
        tiers=by(policy(tiers=(small,))),
        namespaces={"shop": {"tier": "4-aux"}},
    )
    assert memory_of(the(made)) == (500, 600)
    assert the(made).recommended.requests.cpu_millicores == 250
    assert ("CPU from 250m to 2000m", "tier 4-aux of TierPolicy home") in steps_of(the(made), "tier")
    assert ("600Mi, down from 672Mi", "the most by tier 4-aux of TierPolicy home") in steps_of(
        the(made), "tier"
    )


def test_a_tier_that_allows_less_than_was_used_is_an_error_that_names_it() -> None:
    made = judge(
        known=evidence(peak=5_000, memory=(5_500, 5_000, 6_000)),
        tiers=by(policy()),
        namespaces={"shop": {"tier": "4-aux"}},
    )
    assert found(made, "clamped-below-use").is_ == "at most 4Gi by tier 4-aux of TierPolicy home"


def test_a_label_that_is_no_tier_of_the_policy_is_reported_with_those_there_are() -> None:
    made = judge(
        replace(workload(), labels={"remuda.dev/tier": "silver"}),
        tiers=by(policy()),
        namespaces={"shop": {"tier": "5-none"}},
    )
    assert made.workloads[0].tier_name == ""
    seen = {(each.object, each.field, each.is_) for each in made.findings if each.rule == "tier-not-read"}
    assert seen == {
        ("Deployment shop/web", "metadata.labels[remuda.dev/tier]", "silver"),
        ("Namespace shop", "metadata.labels[tier]", "5-none"),
    }
    texts = {(each.should, each.fix) for each in made.findings if each.rule == "tier-not-read"}
    assert texts == {
        (
            "one of 0-core, 1-cluster, 2-gpu, 3-edge, 4-aux",
            "change the label, or name another one as tierLabel of the TierPolicy",
        )
    }


def test_a_namespace_of_two_policies_has_no_tier_and_is_reported() -> None:
    made = judge(tiers=by(policy("b"), policy("a")), namespaces={"shop": {"tier": "0-core"}})
    assert made.workloads[0].shown_tier == ""
    assert found(made, "tier-unclear").is_ == "TierPolicies a, b all claim it"
    assert "TierPolicies a, b all claim namespace shop" in steps_of(the(made), "tier")[0][1]


@pytest.mark.parametrize(
    ("said", "tier"), [("1", "1-cluster"), ("gold", "gold"), ("silver", "4-aux"), ("1-x", "4-aux")]
)
def test_the_policy_of_sizes_may_name_the_tier_of_a_workload(said: str, tier: str) -> None:
    made = judge(
        policy=RightsizePolicySpec(workloads=(WorkloadSpec(), WorkloadSpec(tier=TierName(said)))),
        tiers=by(policy(tiers=(GOLD,))),
        namespaces={"shop": {"tier": "4-aux"}},
    )
    assert made.workloads[0].tier_name == tier


def test_a_resource_that_a_tier_policy_calls_a_gpu_makes_a_workload_one() -> None:
    item = workload(container(others={"example.com/gpu": "1"}))
    known = policy(gpu=GpuSpec(resource=LabelKey("example.com/gpu")))
    assert the(judge(item, tiers=by(known))).usage_class == "gpu"
    assert the(judge(item, tiers=by(policy(gpu=None)))).usage_class == "stable"


@pytest.mark.parametrize(
    ("namespace", "labels", "fields", "tier", "why"),
    [
        pytest.param("shop", {"remuda.dev/tier": "1-x"}, {}, 1, "label remuda.dev/tier is 1-x", id="the label of TierPolicies"),
        pytest.param("shop", {"tier": "1-x"}, {}, 1, "label tier is 1-x", id="the plain label"),
        pytest.param("shop", {}, {}, None, "no label remuda.dev/tier or tier,", id="nothing"),
        pytest.param("2-gpu-render", {}, {}, 2, "name begins with 2-gpu", id="the prefix"),
        pytest.param("kube-system", {"tier": "0-core"}, {}, 0, "label tier", id="namespaces of the system as well"),
        pytest.param("2-gpu-render", {}, {"default_tier": 3}, 3, "defaultTier", id="a policy of old knows no prefix"),
        pytest.param("shop", {"remuda.dev/tier": "1-x"}, {"default_tier": 3}, 3, "defaultTier", id="nor that label"),
        pytest.param("shop", {"tier": "1"}, {"tier_label": "team"}, None, "no label team,", id="and one label alone"),
    ],
)  # fmt: skip
def test_without_a_tier_policy_tiers_are_known_by_their_digit(
    namespace: str, labels: dict[str, str], fields: dict[str, Any], tier: int | None, why: str
) -> None:
    made = judge(
        in_namespace(namespace),
        policy=RightsizePolicySpec(**fields),
        tiers=BUILT_IN_TIERS,
        namespaces={namespace: labels},
    )
    assert (made.workloads[0].tier, made.workloads[0].tier_name) == (tier, "")
    assert why in steps_of(the(made), "tier")[0][1]


def test_without_a_tier_policy_nothing_is_bounded_by_the_built_in_tiers() -> None:
    most = DEFAULT_POLICY.tiers["4-aux"].max_memory
    made = judge(
        known=evidence(peak=5_000, memory=(5_500, 5_000, 6_000)),
        tiers=BUILT_IN_TIERS,
        namespaces={"shop": {"tier": "4-aux"}},
    )
    assert (the(made).recommended.limits.memory_bytes or 0) > most
    assert "clamped-below-use" not in rules(made)


def test_a_policy_of_old_bounds_the_digits_it_names() -> None:
    old = RightsizePolicySpec(tiers=(OldTierSpec(tier=4, max_memory=Quantity.parse("600Mi")),))
    for digit, limit in (("4", 600), ("3", 672)):
        made = judge(policy=old, tiers=BUILT_IN_TIERS, namespaces={"shop": {"tier": digit}})
        assert memory_of(the(made)) == (500, limit)
