"""Why a need has what it has: what it asks, holds and is given, what else would do, what it misses, and what would change that."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.answers import NeedWhy
from remuda.fleet.plan import Block, Op
from remuda.fleet.policy import Policy
from remuda.fleet.show.wording import (
    amounts_text,
    kind_text,
    named_shortfall,
    need_name,
    penalties_of,
    rules_of,
)
from remuda.fleet.trial import Trial, missing_with
from remuda.model.amount_texts import quantity
from remuda.model.shapes import MILLION
from remuda.model.times import write_duration
from remuda.model.units import PINNED, FleetNeed
from remuda.output.steps import Step
from remuda.output.words import dollars, sentence

Ints = NDArray[np.int64]
#: kinds that are named one by one
_MOST_NAMED = 3
_HIGHEST = (1 << 31) - 1
#: how it comes to lose a machine, and to whom
_LOST = {
    Op.PREEMPT: "preempted by {}",
    Op.RECLAIM: "reclaimed: no need claims them",
    Op.ADOPT: "not needed here, and adopted by {}",
}
_HOLDS = (states.CONFIGURED, states.CONFIGURING)


class _Offer(NamedTuple):
    """Machines of a kind: what one costs a need, and how many units of it fit."""

    kind: int
    machines: int
    fit: int
    cost: int


def why_need(trial: Trial, code: int, *, changes: bool) -> NeedWhy:
    """The answer for one need. `changes` also tries out what would give it more, which takes a decision for each."""
    need = trial.needs[code]
    short = trial.shortfalls.get(code)
    lost = [*_lost(trial, code)]
    steps = [_asks(need), *_terms(need), _matches(trial, code)]
    steps += _holds(trial, code)
    steps += [*_assigned(trial, code), *_preempts(trial, code), *_awaits(trial, code), *lost]
    steps += _dearer(trial, code)
    asked = "the sum it asks for" if need.count is None else _units(need.count)
    name = need_name(trial.fleet, code)
    headline, reason = f"{name} {'gets' if trial.parts.get(code) else 'has'} {asked}", None
    if any(step.remark.startswith("preempted") for step in lost):
        headline = f"{name} had {asked}, and loses some of it to a higher priority"
    if short is not None:
        reason = named_shortfall(short.reason)
        headline = f"{name} misses {missing_text(short.units, need)}"
        steps.append(Step("missing", missing_text(short.units, need), sentence(reason)))
        steps += _changes(trial, code, need, short.units) if changes else []
    return NeedWhy(
        subject=f"need/{name}",
        headline=headline,
        code=reason.code if reason else "",
        since=short.since if short else trial.now,
        at=trial.now,
        steps=tuple(steps),
        reason=reason,
    )


def missing_text(missing: int, need: FleetNeed) -> str:
    """How much of what was asked for is missing."""
    return missing_part(missing, need.count)


def missing_part(missing: int, count: int | None) -> str:
    """The same of a need for so many units, or for a sum."""
    if count is None:
        return f"{missing * 100 / MILLION:.3g}% of the sum"
    return f"{missing:,} of {_units(count)}"


def _units(count: int) -> str:
    return f"{count:,} unit{'s' * (count != 1)}"


def _machines(count: int) -> str:
    return f"{count:,} machine{'s' * (count != 1)}"


def _asks(need: FleetNeed) -> Step:
    if need.count is None:
        text = f"{amounts_text(need.total)} in sum, the largest unit {amounts_text(need.unit)}"
    else:
        text = f"{_units(need.count)} of {amounts_text(need.unit)}"
    return Step("asks", text, f"priority {need.priority}")


def _terms(need: FleetNeed) -> Iterator[Step]:
    for rule in rules_of(need):
        yield Step("rule", rule)
    penalties = penalties_of(need)
    if penalties:
        yield Step("penalties", ", ".join(penalties))


def _matches(trial: Trial, code: int) -> Step:
    """What could serve it, whoever has it."""
    need = trial.needs[code]
    table = trial.fleet.census.by_kind_and_state(len(trial.fleet.kinds))
    standing = table[:, states.SPECULATIVE : states.FAILED].sum(axis=1)
    fits = _fits(trial, code) > 0
    text = f"{int(standing[fits].sum()):,} of {_machines(int(standing.sum()))} would do"
    return Step("matches", text, ", ".join(map(str, need.requirements)) or "no requirement but the size")


def _holds(trial: Trial, code: int) -> Iterator[Step]:
    """What is credited to it as it is."""
    fleet = trial.fleet
    mine = np.flatnonzero((fleet.need == code) & np.isin(fleet.state, _HOLDS) & ~trial.touched)
    fit = _fits(trial, code)[fleet.kind[mine]]
    good = mine[fit > 0]
    if len(good):
        over = int(fit.sum()) - (trial.needs[code].count or int(fit.sum()))
        more = f", {over:,} more than it asks for" if over > 0 else ""
        yield Step("holds", _sum(trial, code, good), f"credited{more}")
    if len(good) < len(mine):
        yield Step("unfit", _machines(len(mine) - len(good)), "serves it, but no longer fits: not credited")


def _sum(trial: Trial, code: int, rows: Ints) -> str:
    """How many machines, and how much of the need they are."""
    need, kinds = trial.needs[code], trial.fleet.kinds
    kind = trial.fleet.kind[rows]
    if need.count is not None:
        return f"{_machines(len(rows))}, {_units(int(_fits(trial, code)[kind].sum()))}"
    offered = kinds.allocatable[kind].sum(axis=0)
    parts = [
        f"{resource} {quantity(resource, int(offered[kinds.resources.index(resource)]))}"
        for resource in need.total
    ]
    return f"{_machines(len(rows))}, {', '.join(parts)}"


def _assigned(trial: Trial, code: int) -> Iterator[Step]:
    """What it is given, by kind."""
    labels = {Op.ADOPT: "adopts", Op.ASSIGN: "given", Op.CREATE: "made"}
    for block, places in trial.parts.get(code, ()):
        if block.op not in labels:
            continue
        for offer in _offers(trial, code, block, places):
            shape = trial.fleet.kinds.shapes[offer.kind]
            text = f"{_machines(offer.machines)} of {kind_text(shape)}"
            waste = _waste(trial, code, offer.kind)
            remark = f"{_cost(trial, offer)}, {waste / 10:.3g}% of it unused"
            yield Step(labels[block.op], text, remark)


def _offers(trial: Trial, code: int, block: Block, places: Ints) -> Iterator[_Offer]:
    fits = _fits(trial, code)
    kind, count = np.unique(trial.fleet.kind[block.rows[places]], return_counts=True)
    offers = [_Offer(k, n, int(fits[k]), _effective(trial, code, k)) for k, n in zip(kind.tolist(), count.tolist(), strict=True)]  # fmt: skip
    return iter(sorted(offers, key=_by_cost))


def _by_cost(offer: _Offer) -> tuple[float, int]:
    return offer.cost / max(1, offer.fit), offer.kind


def _cost(trial: Trial, offer: _Offer) -> str:
    """What one machine costs the need: its price, what an interruption would cost, and that by unit."""
    price = trial.fleet.kinds.shapes[offer.kind].price
    message = f"{_units(offer.fit)} each at {dollars(price)} an hour"
    if offer.cost >= PINNED:
        return f"{message}, and may be interrupted, which nothing outweighs"
    if offer.cost != price:
        message += f" + {dollars(offer.cost - price)} for what an interruption costs"
    return message


def _preempts(trial: Trial, code: int) -> Iterator[Step]:
    """Whom it takes machines from."""
    fleet = trial.fleet
    for block, places in trial.parts.get(code, ()):
        if block.op is not Op.PREEMPT:
            continue
        victims: dict[tuple[str, int], int] = {}
        for place in places.tolist():
            victim = int(block.terms_at(place)["victim"] or 0) if "victim" in block.terms else -1
            who = need_name(fleet, victim) or fleet.names.clusters[int(fleet.cluster[block.rows[place]])]
            key = (who, int(block.grace[place]))
            victims[key] = victims.get(key, 0) + 1
        for (who, grace), count in victims.items():
            remark = f"of lower priority: given to it once drained, in {write_duration(grace)} at most"
            yield Step("preempts", f"{_machines(count)} of {who}", remark)


def _awaits(trial: Trial, code: int) -> Iterator[Step]:
    """What it is content to wait for: machines on their way that no need has yet."""
    need, fleet = trial.needs[code], trial.fleet
    if need.count is None:
        return
    rows = [block.rows[places] for block, places in trial.parts.get(code, ())]
    rows.append(np.flatnonzero((fleet.need == code) & np.isin(fleet.state, _HOLDS)))
    has = int(_fits(trial, code)[fleet.kind[np.concatenate(rows)]].sum())
    short = trial.shortfalls.get(code)
    rest = need.count - has - (short.units if short else 0)
    if rest > 0:
        yield Step(
            "awaits", _units(rest), "on machines that are being made or drained, and that no need has yet"
        )


def _lost(trial: Trial, code: int) -> Iterator[Step]:
    """What it held and loses."""
    fleet = trial.fleet
    for block in trial.plan.blocks:
        if block.op in {Op.PREEMPT, Op.RECLAIM, Op.ADOPT}:
            mine = np.flatnonzero((fleet.need[block.rows] == code) & (block.needs != code))
            whom = {need_name(fleet, int(block.needs[place])) for place in mine.tolist()} - {""}
            if len(mine):
                yield Step(
                    "loses",
                    _machines(len(mine)),
                    _LOST[block.op].format(", ".join(sorted(whom)[:_MOST_NAMED])),
                )


def _dearer(trial: Trial, code: int) -> Iterator[Step]:
    """What is still free and would have done as well."""
    fleet = trial.fleet
    fits = _fits(trial, code)
    found: list[tuple[str, _Offer]] = []
    for state in (states.IDLE, states.SPECULATIVE):
        rows = np.flatnonzero((fleet.state == state) & ~trial.touched)
        kind, count = np.unique(fleet.kind[rows], return_counts=True)
        for number, machines in zip(kind.tolist(), count.tolist(), strict=True):
            if fits[number] > 0:
                offer = _Offer(number, machines, int(fits[number]), _effective(trial, code, number))
                found.append((str(states.STATES[state]), offer))
    found.sort(key=lambda each: (each[0] != "idle", _by_cost(each[1])))
    for state_name, offer in found[:_MOST_NAMED]:
        text = f"{_machines(offer.machines)} of {kind_text(fleet.kinds.shapes[offer.kind])}, {state_name}"
        yield Step("left", text, _cost(trial, offer))
    if len(found) > _MOST_NAMED:
        yield Step("left", f"{len(found) - _MOST_NAMED:,} more kinds that would do", "dearer than these")


def _changes(trial: Trial, code: int, need: FleetNeed, missing: int) -> list[Step]:
    """What single thing, were it otherwise, would give it more: found by deciding again."""
    found = []
    for what, other, policy in _variants(trial, need):
        rest = missing_with(trial, code, need=other, policy=policy)
        if rest < missing:
            gives = "all of it" if rest == 0 else f"all but {missing_text(rest, need)}"
            found.append(Step("changes", what, f"gives {gives}"))
    return found


def _variants(trial: Trial, need: FleetNeed) -> Iterator[tuple[str, FleetNeed | None, Policy | None]]:
    policy, rails = trial.inputs.policy, trial.inputs.policy.rails

    def with_rails(**change: object) -> Policy:
        return structs.replace(policy, rails=structs.replace(rails, **change))

    for place, requirement in enumerate(need.requirements):
        others = (*need.requirements[:place], *need.requirements[place + 1 :])
        yield f"without {requirement}", structs.replace(need, requirements=others), None
    if need.same:
        yield f"not all in one {need.same}", structs.replace(need, same=""), None
    if need.spread:
        yield f"not level over {need.spread.key}", structs.replace(need, spread=None), None
    if need.separation:
        yield "units not kept apart", structs.replace(need, separation=None), None
    highest = max(
        (int(trial.fleet.priority.max(initial=0)), *(each.priority for each in trial.needs.values()))
    )
    if need.priority <= highest < _HIGHEST:
        yield f"a priority of {highest + 1}", structs.replace(need, priority=highest + 1), None
    if rails.quotas:
        yield "without quotas", None, with_rails(quotas=())
    if rails.spending:
        yield "without a cap on spending", None, with_rails(spending={})
    if rails.preempt_percent is not None:
        yield "without the rail on preemptions", None, with_rails(preempt_percent=None)


def _fits(trial: Trial, code: int) -> Ints:
    """Units of a need that fit on one machine of each kind."""
    profiles = trial.demand.profiles
    profiles.tables()
    row = int(trial.demand.row_of()[code])
    fits: Ints = profiles.fit[int(trial.demand.profile[row])]
    return fits


def _effective(trial: Trial, code: int, kind: int) -> int:
    """What a machine of a kind costs the need per hour: price, and the chance of an interruption times its penalty."""
    shape, penalty = trial.fleet.kinds.shapes[kind], trial.needs[code].interruption_penalty
    if penalty >= PINNED:
        return PINNED if shape.interruption else shape.price
    return shape.price + shape.interruption * penalty // MILLION


def _waste(trial: Trial, code: int, kind: int) -> int:
    """Thousandths of a machine that as many units as fit would not use, over the resources it has."""
    shape, need = trial.fleet.kinds.shapes[kind], trial.needs[code]
    fit = int(_fits(trial, code)[kind])
    parts = [
        (have - fit * need.unit.get(resource, 0)) * 1_000 // have
        for resource, have in shape.allocatable.items()
        if have
    ]
    return sum(parts) // len(parts) if parts else 0
