"""How even use is, by whom, and what multiplier that gives."""

from typing import Any, Literal

import msgspec
import pytest
from tests.rightsize.decide.builders import (
    MI,
    container,
    days,
    evidence,
    found,
    judge,
    steps_of,
    the,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.rightsize.decide.usage_class import is_volatile
from remuda.rightsize.objects import RightsizePolicySpec, WorkloadSpec

UNEVEN = evidence(days=days([300] * 8, [400, 100] * 4))
GPU = container(others={"nvidia.com/gpu": "1"})


def spec(class_: Literal["stable", "volatile", "gpu"] | None, **fields: Any) -> WorkloadSpec:
    return WorkloadSpec(class_=class_, **fields)


@pytest.mark.parametrize(
    ("peaks", "volatile"),
    [
        pytest.param([3, 5], False, id="a variation of exactly a fourth is stable"),
        pytest.param([300_000, 500_001], True, id="a little more is volatile"),
        pytest.param([7, 7, 7], False, id="the same every day"),
        pytest.param([0, 0], False, id="nothing used"),
        pytest.param([1, 1, 1, 1, 1, 1, 1, 3], True, id="one busy day of eight"),
    ],
)
def test_peaks_that_vary_by_more_than_a_fourth_of_their_mean_are_volatile(
    peaks: list[int], volatile: bool
) -> None:
    assert is_volatile(peaks) is volatile


@pytest.mark.parametrize(
    ("policy", "label", "part", "known", "usage_class", "why"),
    [
        pytest.param((), None, container(), evidence(), "stable", "8 daily peaks vary by 0.000", id="even peaks"),
        pytest.param((), None, container(), UNEVEN, "volatile", "more than 0.25", id="uneven peaks"),
        pytest.param((), None, GPU, evidence(), "gpu", "1 of nvidia.com/gpu", id="a GPU before peaks"),
        pytest.param((), "stable", GPU, UNEVEN, "stable", "its label", id="the label before a GPU"),
        pytest.param(
            (spec("volatile"),), "stable", GPU, UNEVEN, "volatile", "the policy", id="the policy before all"
        ),
        pytest.param(
            (spec(None), spec("gpu", name="w*"), spec("stable")), None, container(), UNEVEN, "gpu",
            "Deployment", id="the first that says it",
        ),
        pytest.param((spec("gpu", name="other"),), None, container(), evidence(), "stable", "", id="of others"),
    ],
)  # fmt: skip
def test_evenness_is_by_policy_label_gpu_and_peaks_in_this_order(
    policy: tuple[WorkloadSpec, ...], label: str | None, part: Any, known: Any, usage_class: str, why: str
) -> None:
    one = the(judge(workload(part, usage=label), known=known, policy=RightsizePolicySpec(workloads=policy)))
    assert one.usage_class == usage_class
    assert (why if why != "Deployment" else "* */w*") in steps_of(one, usage_class)[0][1]


@pytest.mark.parametrize(
    ("name", "amount", "usage_class"),
    [
        ("nvidia.com/gpu", "2", "gpu"),
        ("nvidia.com/mig-1g.5gb", "1", "gpu"),
        ("amd.com/gpu", "1", "gpu"),
        ("gpu.intel.com/i915", "1", "gpu"),
        ("google.com/tpu", "4", "gpu"),
        ("habana.ai/gaudi", "1", "gpu"),
        ("aws.amazon.com/neuroncore", "2", "gpu"),
        ("nvidia.com/gpu", "0", "stable"),
        ("nvidia.com/gpu", "lots", "stable"),
        ("ephemeral-storage", "1Gi", "stable"),
    ],
)
def test_a_gpu_is_one_of_the_known_resources_and_not_none_of_it(
    name: str, amount: str, usage_class: str
) -> None:
    assert the(judge(workload(container(others={name: amount})))).usage_class == usage_class


def test_a_device_that_is_claimed_is_like_a_gpu() -> None:
    claiming = msgspec.structs.replace(container(), claims=("tpu",))
    one = the(judge(workload(claiming)))
    assert one.usage_class == "gpu"
    assert steps_of(one, "gpu")[0][1] == "it claims the device tpu"


@pytest.mark.parametrize(("label", "limit"), [("stable", 672), ("volatile", 736), ("gpu", 736)])
def test_memory_is_the_upper_bound_times_the_multiplier_rounded_up(label: str, limit: int) -> None:
    one = the(judge(workload(usage=label)))
    assert one.vpa_rule.limits.memory_bytes == limit * MI
    assert steps_of(one, "rounding") == [(f"{limit}Mi", "up to a multiple of 16Mi")]


@pytest.mark.parametrize(
    ("peaks", "usage_class"), [([400, 100], "volatile"), ([400], "stable"), ([], "stable")]
)
def test_two_days_are_enough_to_compare_and_less_is_stable(peaks: list[int], usage_class: str) -> None:
    assert the(judge(known=evidence(days=days([50] * len(peaks), peaks)))).usage_class == usage_class


def test_a_label_that_is_no_class_is_reported_and_peaks_decide() -> None:
    made = judge(workload(container(), container("side"), usage="calm"), known=UNEVEN)
    assert the(made).usage_class == "volatile"
    one = found(made, "class-not-read")
    assert (one.field, one.is_) == ("metadata.labels[remuda.dev/usage]", "calm")


def test_a_day_that_is_known_in_part_is_not_compared() -> None:
    night = msgspec.structs.replace(evidence().days[0], at=BEGIN + 8 * DAY, peak=10 * MI)
    known = evidence(days=(*days([300] * 8), night), last=BEGIN + 8 * DAY + 4 * 3600)
    assert the(judge(known=known)).usage_class == "stable"
    whole = msgspec.structs.replace(known, last=BEGIN + 9 * DAY)
    assert the(judge(known=whole)).usage_class == "volatile"
