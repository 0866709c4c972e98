"""Samples within a span of time: none is lost without being counted."""

from hypothesis import given
from hypothesis import strategies as st

from remuda.rightsize.estimate.span import cut
from remuda.rightsize.estimate.usage import Replica, Sample

times = st.lists(st.integers(0, 100), max_size=12, unique=True)


def samples(at: list[int]) -> list[Sample]:
    return [Sample(each, 1.0) for each in at]


def test_both_ends_are_within_and_the_rest_is_counted() -> None:
    made = samples([9, 10, 20, 21])
    found = cut({"app": [Replica(made, made, made[::-1])], "idle": [Replica()]}, 10, 20)
    assert found.pod == {"app": [Replica(*[samples([10, 20])] * 3)], "idle": [Replica()]}
    assert found.older == 3
    assert found.future == {
        "app": (
            "samples of CPU that were left out: 1 in the future",
            "samples of memory that were left out: 1 in the future",
            "kills that were left out: 1 in the future",
        )
    }


@given(cpu=times.map(sorted), memory=times.map(sorted), oom=times, since=st.integers(0, 100))
def test_safety_every_sample_is_kept_or_counted(
    cpu: list[int], memory: list[int], oom: list[int], since: int
) -> None:
    pod = {"app": [Replica(samples(cpu), samples(memory), samples(oom))]}
    found = cut(pod, since, 100)
    (replica,) = found.pod["app"]
    kept = [*replica.cpu, *replica.memory, *replica.oom]
    assert all(since <= each.at for each in kept)
    assert len(kept) + found.older == len(cpu) + len(memory) + len(oom)
    assert found.future == {}
