"""How an estimate came about, in words that a person can check."""

import msgspec
import pytest
from tests.rightsize.decide.builders import evidence, judge, steps_of, the

from remuda.rightsize.evidence import Percentile, Trace


def shown(trace: Trace) -> list[tuple[str, str]]:
    """The steps of CPU that came about so."""
    return steps_of(the(judge(known=msgspec.structs.replace(evidence(), cpu=trace))), "cpu")


@pytest.mark.parametrize(
    ("factor", "amount", "floor", "how"),
    [
        pytest.param(1.0, 12, 5, "", id="as it is"),
        pytest.param(2.0, 24, 5, ", × 2 for certainty", id="wider for lack of certainty"),
        pytest.param(1.0, 25, 25, ", not below this container's share of a pod's floor, 25m", id="the floor"),
    ],
)
def test_each_number_is_shown_with_its_bucket_its_margin_and_what_was_made_of_it(
    factor: float, amount: int, floor: int, how: str
) -> None:
    one = Percentile(0.9, 0, 0, 10, 12, factor, amount)
    steps = shown(Trace(one, one, one, floor))
    remark = f"p90 is the end of bucket 0, from 0m to 10m, with 15 % 12m{how}"
    assert steps[:3] == [
        (f"target {amount}m", remark),
        (f"lower bound {amount}m", remark),
        (f"upper bound {amount}m", remark),
    ]


def test_without_a_bucket_there_were_no_samples() -> None:
    none = Percentile(0.9, -1, 0, 0, 0, 1.0, 25)
    assert shown(Trace(none, none, none, 25))[0] == (
        "no samples",
        "its estimate is a pod's floor and says nothing",
    )


def test_without_a_first_or_a_last_sample_there_is_an_estimate_alone() -> None:
    for known in (evidence(first=None), evidence(last=None)):
        assert steps_of(the(judge(known=known)), "samples") == [
            ("none: an estimate alone", "samples use.json")
        ]


def test_the_rule_of_krr_is_explained_for_each_resource() -> None:
    one = the(judge(strategy="krr"))
    assert steps_of(one, "cpu")[0] == ("KRR 90m", "the highest of the replicas' p95, at least 10m")
    assert steps_of(one, "memory")[0] == (
        "KRR 460Mi",
        "the highest sample with 15 %, rounded up to whole megabytes, at least 100 of them",
    )


def test_the_last_step_of_a_resource_says_what_it_is_and_was() -> None:
    one = the(judge())
    assert steps_of(one, "memory")[-1] == ("request 500Mi, limit 672Mi", "now request 1Gi, limit 1Gi")
    assert steps_of(one, "cpu")[-1] == ("request 100m, limit not set", "now request 100m, limit not set")
    [(text, remark)] = steps_of(one, "peak")
    assert (text, remark.startswith("the most was 400Mi at ")) == ("672Mi is enough", True)
