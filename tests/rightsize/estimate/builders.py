"""Pods that show only what matters, and the cases that the real recommender answered."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from remuda.rightsize.estimate.samples import read_samples
from remuda.rightsize.estimate.usage import Pod, Replica, Sample

#: 2026-01-01
BEGIN = 1_767_225_600
HOUR, DAY = 3_600, 86_400


def vectors() -> list[Any]:
    """Cases with `name`, `input` and what the recommender of VPA 1.8.1 answered."""
    path = Path(__file__).parents[2] / "data" / "vpa-vectors.json.gz"
    found: list[Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def pod_of(case: Any) -> Pod:
    return read_samples(json.dumps(case["input"]).encode(), case["name"])


def steady(
    seconds: int, cores: float = 0.5, used: float = 5e8, step: int = 60, begin: int = BEGIN
) -> Replica:
    """The same use every minute, for so long."""
    times = range(begin, begin + seconds, step)
    return Replica([Sample(at, cores) for at in times], [Sample(at, used) for at in times])


def memory(*samples: tuple[int, float], oom: Iterable[tuple[int, float]] = ()) -> Replica:
    """Memory at so many seconds after the beginning, and kills with what was requested."""
    return Replica(
        (),
        [Sample(BEGIN + at, value) for at, value in samples],
        [Sample(BEGIN + at, value) for at, value in oom],
    )


CORES = st.one_of(st.sampled_from([0.0, 0.01, 0.0205, 1.0, 2000.0]), st.floats(0, 40))
BYTES = st.one_of(
    st.sampled_from([0.0, 1.0, 1e7, 20_500_000.0, 2e12]), st.integers(0, 10**11).map(float), st.floats(0, 1e9)
)
REQUESTS = st.integers(0, 10**10).map(float)


@st.composite
def replicas(
    draw: st.DrawFn,
    days: int = 8,
    least: float = 0.0,
    *,
    ordered: bool = True,
    kills: bool = True,
) -> Replica:
    """A replica whose samples lie within so many days; values are `least` or more."""
    times = st.lists(st.integers(0, days * DAY), max_size=20)

    def series(values: st.SearchStrategy[float], *, unique: bool) -> list[Sample]:
        drawn = draw(times)
        at = sorted(set(drawn) if unique else drawn) if ordered else drawn
        return [Sample(BEGIN + each, max(least, draw(values))) for each in at]

    return Replica(
        series(CORES, unique=True),
        series(BYTES, unique=False),
        series(REQUESTS, unique=False) if kills and draw(st.booleans()) else (),
    )
