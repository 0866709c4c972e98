"""
Fixes of an audit as values of the chart of runner scale sets (gha-runner-scale-set), a document for each set.

What only a person can decide stays a comment. Helm replaces lists whole, so that a container has to be merged by hand
with what the values have of it.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from remuda.model.findings import Finding
from remuda.output.findings import describe

Values: TypeAlias = dict[str, Any]
_KIND = "AutoscalingRunnerSet "
_BOUNDS = frozenset({"unbounded-set", "set-above-its-share", "newcomer-above-default"})
_MERGE = "template.spec.containers is a list, which Helm replaces: keep the image and command that your values have"


def documents(findings: Iterable[Finding]) -> list[tuple[list[str], Values]]:
    """For each scale set with findings, comments and the values that fix what can be fixed by values."""
    by_set: dict[str, list[Finding]] = {}
    for item in findings:
        if item.subject.startswith(_KIND) and item.severity != "info":
            by_set.setdefault(item.subject, []).append(item)
    made = []
    for subject, items in sorted(by_set.items()):
        values: Values = {}
        left = [item for item in items if not _fix(item, values)]
        comments = [subject, *(f"by hand: {item.rule}: {describe(item).fix}" for item in left)]
        if "containers" in values.get("template", {}).get("spec", {}):
            comments.append(_MERGE)
        made.append((comments, values))
    return made


def _fix(item: Finding, values: Values) -> bool:
    """Put what fixes a finding among the values; False when no value does."""
    terms = item.terms
    if item.rule in _BOUNDS:
        values["maxRunners"] = 1 if terms.get("share") is None else terms["share"]
    elif item.rule == "minimum-not-zero":
        values["minRunners"] = 0
    elif item.rule == "quota-counts-nothing":
        _pod(values)["priorityClassName"] = terms["expected"]
    elif item.rule == "envelope-not-carried":
        *_, kind, name = item.field.split(".")
        _resources(values, kind)[name] = terms["quantity"]
    elif item.rule in {"missing-requests", "missing-limits"} and terms.get("example"):
        pairs = dict(part.split(": ") for part in str(terms["example"]).split(", "))
        _resources(values, item.rule.removeprefix("missing-")).update(pairs)
    else:
        return False
    return True


def _pod(values: Values) -> Values:
    found: Values = values.setdefault("template", {}).setdefault("spec", {})
    return found


def _resources(values: Values, kind: str) -> Values:
    (runner,) = _pod(values).setdefault("containers", [{"name": "runner", "resources": {}}])
    found: Values = runner["resources"].setdefault(kind, {})
    return found
