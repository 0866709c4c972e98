"""Which tier a workload is of, and what that makes of request, limit and bounds."""

import pytest
from tests.rightsize.decide.builders import (
    MI,
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
from remuda.rightsize.decide.tiers import read_tier
from remuda.rightsize.objects import RightsizePolicySpec, TierName, TierSpec, WorkloadSpec


@pytest.mark.parametrize(
    ("value", "tier"),
    [
        ("0-core", 0),
        ("4", 4),
        ("2-gpu", 2),
        ("5-none", None),
        ("10-x", None),
        ("12-x", None),
        ("core", None),
        ("", None),
        ("-1", None),
    ],
)
def test_a_label_begins_with_one_digit_from_0_to_4(value: str, tier: int | None) -> None:
    assert read_tier(value) == tier


@pytest.mark.parametrize(
    ("policy", "label", "namespace", "tier", "why"),
    [
        pytest.param(RightsizePolicySpec(), None, None, None, "no label tier", id="none"),
        pytest.param(RightsizePolicySpec(default_tier=3), None, None, 3, "defaultTier", id="the default"),
        pytest.param(
            RightsizePolicySpec(default_tier=3), None, "1-x", 1, "namespace's", id="the namespace's"
        ),
        pytest.param(
            RightsizePolicySpec(), "0-core", "1-x", 0, "its label", id="its own before the namespace's"
        ),
        pytest.param(
            RightsizePolicySpec(workloads=(WorkloadSpec(), WorkloadSpec(tier=TierName(4)))),
            "0",
            "1",
            4,
            "the policy",
            id="the policy",
        ),
    ],
)
def test_a_tier_is_by_policy_label_namespace_and_default_in_this_order(
    policy: RightsizePolicySpec, label: str | None, namespace: str | None, tier: int | None, why: str
) -> None:
    made = judge(
        workload(tier=label),
        policy=policy,
        namespaces={"shop": {} if namespace is None else {"tier": namespace}},
    )
    assert made.workloads[0].tier == tier
    assert why in steps_of(the(made), "tier")[0][1]


@pytest.mark.parametrize(
    ("tier", "requested"),
    [("0", 672), ("1", 672), ("2", 672), ("3", 500), ("4", 500), (None, 500)],
)
def test_tiers_0_to_2_request_their_limit_and_all_others_their_target(
    tier: str | None, requested: int
) -> None:
    one = the(judge(workload(tier=tier)))
    assert memory_of(one) == (requested, 672)
    assert one.recommended == one.vpa_rule


def test_a_label_that_is_no_tier_is_reported_and_the_next_one_asked() -> None:
    made = judge(workload(tier="gold"), namespaces={"shop": {"tier": "1-x"}})
    assert made.workloads[0].tier == 1
    one = found(made, "tier-not-read")
    assert (one.object, one.field, one.is_) == ("Deployment shop/web", "metadata.labels[tier]", "gold")


def tiers(**bounds: str) -> RightsizePolicySpec:
    return RightsizePolicySpec(
        default_tier=3,
        tiers=(
            TierSpec(tier=3, **{name: Quantity.parse(value) for name, value in bounds.items()}),
            TierSpec(tier=2),
        ),
    )


@pytest.mark.parametrize(
    ("policy", "memory", "cpu"),
    [
        pytest.param(
            tiers(min_memory="1Gi"), (1024, 1024), 100, id="the least of memory is for request and limit"
        ),
        pytest.param(tiers(min_memory="520Mi"), (520, 672), 100, id="or for the request alone"),
        pytest.param(tiers(max_memory="600Mi"), (500, 600), 100, id="the most of memory"),
        pytest.param(tiers(max_memory="450Mi"), (450, 450), 100, id="the most of memory is for both"),
        pytest.param(tiers(min_cpu="250m"), (500, 672), 250, id="the least of CPU"),
        pytest.param(tiers(max_cpu="90m"), (500, 672), 90, id="the most of CPU"),
    ],
)
def test_a_tier_of_the_policy_bounds_what_is_recommended(
    policy: RightsizePolicySpec, memory: tuple[int, int], cpu: int
) -> None:
    made = judge(workload(container(cpu=1000, memory=None, memory_limit=300)), policy=policy)
    one = the(made)
    assert memory_of(one) == memory
    assert one.recommended.requests.cpu_millicores == cpu
    assert "clamped-below-use" not in rules(made)
    assert any("policy of tier 3" in remark for _, remark in steps_of(one, "tier")[1:])


def test_a_tier_that_allows_less_cpu_than_the_lower_bound_is_reported() -> None:
    made = judge(policy=tiers(max_cpu="70m"))
    one = found(made, "clamped-below-use")
    assert (one.severity, one.is_) == ("warning", "at most 70m by the policy of tier 3")
    assert "to 100m or more" in one.fix


def test_a_raise_that_its_tier_cuts_short_goes_as_far_as_it_may_and_is_an_error() -> None:
    killed = evidence(peak=500, memory=(600, 550, 700))
    made = judge(
        workload(container(memory=256, memory_limit=256)), known=killed, policy=tiers(max_memory="512Mi")
    )
    assert memory_of(the(made)) == (512, 512)
    assert (the(made).risk, the(made).verdict) == ("will-oom", "raise")
    one = found(made, "clamped-below-use")
    assert one.severity == "error"
    assert one.should.startswith(f"at least {550 * MI // MI}Mi")
    assert "to 560Mi or more" in one.fix


def test_a_tier_never_takes_away_what_was_used() -> None:
    made = judge(known=evidence(peak=900, memory=(1000, 900, 1100)), policy=tiers(max_memory="512Mi"))
    assert the(made).recommended.limits == the(made).now.limits
    assert "until then memory is left at 1Gi" in found(made, "clamped-below-use").fix


@pytest.mark.parametrize(
    ("tier", "steps"),
    [
        pytest.param("2", [], id="it is the limit"),
        pytest.param("3", [("500Mi", "the target in whole MiB, not above the limit")], id="it is the target"),
    ],
)
def test_the_request_of_memory_is_explained_where_it_is_not_the_limit(
    tier: str, steps: list[tuple[str, str]]
) -> None:
    assert steps_of(the(judge(workload(tier=tier))), "request") == steps
