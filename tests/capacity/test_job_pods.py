"""Jobs that run in pods of their own beside their runners, as large as the policy says."""

from typing import Any

from tests.capacity.builders import CAPABILITY, NOW, measured, node, policy, scale_set, sized, snapshot

from remuda.capacity.decide.audit import Audit, audit
from remuda.capacity.snapshot import JOB_PODS

JOB = {"requests": sized("2", "24Gi"), "limits": sized("", "30Gi")}


def judged(memory: str, pods: int = 110, **listed: Any) -> Audit:
    """Three runners of 2 CPU and 8Gi, on a node of this size."""
    hooked = scale_set("docs", max=3, unsure=(JOB_PODS,))
    there = node(memory=memory, allocatable=measured("32", memory, "500Gi") | {"pods": pods})
    spec = policy(
        ceiling=3,
        envelopes=[{"name": "small", "requests": sized("2", "8Gi"), "limits": sized("8", "16Gi")}],
        sets=[{"name": "docs", "max": 3, "envelope": "small", **listed}],
        nodes={"primary": CAPABILITY},
        evidence={"date": "2026-11-10", "fitted": 3},
    )
    return audit(snapshot(hooked, there), ["nix-kvm"], {"kvm": spec}, NOW)


def test_without_a_size_it_is_unknown_whether_they_fit() -> None:
    made = judged("128Gi")
    assert made.labels[0].placement == "cannot tell"
    assert [item.rule for item in made.findings] == ["placement-uncertain"]


def test_with_a_size_they_count_beside_their_runners() -> None:
    """Three times 8Gi and 24Gi are 96Gi."""
    fits, too_many = judged("96Gi", jobPod=JOB), judged("95Gi", jobPod=JOB)
    assert (fits.labels[0].placement, too_many.labels[0].placement) == ("fits", "cannot fit")
    assert fits.findings == ()
    assert fits.labels[0].requests == measured("12", "96Gi")


def test_each_takes_the_place_of_two_pods() -> None:
    assert judged("128Gi", pods=6, jobPod=JOB).labels[0].placement == "fits"
    assert judged("128Gi", pods=5, jobPod=JOB).labels[0].placement == "cannot fit"


def test_the_envelope_is_of_the_runner_alone() -> None:
    """The envelope is carried though limits come to more with the job's pod, and another one is still noticed."""
    assert "envelope-not-carried" not in {item.rule for item in judged("128Gi", jobPod=JOB).findings}
    (hooked,) = judged("128Gi", jobPod=JOB).labels[0].scale_sets
    assert hooked.carried == (measured("2", "8Gi"), measured("8", "16Gi"))
    assert hooked.limits == measured("8", "46Gi")
