"""
The pages of sizes: the newest review of each cluster, and one workload of it with its charts and patches.

A review is what it was: the pages are drawn again only when another one is kept, so that a large one is not read each second.
"""

import asyncio
import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from remuda.control.documents import Kept
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.rightsize.report import sizes
from remuda.rightsize.report.figures import RISKS, describe_usage, key_of, names
from remuda.rightsize.report.kept import FAMILY, MOST_POINTS
from remuda.rightsize.report.size_charts import span_of
from remuda.rightsize.report.size_patches import with_patches
from remuda.rightsize.review import SCHEMA, Review, WorkloadReview
from remuda.web.page import Ask, Content

#: rows of workloads, and findings of a cause, on the page
MOST, MOST_FINDINGS = 300, 100
#: what a workload without any risk is filtered by
NO_RISK = "none"
RISK_NAMES: dict[str, str] = {**{risk: label for risk, label in RISKS.items() if risk}, NO_RISK: "none"}
_Key = Callable[[WorkloadReview], Any]
#: by what workloads can be sorted, in the order that one asks for first; what matters most is the order of a review
SORTS: dict[str, _Key | None] = {
    "risk": None,
    "name": lambda each: (each.namespace, each.name, each.kind),
    "kind": lambda each: (each.kind, each.namespace, each.name),
    "verdict": lambda each: [item.verdict for item in each.containers],
    "tier": lambda each: (99 if each.tier is None else each.tier, each.tier_name),
    "pods": lambda each: -each.replicas,
    "cpu": lambda each: -each.waste.cpu_millicores,
    "memory": lambda each: -each.waste.memory_bytes,
    "money": lambda each: -(each.waste.monthly or 0.0),
}
#: those that begin with the highest
_FALLING = frozenset({"risk", "pods", "cpu", "memory", "money"})


class Filter(NamedTuple):
    """Which workloads are shown; empty is all of them."""

    namespace: str = ""
    risk: str = ""
    find: str = ""

    @property
    def is_any(self) -> bool:
        """True when some may be left out."""
        return any(self)

    def fits(self, workload: WorkloadReview) -> bool:
        """Whether a workload is shown."""
        if self.namespace and workload.namespace != self.namespace:
            return False
        if self.risk and (workload.risk or NO_RISK) != self.risk:
            return False
        if not self.find:
            return True
        row = sizes.row_of(workload)
        text = " ".join(
            (row.key, workload.namespace + "/" + workload.name, row.risk, *(tag.text for tag in row.tags))
        )
        return all(word in text.lower() for word in self.find.lower().split())


class Choice(NamedTuple):
    """A review that can be chosen."""

    name: str
    link: str
    is_chosen: bool


async def sizes_page(ask: Ask, call: Call) -> Content:
    """The review that was asked for, or the newest."""
    sort = call.query.get("sort", "risk")
    if sort.removeprefix("-") not in SORTS:
        raise BadInput(
            f"sort wants one of {', '.join(SORTS)}, with - before it the other way; found {sort[:40]!r}"
        )
    wanted = Filter(*(call.query.get(name, "") for name in Filter._fields))
    if wanted.risk and wanted.risk not in RISK_NAMES:
        raise BadInput(f"risk wants one of {', '.join(RISK_NAMES)}, found {wanted.risk[:40]!r}")
    reviews = await _newest(ask)
    if not reviews:
        return Content("rightsize/sizes.html", {"review": None}, title="Sizes")
    item = _choose(reviews, call.query.get("review", ""))
    data = await ask.get(f"/v1/documents/{item.id}", Any)
    values = await asyncio.to_thread(_values, data, reviews, item, sort, wanted)
    return Content("rightsize/sizes.html", values, title="Sizes")


async def workload_page(ask: Ask, call: Call) -> Content:
    """One workload of a review, with its charts and patches."""
    reviews = await _newest(ask)
    if not reviews:
        raise NotFound(
            "no review is kept here: remuda rightsize review makes one, with the same data directory"
        )
    item = _choose(reviews, call.query.get("review", ""))
    data = await ask.get(f"/v1/documents/{item.id}", Any)
    name = call.query.get("name", "")
    values = await asyncio.to_thread(_workload_values, data, item, name)
    return Content("rightsize/workload_page.html", values, title=values["shown"].called)


async def _newest(ask: Ask) -> list[Kept]:
    newest: dict[str, Kept] = {}
    for item in await ask.get("/v1/documents", list[Kept], family=FAMILY):
        newest.setdefault(item.kind, item)
    return list(newest.values())


def _choose(reviews: list[Kept], chosen: str) -> Kept:
    if not chosen:
        return reviews[0]
    if not re.fullmatch(r"[0-9]{1,18}", chosen):
        raise BadInput(f"review wants the number of one, found {chosen[:40]!r}")
    found = next((item for item in reviews if item.id == int(chosen)), None)
    if found is None:
        raise NotFound(f"there is no review {chosen} any more: a newer one has taken its place")
    return found


def _read(data: Any, item: Kept) -> Review:
    try:
        review = msgspec.convert(data, Review)
    except msgspec.ValidationError as error:
        raise Unavailable(f"what was kept of {item.kind} cannot be read: {error}; review again") from None
    if review.schema != SCHEMA:
        raise Unavailable(f"what was kept of {item.kind} is {review.schema}: review again with this version")
    return review


def _values(data: Any, reviews: Sequence[Kept], item: Kept, sort: str, wanted: Filter) -> dict[str, Any]:
    review = _read(data, item)
    found = [workload for workload in review.workloads if wanted.fits(workload)]
    by, is_turned = sort.removeprefix("-"), sort.startswith("-")
    if key := SORTS[by]:
        found.sort(key=key)
    if is_turned:
        found.reverse()
    asked = {"review": str(item.id), "sort": sort, **wanted._asdict()}

    def link(**other: str) -> str:
        return _link("/sizes", asked | other)

    return {
        "review": review,
        "usage": describe_usage(review),
        "reviews": [
            Choice(each.kind.partition("/")[2], _link("/sizes", {"review": str(each.id)}), each.id == item.id)
            for each in reviews
        ],
        "cards": sizes.cards(review),
        "changes": None,
        "rows": [sizes.row_of(workload) for workload in found[:MOST]],
        "found": len(found),
        "count": len(review.workloads),
        "has_prices": review.waste.monthly is not None,
        "filter": wanted,
        "namespaces": sorted({each.namespace for each in review.workloads}),
        "risks": RISK_NAMES,
        "kept_in_form": {"review": str(item.id), "sort": sort},
        "all_link": link(**dict.fromkeys(Filter._fields, "")),
        "sort_link": lambda name: link(sort=f"-{name}" if name == sort else name),
        "sorted_by": lambda name: _direction(name, is_turned=is_turned) if name == by else "",
        "href": lambda key: _link("/sizes/workload", {"review": str(item.id), "name": key}),
        "causes": sizes.causes(sizes.all_found(review)),
        "most_findings": MOST_FINDINGS,
        "sections": (),
    }


def _direction(name: str, *, is_turned: bool) -> str:
    return "descending" if (name in _FALLING) != is_turned else "ascending"


def _link(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode({name: value for name, value in query.items() if value})}"


def _workload_values(data: Any, item: Kept, name: str) -> dict[str, Any]:
    review = _read(data, item)
    workload = _find(review, name)
    found = sizes.by_workload(sizes.all_found(review)).get(sizes.write_key(workload), [])
    shown = sizes.show_workload(
        review, workload, names(review)[key_of(workload)], found, span_of(review), MOST_POINTS
    )
    return {
        "shown": with_patches(shown, review),
        "source": review.source,
        "at": review.at,
        "usage": describe_usage(review),
        "back": _link("/sizes", {"review": str(item.id)}),
    }


def _find(review: Review, name: str) -> WorkloadReview:
    known = {sizes.write_key(workload): workload for workload in review.workloads}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 3)
    hint = f"; near to it: {', '.join(near)}" if near else ""
    raise NotFound(f"no workload of this review is called {name[:120]!r}, written NAMESPACE/KIND/NAME{hint}")
