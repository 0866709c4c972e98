"""
The page of capacity: the newest audit of each cluster, its ceilings as bars, nodes as packed boxes, gates, findings, and what if.

An audit is what it was: the page is drawn again only when another one is kept, so that a large one is not judged each second.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from remuda.capacity.answers import AuditRow, BarPart, LabelBars, NodeBox, Picture, Planned
from remuda.capacity.form import FIELDS, Form, read_form
from remuda.control.client import path_of
from remuda.control.routes import Call
from remuda.errors import BadInput
from remuda.web.page import Ask, Content

_AUDITS = "/v1/capacity/audits"
_PLAN = "/v1/capacity/plan"
#: pixels of a letter, and those that a percent of a bar has on a screen of 1280: of labels, and of nodes
_LETTER, _LABEL_PERCENT, _NODE_PERCENT = 7, 10, 4
#: steps that the page has tables for
_ELSEWHERE = frozenset({"gate", "error", "warning", "finding"})
#: findings of each sort that change
_MOST_FINDINGS = 50
_BARS = {"running": "running", "maxima": "may have", "shares": "would get"}
_RESOURCES = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "ephemeral storage"}


class Drawn(NamedTuple):
    """A part of a bar, where it is, in percent of the whole."""

    x: float
    width: float
    part: BarPart
    is_named: bool


class DrawnBar(NamedTuple):
    """A bar: its name, its parts, and the same in words."""

    name: str
    parts: tuple[Drawn, ...]
    text: str


class DrawnLabel(NamedTuple):
    """A label and its bars; where the ceiling is, if it has one."""

    label: LabelBars
    bars: tuple[DrawnBar, ...]
    ceiling: float | None


class DrawnNode(NamedTuple):
    """A node and its budgets as bars."""

    node: NodeBox
    bars: tuple[tuple[str, DrawnBar], ...]


async def capacity_page(ask: Ask, call: Call) -> Content:
    """The audit that was asked for, or the newest; with fields of the form also what they would change."""
    rows = await ask.get(_AUDITS, list[AuditRow])
    number = call.query.get("audit", "")
    if number and not re.fullmatch(r"[0-9]{1,18}", number):
        raise BadInput(f"audit wants the number of one, found {number[:40]!r}")
    values: dict[str, Any] = {"audits": rows, "chosen": None, "shown": None, "problem": "", "newer": None}
    chosen = next((row for row in rows if row.id == int(number)), None) if number else next(iter(rows), None)
    if chosen is not None and chosen.problem:
        values |= {"chosen": chosen, "problem": chosen.problem}
    elif chosen is not None or number:
        values |= await _shown(ask, chosen.id if chosen else int(number), call)
        values["newer"] = next((row for row in rows if _is_newer(row, values["chosen"])), None)
    return Content("capacity/capacity.html", values, title="Capacity")


async def _shown(ask: Ask, number: int, call: Call) -> dict[str, Any]:
    """The audit of a number, be it the newest of its source or one before; `NotFound` when it is forgotten."""
    label = call.query.get("label") or None
    shown = await ask.get(path_of("v1", "capacity", "audits", number), Picture, label=label)
    form = read_form(call.query, shown.chosen, shown.label.node_names if shown.label else ())
    answer, problems = await _answer(ask, form, shown)
    bars = next((each for each in shown.labels if each.name == shown.chosen), None)
    return {
        "chosen": shown.audit,
        "shown": shown,
        "labels": [draw_label(each) for each in shown.labels],
        "nodes": [draw_node(each) for each in shown.label.nodes] if shown.label else [],
        "form": form,
        "answer": answer,
        "steps": [step for step in shown.label.steps if step.label not in _ELSEWHERE] if shown.label else [],
        "tables": _tables(answer) if answer else [],
        "wrong": {field: problems.get(field, []) for field in (*FIELDS, "")},
        "is_wrong": bool(problems),
        "now_ceiling": "" if bars is None or bars.ceiling is None else f"now {bars.ceiling}",
    }


def _is_newer(row: AuditRow, shown: AuditRow) -> bool:
    return row.source == shown.source and row.id != shown.id and row.at >= shown.at


async def _answer(ask: Ask, form: Form, shown: Picture) -> tuple[Planned | None, dict[str, list[str]]]:
    """What the changes of the form would do, or what is wrong with them by field."""
    if not form.is_asked or _PLAN not in ask.routes():
        return None, {}
    try:
        answer = await ask.question(_PLAN, form.what_if(shown.audit.id, shown.chosen), Planned)
    except BadInput as error:
        return None, form.blamed(str(error))
    return (None, form.problems) if form.problems else (answer, {})


def _tables(answer: Planned) -> list[tuple[str, list[str], list[tuple[str, ...]], str]]:
    """Title, headings, rows and what is said without rows; findings have a row each, where a terminal has four lines."""
    found = []
    for table in answer.tables:
        headings, rows = list(table.headings), list(table.rows)
        if table.headings[0] == "CHANGE":
            headings = ["CHANGE", "SEVERITY", "RULE", "WHERE", "FOUND", "EXPECTED", "FIX"]
            rows = list(_changed(answer.document["findings"]))
        found.append((table.title, [_heading(each) for each in headings], rows, table.note))
    return found


def _changed(findings: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for what, key in (("appears", "appeared"), ("goes", "gone")):
        yield from ((what, *_finding(each)) for each in findings[key][:_MOST_FINDINGS])
    for each in findings["changed"][:_MOST_FINDINGS]:
        severity, rule, where, found, *rest = _finding(each["after"])
        yield "changes", severity, rule, where, f"{each['before']['is']} → {found}", *rest


def _finding(row: dict[str, Any]) -> tuple[str, ...]:
    where = f"{row['object']} {row['field']}".strip()
    return row["severity"], row["rule"], where, row["is"], row["should"], row["fix"]


def _heading(text: str) -> str:
    """A heading of a terminal as a page has it: `Memory GiB left`."""
    words = [word if word == "CPU" or not word.isupper() else word.lower() for word in text.split()]
    joined = " ".join(words) or "what"
    return joined[0].upper() + joined[1:]


def draw_label(label: LabelBars) -> DrawnLabel:
    """Bars of one scale."""
    bars = tuple(_bar(_BARS[bar.name], bar.parts, label.whole, _LABEL_PERCENT) for bar in label.bars)
    ceiling = None if label.ceiling is None else 100 * label.ceiling / label.whole
    return DrawnLabel(label, bars, ceiling)


def draw_node(node: NodeBox) -> DrawnNode:
    """Each budget as a bar of its own scale: what a node has of a resource is its whole width."""
    return DrawnNode(
        node,
        tuple(
            (budget.text, _bar(_RESOURCES[budget.resource], budget.parts, budget.whole, _NODE_PERCENT))
            for budget in node.budgets
        ),
    )


def _bar(name: str, parts: Iterable[BarPart], whole: int, percent: int) -> DrawnBar:
    """Parts side by side; where they come to more than the whole, they are what is."""
    found = tuple(parts)
    whole = max(whole, sum(part.amount for part in found), 1)
    drawn, before = [], 0
    for part in found:
        width = 100 * part.amount / whole
        is_named = width * percent >= (len(part.name) + 3) * _LETTER
        drawn.append(Drawn(round(100 * before / whole, 3), round(width, 3), part, is_named))
        before += part.amount
    text = "; ".join(f"{part.name}: {part.text}" for part in _summed(found))
    return DrawnBar(name, tuple(drawn), text or "nothing")


def _summed(parts: Iterable[BarPart]) -> Iterable[BarPart]:
    """Equal parts once, with how many they are."""
    counts: dict[BarPart, int] = {}
    for part in parts:
        counts[part] = counts.get(part, 0) + 1
    for part, count in counts.items():
        yield part if count == 1 else BarPart(part.name, part.kind, part.amount, f"{count} times {part.text}")
