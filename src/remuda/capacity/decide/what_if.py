"""The changes a plan tries, from the words of a command line: everything that is wrong with them at once."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.capacity.snapshot import EPHEMERAL, Amounts
from remuda.model.amounts import amount
from remuda.model.labels import check_key, check_value
from remuda.model.pods import Taint
from remuda.objects.problems import did_you_mean, quoted

Field: TypeAlias = Literal["max", "min", "envelope"]

UNBOUNDED = ("unbounded", "∞")
_MOST = 100_000
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SET_FIELDS: tuple[Field, ...] = ("max", "min", "envelope")
_ADD_KEYS = ("name", "namespace", "label", "envelope", "max", "min", "like")
_SIZES = ("cpu", "memory", EPHEMERAL)
_NODE_KEYS = ("name", "like", *_SIZES, "pods", "labels", "taints")


class SetChanged(Struct, frozen=True):
    """One field of a set is another; a max of None is unbounded."""

    written: str
    name: str
    field: Field
    number: int | None = None
    envelope: str = ""


class SetAdded(Struct, frozen=True):
    """A set that is not there yet, like another one if it says so."""

    written: str
    name: str
    max: int | None
    min: int = 0
    envelope: str = ""
    namespace: str = ""
    label: str = ""
    like: str = ""


class CeilingChanged(Struct, frozen=True):
    """The ceiling of a label is another; the label may be left out where there is one policy."""

    written: str
    number: int
    label: str = ""


class NodeAdded(Struct, frozen=True):
    """A node that is not there yet, like another one if it says so."""

    written: str
    name: str
    like: str = ""
    allocatable: Amounts = {}
    labels: dict[str, str] = {}
    #: None is as of the node it is like
    taints: tuple[Taint, ...] | None = None


class NodeDrained(Struct, frozen=True):
    """A node that takes no pods and has none."""

    written: str
    name: str


Change: TypeAlias = SetChanged | SetAdded | CeilingChanged | NodeAdded | NodeDrained


def read_changes(fields: Mapping[str, Sequence[str]]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes by option, each option's words in order; and every problem, a line each."""
    readers: dict[str, Callable[[str], Change]] = {
        "--add": _read_added,
        "--set": _read_set,
        "--ceiling": _read_ceiling,
        "--node-add": _read_node,
        "--node-drain": _read_drained,
    }
    changes: list[Change] = []
    problems: list[str] = []
    seen: dict[tuple[str, ...], str] = {}
    for option, read in readers.items():
        for words in fields.get(option, ()):
            written = f"{option} {words}"
            try:
                change = read(words)
            except _Wrong as wrong:
                problems += [blame(written, problem) for problem in wrong.problems]
                continue
            key = _key(change)
            if key in seen:
                problems.append(blame(written, f"{seen[key]} says something about it already"))
            seen.setdefault(key, written)
            changes.append(change)
    return tuple(changes), tuple(problems)


def blame(written: str, problem: str) -> str:
    """What is wrong with an option and its words."""
    option, _, words = written.partition(" ")
    return f"{option} {quoted(words, 120)}: {problem}"


class _Wrong(Exception):
    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def _key(change: Change) -> tuple[str, ...]:
    match change:
        case SetChanged():
            return ("set", change.name, change.field)
        case SetAdded():
            return ("added", change.namespace, change.name)
        case CeilingChanged():
            return ("ceiling", change.label)
        case _:
            return ("node", change.name)


def _read_set(words: str) -> Change:
    left, equals, value = words.partition("=")
    name, dot, field = left.rpartition(".")
    if not equals or not dot or not name:
        raise _Wrong("wants NAME.max=NUMBER, NAME.min=NUMBER or NAME.envelope=NAME")
    if field not in _SET_FIELDS:
        near = did_you_mean(field, _SET_FIELDS)
        raise _Wrong(f"{quoted(field)} of a set cannot be tried{near or '; max, min and envelope can'}")
    if field == "envelope":
        if not value:
            raise _Wrong("names no envelope")
        return SetChanged(f"--set {words}", name, field, envelope=value)
    return SetChanged(f"--set {words}", name, field, _number(value, unbounded=field == "max"))


def _read_added(words: str) -> Change:
    fields, problems = _pairs(words, lambda key: key in _ADD_KEYS, _ADD_KEYS)
    problems += _names(fields, "name", "namespace")
    if "name" not in fields:
        problems.append("name is required")
    if "max" not in fields:
        problems.append("max is required: how many runners the set may have, or unbounded")
    if not fields.get("envelope") and not fields.get("like"):
        problems.append("envelope is required, or like with the name of a set")
    numbers: dict[str, int | None] = {"max": None, "min": 0}
    for key in numbers:
        if key in fields:
            try:
                numbers[key] = _number(fields[key], unbounded=key == "max")
            except _Wrong as wrong:
                problems += [f"{key}: {problem}" for problem in wrong.problems]
    if problems:
        raise _Wrong(*problems)
    texts = {key: fields.get(key, "") for key in ("name", "envelope", "namespace", "label", "like")}
    return SetAdded(f"--add {words}", max=numbers["max"], min=numbers["min"] or 0, **texts)


def _read_ceiling(words: str) -> Change:
    label, equals, value = words.rpartition("=")
    if equals and not label:
        raise _Wrong("wants a number, or LABEL=NUMBER")
    number = _number(value)
    return CeilingChanged(f"--ceiling {words}", number or 0, label)


def _read_node(words: str) -> Change:
    fields, problems = _pairs(words, lambda key: key in _NODE_KEYS or "/" in key, _NODE_KEYS)
    problems += _names(fields, "name")
    if "name" not in fields:
        problems.append("name is required")
    if not fields.get("like"):
        missing = [key for key in _SIZES if key not in fields]
        problems += [f"{key} is required, or like with the name of a node" for key in missing]
    allocatable: Amounts = {}
    for key, value in fields.items():
        if key in (*_SIZES, "pods") or "/" in key:
            try:
                allocatable[key] = amount(key, value)
            except ValueError as error:
                problems.append(f"{key}: {error}")
    labels: dict[str, str] = {}
    for item in _items(fields.get("labels", "")):
        key, equals, value = item.partition("=")
        try:
            check_key(key)
            check_value(value)
        except ValueError as error:
            problems.append(f"labels: {error}")
        if not equals:
            problems.append(f"labels: {quoted(item)} is no label: write key=value, several with ; between")
        labels[key] = value
    taints: list[Taint] = []
    for item in _items(fields.get("taints", "")):
        left, _, effect = item.rpartition(":")
        key, _, value = left.partition("=")
        if not key or effect not in _EFFECTS:
            problems.append(
                f"taints: {quoted(item)} is no taint: write key=value:NoSchedule, several with ; between"
            )
        taints.append(Taint(key, value, effect))
    if problems:
        raise _Wrong(*problems)
    known = tuple(taints) if "taints" in fields else None
    return NodeAdded(
        f"--node-add {words}", fields["name"], fields.get("like", ""), allocatable, labels, known
    )


def _read_drained(words: str) -> Change:
    if not words:
        raise _Wrong("names no node")
    return NodeDrained(f"--node-drain {words}", words)


def _pairs(
    words: str, knows: Callable[[str], bool], known: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    fields: dict[str, str] = {}
    problems: list[str] = []
    for part in _items(words, ","):
        key, equals, value = part.partition("=")
        if not equals:
            problems.append(f"{quoted(part)} is no pair: write key=value, several with a comma between them")
        elif not knows(key):
            near = did_you_mean(key, known) or f"; there is: {', '.join(known)}"
            problems.append(f"there is no {quoted(key)}{near}")
        elif key in fields:
            problems.append(f"{key} is given twice")
        else:
            fields[key] = value
    return fields, problems


def _items(words: str, between: str = ";") -> list[str]:
    return [part.strip() for part in words.split(between) if part.strip()]


def _names(fields: Mapping[str, str], *keys: str) -> list[str]:
    return [
        f"{key}: {quoted(fields[key])} is no name: write small letters, digits, - and dots, like team-a"
        for key in keys
        if key in fields and not (_NAME.fullmatch(fields[key]) and len(fields[key]) <= 253)
    ]


def _number(text: str, *, unbounded: bool = False) -> int | None:
    if unbounded and text in UNBOUNDED:
        return None
    is_short = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST))
    if not is_short or int(text) > _MOST:
        words = f"{quoted(text)} is no whole number from 0 to {_MOST:,}"
        raise _Wrong(f"{words}, or unbounded" if unbounded else words)
    return int(text)
