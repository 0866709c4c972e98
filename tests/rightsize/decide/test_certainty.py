"""How much there is to go by, and what is said when it is little."""

from typing import Any

import pytest
from tests.rightsize.decide.builders import (
    MI,
    NOW,
    advice,
    container,
    days,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    steps_of,
    the,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR

from remuda.model.workloads import WorkloadId
from remuda.rightsize.evidence import Evidence, OomKill


@pytest.mark.parametrize(
    ("span", "confidence", "strategy", "provisional"),
    [
        pytest.param(DAY, 1.0, "vpa", False, id="24 hours exactly are enough"),
        pytest.param(DAY - 1, 1.0, "vpa", True, id="a second less is not"),
        pytest.param(8 * DAY, 0.999, "vpa", True, id="nor are too few samples"),
        pytest.param(8 * DAY, 0.999, "krr", False, id="which KRR does not count"),
        pytest.param(DAY - 1, 1.0, "krr", True, id="but it takes a day, too"),
    ],
)
def test_under_a_day_of_a_sample_a_minute_is_provisional(
    span: int, confidence: float, strategy: str, provisional: bool
) -> None:
    made = judge(known=evidence(first=NOW - span, confidence=confidence), strategy=strategy)
    assert the(made).is_provisional is provisional
    assert ("under-a-day" in rules(made)) is provisional


def test_it_is_said_how_much_there_is_how_wide_the_bounds_are_and_when_to_come_back() -> None:
    known = evidence(
        (500, 250, 2000), (100, 10, 1250), first=NOW - 6 * HOUR, confidence=0.25, cpu_samples=360
    )
    one = found(judge(known=known), "under-a-day")
    assert one.is_ == (
        "6h of data with 360 samples of CPU, 0.25 days of a sample a minute; CPU is between 10m and 1250m (× 125), memory"
        " between 250Mi and 2000Mi (× 8)"
    )
    assert one.should == "1d with a sample a minute"
    assert one.fix == "review again after 2026-01-09T18:00:00Z; until then it is left out of patches"


@pytest.mark.parametrize(
    ("kind", "samples", "is_", "fix"),
    [
        pytest.param(
            "Deployment", 288, "288 samples of CPU in 8d: it runs seldom, or is scraped seldom;",
            "take more samples: a scrape a minute, if it runs all the time; if it does not, review with a longer --history,",
            id="one cannot tell why",
        ),
        pytest.param(
            "CronJob", 288, "288 samples of CPU in 8d: it runs seldom;",
            "review with a longer --history, or with --strategy krr, which goes by the peak;",
            id="what ends runs seldom",
        ),
        pytest.param(
            "CronJob", 0, "no samples of CPU in 8d: by these it is counted how much is known;",
            "let CPU be sampled as well,",
            id="memory alone",
        ),
    ],
)  # fmt: skip
def test_where_samples_are_few_over_days_it_is_said_why_and_what_to_do(
    kind: str, samples: int, is_: str, fix: str
) -> None:
    item = workload(id=WorkloadId("shop", kind, "web"))
    one = found(judge(item, known=evidence(confidence=samples / 1440, cpu_samples=samples)), "under-a-day")
    assert one.is_.startswith(is_)
    assert one.should == "1440 samples of CPU, as many as a day has with one a minute"
    assert one.fix.startswith(fix)


def test_a_strategy_that_gives_no_answer_either_is_not_named() -> None:
    item = workload(id=WorkloadId("shop", "CronJob", "web"))
    one = found(judge(item, known=evidence(confidence=0.05, cpu_samples=70, krr=None)), "under-a-day")
    assert one.fix == "review with a longer --history; until then it is left out of patches"


#: of one that was scraped for an hour, and of an advisor that has seen hardly anything
NARROW, WIDE = (500, 250, 2000), (500, 250, 2001)


@pytest.mark.parametrize(
    ("known", "limit", "then"),
    [
        pytest.param(evidence(NARROW, confidence=0.3), 1024, (500, 2432), id="four times the target"),
        pytest.param(evidence(WIDE, confidence=0.3), 1024, (1024, 1024), id="more is left as it is"),
        pytest.param(evidence(WIDE), 1024, (500, 2432), id="but not with enough data"),
        pytest.param(advice(WIDE), 1024, (1024, 1024), id="an advisor's word as well"),
        pytest.param(
            evidence(WIDE, confidence=0.3, peak=1000), 1024, (500, 1152), id="a limit below the use"
        ),
        pytest.param(advice(WIDE), 300, (500, 512), id="a limit below an advisor's target"),
        pytest.param(
            evidence(WIDE, confidence=0.3, memory_samples=0), 1024, (1024, 1024), id="without memory"
        ),
    ],
)
def test_bounds_that_only_show_a_want_of_data_give_no_size(
    known: Evidence, limit: int, then: tuple[int, int]
) -> None:
    made = judge(workload(container(memory=limit, memory_limit=limit)), known=known)
    one = the(made)
    assert memory_of(one) == then
    assert one.is_provisional is (known.confidence < 1)


def test_a_kill_raises_what_is_hardly_known() -> None:
    item = workload(container(memory=512, memory_limit=512))
    known = evidence(WIDE, confidence=0.3, kills=(OomKill(NOW - DAY, 512 * MI),))
    one = the(judge(item, known=known))
    assert (memory_of(one), one.risk, one.is_provisional) == ((500, 624), "will-oom", True)
    assert "only what is known to be needed is given" in [text for text, _ in steps_of(one, "certainty")]
    bare = the(judge(workload(container(memory=512, memory_limit=None)), known=known))
    assert memory_of(bare) == (500, 624)


def test_without_samples_of_cpu_all_is_left_as_it_is_and_why_is_reported() -> None:
    known = evidence((500, 250, 95_000_000), confidence=0.0, cpu_samples=0)
    one = the(judge(known=known))
    assert (one.verdict, one.recommended) == ("leave", one.now)
    assert steps_of(one, "certainty")[-1] == (
        "memory is left as it is: not yet",
        "the upper bound, 95000000Mi, is more than 4 × the target, 500Mi: that comes from too little data, not from use",
    )


def test_a_leak_is_seen_where_bounds_are_too_wide_to_size_anything() -> None:
    known = evidence(WIDE, confidence=0.3, days=days([300 + 50 * n for n in range(8)]))
    assert the(judge(known=known)).risk == "leak"
    assert the(judge(workload(container(memory_limit=None)), known=known)).risk == ""


def test_what_is_provisional_wastes_nothing_and_asks_for_no_quota() -> None:
    made = judge(known=evidence(first=NOW - HOUR, confidence=0.04))
    assert the(made).verdict == "lower"
    assert (made.waste.memory_bytes, made.waste.cpu_millicores) == (0, 0)


@pytest.mark.parametrize(
    ("memory", "provisional"),
    [
        pytest.param((500, 450, 1000), False, id="twice the target proves a day"),
        pytest.param((500, 450, 1001), True, id="more may be less than a day"),
    ],
)
def test_of_an_advisors_word_the_bounds_tell_how_old_it_is(
    memory: tuple[int, int, int], provisional: bool
) -> None:
    made = judge(known=advice(memory))
    assert the(made).is_provisional is provisional
    assert found(made, "advice-only").is_ == "no samples, only what vpa shop/web recommends"
    assert steps_of(the(made), "samples") == [("none: an estimate alone", "vpa shop/web")]
    assert memory_of(the(made))[0] == 500


@pytest.mark.parametrize(
    ("memory", "cpu", "provisional"),
    [
        pytest.param((500, 500, 500), (100, 100, 100), True, id="no bounds"),
        pytest.param((200, 200, 200), (100, 100, 100), True, id="of CPU above the floor"),
        pytest.param((250, 250, 250), (25, 25, 25), False, id="all is the floor"),
        pytest.param(
            (500, 500, 500), (100, 80, 120), False, id="bounds of CPU: memory is held by its policy"
        ),
    ],
)
def test_an_advisors_word_without_bounds_proves_nothing(
    memory: tuple[int, int, int], cpu: tuple[int, int, int], provisional: bool
) -> None:
    made = judge(known=advice(memory, cpu))
    assert the(made).is_provisional is provisional
    if provisional:
        assert found(made, "under-a-day").is_ == (
            "it is unknown how much data vpa shop/web rests on, and it has no bounds: both are its target"
        )


@pytest.mark.parametrize(
    ("confidence", "strategy", "is_reported"),
    [
        pytest.param(1.6, "vpa", True, id="every five minutes"),
        pytest.param(5.99, "vpa", True, id="under three quarters"),
        pytest.param(6.0, "vpa", False, id="three quarters"),
        pytest.param(0.9, "vpa", False, id="provisional, which is told already"),
        pytest.param(1.6, "krr", False, id="KRR does not count them"),
    ],
)
def test_samples_that_are_far_apart_are_reported(confidence: float, strategy: str, is_reported: bool) -> None:
    known = evidence(confidence=confidence, cpu_samples=round(1440 * confidence))
    assert ("sparse-samples" in rules(judge(known=known, strategy=strategy))) is is_reported


def test_it_is_said_how_far_apart_samples_are_and_what_that_costs() -> None:
    known = evidence(confidence=1.6, cpu_samples=2304)
    one = found(judge(known=known), "sparse-samples")
    assert one.severity == "info"
    assert one.is_ == (
        "2304 samples of CPU in 8d, one in 5m: they count as 1.6 days, and the upper bound is × 1.625 for that, where 8d"
        " alone make it × 1.125: 44% wider"
    )
    assert one.fix == "scrape every minute; if it does not run all the time, review with a longer --history"
    job = workload(id=WorkloadId("shop", "CronJob", "web"))
    assert found(judge(job, known=known), "sparse-samples").fix.startswith("review with a longer --history")
    two = evidence(confidence=1.6, cpu_samples=2304, replicas=2)
    assert "one in 5m of all 2 replicas together:" in found(judge(known=two), "sparse-samples").is_


def test_an_advisors_target_is_what_is_used_unless_it_is_the_floor() -> None:
    small = workload(container(memory=200, memory_limit=200))
    assert the(judge(small, known=advice())).risk == "will-oom"
    assert the(judge(small, known=advice((250, 250, 250)))).risk == ""


@pytest.mark.parametrize(
    ("before", "memory", "cpu"),
    [
        pytest.param(container(), (1024, 1024), 100, id="memory"),
        pytest.param(container(cpu=900), (1024, 1024), 900, id="CPU"),
        pytest.param(
            container(memory=300, memory_limit=1024), (500, 1024), 100, id="a request still goes up"
        ),
        pytest.param(container(memory=300, memory_limit=300), (500, 672), 100, id="all of it goes up"),
        pytest.param(container(memory_limit=None), (1024, None), 100, id="no limit is set"),
        pytest.param(container(memory=None), (1024, 1024), 100, id="a limit alone is a request, too"),
        pytest.param(container(cpu=None, cpu_limit=800), (1024, 1024), 800, id="also of CPU"),
    ],
)
def test_partial_evidence_never_lowers(before: Any, memory: tuple[int, int], cpu: int) -> None:
    made = judge(workload(before), known=evidence(is_partial=True))
    assert memory_of(the(made)) == memory
    assert the(made).recommended.requests.cpu_millicores == cpu
    assert made.is_partial
    assert "partial-evidence" in the(made).rules


def test_anomalies_of_samples_are_reported_with_the_container() -> None:
    one = found(judge(known=evidence(anomalies=("a gap of 3h", "2 values are NaN"))), "odd-samples")
    assert (one.field, one.is_) == ("spec.template.spec.containers[main]", "a gap of 3h; 2 values are NaN")


@pytest.mark.parametrize(("last", "is_old"), [(NOW - DAY, False), (NOW - DAY - 1, True)])
def test_samples_that_ended_a_day_ago_are_old(last: int, is_old: bool) -> None:
    assert ("old-evidence" in rules(judge(known=evidence(first=BEGIN, last=last)))) is is_old


@pytest.mark.parametrize(("fields", "left"), [({"cpu_samples": 0}, "cpu"), ({"memory_samples": 0}, "memory")])
def test_a_resource_without_samples_is_left_as_it_is(fields: dict[str, int], left: str) -> None:
    made = judge(workload(container(cpu=900)), known=evidence(**fields))  # type: ignore[arg-type] # plain fields
    one = the(made)
    assert (one.recommended.requests.cpu_millicores == 900) is (left == "cpu")
    assert (memory_of(one) == (1024, 1024)) is (left == "memory")
    assert found(made, "no-evidence").is_ == f"no samples of {'CPU' if left == 'cpu' else 'memory'}"
