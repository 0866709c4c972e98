"""Injected faults: seeded, counted, and over when they are stopped."""

import asyncio
from collections import Counter

import pytest

from remuda.errors import Unavailable
from remuda.sim.faults import Crash, Fault, Faults
from remuda.sim.loop import run

SHAKY = {
    "provider.create": Fault(delay=0.3, fail=0.2, crash=0.1, longest_delay_s=5),
    "source.read": Fault(fail=0.5),
}


async def history(faults: Faults, points: tuple[str, ...], times: int = 200) -> list[str]:
    loop, seen = asyncio.get_running_loop(), []
    for _ in range(times):
        for point in points:
            began = loop.time()
            try:
                await faults.fault_point(point)
                end = "pass"
            except (Unavailable, Crash) as error:
                end = type(error).__name__
            seen.append(f"{point} {end} {loop.time() - began:.6f}")
    return seen


def test_the_same_seed_gives_the_same_faults_and_another_gives_others() -> None:
    first, again, other = (run(history(Faults(seed, SHAKY), tuple(SHAKY))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_what_happens_at_a_point_does_not_depend_on_the_others() -> None:
    both = run(history(Faults(1, SHAKY), tuple(SHAKY)))
    alone = run(history(Faults(1, SHAKY), ("source.read",)))
    assert [line for line in both if line.startswith("source.read")] == alone


def test_faults_come_as_often_as_they_should_and_are_counted() -> None:
    faults = Faults(1, SHAKY)
    seen = Counter(line.split()[1] for line in run(history(faults, ("provider.create",), 1_000)))
    counts = faults.counts
    assert seen["Crash"] == counts["provider.create crash"]
    assert seen["Unavailable"] == counts["provider.create fail"]
    assert 60 < counts["provider.create crash"] < 140
    assert 150 < counts["provider.create fail"] < 250
    assert 250 < counts["provider.create delay"] < 350
    assert set(counts) == {f"provider.create {kind}" for kind in ("crash", "fail", "delay")}


def test_a_delay_passes_in_virtual_time_up_to_the_longest() -> None:
    faults = Faults(1, {"p": Fault(delay=1, longest_delay_s=5)})
    delays = [float(line.split()[2]) for line in run(history(faults, ("p",)))]
    assert 4.5 < max(delays) <= 5
    assert min(delays) < 0.5


def test_a_point_without_a_fault_passes() -> None:
    faults = Faults(1, SHAKY)
    assert set(run(history(faults, ("ledger.record",)))) == {"ledger.record pass 0.000000"}
    assert not faults.counts


def test_an_error_names_the_point() -> None:
    with pytest.raises(Unavailable, match=r"provider\.create: not available now"):
        run(Faults(1, {"provider.create": Fault(fail=1)}).fault_point("provider.create"))


def test_a_crash_is_not_caught_by_error_handling() -> None:
    async def careful(faults: Faults) -> None:
        try:
            await faults.fault_point("p")
        except Exception:  # noqa: BLE001 - the broadest handling there is
            pytest.fail("a dead process handles no errors")

    with pytest.raises(Crash, match="p"):
        run(careful(Faults(1, {"p": Fault(crash=1)})))


def test_after_a_stop_everything_passes() -> None:
    faults = Faults(1, SHAKY)
    faults.stop()
    assert all(" pass 0.0" in line for line in run(history(faults, tuple(SHAKY))))


def test_a_delay_that_is_over_after_the_stop_passes() -> None:
    async def main() -> None:
        faults = Faults(1, {"p": Fault(delay=1, fail=1, longest_delay_s=60)})
        asyncio.get_running_loop().call_later(0, faults.stop)
        await faults.fault_point("p")
        assert faults.counts == {"p delay": 1}

    run(main())


@pytest.mark.parametrize(
    "chances",
    [
        pytest.param({"fail": 1.1}, id="more than certain"),
        pytest.param({"delay": -0.1}, id="less than never"),
        pytest.param({"fail": 0.6, "crash": 0.6}, id="together more than certain"),
        pytest.param({"crash": float("nan")}, id="no number"),
        pytest.param({"longest_delay_s": -1.0}, id="a delay into the past"),
    ],
)
def test_chances_that_cannot_be_are_refused(chances: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="chances are from 0 to 1"):
        Fault(**chances)
