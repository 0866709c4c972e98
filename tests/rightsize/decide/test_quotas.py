"""Quotas: all changes together, with the surge of their rollouts."""

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.decide.builders import (
    MI,
    NOW,
    WEB,
    container,
    evidence,
    found,
    judge,
    rules,
    size,
    steps_of,
    the,
    workload,
)

from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide.quotas import Rollout, find_in_quotas, peak_of
from remuda.rightsize.snapshot import Ask, InitContainer, LimitRange, Quota, Size, Workload


def quota(hard: dict[str, int], used: dict[str, int] | None = None, **fields: tuple[str, ...]) -> Quota:
    return Quota("shop", "team", hard, used or {}, **fields)


def named(name: str, part: object = None, **fields: int) -> Workload:
    made = part if part is not None else container(memory=100, memory_limit=100)
    return workload(made, id=WorkloadId("shop", "Deployment", name), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "old", "most"),
    [
        pytest.param("requests.memory", 200, 2 * 500 + 100, id="requests of memory"),
        pytest.param("memory", 200, 2 * 500 + 100, id="memory is requests, too"),
        pytest.param("limits.memory", 200, 2 * 672 + 100, id="limits of memory"),
    ],
)
@pytest.mark.parametrize("lacks", [0, 1])
def test_a_rollout_asks_for_all_pods_of_the_larger_size_and_the_surge_of_the_smaller(
    name: str, old: int, most: int, lacks: int
) -> None:
    made = judge(
        named("web"), quotas=(quota({name: 1000 * MI + (most - old) * MI - lacks}, {name: 1000 * MI}),)
    )
    assert ("quota-too-small" in rules(made)) is bool(lacks)


def test_one_change_among_workloads_that_stay_is_held_against_the_quota() -> None:
    kept = named("kept", container(memory=500, memory_limit=672))
    small = quota({"requests.memory": 1}, {"requests.memory": 0})
    assert "quota-too-small" in rules(judge(kept, named("web"), quotas=(small,)))
    assert rules(judge(kept, quotas=(small,))) == set()


def test_it_is_said_by_how_much_it_is_too_small_and_for_whom() -> None:
    made = judge(
        named("web"),
        named("api", replicas=5),
        quotas=(quota({"requests.memory": 3000 * MI}, {"requests.memory": 1000 * MI}),),
    )
    one = found(made, "quota-too-small")
    assert (one.severity, one.object, one.field) == (
        "error",
        "ResourceQuota shop/team",
        "spec.hard[requests.memory]",
    )
    assert one.is_ == (
        "3000Mi, of which 1000Mi are used; all changes together ask for 4000Mi on their way, 1000Mi too much:"
        " Deployment shop/api (+2100Mi), Deployment shop/web (+900Mi)"
    )
    assert one.should == "at least 4000Mi while the changes are rolled out, 3800Mi afterwards"
    assert one.fix == "raise it to 4000Mi"


def test_what_is_used_may_be_less_than_what_workloads_ask_for_and_nothing_is_below_zero() -> None:
    large = container(memory=20_000, memory_limit=20_000)
    made = judge(
        named("web", large),
        quotas=(quota({"requests.memory": 100 * MI}, {"requests.memory": 50 * MI}),),
    )
    one = found(made, "quota-too-small")
    assert "50Mi are used, less than the 40000Mi that its workloads ask for" in one.is_
    assert one.should.endswith(", 0 afterwards")


def test_a_quota_is_to_be_raised_to_a_quantity_one_can_type() -> None:
    made = judge(named("web"), quotas=(quota({"requests.memory": 1}, {"requests.memory": 1000 * MI + 1}),))
    assert found(made, "quota-too-small").fix == "raise it to 1901Mi"


def test_what_fits_in_the_end_but_not_on_its_way_can_be_done_in_parts() -> None:
    large = container(memory=2000, memory_limit=2000)
    made = judge(
        named("web"),
        named("api", large),
        quotas=(quota({"requests.memory": 4500 * MI}, {"requests.memory": 4200 * MI}),),
    )
    assert "apply what is lowered first" in found(made, "quota-too-small").fix


@pytest.mark.parametrize("name", ["requests.cpu", "cpu"])
def test_cpu_is_counted_as_well(name: str) -> None:
    made = judge(named("web", container(cpu=10)), quotas=(quota({name: 200}, {name: 20}),))
    assert "210m on their way" in found(made, "quota-too-small").is_


@pytest.mark.parametrize(
    ("name", "hard", "is_reported"), [("pods", 2, True), ("count/pods", 2, True), ("pods", 3, False)]
)
def test_the_surge_needs_room_for_its_pods(name: str, hard: int, is_reported: bool) -> None:
    made = judge(named("web"), quotas=(quota({name: hard}, {name: 2}),))
    assert ("quota-too-small" in rules(made)) is is_reported
    if is_reported:
        assert (
            "2 pods, of which 2 pods are used; all changes together ask for 3 pods"
            in found(made, "quota-too-small").is_
        )


def test_there_are_never_more_old_pods_than_replicas_whatever_the_surge() -> None:
    made = judge(named("web", replicas=1, surge=5), quotas=(quota({"pods": 2}, {"pods": 1}),))
    assert "quota-too-small" not in rules(made)


def test_a_quota_without_what_is_used_is_reckoned_from_the_workloads() -> None:
    made = judge(named("web"), quotas=(quota({"requests.memory": 1000 * MI}),))
    assert "of which 200Mi are used, by what the workloads ask for" in found(made, "quota-too-small").is_


def test_a_quota_that_is_exceeded_already_is_reported_with_any_change() -> None:
    large = named("web", container(memory=2000, memory_limit=2000), surge=0)
    used = {"requests.memory": 4000 * MI}
    one = found(judge(large, quotas=(quota({"requests.memory": 3000 * MI}, used),)), "quota-too-small")
    assert "already 1000Mi too much" in one.is_
    kept = named("web", container(memory=500, memory_limit=672))
    assert rules(judge(kept, quotas=(quota({"requests.memory": 3000 * MI}, used),))) == set()


def test_quotas_of_other_namespaces_and_resources_are_not_looked_at() -> None:
    other = Quota("other", "team", {"requests.memory": 1}, {"requests.memory": 1})
    assert rules(judge(named("web"), quotas=(other, quota({"services": 1, "requests.storage": 1})))) == rules(
        judge(named("web"))
    )


def test_a_quota_with_scopes_is_reported_and_not_judged() -> None:
    made = judge(named("web"), quotas=(quota({"requests.memory": 1}, scopes=("BestEffort",)),))
    assert found(made, "quota-with-scopes").is_ == "BestEffort"
    assert "quota-too-small" not in rules(made)


def test_provisional_sizes_are_not_rolled_out() -> None:
    known = evidence(first=NOW - 3600, confidence=0.04)
    made = judge(named("web"), known=known, quotas=(quota({"requests.memory": 1}, {"requests.memory": 1}),))
    assert "quota-too-small" not in rules(made)


def test_a_quota_of_cpu_limits_keeps_them() -> None:
    part = container(cpu=50, cpu_limit=60)
    made = judge(workload(part), quotas=(quota({"limits.cpu": 10_000}, {"limits.cpu": 120}),))
    assert the(made).recommended == Size(size(100, 500).requests, size(100, 672, 100, 672).limits)
    assert steps_of(the(made), "quota") == [
        ("the CPU limit stays", "ResourceQuota shop/team refuses pods without one")
    ]
    assert "quota-wants-limit" not in rules(made)
    assert "cpu-limit" not in rules(made)


def test_without_such_a_quota_a_cpu_limit_is_removed_and_reported() -> None:
    made = judge(workload(container(cpu_limit=500)))
    assert the(made).recommended.limits.cpu_millicores is None
    one = found(made, "cpu-limit")
    assert (one.severity, one.is_, one.should) == ("info", "500m", "not set")
    assert one.field == "spec.template.spec.containers[main].resources.limits.cpu"


def test_a_quota_of_cpu_limits_where_there_are_none_is_reported() -> None:
    made = judge(quotas=(quota({"limits.cpu": 10_000}, {"limits.cpu": 0}),))
    assert "Deployment shop/web" in found(made, "quota-wants-limit").is_


def test_a_quota_of_memory_limits_where_a_container_would_have_none_is_an_error() -> None:
    bare = container("bare", memory_limit=None)
    made = judge(
        workload(container(), bare),
        known={(WEB, "main"): evidence()},
        quotas=(quota({"limits.memory": 10**12}, {"limits.memory": 0}),),
    )
    assert found(made, "quota-wants-limit").severity == "error"


def test_what_a_limit_range_gives_counts_for_a_quota() -> None:
    given_to_all = LimitRange("shop", "d", "Container", defaults=size(10, 300, 60, 400))
    bare = container(cpu=None, memory=None, memory_limit=None)
    hard = {"requests.memory": 10**12, "limits.cpu": 10**6, "requests.cpu": 219, "limits.memory": 2000 * MI}
    made = judge(workload(bare), limit_ranges=(given_to_all,), quotas=(quota(hard),))
    assert "quota-wants-limit" not in rules(made)
    # 2 × 100m and a surge of 10m fit 219m; 2 × 672Mi and a surge of 400Mi fit 2000Mi
    assert "quota-too-small" not in rules(made)
    tight = quota(hard | {"requests.cpu": 209})
    assert (
        "of which 20m are used"
        in found(judge(workload(bare), limit_ranges=(given_to_all,), quotas=(tight,)), "quota-too-small").is_
    )


SIZES = st.integers(0, 6)


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    replicas = draw(st.integers(0, 4))
    pods = st.tuples(SIZES).map(lambda each: (size(memory=each[0]),))
    return Rollout(WEB, replicas, min(replicas, draw(st.integers(0, 4))), draw(pods), draw(pods), Size())


def simulated(rollout: Rollout, *, of_pods: bool) -> int:
    """The most that is asked for in any state a rolling update may be in."""
    if not rollout.is_change:
        return 0
    before, after = (1, 1) if of_pods else (_memory(rollout.before), _memory(rollout.after))
    states = product(range(rollout.replicas + 1), repeat=2)
    most = max(
        old * before + new * after for old, new in states if old + new <= rollout.replicas + rollout.surge
    )
    return most - rollout.replicas * before


def _memory(sizes: tuple[Size, ...]) -> int:
    return sum(each.requests.memory_bytes or 0 for each in sizes)


@given(st.lists(rollouts(), min_size=1, max_size=4), st.integers(0, 60))
def test_the_check_of_quotas_equals_a_simulated_rolling_update(every: list[Rollout], room: int) -> None:
    for each in every:
        assert peak_of(each, "requests.memory") == simulated(each, of_pods=False)
        assert peak_of(each, "pods") == simulated(each, of_pods=True)
    used = sum(each.replicas * _memory(each.before) for each in every)
    hard = used + room * MI
    most = used + sum(simulated(each, of_pods=False) for each in every)
    found_too_small = list(
        find_in_quotas([quota({"requests.memory": hard}, {"requests.memory": used})], every)
    )
    assert bool(found_too_small) is (most > hard)


@pytest.mark.parametrize("first", [50, 150, 900])
def test_a_quota_counts_what_an_init_container_asks_for_beyond_the_others(first: int) -> None:
    item = msgspec.structs.replace(
        named("web", replicas=2, surge=0), initial=(InitContainer("setup", Size(Ask(None, first * MI))),)
    )
    before, after = max(100, first), max(500, first)
    for lacks in (0, 1):
        hard = 1000 * MI + 2 * (after - before) * MI - lacks
        made = judge(item, quotas=(quota({"requests.memory": hard}, {"requests.memory": 1000 * MI}),))
        assert ("quota-too-small" in rules(made)) is (lacks == 1 and (after > before or hard < 1000 * MI))


def test_a_quota_of_pods_names_who_brings_one_more() -> None:
    made = judge(named("web"), quotas=(quota({"pods": 2}, {"pods": 2}),))
    assert found(made, "quota-too-small").is_.endswith("1 pod too much: Deployment shop/web (+1 pod)")
