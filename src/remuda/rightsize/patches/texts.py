"""What the texts of all patches share: files, their names and headers."""

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from remuda.model.times import SECOND, write_duration, write_instant
from remuda.model.workloads import WorkloadId
from remuda.output.show import one_line
from remuda.rightsize.patches.templates import KINDS
from remuda.rightsize.review import ADVISED, Finding, Review

if TYPE_CHECKING:
    from remuda.rightsize.patches.changes import Changed

#: what is safe in the name of a file anywhere; no name of Kubernetes has the underscore that divides them
_SAFE = re.compile(r"[a-z0-9][a-z0-9.-]*")
_LONGEST = 180


class PatchFile(Struct, frozen=True):
    """A file, by its path below where patches are written to; `workload` where it is about one alone."""

    path: str
    text: str
    workload: WorkloadId | None = None
    #: where it is from and why, of a form that has no comments
    about: tuple[str, ...] = ()


class Made(Struct, frozen=True):
    """Patches, and what was left out of them, a line each with the reason."""

    files: tuple[PatchFile, ...] = ()
    left: tuple[str, ...] = ()
    #: what is wrong beyond single workloads and is to be mended before patches are applied, as a quota that is too small
    beware: tuple[str, ...] = ()


def stem(who: WorkloadId) -> str:
    """A name for the file of a workload, by which no other goes, whatever the workload is called."""
    parts = (who.namespace, who.kind.lower(), who.name)
    plain = "_".join(parts)
    if who.kind in KINDS and all(map(_SAFE.fullmatch, parts)) and len(plain) <= _LONGEST:
        return plain
    safe = "_".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") or "x" for part in parts)
    return f"{safe[: _LONGEST - 13]}_{mark(who)}"


def mark(who: WorkloadId) -> str:
    """A few letters that stand for one workload alone."""
    # lengths tell apart what a divider within a name would not
    message = "".join(f"{len(part)}:{part}" for part in who)
    return hashlib.sha256(message.encode()).hexdigest()[:12]


def origin(review: Review) -> str:
    """Which review patches are from."""
    try:
        at = write_instant(review.at)
    except (ValueError, OverflowError, OSError):
        at = f"{review.at} ms after 1970"
    over = "" if review.usage == ADVISED else f" over {write_duration(review.history * SECOND)}"
    partial = ", which is partial" if review.is_partial else ""
    return one_line(
        f"remuda rightsize patch, from the review of {at}{partial}: workloads of {review.source}, "
        f"use from {review.usage}, strategy {review.strategy}{over}"
    )


def header(review: Review, usage: str) -> Iterator[str]:
    """What the first lines of a file say."""
    yield origin(review)
    yield usage


def about(changed: "Changed") -> Iterator[str]:
    """What a workload's lines say: who it is, and what was found about it."""
    yield str(changed.id)
    yield from map(describe_finding, changed.findings)


def describe_finding(found: Finding) -> str:
    """A finding on one line, without what it is about."""
    return (
        f"{found.severity} {found.rule}, {found.field}: {found.is_}; should be: {found.should}; {found.fix}"
    )
