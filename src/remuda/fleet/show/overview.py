"""A fleet at a glance: its machines by state, place, type and cluster, what is missing and why, and what it costs."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from remuda.errors import BadInput, NotFound
from remuda.fleet import states
from remuda.fleet.answers import (
    STATES,
    Block,
    Cause,
    Chosen,
    Group,
    Moment,
    Names,
    Overview,
    Provider,
    Spending,
    Told,
    UnmetNeed,
)
from remuda.fleet.plan import Op
from remuda.fleet.show.why import missing_part
from remuda.fleet.show.wording import named_shortfall
from remuda.fleet.situation import Coded, Situation, coded
from remuda.model.plans import Reason
from remuda.objects.problems import nearest, quoted
from remuda.output.registry import words_of
from remuda.output.words import sentence

Ints = NDArray[np.int64]
#: groups that are named one by one; the others are one
MOST_GROUPS, MOST_BLOCKS, MOST_NEEDS = 60, 150, 60


def overview(seen: Situation, chosen: Chosen, moment: Moment) -> Overview:
    """Everything; `BadInput` and `NotFound` name what was chosen and is not there, and what is near."""
    zones, types = seen.zones, seen.types
    names = Names(_there(zones, seen), _there(types, seen), _largest_clusters(seen))
    picked = _picked(seen, chosen, names)
    count = np.where(picked, seen.count, 0)
    cost = np.where(seen.is_there, count * seen.price[seen.kind], 0)
    by_state = np.bincount(seen.state, count, states.COUNT).astype(np.int64)[1:]
    zone_groups = _groups(zones.names, zones.codes[seen.kind], seen, count, cost)
    missing = _of_cluster(seen, chosen.cluster)
    return Overview(
        moment=moment,
        is_complete=seen.is_complete,
        chosen=chosen,
        names=names,
        all_machines=int(seen.count.sum()),
        machines=int(count.sum()),
        states=dict(zip(STATES, by_state.tolist(), strict=True)),
        zones=tuple(_placed(group, seen) for group in zone_groups),
        types=_groups(types.names, types.codes[seen.kind], seen, count, cost),
        clusters=_groups([*seen.clusters, ""], seen.cluster, seen, count, cost),
        blocks=_blocks(seen, count),
        cost=int(cost.sum()),
        spending=_spending(seen),
        all_clusters=len(seen.heard | set(np.flatnonzero(seen.needs_of).tolist())),
        unheard=len(set(np.unique(seen.cluster[seen.cluster >= 0]).tolist()) - seen.heard),
        held=len(seen.held),
        needs=_needs(seen, chosen.cluster),
        unmet=len(missing),
        causes=_causes(seen, missing),
        unmet_needs=tuple(_unmet(seen, place) for place in _first(seen, missing).tolist()),
        rails=_told(seen.rails),
        notes=_told(seen.notes),
        actions={op.name.lower(): int(machines.sum()) for op, machines in seen.actions.items()},
        withheld=seen.withheld,
    )


def _there(values: Coded, seen: Situation) -> tuple[str, ...]:
    """Those of which there is a machine."""
    return tuple(
        name for place in np.unique(values.codes[seen.kind]).tolist() if (name := values.names[place])
    )


def _largest_clusters(seen: Situation) -> tuple[str, ...]:
    serves = seen.cluster >= 0
    machines = np.bincount(seen.cluster[serves], seen.count[serves], len(seen.clusters))
    there = (machines > 0) | (seen.needs_of > 0)
    order = np.argsort(-machines, kind="stable")
    found = [seen.clusters[place] for place in order.tolist() if there[place]]
    return tuple(sorted(found[:MOST_GROUPS]))


def _picked(seen: Situation, chosen: Chosen, names: Names) -> NDArray[np.bool_]:
    picked = np.ones(len(seen.count), np.bool_)
    if chosen.state:
        if chosen.state not in STATES:
            raise BadInput(f"state wants one of {', '.join(STATES)}, found {quoted(chosen.state)}")
        picked &= seen.state == STATES.index(chosen.state) + 1
    if chosen.zone:
        _check("zone", chosen.zone, names.zones)
        picked &= seen.zones.codes[seen.kind] == seen.zones.names.index(chosen.zone)
    if chosen.type:
        _check("type", chosen.type, names.types)
        picked &= seen.types.codes[seen.kind] == seen.types.names.index(chosen.type)
    if chosen.cluster:
        picked &= seen.cluster == _cluster(seen, chosen.cluster)
    return picked


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = nearest(name, known)
        there = f"did you mean {near}?" if near else f"there is: {', '.join(known[:10]) or 'none'}"
        raise NotFound(f"no machine of the fleet has {what} {quoted(name)}; {there}")


def _cluster(seen: Situation, name: str) -> int:
    if name not in seen.clusters:
        near = nearest(name, seen.clusters)
        there = f"did you mean {near}?" if near else f"there is: {', '.join(seen.clusters[:10]) or 'none'}"
        raise NotFound(f"the fleet serves no cluster {quoted(name)}; {there}")
    return seen.clusters.index(name)


def _groups(names: Sequence[str], codes: Ints, seen: Situation, count: Ints, cost: Ints) -> tuple[Group, ...]:
    """Machines by a code, which may be −1 for the last name: those with most of them first, the many small ones as one."""
    width = len(names)
    codes = np.where(codes < 0, width - 1, codes)
    table = np.bincount(codes * states.COUNT + seen.state, count, width * states.COUNT)
    by_state = table.astype(np.int64).reshape(width, states.COUNT)[:, 1:]
    paid = _sums(codes, cost, width)
    machines = by_state.sum(axis=1)
    order = np.argsort(-machines, kind="stable")[: int(np.count_nonzero(machines))]
    shown = order if len(order) <= MOST_GROUPS else order[: MOST_GROUPS - 1]
    found = [
        Group(names[place], int(machines[place]), tuple(by_state[place].tolist()), int(paid[place]))
        for place in shown.tolist()
    ]
    rest = order[len(shown) :]
    if len(rest):
        sums = tuple(by_state[rest].sum(axis=0).tolist())
        found.append(Group("", int(machines[rest].sum()), sums, int(paid[rest].sum()), of=len(rest)))
    return tuple(found)


def _sums(codes: Ints, values: Ints, width: int) -> Ints:
    """Exact sums by code: a sum of micro-dollars may be more than a float holds."""
    sums = np.zeros(width, np.int64)
    np.add.at(sums, codes, values)
    return sums


def _placed(group: Group, seen: Situation) -> Group:
    """A zone with the regions and providers of its machines."""
    if group.of > 1:
        return group
    return Group(group.name, group.machines, group.states, group.cost, *seen.places[group.name])


def _blocks(seen: Situation, count: Ints) -> tuple[Block, ...]:
    """Machines by zone and type, the largest zone first, and within it the largest type."""
    (zones, zone), (types, kind) = seen.zones, seen.types
    width = len(zones) * len(types)
    codes = zone[seen.kind] * len(types) + kind[seen.kind]
    table = np.bincount(codes * states.COUNT + seen.state, count, width * states.COUNT)
    by_state = table.astype(np.int64).reshape(width, states.COUNT)[:, 1:]
    machines = by_state.sum(axis=1)
    if not width or not machines.any():
        return ()
    of_zone = machines.reshape(len(zones), len(types)).sum(axis=1)
    largest = np.argsort(-machines, kind="stable")[: min(MOST_BLOCKS, int(np.count_nonzero(machines)))]
    order = sorted(
        largest.tolist(),
        key=lambda place: (-of_zone[place // len(types)], place // len(types), -machines[place]),
    )
    found = [
        Block(zones[place // len(types)], types[place % len(types)], tuple(by_state[place].tolist()))
        for place in order
    ]
    rest = by_state.sum(axis=0) - by_state[largest].sum(axis=0)
    if rest.any():
        found.append(Block("", "", tuple(rest.tolist())))
    return tuple(found)


def _spending(seen: Situation) -> Spending:
    cost = np.where(seen.is_there, seen.count * seen.price[seen.kind], 0)
    now = int(cost.sum())
    made, given_back = (int((seen.actions[op] * seen.price).sum()) for op in (Op.CREATE, Op.RELEASE))
    names, codes = seen.providers.names, seen.providers.codes[seen.kind]
    paid = _sums(codes, cost, len(names))
    machines = _sums(codes, np.where(seen.is_there, seen.count, 0), len(names))
    caps = seen.policy.rails.spending
    there = sorted({*_there(seen.providers, seen), *caps})
    places = {name: place for place, name in enumerate(names)}
    providers = tuple(
        Provider(
            name,
            int(machines[places[name]]) if name in places else 0,
            int(paid[places[name]]) if name in places else 0,
            caps.get(name),
        )
        for name in there
    )
    idle = int(cost[seen.state == states.IDLE].sum())
    return Spending(now, now + made - given_back, made, given_back, idle, providers)


def _needs(seen: Situation, cluster: str) -> int:
    return int(seen.needs_of[_cluster(seen, cluster)] if cluster else seen.needs_of.sum())


def _of_cluster(seen: Situation, cluster: str) -> Ints:
    """The places of unmet needs."""
    places: Ints = np.arange(len(seen.missing.needs), dtype=np.int64)
    if not cluster or not len(places):
        return places
    wanted = _cluster(seen, cluster)
    of_need = np.array([seen.need_cluster[code] for code in seen.missing.needs.tolist()], np.int64)
    mine: Ints = places[of_need == wanted]
    return mine


def _first(seen: Situation, places: Ints) -> Ints:
    """Those of the highest priority, and of equal ones those that miss something for longest."""
    missing = seen.missing
    order = np.lexsort((missing.needs[places], missing.since[places], -missing.priority[places]))
    first: Ints = places[order][:MOST_NEEDS]
    return first


def _causes(seen: Situation, places: Ints) -> tuple[Cause, ...]:
    """Unmet needs by the code of their reason, the most frequent first."""
    missing = seen.missing
    codes, of_group = coded([code for code, _ in missing.reasons])
    found = []
    if len(places):
        of_need = of_group[missing.group[places]]
        counts = np.bincount(of_need, minlength=len(codes))
        for number in np.argsort(-counts, kind="stable").tolist():
            mine = places[of_need == number]
            if len(mine):
                example = _unmet(seen, int(_first(seen, mine)[0]))
                words = words_of(codes[number])
                since = int(missing.since[mine].min())
                meaning = words[0] if words else codes[number]
                found.append(Cause(codes[number], meaning, len(mine), since, example.name, example.told))
    return tuple(found)


def _unmet(seen: Situation, place: int) -> UnmetNeed:
    missing = seen.missing
    need, asked = int(missing.needs[place]), int(missing.asked[place])
    name = f"{seen.clusters[seen.need_cluster[need]]}/{seen.needs[need]}"
    code, terms = missing.reasons[int(missing.group[place])]
    reason = named_shortfall(Reason(code, f"need/{name}", terms))
    return UnmetNeed(
        name,
        int(missing.priority[place]),
        missing_part(int(missing.units[place]), None if asked < 0 else asked),
        int(missing.since[place]),
        code,
        sentence(reason).removeprefix(name).lstrip(": "),
    )


def _told(reasons: Iterable[Reason]) -> tuple[Told, ...]:
    return tuple(Told(reason.code, sentence(reason)) for reason in reasons)
