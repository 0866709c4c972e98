"""What an operator writes about a fleet becomes the numbers that are decided with."""

import pytest

from remuda.fleet.objects import FLEET_POLICY
from remuda.fleet.policy import Policy, Quota, Rails, Weights
from remuda.fleet.settings import FleetPolicySpec, Hold, Percent, policy_of
from remuda.model.shapes import DOLLAR, CapacityType
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.objects.load import Loaded, load_text


def load(spec: str) -> Loaded:
    head = "apiVersion: remuda.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\n"
    return load_text(f"{head}spec: {spec}\n", "p.yaml", (FLEET_POLICY,))


def test_a_policy_that_says_nothing_is_the_default() -> None:
    assert policy_of(FleetPolicySpec()) == Policy()
    assert policy_of(load("{}").objects[0].spec) == Policy()


def test_everything_that_is_written_counts() -> None:
    loaded = load(
        """
          holds: {on-demand: 1h, spot: 0, bare-metal: 30s, reserved: never}
          weights: {gap: 0.5, drain: "0.25", interruption: 0.1, reclamation: 0, waste: 0}
          graces: [{above: 10, grace: 1m}, {above: 100, grace: 5s}]
          grace: 2m
          gangPatience: 3m
          rails:
            reclaim: 10%
            preempt: "off"
            rollup: 50%
            rollupAgreeing: 2
            spending: {aws: "12.5"}
            quotas: [{provider: aws, region: eu, instanceType: m, most: 5}, {provider: own, most: 0}]
            paused: true
        """
    )
    assert loaded.problems == ()
    assert policy_of(loaded.objects[0].spec) == Policy(
        holds={
            CapacityType.ON_DEMAND: HOUR,
            CapacityType.SPOT: 0,
            CapacityType.BARE_METAL: 30 * SECOND,
            CapacityType.RESERVED: None,
        },
        weights=Weights(500_000, 250_000, 100_000, 0, 0),
        graces=((100, 5 * SECOND), (10, MINUTE)),
        grace=2 * MINUTE,
        gang_patience=3 * MINUTE,
        rails=Rails(
            10,
            None,
            50,
            2,
            {"aws": 12 * DOLLAR + DOLLAR // 2},
            (Quota("aws", 5, "eu", "m"), Quota("own", 0)),
            True,
        ),
    )


@pytest.mark.parametrize(
    ("spec", "place", "words"),
    [
        pytest.param("{holds: {on-demand: soon}}", "spec.holds.on-demand", "is no hold", id="a hold"),
        pytest.param(
            "{holds: {ondemand: 1m}}", "spec.holds.ondemand", "did you mean on-demand?", id="a slip"
        ),
        pytest.param("{weights: {gap: 101}}", "spec.weights.gap", "more than 100 dollars", id="a weight"),
        pytest.param("{weights: {interruption: 2}}", "spec.weights.interruption", "0 to 1", id="a factor"),
        pytest.param("{graces: [{above: -1, grace: 1s}]}", "spec.graces[0].above", "at least 0", id="a gap"),
        pytest.param(
            "{graces: [{above: 1, grace: 1s}, {above: 1, grace: 2s}]}",
            "spec.graces[1].above",
            "already",
            id="twice",
        ),
        pytest.param("{grace: 10}", "spec.grace", "is not a duration", id="a grace"),
        pytest.param("{gangPatience: -1m}", "spec.gangPatience", "is not a duration", id="patience"),
        pytest.param("{rails: {reclaim: 101%}}", "spec.rails.reclaim", "0% to 100%", id="a share"),
        pytest.param("{rails: {preempt: 5}}", "spec.rails.preempt", "write it like 5% or off", id="a count"),
        pytest.param(
            "{rails: {rollupAgreeing: 0}}", "spec.rails.rollupAgreeing", "at least 1", id="agreeing"
        ),
        pytest.param("{rails: {spending: {aws: -1}}}", "spec.rails.spending.aws", "below zero", id="a cap"),
        pytest.param(
            "{rails: {spending: {aws: .nan}}}", "spec.rails.spending.aws", "finite", id="a cap of NaN"
        ),
        pytest.param(
            "{rails: {quotas: [{provider: a, most: -1}]}}",
            "spec.rails.quotas[0].most",
            "at least",
            id="quota",
        ),
        pytest.param(
            "{rails: {quotas: [{provider: a, most: 1}, {provider: a, most: 2}]}}",
            "spec.rails.quotas[1]",
            "counts the same as quotas[0]",
            id="a quota twice",
        ),
        pytest.param("{rails: {paused: 1}}", "spec.rails.paused", "true or false", id="the kill switch"),
    ],
)
def test_what_is_wrong_in_a_policy_is_reported_at_its_place(spec: str, place: str, words: str) -> None:
    (problem,) = load(spec).problems
    assert problem.path == place
    assert words in problem.message


@pytest.mark.parametrize("text", ["never", "10m", "0s"])
def test_a_hold_is_written_as_it_is_read(text: str) -> None:
    assert str(Hold.parse(text)) == text


@pytest.mark.parametrize("text", ["off", "5%", "0%"])
def test_a_share_is_written_as_it_is_read(text: str) -> None:
    assert str(Percent.parse(text)) == text
