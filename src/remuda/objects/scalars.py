"""
The written forms that fields share, each a type that reads and checks itself.

Such a type has `parse`, which raises `ValueError` with a sentence that says what is right, `json_schema`, and
`example`. Its constructor takes a value that is known to be good.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self, TypeAlias
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Meta

from remuda.model.labels import check_key, check_value
from remuda.objects.problems import nearest, quoted
from remuda.rules.cron import parse_cron

Count: TypeAlias = Annotated[int, Meta(ge=0, le=100_000)]

_OBJECT_NAME = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_CLASS_NAME = r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?"
_MOST = 100_000
_MOST_PERCENT = 10_000


class ObjectName(str):
    """The name of an object: an RFC 1123 label."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "maxLength": 63,
        "pattern": f"^{_OBJECT_NAME}$",
    }
    example: ClassVar[str] = "my-pool"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a name of up to 63 small letters, digits and '-'."""
        if not isinstance(text, str) or not re.fullmatch(_OBJECT_NAME, text):
            raise ValueError(
                f"{_shown(text)} is no name: write up to 63 small letters, digits or '-', beginning and ending with a"
                f" letter or digit, like {cls.example}"
            )
        return cls(text)


class ClassName(str):
    """A class of jobs: a name, or two with a slash between."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "maxLength": 128,
        "pattern": f"^{_CLASS_NAME}$",
    }
    example: ClassVar[str] = "my-org/my-runner"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read one or two parts of letters, digits, '.', '_' and '-', 128 characters at most."""
        if not isinstance(text, str) or len(text) > 128 or not re.fullmatch(_CLASS_NAME, text):
            raise ValueError(
                f"{_shown(text)} is no class: write one or two parts of letters, digits, '.', '_' or '-', up to 128"
                f" characters, like {cls.example}"
            )
        return cls(text)


class Url(str):
    """Where something is on the web."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "maxLength": 512,
        "pattern": "^https?://[^/?#@\\s]+(/[^?#\\s]*)?$",
    }
    example: ClassVar[str] = "https://runner.circleci.com/"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read an http or https address without user, query or fragment."""
        try:
            is_right = (
                isinstance(text, str)
                and len(text) <= 512
                and re.fullmatch(cls.json_schema["pattern"], text) is not None
                and bool((read := urlsplit(text)).hostname)
                and read.port != 0
            )
        except ValueError:  # a port or a literal address that is none
            is_right = False
        if not is_right:
            raise ValueError(f"{_shown(text)} is no address: write one like {cls.example}")
        return cls(text)


class CronText(str):
    """A cron expression of five fields."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "0 8 * * mon-fri"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read an expression that `remuda.rules.cron` understands."""
        if not isinstance(text, str):
            words = f"{_shown(text)} is no cron expression: write five fields in quotes, like {quoted(cls.example)}"
            raise ValueError(words)  # noqa: TRY004
        parse_cron(text)
        return cls(text)


class ZoneName(str):
    """An IANA time zone."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "Europe/Berlin"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read the name of a zone that this machine knows."""
        if not isinstance(text, str) or not _is_zone(text):
            near = _near_zone(text) if isinstance(text, str) else ""
            raise ValueError(
                f"{_shown(text)} is no time zone{near or f': write one like UTC or {cls.example}'}"
            )
        return cls(text)


@dataclass(frozen=True, slots=True)
class Share:
    """A count, or a percentage of something: at most one of the two is above zero."""

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "minimum": 0,
        "maximum": _MOST,
        "pattern": "^[0-9]{1,5}%$",
        "x-kubernetes-int-or-string": True,
    }
    example: ClassVar[str] = "2 or 25%"

    count: int = 0
    percent: int = 0

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a count, or a percentage as text."""
        if isinstance(text, int) and not isinstance(text, bool) and 0 <= text <= _MOST:
            return cls(count=text)
        if isinstance(text, str) and re.fullmatch("[0-9]{1,5}%", text) and int(text[:-1]) <= _MOST_PERCENT:
            return cls(percent=int(text[:-1]))
        raise ValueError(
            f"{_shown(text)} is neither a count of 0 to {_MOST} nor a percentage of 0% to {_MOST_PERCENT}%: write it"
            f" like {cls.example}"
        )

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent else str(self.count)


class LabelKey(str):
    """The key of a label or an annotation."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "maxLength": 317}
    example: ClassVar[str] = "example.com/team"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a key by the rules of Kubernetes."""
        check_key(str(text))
        return cls(text)


class LabelValue(str):
    """The value of a label."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "maxLength": 63}
    example: ClassVar[str] = "platform"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a value by the rules of Kubernetes."""
        if not isinstance(text, str):
            raise ValueError(f"{_shown(text)} is no label value: write text, with quotes around it")  # noqa: TRY004
        check_value(text)
        return cls(text)


def _shown(text: object) -> str:
    return quoted(text) if isinstance(text, str) else str(text).lower()[:40]


def _is_zone(text: str) -> bool:
    try:
        ZoneInfo(text)
    except (KeyError, OSError, ValueError):
        return False
    return True


@cache
def _zones_by_name() -> dict[str, str]:
    zones = sorted(available_timezones())
    return {zone.rpartition("/")[2]: zone for zone in zones} | {zone: zone for zone in zones}


def _near_zone(text: str) -> str:
    zones = _zones_by_name()
    near = nearest(text, zones)
    return f"; did you mean {zones[near]}?" if near else ""
