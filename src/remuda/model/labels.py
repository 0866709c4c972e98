"""
Labels and conditions on them, by the rules of Kubernetes.

A condition is written as kubectl does: `a=b`, `c!=d`, `e in (x,y)`, `!f`. As there, `!=` and `notin` also match when the
key is absent.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_PREFIX_PART = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def check_key(key: str) -> None:
    """Raise `ValueError` unless `key` may name a label: `team` or `example.com/team`."""
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{key[:80]!r} is no label key: write up to 63 letters, digits, '-', '_' or '.', beginning and ending with"
            " a letter or digit, like team or example.com/team"
        )
    if slash and (len(prefix) > 253 or not all(map(_PREFIX_PART.fullmatch, prefix.split(".")))):
        raise ValueError(
            f"{key[:80]!r} is no label key: what is before the / must be a domain, like example.com"
        )


def check_value(value: str) -> None:
    """Raise `ValueError` unless `value` may be a label's value; the empty text may."""
    if value and not _NAME.fullmatch(value):
        raise ValueError(
            f"{value[:80]!r} is no label value: write nothing or up to 63 letters, digits, '-', '_' or '.', beginning and"
            " ending with a letter or digit"
        )


class Operator(StrEnum):
    """How a requirement compares, named as in `matchExpressions`."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Requirement(Struct, frozen=True, gc=False):
    """One condition on one key. Making one that can never be meant raises `ValueError`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_key(self.key)
        for value in self.values:
            check_value(value)
        match self.operator:
            case Operator.IN | Operator.NOT_IN if not self.values:
                raise ValueError(f"{self.key} {self.operator} needs at least one value")
            case Operator.EXISTS | Operator.DOES_NOT_EXIST if self.values:
                raise ValueError(f"{self.key} {self.operator} takes no value")
            case Operator.GT | Operator.LT if len(self.values) != 1 or not _INTEGER.fullmatch(self.values[0]):
                raise ValueError(f"{self.key} {self.operator} needs one whole number")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when `labels` meet this condition."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
        if value is None or not _INTEGER.fullmatch(value):
            return False
        if self.operator is Operator.GT:
            return int(value) > int(self.values[0])
        return int(value) < int(self.values[0])

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN:
                return f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
            case Operator.NOT_IN:
                return f"{self.key}!={values}" if len(self.values) == 1 else f"{self.key} notin ({values})"
            case Operator.GT:
                return f"{self.key}>{values}"
            case Operator.LT:
                return f"{self.key}<{values}"
