"""The page that answers why: a subject and a time, the arithmetic behind what was decided, and what came before."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from remuda.control.about import About
from remuda.control.client import path_of
from remuda.control.documents import Kept
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound
from remuda.model.times import Instant
from remuda.output.steps import Step
from remuda.web.page import Ask, Content, Page

#: the routes that answer why, by the kind of subject
_ROUTE = re.compile(r"/v1/why/(?P<kind>[\w-]+)/\{\w+\}")

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
#: how much of the past a replay on the page goes through
_MINUTES = 10


class Event(Struct, frozen=True):
    """Something that happened, and why."""

    at: Instant
    code: str
    text: str


class Answer(Struct, frozen=True):
    """What every job answers when it is asked why."""

    subject: str
    headline: str
    code: str = ""
    since: Instant = 0
    at: Instant = 0
    cycles: int = 0
    steps: tuple[Step, ...] = ()
    history: tuple[Event, ...] = ()


class Recorded(Struct, frozen=True):
    """From when to when something is recorded."""

    since: Instant
    until: Instant


def kinds(paths: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """The kinds of subjects that can be asked about."""
    return tuple(sorted(found["kind"] for path in paths if (found := _ROUTE.fullmatch(path))))


def make_why(families: Mapping[str, str]) -> Page:
    """The page; by kind of subject, the family of documents that some are answered from."""

    async def render(ask: Ask, call: Call) -> Content:
        return await why_page(ask, call, families)

    return Page("/why", render, menu="Why", query=_QUERY)


async def why_page(ask: Ask, call: Call, families: Mapping[str, str]) -> Content:
    """Pick a subject and a time; with both, the answer."""
    known = kinds(ask.routes())
    kind, name = call.query.get("kind", ""), call.query.get("name", "").strip()
    at = _instant(call.query.get("at", ""))
    answer, problem = None, ""
    if at is not None and at > ask.now:
        problem = "That is in the future: nothing is decided yet."
    elif name:
        if kind not in known:
            raise BadInput(
                f"{kind or 'nothing'} is no kind of subject: {', '.join(known) or 'there is none'}"
            )
        try:
            found = await ask.get(path_of("v1", "why", kind, name), Answer, at=at)
            answer = msgspec.convert(found, Answer, from_attributes=True)
        except (NotFound, BadInput) as error:
            problem = str(error)
    recorded = Recorded(ask.now, ask.now)
    if "/v1/recorded" in ask.routes():
        found_span = await ask.get("/v1/recorded", Recorded)
        recorded = msgspec.convert(found_span, Recorded, from_attributes=True)
    values = {
        "can_replay": "/v1/replay" in ask.routes(),
        "minutes": _MINUTES,
        "replay_until": min(at if at is not None else ask.now, recorded.until or ask.now) + 1_000,
        "objects": await _objects(ask),
        "kinds": known,
        "kind": kind or (known[0] if known else ""),
        "name": name,
        "at": at,
        "answer": answer,
        "problem": problem,
        "recorded": recorded,
        "slider": await _kept_span(ask, families.get(kind, "")) or recorded,
    }
    return Content("why.html", values, title=f"Why {kind} {name}" if name else "Why")


async def _kept_span(ask: Ask, family: str) -> Recorded | None:
    """From the first to the last document of a family that is kept; None when there is none."""
    if not family or "/v1/documents" not in ask.routes():
        return None
    times = [item.at for item in await ask.get("/v1/documents", list[Kept], family=family)]
    return Recorded(min(times), max(times)) if times else None


async def _objects(ask: Ask) -> str:
    """The objects in force as YAML, to be changed; nothing when nothing runs."""
    if "/v1/about" not in ask.routes():
        return ""
    about = await ask.get("/v1/about", About)
    return await asyncio.to_thread(_LAST.of, about.objects)


class _Written:
    """Objects as YAML, written once for as long as they are the same: a thousand take seconds, and the page is drawn every one."""

    def __init__(self) -> None:
        self._last: tuple[tuple[dict[str, Any], ...], str] = ((), "")

    def of(self, objects: tuple[dict[str, Any], ...]) -> str:
        known, text = self._last
        if known != objects:
            text = yaml.dump_all(objects, Dumper=_DUMPER, sort_keys=False, default_flow_style=False)
            self._last = objects, text
        return text


_LAST = _Written()


def _instant(text: str) -> Instant | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,13}", text):
        raise BadInput(f"at wants milliseconds since 1970, found {text!r}")
    return int(text)


_QUERY = {
    "kind": "The kind of subject.",
    "name": "Its name.",
    "at": "The instant asked about, in milliseconds since 1970; now by default.",
}
