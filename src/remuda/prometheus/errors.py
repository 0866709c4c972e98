"""
What asking Prometheus can end in.

    PrometheusError            what was asked, where, why it failed and what helps
    └── TooMuch                the question is too large for the server or for us: a smaller one may be answered
"""

from remuda.errors import Unavailable


class PrometheusError(Unavailable):
    """
    A question that was not answered.

    `kind` is one word: unreachable, timeout, limited, broken, unauthorized, redirect, missing, query, invalid,
    too-much, too-many-series. With `is_passing` the same question may be answered a little later, after `retry_after` seconds if that is given.
    """

    def __init__(
        self, message: str, kind: str, *, is_passing: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.is_passing = is_passing
        self.retry_after = retry_after


class TooMuch(PrometheusError):
    """The question, or its answer, is too large; it is not repeated as it is."""

    def __init__(self, message: str, kind: str = "too-much") -> None:
        super().__init__(message, kind)
