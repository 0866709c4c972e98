"""For any namespaces, policies and edits: the loop brings the cluster to what policies say, and then writes nothing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.sim.faults import Fault
from remuda.sim.loop import run
from remuda.sim.tier_cluster import Key
from remuda.sim.tiers import (
    DEVICE,
    HOSTILE,
    NAMES,
    POLICIES,
    TAINT,
    Edit,
    Summary,
    TierHistory,
    drift,
    foreign,
    live_through,
    simulate,
)
from remuda.tiers.decide.desired import LIMITS_NAME, quota_name

tiers = st.sampled_from(("0-core", "2-gpu", "4-aux", "9-none"))
labels = st.dictionaries(st.sampled_from(("remuda.dev/tier", "tier")), tiers) | st.builds(
    lambda tier, opt_outs: {"remuda.dev/tier": tier, **dict.fromkeys(opt_outs, "true")},
    tiers,
    st.sets(st.sampled_from(("remuda.dev/own-quota", "remuda.dev/own-limits"))),
)
names = st.sampled_from(NAMES)
keys: st.SearchStrategy[Key] = st.one_of(
    names.map(lambda name: ("LimitRange", name, LIMITS_NAME)),
    names.map(lambda name: ("ResourceQuota", name, quota_name(name))),
    tiers.map(lambda tier: ("PriorityClass", "", f"tier-{tier}")),
)
taints = st.none() | st.lists(
    st.sampled_from((TAINT, "spot:NoSchedule", "nvidia.com/gpu=x:PreferNoSchedule")), unique=True, max_size=2
).map(tuple)
edits: st.SearchStrategy[Edit] = st.one_of(
    st.builds(lambda name, said: lambda h: h.cluster.label(name, said), names, labels),
    st.builds(lambda name: lambda h: h.cluster.end_namespace(name), names),
    st.builds(lambda key: lambda h: h.cluster.put(foreign(key)), keys),
    st.builds(lambda key: lambda h: h.cluster.remove(key), keys),
    st.builds(lambda key: lambda h: drift(h.cluster, key), keys),
    st.builds(
        lambda name, card, put: lambda h: h.cluster.put_node(name, {DEVICE: card}, put),
        st.sampled_from(("gpu-1", "gpu-2")),
        st.sampled_from(("true", "false")),
        taints,
    ),
    st.builds(lambda policies: lambda h: h.follow(policies), st.sampled_from(POLICIES)),
)
histories = st.lists(st.tuples(st.floats(0, 60), edits), max_size=25)


def lived(seed: int, made: list[tuple[float, Edit]], faults: dict[str, Fault], mutation: str) -> Summary:
    async def main() -> Summary:
        return await live_through(TierHistory(seed, POLICIES[0], faults, mutation), made)

    return run(main(), seed=seed)


@given(st.integers(0, 1_000), histories, st.sampled_from(("", "v1beta1")))
def test_liveness_the_cluster_becomes_what_policies_say_whatever_others_do(
    seed: int, made: list[tuple[float, Edit]], mutation: str
) -> None:
    lived(seed, made, {}, mutation)


@given(st.integers(0, 1_000), histories)
def test_liveness_it_does_so_though_writes_fail_answers_are_lost_and_the_process_dies(
    seed: int, made: list[tuple[float, Edit]]
) -> None:
    lived(seed, made, HOSTILE, "")


@pytest.mark.parametrize("step", range(1, 6))
def test_a_process_that_dies_between_the_limits_and_the_quota_is_followed_by_one_that_goes_on(
    step: int,
) -> None:
    faults = {"loop.acted": Fault(crash=1.0 / step)}
    told = lived(step, [(0.0, lambda history: history.cluster.label("web", {"tier": "4-aux"}))], faults, "")
    assert told.writes > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", random.Random(16).sample(range(1_000), 20))
def test_a_hostile_history_settles(seed: int) -> None:
    told = simulate(seed)
    assert told.writes
    assert told == simulate(seed)


def test_a_write_for_a_policy_that_goes_meanwhile_leaves_nothing_behind() -> None:
    slow = {"api.write": Fault(delay=1.0, longest_delay_s=20.0)}
    made: list[tuple[float, Edit]] = [
        (0.0, lambda history: history.cluster.label("web", {"tier": "4-aux"})),
        (4.0, lambda history: history.follow(POLICIES[3])),
    ]
    for seed in range(5):
        lived(seed, made, slow, "")
