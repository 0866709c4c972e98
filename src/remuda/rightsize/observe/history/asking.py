"""
Reads long histories from Prometheus in chunks that it can bear.

A chunk that is refused for its size is asked for in halves, and so are all later ones of its kind; what cannot be read
even so is reported, and the rest goes on. What fails again and again is not asked for any more, be it one question or the
server as a whole.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from remuda.model.times import SECOND, write_instant
from remuda.prometheus.answers import TOO_MANY_SERIES
from remuda.prometheus.client import Prometheus
from remuda.prometheus.errors import PrometheusError, TooMuch
from remuda.prometheus.series import Series
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.observe.history.promql import MOST_PODS, Pods, Queries, holder_of
from remuda.rightsize.snapshot import Unknown

#: points of one answer, some 12 MB of it
MOST_POINTS = 500_000
#: Prometheus gives no series more
_MOST_STEPS = 11_000
_DAY_S = 86_400
#: a chunk is not made shorter; fewer pods are asked for instead
_FEWEST_STEPS = 10
#: after so many failures in a row the server is left alone
_PATIENCE = 3
_SHORTENED = 2


class Question(Struct, frozen=True):
    """Something to know of pods over time."""

    #: memory, cores … for people
    what: str
    #: the query, by pods and by the window it looks back from each step
    query: Callable[[Sequence[Pods], int], str]
    window_s: int
    step_s: int
    begin: Second
    end: Second
    #: that are there at a time, about, of all pods
    series: int


class _Run(Struct):
    """A question while it is asked."""

    question: Question
    take: Callable[[Series, Second, Second], None]
    #: in a row
    failures: int = 0
    is_whole: bool = True


class Asker(Struct):
    """Asks one server, and remembers what it bore."""

    prometheus: Prometheus
    unknown: list[Unknown]
    #: of one answer, by what is asked for
    most_points: dict[str, int] = field(default_factory=dict)
    #: chunks that were not asked for any more
    left: int = 0
    _failures: int = 0
    _timeouts: int = 0
    _warned: set[str] = field(default_factory=set)

    @property
    def queries(self) -> Queries:
        """What is asked for, of the cluster that is meant."""
        return Queries(self.prometheus.labels)

    @property
    def has_given_up(self) -> bool:
        """True when the server failed too often in a row."""
        return self._failures >= _PATIENCE

    async def ask(
        self, question: Question, pods: Sequence[Pods], take: Callable[[Series, Second, Second], None]
    ) -> bool:
        """
        Give every series of every chunk to `take`, with the chunk's first and last second, in the order of time.

        True if everything was read; what was not is in `unknown`.
        """
        run = _Run(question, take)
        for first in range(0, len(pods), MOST_PODS):
            some = pods[first : first + MOST_PODS]
            series = _share(question.series, len(some), len(pods))
            await self._ask(run, some, series, (question.begin, question.end))
        return run.is_whole

    async def _ask(self, run: _Run, pods: Sequence[Pods], series: int, span: tuple[Second, Second]) -> None:
        at, end = span
        step = run.question.step_s
        while at <= end:
            if self.has_given_up or run.failures >= _PATIENCE:
                self.left += self.has_given_up
                run.is_whole = False
                return
            until = min(end, at + (self._steps(run.question, series) - 1) * step)
            steps = (until - at) // step + 1
            try:
                await self._chunk(run, pods, (at, until))
            except PrometheusError as error:
                is_for_fewer = error.kind == TOO_MANY_SERIES and len(pods) > 1
                if not is_for_fewer and self._is_to_shorten(error) and steps > _FEWEST_STEPS:
                    self.most_points[run.question.what] = max(1, series * steps // 2)
                    continue
                if isinstance(error, TooMuch) and len(pods) > 1:
                    half = len(pods) // 2
                    for some in (pods[:half], pods[half:]):
                        share = _share(series, len(some), len(pods))
                        await self._ask(run, some, share, (at, until))
                else:
                    run.is_whole = False
                    run.failures += 1
                    is_last = run.failures >= _PATIENCE
                    self.fail(
                        error, _describe(run.question, pods, (at, run.question.end if is_last else until))
                    )
            at = until + step

    async def _chunk(self, run: _Run, pods: Sequence[Pods], span: tuple[Second, Second]) -> None:
        question = run.question
        query = question.query(pods, question.window_s)
        what = _describe(question, pods, span)
        answer = await self.prometheus.range(query, *span, question.step_s, what=what)
        self.succeed(answer.warnings)
        run.failures = 0
        holds = holder_of(pods)
        for series in answer.series:
            labels = series.labels
            if holds(labels.get("namespace", ""), labels.get("pod", "")):
                run.take(series, *span)

    def succeed(self, warnings: Sequence[str]) -> None:
        """A question was answered; what the server warns of is reported once."""
        self._failures = self._timeouts = 0
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self.unknown.append(Unknown("use", f"{self.prometheus.url} warns: {warning}"))

    def fail(self, error: PrometheusError, part: str) -> None:
        """A part could not be read; a question that is only too large says nothing about the server."""
        self._failures += not isinstance(error, TooMuch) and error.kind != "query"
        left = f"; it failed {_PATIENCE} times in a row, and was left alone" if self.has_given_up else ""
        self.unknown.append(Unknown(part, f"{error}{left}"))

    def _is_to_shorten(self, error: PrometheusError) -> bool:
        if isinstance(error, TooMuch):
            return True
        # It may be thinking too long; but then it took all tries, and is not to take many more.
        self._timeouts += error.kind == "timeout"
        return error.kind == "timeout" and self._timeouts <= _SHORTENED

    def _steps(self, question: Question, series: int) -> int:
        points = self.most_points.get(question.what, MOST_POINTS)
        most = min(_MOST_STEPS, max(1, _DAY_S // question.step_s), points // max(1, series))
        return max(_FEWEST_STEPS, most)


def _share(series: int, some: int, of: int) -> int:
    return max(1, -(-series * some // of))


def _describe(question: Question, pods: Sequence[Pods], span: tuple[Second, Second]) -> str:
    namespaces = sorted({each.namespace for each in pods})
    where = ", ".join(namespaces[:3]) + (" …" if len(namespaces) > 3 else "")
    begin, end = (write_instant(each * SECOND) for each in span)
    return f"{question.what} of pods in {where} from {begin} to {end}"
