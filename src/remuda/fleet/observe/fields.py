"""One record from outside, read field by field: what is wrong with it is kept by name, and nothing raises."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct, inspect

from remuda.fleet.rows import read_key
from remuda.fleet.scalars import shown
from remuda.model.quantities import Quantity
from remuda.model.shapes import HIGHEST_AMOUNT, amount
from remuda.objects.convert import fields_of, form_of
from remuda.objects.problems import child_path, did_you_mean

T = TypeVar("T")
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
    """Reads one mapping by the fields of a row. `flaws` grow as it is read; a field that is wrong reads as its default."""

    def __init__(
        self,
        source: object,
        index: int,
        subject: str,
        row: type[Struct],
        path: str = "",
        flaws: list[Flaw] | None = None,
    ) -> None:
        self.fields: Mapping[str, Any] = source if isinstance(source, Mapping) else {}
        self.index = index
        self.subject = subject
        self.flaws = [] if flaws is None else flaws
        self._path = path
        self._is_mapping = isinstance(source, Mapping)
        self._known = known = _fields(row)
        if not self._is_mapping:
            self.flaw("", f"wants a mapping with keys like {', '.join([*known][:3])}, found {shown(source)}")
        strange = [key for key in self.fields if key not in known]
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

    def take(self, key: str, default: T, read: Callable[[Any], T] | None = None) -> T:
        """
        What a field says, read as its row says or by `read`; a `ValueError` is a flaw.

        A field that is not there has its default, and is a flaw where the row requires it.
        """
        value, (is_required, form) = self.fields.get(key), self._known[key]
        if value is None:
            if key in self.fields:
                self.flaw(key, "has no value: give it one, or leave the key out")
            elif is_required and self._is_mapping:
                self.flaw(key, "is required")
            return default
        try:
            return (read or form.read)(value)
        except ValueError as error:
            self.flaw(key, str(error))
            return default

    def below(self, key: str) -> "Record | None":
        """The record in a field, whose flaws are this one's too; None when it is not there."""
        if self.fields.get(key) is None:
            return self.take(key, None)
        return self.part(self.fields[key], self._known[key][1], child_path(self._path, key))

    def part(self, source: object, row: type[Struct], path: str) -> "Record":
        """A record at a path of this one, whose flaws are this one's too."""
        return Record(source, self.index, self.subject, row, path, self.flaws)

    def amounts(self, key: str, *, up: bool, most: int = HIGHEST_AMOUNT) -> dict[str, int]:
        """A mapping of quantities as whole amounts, without those that come to nothing."""
        amounts = self.fields.get(key)
        if amounts is None:
            return self.take(key, {})
        if not isinstance(amounts, Mapping):
            self.flaw(key, f"wants a mapping like {{cpu: 4, memory: 16Gi}}, found {shown(amounts)}")
            return {}
        found = {}
        for resource, value in amounts.items():
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


@cache
def _fields(row: type[Struct]) -> dict[str, tuple[bool, Any]]:
    """By key of a row: whether it is required, and what reads its value: a scalar's form, or the row below."""
    return {key: (field.required, _form(field.type)) for key, field in fields_of(row).items()}


def _form(info: inspect.Type) -> Any:
    match info:
        case inspect.Metadata():
            return _form(info.type)
        case inspect.UnionType():
            return _form(info.types[0])
        case inspect.StructType():
            return info.cls
    return form_of(info)
