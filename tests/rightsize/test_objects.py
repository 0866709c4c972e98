"""What a `RightsizePolicy` may say."""

from pathlib import Path

import pytest
from msgspec import UNSET
from tests.catalog import load_any

from remuda.model.times import DAY
from remuda.rightsize.objects import RightsizePolicySpec

HEAD = "apiVersion: remuda.dev/v1alpha1\nkind: RightsizePolicy\nmetadata: {name: default}\nspec:\n"


def load(tmp_path: Path, spec: str) -> tuple[list[str], list[RightsizePolicySpec]]:
    file = tmp_path / "policy.yaml"
    file.write_text(HEAD + "".join(f"  {line}\n" for line in spec.splitlines()))
    loaded = load_any([file])
    return [str(item).partition(": ")[2] for item in loaded.problems], [item.spec for item in loaded.objects]


def test_a_policy_that_says_little_has_sensible_defaults(tmp_path: Path) -> None:
    problems, (spec,) = load(tmp_path, "defaultTier: 3")
    assert problems == []
    assert (spec.history, spec.review_every) == (8 * DAY, 90 * DAY)
    assert (spec.tier_label, spec.class_label, spec.default_tier) == (UNSET, "remuda.dev/usage", 3)


def test_prices_and_classes_are_read_as_they_are_written(tmp_path: Path) -> None:
    problems, (spec,) = load(
        tmp_path,
        'prices: {cpu: 0.03, memory: "0.004"}\nworkloads: [{namespace: "ml-*", class: gpu}, {name: web, tier: 1}]',
    )
    assert problems == []
    assert spec.prices is not None
    assert (spec.prices.cpu, spec.prices.memory, spec.prices.currency) == (0.03, 0.004, "USD")
    assert [(item.namespace, item.class_, item.name, item.tier) for item in spec.workloads] == [
        ("ml-*", "gpu", "*", None),
        ("*", None, "web", "1"),
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("history: 1m", "spec.history: is 1m: from 1h to 90d can be looked at"),
        ("reviewEvery: 1h", "spec.reviewEvery: is 1h: write from 1d to 3650d"),
        (
            "tiers: [{tier: 0, minMemory: 9Gi, maxMemory: 8Gi}]",
            "spec.tiers[0].minMemory: is 9Gi, above maxMemory 8Gi",
        ),
        (
            "tiers: [{tier: 1, minCpu: 2, maxCpu: 1500m}]",
            "spec.tiers[0].minCpu: is 2, above maxCpu 1500m",
        ),
        ("tiers: [{tier: 1}, {tier: 1}]", "spec.tiers[1].tier: tier 1 is there twice"),
        (
            "workloads: [{tier: 5}]",
            "spec.workloads[0].tier: 5 is no tier: write a digit from 0 to 4, or a name like 2-gpu",
        ),
        (
            "workloads: [{tier: Core}]",
            "spec.workloads[0].tier: \"Core\" is no name: write up to 63 small letters, digits or '-', beginning and ending with a letter or digit, like 2-gpu",
        ),
        ("prices: {cpu: -1, memory: 0}", "spec.prices.cpu: -1 is no price: write money per hour, like 0.031"),
        (
            "prices: {cpu: nan, memory: 0}",
            "spec.prices.cpu: 'nan' is no price: write money per hour, like 0.031",
        ),
    ],
)
def test_what_makes_no_sense_is_reported_with_its_field(tmp_path: Path, spec: str, message: str) -> None:
    problems, _ = load(tmp_path, spec)
    assert problems == [message]
