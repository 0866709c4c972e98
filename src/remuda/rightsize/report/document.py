"""
A review as text: the document `remuda.dev/rightsize-review/v1`, written for programs and read back.

It is the `Review` with `at` by RFC 3339; instants of samples are seconds since 1970, as samples have them. With changes
since the last review there is one key more, `changes`.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct, structs

from remuda.errors import BadInput
from remuda.model.times import Instant, read_instant, write_instant
from remuda.objects.convert import type_info
from remuda.objects.problems import quoted
from remuda.objects.schema import schema_of_type
from remuda.output.show import Report
from remuda.rightsize.input_files import read_input
from remuda.rightsize.report.compare import Changes
from remuda.rightsize.report.validity import problems_of
from remuda.rightsize.review import SCHEMA, Review

#: a review of 20,000 containers has about 150 MB
MOST_BYTES = 512 * 1024 * 1024
#: what is reported of a broken one
_MOST_PROBLEMS = 10
_INSTANT = {"type": "string", "format": "date-time", "description": "When, by RFC 3339."}
#: numbers one below the other, as the formatter writes a list of them
_NUMBERS = re.compile(r"\[\n\s+((?:-?[0-9]+|null)(?:,\n\s+(?:-?[0-9]+|null))*)\n\s+\]")
_BREAK = re.compile(r",\n\s+")


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    made = schema_of_type(type_info(Review))
    of_changes = schema_of_type(type_info(Changes))
    made["properties"]["at"] = _INSTANT
    of_changes["properties"] |= {"before": _INSTANT, "after": _INSTANT}
    made["properties"]["schema"] = {"type": "string", "enum": [SCHEMA]}
    made["properties"]["changes"] = of_changes
    made["required"].append("schema")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": SCHEMA,
        **made,
    }


def schema_text() -> str:
    """The same as text."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode()


def schema_report() -> Report:
    """The same to be printed."""
    return Report(schema(), lines=(schema_text(),))


def data(review: Review, changes: Changes | None = None) -> dict[str, Any]:
    """The document as plain data."""
    made: dict[str, Any] = msgspec.to_builtins(review)
    made["at"] = write_instant(review.at)
    if changes is not None:
        plain = msgspec.to_builtins(changes)
        made["changes"] = plain | {
            "before": write_instant(changes.before),
            "after": write_instant(changes.after),
        }
    return {"schema": made.pop("schema")} | made


def text(review: Review, changes: Changes | None = None) -> Iterator[str]:
    """The document as JSON, piece by piece, series of numbers in a line."""
    head = data(structs.replace(review, workloads=()), changes)
    del head["workloads"]
    yield "{\n"
    for key, value in head.items():
        yield f'  "{key}": {_formatted(value)},\n'
    between = '  "workloads": ['
    for workload in review.workloads:
        yield f"{between}\n    {_formatted(workload, '    ')}"
        between = ","
    yield "\n  ]\n}\n" if review.workloads else f"{between}]\n}}\n"


def _formatted(value: Any, indent: str = "  ") -> str:
    written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    narrow = _NUMBERS.sub(lambda found: f"[{_BREAK.sub(', ', found[1])}]", written)
    return narrow.replace("\n", "\n" + indent)


class _Head(Struct, frozen=True):
    schema: Any = None
    at: Any = None


def read_review(content: bytes, file: str) -> Review:
    """The review in a text; `BadInput` says with its path what is wrong."""
    if len(content) > MOST_BYTES:
        raise BadInput(f"{file}: is over {MOST_BYTES // 2**20} MiB, which no review is")
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.schema != SCHEMA:
            raise BadInput(f"{file}: {_other_schema(head.schema)}")
        plain = msgspec.json.decode(content)
        at = _instant(head.at, file)
        review = msgspec.convert(plain | {"at": at}, Review)
        msgspec.msgpack.encode(review)
    except msgspec.ValidationError as error:
        raise BadInput(f"{file}: {_placed(str(error))}") from None
    except OverflowError:
        raise BadInput(f"{file}: has a whole number of over 64 bits, which no review has") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file}: is not what remuda rightsize review -o json prints: {error}") from None
    problems = [f"{file}: {problem}" for problem in islice(problems_of(review), _MOST_PROBLEMS)]
    if problems:
        raise BadInput("\n".join(problems))
    return review


def read_review_file(file: str) -> Review:
    """The review in a file, or - for standard input; `BadInput` where there is none."""
    return read_review(*read_input(file, MOST_BYTES))


def _other_schema(found: object) -> str:
    family, _, version = SCHEMA.rpartition("/")
    if isinstance(found, str) and found.startswith(f"{family}/"):
        return f"schema is {quoted(found)}, and this remuda reads {version}: review again with this one"
    message = f"schema is {quoted(found)}" if isinstance(found, str) else "it has no schema"
    return f"{message}, where a review says {SCHEMA}: give what remuda rightsize review -o json prints"


def _instant(found: object, file: str) -> Instant:
    try:
        if isinstance(found, str):
            return read_instant(found)
    except (ValueError, OverflowError):
        pass
    message = quoted(found) if isinstance(found, str) else "no text"
    raise BadInput(f"{file}: at: is {message}: write a time like 2026-01-31T14:05:00Z")


def _placed(message: str) -> str:
    """What msgspec says, path first."""
    what, found, path = message.rpartition(" - at `$")
    if not found:
        return message[:1].lower() + message[1:]
    return f"{path.rstrip('`').lstrip('.') or 'the document'}: {what[:1].lower() + what[1:]}"
