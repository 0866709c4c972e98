"""One record from outside, read field by field: what is wrong with it is kept by name, and nothing raises."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from remuda.fleet.scalars import shown
from remuda.model.labels import check_key
from remuda.model.quantities import Quantity
from remuda.model.shapes import HIGHEST_AMOUNT, amount
from remuda.objects.problems import child_path, did_you_mean, quoted

T = TypeVar("T")
#: no id or name is longer
MOST_LETTERS = 253
#: so many keys that are not known are named
_MOST_STRANGE = 10


class Flaw(Struct, frozen=True):
    """
    What is wrong with one record: whose it is, in which field, and what would be right.

    A record that is not refused goes on, and this is only worth knowing.
    """

    #: `machine/ID` or `need/CLUSTER/NAME`
    subject: str
    #: the path below the record, like `allocatable.memory`; empty for the record as a whole
    field: str
    message: str
    #: the place of the record in its list
    index: int
    refused: bool = True

    def __str__(self) -> str:
        kind, _, name = self.subject.partition("/")
        where = f"{kind} {name}" + (f": {self.field}" if self.field else "")
        return f"{where}: {self.message}" + (" (refused)" if self.refused else "")


class Record:
    """Reads one mapping. `flaws` grow as fields are read; a field that is wrong reads as its default."""

    def __init__(
        self,
        told: object,
        index: int,
        subject: str,
        known: Collection[str],
        path: str = "",
        flaws: list[Flaw] | None = None,
    ) -> None:
        self.told: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
        self.index = index
        self.subject = subject
        self.flaws = [] if flaws is None else flaws
        self._path = path
        self._is_mapping = isinstance(told, Mapping)
        if not self._is_mapping:
            self.flaw("", f"wants a mapping with keys like {', '.join([*known][:3])}, found {shown(told)}")
        strange = [key for key in self.told if key not in known]
        for key in strange[:_MOST_STRANGE]:
            name = key if isinstance(key, str) else shown(key)
            self.flaw(child_path("", name), f"is not a known key{did_you_mean(name, known)}")
        if len(strange) > _MOST_STRANGE:
            self.flaw("", f"has {len(strange) - _MOST_STRANGE:,} more keys that are not known")

    @property
    def is_refused(self) -> bool:
        """True when something is wrong that makes all of it unbelievable."""
        return any(flaw.refused for flaw in self.flaws)

    def is_good(self, *keys: str) -> bool:
        """True when nothing is wrong with these fields, nor with the record as a whole."""
        bad = {flaw.field[len(self._path) :].lstrip(".") for flaw in self.flaws if flaw.refused}
        return not any(field == "" or field.partition(".")[0].partition("[")[0] in keys for field in bad)

    def flaw(self, field: str, message: str, *, refused: bool = True) -> None:
        """Keep what is wrong at a path below this."""
        path = f"{self._path}.{field}" if self._path and field else self._path or field
        self.flaws.append(Flaw(self.subject, path, message, self.index, refused))

    def take(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """What `read` makes of a field; its `ValueError` is a flaw. A field that is not there has its default."""
        value = self.told.get(key)
        if value is None:
            if key in self.told:
                self.flaw(key, "has no value: give it one, or leave the key out")
            return default
        try:
            return read(value)
        except ValueError as error:
            self.flaw(key, str(error))
            return default

    def require(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """The same for a field that must be there."""
        if key not in self.told:
            if self._is_mapping:
                self.flaw(key, "is required")
            return default
        return self.take(key, read, default)

    def below(self, key: str, known: Collection[str]) -> "Record | None":
        """The record in a field, whose flaws are this one's too; None when it is not there."""
        if self.told.get(key) is None:
            return self.take(key, lambda _: None, None)
        path = child_path(self._path, key)
        return Record(self.told[key], self.index, self.subject, known, path, self.flaws)

    def amounts(self, key: str, *, up: bool, most: int = HIGHEST_AMOUNT) -> dict[str, int]:
        """A mapping of quantities as whole amounts, without those that come to nothing."""
        told = self.told.get(key)
        if told is None:
            return self.take(key, lambda _: {}, {})
        if not isinstance(told, Mapping):
            self.flaw(key, f"wants a mapping like {{cpu: 4, memory: 16Gi}}, found {shown(told)}")
            return {}
        found = {}
        for resource, value in told.items():
            try:
                found[read_key(resource)] = _amount(read_key(resource), value, most, up=up)
            except ValueError as error:
                self.flaw(child_path(key, str(resource)), str(error))
        return {resource: whole for resource, whole in found.items() if whole}


def _amount(resource: str, value: object, most: int, *, up: bool) -> int:
    whole = amount(resource, Quantity.parse(value), up=up)
    if whole > most:
        raise ValueError(f"{shown(value)} is more than anything here has")
    return whole


def read_name(value: object) -> str:
    """An id or a name: text that can be shown, and not empty."""
    if value == "":
        raise ValueError("is empty: give it a name")
    return read_text(value)


def read_text(value: object) -> str:
    """Text that can be shown."""
    if not isinstance(value, str):
        raise ValueError(f"wants text, found {shown(value)}")  # noqa: TRY004
    if len(value) > MOST_LETTERS or not value.isprintable():
        raise ValueError(f"wants up to {MOST_LETTERS} characters that can be shown, found {quoted(value)}")
    return value


def read_key(value: object) -> str:
    """The key of a label."""
    if not isinstance(value, str):
        raise ValueError(f"wants the key of a label, found {shown(value)}")  # noqa: TRY004
    check_key(value)
    return value


def one_of(words: Mapping[str, T]) -> Callable[[object], T]:
    """Reads one of some words."""

    def read(value: object) -> T:
        if isinstance(value, str) and value in words:
            return words[value]
        near = did_you_mean(value, words) if isinstance(value, str) else ""
        raise ValueError(f"wants one of {', '.join(words)}, found {shown(value)}{near}")

    return read
