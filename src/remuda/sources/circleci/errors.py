"""What can go wrong with CircleCI, as one error that says what was asked, what came, and what to do."""

from remuda.errors import Unavailable


class CircleError(Unavailable):
    """No good answer. It never means that there is nothing to do."""

    def __init__(
        self, message: str, outcome: str, *, is_limited: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        #: one word for metrics
        self.outcome = outcome
        #: the whole host wants to be left alone, for `retry_after` seconds if it said so
        self.is_limited = is_limited
        self.retry_after = retry_after
