"""What an answer says of itself: good, refused, too much, or none at all; refusals in words and as errors."""

import re
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import Struct

from remuda.model.times import SECOND, Instant
from remuda.prometheus.errors import PrometheusError, TooMuch

_LONGEST_WORDS = 400
_ADDRESS = "check the URL of Prometheus, with the path that its API is under"
_SIGN_IN = (
    "give REMUDA_PROMETHEUS_TOKEN, or REMUDA_PROMETHEUS_USER and REMUDA_PROMETHEUS_PASSWORD, "
    "and the tenant in REMUDA_PROMETHEUS_HEADER if it has tenants"
)
_SMALLER = "ask for less at a time"
_LATER = "try again later"
#: how Prometheus, Thanos, Mimir and VictoriaMetrics say that a smaller question would be answered
_TOO_MUCH = re.compile(
    r"too many (samples|points|series|chunks|bytes)|maximum resolution|exceed|too large|too long|"
    r"max[-_A-Z]\w+|maximum (allowed|number)|the limit|out of memory|more than",
    re.IGNORECASE,
)
#: of this kind is what a shorter time would hardly cure
TOO_MANY_SERIES = "too-many-series"
_SERIES = re.compile(r"\bseries\b", re.IGNORECASE)
_PASSING = frozenset({429, 500, 502, 503, 504})


class _Data(Struct, frozen=True):
    result_type: str = msgspec.field(name="resultType", default="")


class Envelope(Struct, frozen=True, rename="camel"):
    """What is around the result."""

    status: str
    data: _Data | list[msgspec.Raw] | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    #: VictoriaMetrics: some of its stores did not answer
    is_partial: bool = False

    @property
    def notices(self) -> tuple[str, ...]:
        """What the server warns of."""
        partial = ("the answer is partial: some stores did not answer",) if self.is_partial else ()
        return (*(self.warnings or ()), *partial)


_envelope = msgspec.json.Decoder(Envelope).decode


def read_envelope(around: bytes, doing: str, result_type: str) -> Envelope:
    """The envelope of a good answer of this type, or the error that it is."""
    try:
        read = _envelope(around)
    except (ValueError, RecursionError) as error:
        raise invalid_answer(doing, words(str(error))) from None
    if read.status != "success":
        raise refused(200, around, doing)
    if isinstance(read.data, _Data):
        found = words(read.data.result_type) or "result without a type"
    else:
        found = "nothing" if read.data is None else "list"
    if found != result_type:
        raise invalid_answer(doing, f"it holds {found} where {result_type} is expected")
    return read


def refused(
    code: int, body: bytes, doing: str, *, retry_after: float | None = None, is_page: bool = False
) -> PrometheusError:
    """The error of an answer that is not a good one."""
    error_type, said = _said(body)
    message = f"{doing}: {code}" + (f" {error_type}" if error_type else "") + (f": {said}" if said else "")
    if is_page and not said:
        message += ": a web page came back"
    if code in {401, 403}:
        return PrometheusError(f"{message}; it does not let us in: {_SIGN_IN}", "unauthorized")
    if error_type in {"timeout", "canceled"}:
        return TooMuch(f"{message}; the query took too long: {_SMALLER}", "timeout")
    if code == 413 or (code not in _PASSING and _TOO_MUCH.search(said)):
        kind = TOO_MANY_SERIES if _SERIES.search(said) else "too-much"
        return TooMuch(f"{message}; it is more than the server allows: {_SMALLER}", kind)
    if code == 429:
        wait = "" if retry_after is None else f" for {retry_after:.0f} s"
        message = f"{message}; it wants to be left alone{wait}: {_LATER}"
        return PrometheusError(message, "limited", is_passing=True, retry_after=retry_after)
    if code in _PASSING:
        message = f"{message}; the server is in trouble: {_LATER}, and read its log"
        return PrometheusError(message, "broken", is_passing=True, retry_after=retry_after)
    if error_type:
        return PrometheusError(f"{message}; it does not take the query", "query")
    if code == 404:
        return PrometheusError(f"{message}; there is no API of Prometheus: {_ADDRESS}", "missing")
    return PrometheusError(f"{message}; {_ADDRESS}", "broken")


def redirected(doing: str, code: int, to: str) -> PrometheusError:
    """It sends us elsewhere, where we do not go with secrets."""
    to = words(to.partition("?")[0])[:200] or "nowhere"
    message = f"{doing}: {code}: it redirects to {to}, where no secret is sent"
    return PrometheusError(f"{message}; {_ADDRESS}; a login page means: {_SIGN_IN}", "redirect")


def page(doing: str) -> PrometheusError:
    """Something in front of Prometheus answers for it."""
    message = f"{doing}: a web page came back, not JSON: a login page, or not Prometheus at all"
    return PrometheusError(f"{message}; {_ADDRESS}, and {_SIGN_IN}", "invalid")


def invalid_answer(doing: str, why: str) -> PrometheusError:
    """It is not what Prometheus answers."""
    return PrometheusError(f"{doing}: the answer makes no sense: {why}; {_ADDRESS}", "invalid")


def too_much(doing: str, cap: str, kind: str = "too-much") -> TooMuch:
    """An answer beyond what we read of one."""
    message = f"{doing}: the answer has more than {cap}, the most that is read at a time; {_SMALLER}"
    return TooMuch(message, kind)


def retry_after(value: str | None, now: Instant) -> float | None:
    """Seconds to wait by a header that says seconds or a date; None when it says neither."""
    text = (value or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now / SECOND)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def words(text: str) -> str:
    """Someone else's words on one line, and not too many."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST_WORDS else line[:_LONGEST_WORDS] + "…"


def _said(body: bytes) -> tuple[str, str]:
    try:
        read = _envelope(body)
    except (ValueError, RecursionError):
        text = body[: 4 * _LONGEST_WORDS].decode(errors="replace")
        return "", "" if "<" in text else words(text)
    return words(read.error_type), words(read.error)
