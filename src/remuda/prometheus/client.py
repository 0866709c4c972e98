"""
Asks Prometheus, gently: few questions at a time, each bounded in time and in the size of its answer.

What passes (429, 5xx, a lost connection, no answer in time) is asked again a few times, with longer and longer pauses
and never before the server wants it. What a smaller question would cure is `TooMuch`, and up to the caller.
"""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Struct

from remuda.loop.clock import Clock, SystemClock
from remuda.model.times import SECOND
from remuda.prometheus.access import Access, find_access
from remuda.prometheus.answers import (
    TOO_MANY_SERIES,
    Envelope,
    invalid_answer,
    read_envelope,
    too_much,
    words,
)
from remuda.prometheus.errors import PrometheusError
from remuda.prometheus.split import Splitter
from remuda.prometheus.transport import Asked, Transport

if TYPE_CHECKING:
    from remuda.prometheus.series import Ranged, Series

T = TypeVar("T")

_MOST_OF_BUILDINFO = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked at a time, and how often."""

    #: without a byte for so long a question is given up; the server is told, too
    timeout_s: float = 60.0
    tries: int = 4
    first_wait_s: float = 0.5
    #: a server that wants to be left alone for longer is not asked again
    longest_wait_s: float = 60.0
    most_bytes: int = 64 * 2**20
    most_series: int = 20_000
    at_once: int = 2


class Point(NamedTuple):
    """One series at one moment."""

    labels: Mapping[str, str]
    value: float


class Vector(NamedTuple):
    """The answer to an instant query; `warnings` are the server's."""

    points: list[Point]
    warnings: tuple[str, ...] = ()


class Build(Struct, frozen=True, rename="camel"):
    """What a server says it is; of all that speak like Prometheus not each says everything."""

    version: str = ""
    revision: str = ""
    #: Mimir names itself here
    application: str = ""


class _Sample(Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _BuildInfo(Struct, frozen=True):
    data: Build


_sample = msgspec.json.Decoder(_Sample).decode
_labels = msgspec.json.Decoder(dict[str, str]).decode


class Prometheus:
    """One server. Close it, or use it as an async context manager."""

    def __init__(
        self, access: Access, clock: Clock, rng: random.Random, *, limits: Limits | None = None
    ) -> None:
        self.url = access.url
        self.labels = access.labels
        self.limits = limits or Limits()
        self._clock = clock
        self._rng = rng
        self._gate = asyncio.Semaphore(self.limits.at_once)
        self._transport = Transport(
            access, clock, timeout_s=self.limits.timeout_s, connections=self.limits.at_once
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        await self._transport.close()

    async def instant(
        self,
        query: str,
        *,
        what: str,
        at: int | None = None,
        within_s: float | None = None,
        tries: int | None = None,
    ) -> Vector:
        """
        A vector, now or at a second; `what` says in errors what it is wanted for.

        `within_s` and `tries` make it more impatient than the limits are, never less.
        """
        timeout_s = self.limits.timeout_s if within_s is None else min(within_s, self.limits.timeout_s)
        form = [("query", query), ("timeout", _seconds(timeout_s))]
        if at is not None:
            form.append(("time", str(at)))
        points: list[Point] = []

        def begin() -> Callable[[bytes], None]:
            points.clear()
            return lambda piece: points.append(_point(piece))

        asked = Asked("/api/v1/query", what, tuple(form), within_s)
        envelope = await self._ask(asked, begin, "vector", tries)
        return Vector(points, envelope.notices)

    async def range(self, query: str, begin: int, end: int, step: int, *, what: str) -> "Ranged":
        """A matrix from the second `begin` to `end`, both with it, without what cannot be a sample."""
        form = (("query", query), ("start", str(begin)), ("end", str(end)), ("step", str(step)))
        return await self._matrix("/api/v1/query_range", form, what)

    async def samples(self, selector: str, window_s: int, at: int, *, what: str) -> "Ranged":
        """The samples of a selector as they were scraped, of so many seconds before a moment."""
        form = (("query", f"{selector}[{window_s}s]"), ("time", str(at)))
        return await self._matrix("/api/v1/query", form, what)

    async def _matrix(self, path: str, form: tuple[tuple[str, str], ...], what: str) -> "Ranged":
        from remuda.prometheus.series import Ranged, read_series  # noqa: PLC0415 - NumPy is an extra

        series: list[Series] = []

        def start() -> Callable[[bytes], None]:
            series.clear()
            now = self._clock.now() // SECOND
            return lambda piece: series.append(read_series(piece, now))

        asked = Asked(path, what, (*form, ("timeout", self._timeout)))
        return Ranged(series, (await self._ask(asked, start, "matrix")).notices)

    async def each_series(
        self,
        selectors: Sequence[str],
        begin: int,
        end: int,
        take: Callable[[dict[str, str]], None],
        *,
        what: str,
    ) -> tuple[str, ...]:
        """
        Give the labels of all series that have samples in a time to `take`; what the server warns of is returned.

        `take` may get the same labels again: what was taken of a broken answer comes once more.
        """
        form = (*(("match[]", each) for each in selectors), ("start", str(begin)), ("end", str(end)))

        def start() -> Callable[[bytes], None]:
            return lambda piece: take(_labels(piece))

        return (await self._ask(Asked("/api/v1/series", what, form), start, "list")).notices

    async def buildinfo(self) -> Build:
        """What the server says it is."""
        asked = Asked("/api/v1/status/buildinfo", "its version")

        async def once() -> Build:
            async with self._transport.send(asked) as chunks:
                data = b""
                async for chunk in chunks:
                    data += chunk
                    if len(data) > _MOST_OF_BUILDINFO:
                        raise too_much(self._transport.doing(asked), f"{_MOST_OF_BUILDINFO:,} bytes")
                try:
                    return msgspec.json.decode(data, type=_BuildInfo).data
                except (ValueError, RecursionError) as error:
                    raise invalid_answer(self._transport.doing(asked), words(str(error))) from None

        return await self._patiently(once)

    @property
    def _timeout(self) -> str:
        return _seconds(self.limits.timeout_s)

    async def _ask(
        self,
        asked: Asked,
        begin: Callable[[], Callable[[bytes], None]],
        result_type: str,
        tries: int | None = None,
    ) -> Envelope:
        """Give each element of the answer to what `begin` returns: anew for every try."""
        return await self._patiently(lambda: self._once(asked, begin(), result_type), tries)

    async def _once(self, asked: Asked, take: Callable[[bytes], None], result_type: str) -> Envelope:
        doing = self._transport.doing(asked)
        splitter, size, count = Splitter(), 0, 0
        async with self._transport.send(asked) as chunks:
            try:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.limits.most_bytes:
                        raise too_much(doing, f"{self.limits.most_bytes:,} bytes")
                    for piece in splitter.feed(chunk):
                        count += 1
                        if count > self.limits.most_series:
                            raise too_much(doing, f"{self.limits.most_series:,} series", TOO_MANY_SERIES)
                        take(piece)
                around = splitter.end()
            except UnicodeError:
                raise invalid_answer(doing, "it holds bytes that are no text") from None
            except (ValueError, RecursionError) as error:
                raise invalid_answer(doing, words(str(error))) from None
            return read_envelope(around, doing, result_type)

    async def _patiently(
        self, once: Callable[[], Coroutine[object, object, T]], tries: int | None = None
    ) -> T:
        wait = self.limits.first_wait_s
        most = self.limits.tries if tries is None else min(tries, self.limits.tries)
        async with self._gate:
            for left in range(most, 0, -1):
                try:
                    return await once()
                except PrometheusError as error:
                    pause = max(wait * self._rng.uniform(0.5, 1.0), error.retry_after or 0.0)
                    if not error.is_passing or left == 1 or pause > self.limits.longest_wait_s:
                        raise
                await asyncio.sleep(pause)
                wait *= 2
        raise AssertionError


def connect(url: str, environ: Mapping[str, str] = os.environ) -> Prometheus:
    """The server at `url`, with what the environment says of it; `BadInput` with all that is wrong there."""
    return Prometheus(find_access(url, environ), SystemClock(), random.Random())


def _seconds(amount: float) -> str:
    return f"{max(1, int(amount))}s"


def _point(piece: bytes) -> Point:
    read = _sample(piece)
    return Point(read.metric, float(read.value[1]))
