"""The page of tiers: namespaces by tier with what is left of their quotas, who goes first on a node, and findings by cause."""

import re
from typing import Any

from remuda.control.client import path_of
from remuda.control.routes import Call
from remuda.errors import BadInput
from remuda.tiers.answers import AuditRow, NamespaceBars, Picture
from remuda.web.page import Ask, Content

_AUDITS = "/v1/tiers/audits"


async def tiers_page(ask: Ask, call: Call) -> Content:
    """The audit that was asked for, or the newest."""
    rows = await ask.get(_AUDITS, list[AuditRow])
    number = call.query.get("audit", "")
    if number and not re.fullmatch(r"[0-9]{1,18}", number):
        raise BadInput(f"audit wants the number of one, found {number[:40]!r}")
    chosen = next((row for row in rows if row.id == int(number)), None) if number else next(iter(rows), None)
    values: dict[str, Any] = {"audits": rows, "chosen": chosen, "shown": None, "tiers": []}
    if (chosen is not None or number) and not (chosen is not None and chosen.problem):
        shown = await ask.get(
            path_of("v1", "tiers", "audits", chosen.id if chosen else int(number)),
            Picture,
            node=call.query.get("node") or None,
        )
        values |= {"chosen": shown.audit, "shown": shown, "tiers": by_tier(shown.namespaces)}
    return Content("tiers/tiers.html", values, title="Tiers")


def by_tier(namespaces: tuple[NamespaceBars, ...]) -> list[tuple[str, list[NamespaceBars]]]:
    """Namespaces of each tier, in the order in which they come."""
    found: dict[str, list[NamespaceBars]] = {}
    for each in namespaces:
        found.setdefault(each.tier, []).append(each)
    return list(found.items())
