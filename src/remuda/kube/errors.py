"""
What can go wrong with the API server, as errors that say verb, object and reason.

    KubeError                  any answer that is not what was asked for
    ├── Unauthorized  (401)    the server does not know us, or we have nothing to show
    ├── Forbidden     (403)    it knows us and says no: a verb is missing
    ├── Missing       (404)    the object or the kind is not there
    ├── Conflict      (409)    someone else changed it, or it is there already
    ├── Gone          (410)    the version asked for is too old: list again
    ├── Invalid       (422)    the object breaks its schema
    ├── Unreachable            no answer: the network, a proxy or a deadline
    ├── Untrusted              the server cannot prove who it is: nothing was sent
    └── Fenced                 this replica may not act any more: nothing was sent
"""

from msgspec import Struct

from remuda.errors import Unavailable


class Cause(Struct, frozen=True):
    """One cause in a status: for a conflict of managers, the field and the sentence that names the other one."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(Struct, frozen=True, rename="camel"):
    """Details of a status."""

    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True):
    """What the API server says instead of an object."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None

    def has_cause(self, reason: str) -> bool:
        """True when one of the causes has this reason."""
        return self.details is not None and any(cause.reason == reason for cause in self.details.causes)


class KubeError(Unavailable):
    """An answer that is not what was asked for."""

    def __init__(self, doing: str, status: Status) -> None:
        message = ": ".join(part for part in (status.reason, status.message) if part) or "no reason given"
        if status.code == 403 and '" cannot ' in status.message:
            # A verb is missing; admission and quotas say 403 in other words.
            message += "; `remuda rbac` prints the permissions that a command needs"
        super().__init__(f"{doing}: {status.code} {message}" if status.code else f"{doing}: {message}")
        self.doing = doing
        self.status = status


class Unauthorized(KubeError):
    """The server does not know us, or we have nothing to show."""


class Forbidden(KubeError):
    """A verb is missing; `remuda rbac` prints what a command needs."""


class Missing(KubeError):
    """The object, or its kind, is not there."""


class Conflict(KubeError):
    """Someone else changed it, owns a field of it, or it exists already."""


class Gone(KubeError):
    """The version asked for is too old."""


class Invalid(KubeError):
    """The object breaks its schema."""


class Unreachable(KubeError):
    """No answer came."""


class Untrusted(KubeError):
    """The server's certificate does not hold; nothing was sent."""


class Fenced(KubeError):
    """A write was held back: who may not act any more sends nothing."""


_KINDS: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: Missing,
    409: Conflict,
    410: Gone,
    422: Invalid,
}


def error_for(doing: str, status: Status) -> KubeError:
    """The error of a status."""
    return _KINDS.get(status.code, KubeError)(doing, status)


def broken(doing: str, why: object) -> KubeError:
    """The error of an answer that is no answer."""
    return KubeError(doing, Status(message=f"the answer cannot be read: {why}"))
