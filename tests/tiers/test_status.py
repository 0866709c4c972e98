"""What a TierPolicy's status and the metrics say of a cycle."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.tiers.loop_worlds import judged, limits, namespace, quota, world

from remuda.model.plans import Plan
from remuda.tiers.decide.namespaces import BLOCKED
from remuda.tiers.meters import TierMeters
from remuda.tiers.status import policy_status

SETTLED = (namespace("a"), limits("a"), quota("a"))
FOREIGN = (namespace("b"), limits("b", owner=None))


@pytest.mark.parametrize(
    ("there", "more", "is_settled", "word", "counts"),
    [
        pytest.param(SETTLED, {}, True, "Settled", (1, 1), id="all is well"),
        pytest.param((), {}, True, "Settled", (0, 0), id="no namespace has a tier"),
        pytest.param((*SETTLED, namespace("c")), {}, False, "Applying", (2, 1), id="one is on its way"),
        pytest.param((*SETTLED, *FOREIGN), {}, False, "Blocked", (2, 1), id="one is somebody else's"),
        pytest.param(
            SETTLED, {"unread": {"Node": "may not list"}}, False, "Unreadable", (1, 1), id="nodes cannot be read"
        ),
    ],
)  # fmt: skip
def test_a_status_says_whether_all_namespaces_are_settled(
    there: tuple[Any, ...], more: dict[str, Any], is_settled: bool, word: str, counts: tuple[int, int]
) -> None:
    status = policy_status("default", judged(world(*there, **more)).reasons, BLOCKED)
    (condition,) = status.conditions
    assert (condition.type, condition.is_true, condition.reason) == ("Settled", is_settled, word)
    assert (status.fields["namespaces"], status.fields["settled"]) == counts


def test_a_status_names_a_few_that_wait_for_somebody_and_counts_the_rest() -> None:
    many = [part for n in range(8) for part in (namespace(f"n{n}"), limits(f"n{n}", owner=None))]
    (condition,) = policy_status("default", judged(world(*many)).reasons, BLOCKED).conditions
    assert "n4 is of tier" in condition.message
    assert "n5 is of tier" not in condition.message
    assert condition.message.endswith("and 3 more")


def test_nothing_is_said_of_a_policy_before_the_first_cycle_nor_of_another_s_namespaces() -> None:
    assert policy_status("default", (), BLOCKED).conditions == ()
    assert policy_status("other", judged(world(*FOREIGN)).reasons, BLOCKED).conditions == ()


def shown(registry: CollectorRegistry) -> dict[str, float]:
    return {
        f"{sample.name} {' '.join(sample.labels.values())}": sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }


def test_metrics_count_namespaces_by_policy_and_forget_policies_that_are_gone() -> None:
    registry = CollectorRegistry()
    meters = TierMeters(registry)
    plan = judged(world(*SETTLED, *FOREIGN, namespace("c"), unread={"Node": "no"}))
    meters.report(plan.reasons, plan.actions)
    assert shown(registry) == {
        "remuda_tier_namespaces default settled": 1,
        "remuda_tier_namespaces default changing": 1,
        "remuda_tier_namespaces default blocked": 1,
        "remuda_tier_unread Node": 1,
        "remuda_tier_actions_total write": 1,
    }
    meters.report(Plan().reasons, Plan().actions)
    assert shown(registry) == {"remuda_tier_actions_total write": 1}
