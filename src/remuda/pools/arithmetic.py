"""How a pool's number came about, in lines of arithmetic that add up."""

from collections.abc import Mapping

from remuda.model.plans import Reason, Term
from remuda.output.words import number, write_term


def demand(terms: Mapping[str, Term]) -> int:
    """What a pool's load asks for, before any bound."""
    load = sum(number(terms, name) for name in ("unclaimed", "running", "headroom"))
    return load - number(terms, "beyond")


def pool_lines(reason: Reason) -> list[tuple[str, str, str]]:
    """How a pool's number came about, step by step: label, arithmetic, remark."""
    terms = reason.terms
    lines = [_demand_line(terms), _bounds_line(terms)]
    if terms.get("stale_since") is not None:
        since = write_term("stale_since", terms.get("stale_since"))
        how = f"{number(terms, 'wanted')} kept" if terms.get("held_by") == "stale" else "not in the way"
        lines.append(("stale", how, f"the source has not answered since {since}"))
    if terms.get("held_by") == "delay":
        lines.append(("delay", f"{number(terms, 'wanted')} kept", "wanted within the scale-down delay"))
    if terms.get("max_surge") is not None:
        lines.append(_surge_line(terms))
    if terms.get("ceiling") is not None:
        lines.append(_ceiling_line(terms))
    lines.append(("action", _action(reason), ""))
    return lines


def _demand_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    parts = " + ".join(f"{number(terms, name)} {name}" for name in ("unclaimed", "running", "headroom"))
    beyond = number(terms, "beyond")
    if not beyond:
        elsewhere = number(terms, "elsewhere")
        return (
            "demand",
            f"{demand(terms)} = {parts}",
            f"{elsewhere} more wait, which other hosts of the queue count" if elsewhere else "",
        )
    return (
        "demand",
        f"{demand(terms)} = {parts} − {beyond} beyond the plan's {number(terms, 'concurrency')}",
        "",
    )


def _bounds_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    asked, low, high = demand(terms), number(terms, "min"), number(terms, "max")
    bounded = number(terms, "bounded")
    if asked > high:
        how = f"min({asked}, max {high})"
    elif asked < low:
        how = f"max({asked}, min {low})"
    else:
        how = f"{low} ≤ {asked} ≤ {high}"
    origin = str(terms.get("bounds_from"))
    where = {"pool": "the pool's own bounds", "override": "set by hand"}.get(
        origin, f"schedule {origin} is open"
    )
    return "bounds", f"{bounded} = {how}", where


def _surge_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    ready = number(terms, "idle") + number(terms, "busy")
    held = terms.get("held_by") == "surge"
    most = f"{ready} ready + {number(terms, 'max_surge')}"
    if held:
        return "surge", f"{number(terms, 'wanted')} = {most}", "more once machines have booted"
    return "surge", f"{number(terms, 'wanted')} ≤ {most}", "not in the way"


def _ceiling_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    grant, wanted = number(terms, "grant"), number(terms, "wanted")
    limit, others = number(terms, "limit"), number(terms, "others")
    shared = f"{grant} of {limit} of {terms['ceiling']}; others hold {others}"
    return "ceiling", shared, "not in the way" if grant >= wanted else f"{wanted - grant} less than wanted"


def _action(reason: Reason) -> str:
    terms = reason.terms
    done = [
        f"{word} {number(terms, name)}"
        for name, word in (("created", "make"), ("closed", "close"), ("deleted", "delete"))
        if number(terms, name)
    ]
    if retiring := number(terms, "retiring"):
        done.append(f"let {retiring} end after {'its job' if retiring == 1 else 'their jobs'}")
    if done:
        return ", ".join(done)
    live, busy, target = number(terms, "live"), number(terms, "busy"), number(terms, "target")
    if live > target and busy >= live:
        return f"none: {busy} of {live} {'is' if busy == 1 else 'are'} busy; a busy machine is never removed"
    creating = number(terms, "creating")
    if creating:
        return f"none: {creating} {'is' if creating == 1 else 'are'} booting"
    return "none"
