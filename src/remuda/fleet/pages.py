"""
The page of the fleet: its machines on a map and in tables, what is missing and why, what it costs, and who decides.

What is shown is what a shard recorded, the newest by default, or a plan that `remuda fleet plan --keep` kept.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from remuda.control.client import path_of
from remuda.control.documents import Kept
from remuda.control.routes import Call
from remuda.errors import BadInput
from remuda.fleet.answers import STATES, Chosen, NeedWhy, NothingRecorded, Overview
from remuda.fleet.routes import plan_number
from remuda.model.shapes import DOLLAR
from remuda.output.words import dollars
from remuda.web.areas import Area, AreaMap, Look
from remuda.web.page import Ask, Content

#: plans that are offered
_MOST_PLANS = 8
_TITLE = "Machines by zone and type"
_ACTIONS = {
    "adopt": "adopted",
    "assign": "assigned",
    "create": "created",
    "preempt": "preempted",
    "reclaim": "reclaimed",
    "release": "released",
}


async def fleet_page(ask: Ask, call: Call) -> Content:
    """The fleet as it was decided on last, at a time, or in a plan."""
    query = {name: text for name, text in call.query.items() if text}
    at, plan, need = _instant(query.get("at"), ask.now), plan_number(query), query.pop("need", "")
    chosen = {name: query.get(name) for name in Chosen.__struct_fields__}
    plans = (await ask.get("/v1/fleet/plans", list[Kept]))[:_MOST_PLANS]
    link = _links(query)
    values: dict[str, Any] = {
        "plans": plans,
        "plan": plan,
        "at": at,
        "link": link,
        "seen": None,
        "answer": None,
        "need": need,
    }
    try:
        seen = await ask.get("/v1/fleet", Overview, **chosen, at=at, plan=plan or None)
    except NothingRecorded as error:
        return Content("fleet/fleet.html", values | {"why_not": str(error)}, title="Fleet")
    if need:
        answer = await ask.get(path_of("v1", "why", "need", need), NeedWhy, at=at, plan=plan or None)
        values["answer"] = answer
    shown = [place for place, state in enumerate(STATES) if seen.states[state]]
    values |= {
        "seen": seen,
        "states": [(place, STATES[place]) for place in shown],
        "all_states": STATES,
        "map": _map(seen, link),
        "is_filtered": any(chosen.values()),
        "hourly": hourly,
        "about": _about(seen.cost),
        "tables": _tables(seen),
        "actions": [
            f"{count:,} {_ACTIONS[op]}" for op, count in seen.actions.items() if count and op in _ACTIONS
        ],
    }
    return Content("fleet/fleet.html", values, title="Fleet")


def hourly(micros: int) -> str:
    """What something costs an hour: to the cent where it is dollars, exactly where it is less."""
    return dollars(round(micros, -4)) if abs(micros) >= DOLLAR else dollars(micros)


def _about(micros: int) -> str:
    """The same where there is little room: whole dollars where it is many."""
    return f"${micros // DOLLAR:,}" if micros >= 100 * DOLLAR else hourly(micros)


def _instant(text: str | None, now: int) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,13}", text):
        raise BadInput(f"at wants milliseconds since 1970, found {text[:40]!r}")
    if int(text) > now:
        raise BadInput("that is in the future: nothing is decided yet")
    return int(text)


def _links(query: dict[str, str]) -> Callable[..., str]:
    """The address of this page with some of its query changed; what is empty is left out."""

    def link(**changes: object) -> str:
        wanted = {**query, **{name: str(value) for name, value in changes.items()}}
        text = urlencode({name: value for name, value in wanted.items() if value})
        return f"/fleet?{text}" if text else "/fleet"

    return link


def _map(seen: Overview, link: Callable[..., str]) -> AreaMap:
    areas = tuple(
        Area(
            block.zone, block.type, block.states, link(zone=block.zone, type=block.type) if block.type else ""
        )
        for block in seen.blocks
    )
    looks = tuple(Look(state, state) for state in STATES)
    return AreaMap(_TITLE, "machine", "machines", "Zone", "Type", looks, areas)


def _tables(seen: Overview) -> list[dict[str, Any]]:
    """The same machines by one thing each."""
    return [
        {
            "id": "zones",
            "title": "Domains",
            "key": "zone",
            "name": "Zone",
            "none": "no zone",
            "groups": seen.zones,
        },
        {
            "id": "types",
            "title": "Types",
            "key": "type",
            "name": "Type",
            "none": "no type",
            "groups": seen.types,
        },
        {
            "id": "clusters",
            "title": "Clusters",
            "key": "cluster",
            "name": "Cluster",
            "none": "no cluster",
            "groups": seen.clusters,
        },
    ]
