"""What the overview of a fleet must say, counted machine by machine and need by need, in the plainest way."""

from collections import Counter
from typing import Any

from remuda.fleet import states
from remuda.fleet.answers import STATES, Chosen, Overview
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.plan import Op, Plan


def machines_of(fleet: Fleet, chosen: Chosen) -> list[dict[str, Any]]:
    """Every machine that was chosen, as a person would list it."""
    found = []
    for row, name in enumerate(fleet.ids):
        if not name:
            continue
        shape, cluster = fleet.kinds.shapes[int(fleet.kind[row])], int(fleet.cluster[row])
        one = {
            "row": row,
            "state": str(states.STATES[int(fleet.state[row])]),
            "zone": shape.zone,
            "type": shape.instance_type,
            "cluster": fleet.names.clusters[cluster] if cluster >= 0 else "",
            "provider": shape.provider,
            "price": shape.price,
        }
        if all(
            not getattr(chosen, key) or one[key] == getattr(chosen, key) for key in Chosen.__struct_fields__
        ):
            found.append(one)
    return found


def cost(machines: list[dict[str, Any]]) -> int:
    return sum(one["price"] for one in machines if one["state"] != "speculative")


def groups(machines: list[dict[str, Any]], key: str) -> dict[str, tuple[int, tuple[int, ...], int]]:
    """By the value of a key: how many, how many in each state, and their cost."""
    found = {}
    for value in {one[key] for one in machines}:
        mine = [one for one in machines if one[key] == value]
        by_state = Counter(one["state"] for one in mine)
        found[value] = (len(mine), tuple(by_state[state] for state in STATES), cost(mine))
    return found


def check(seen: Overview, fleet: Fleet, demand: Demand, plan: Plan, chosen: Chosen) -> None:
    """Compare all that there are numbers for."""
    everything, machines = machines_of(fleet, Chosen()), machines_of(fleet, chosen)
    assert (seen.all_machines, seen.machines, seen.cost) == (len(everything), len(machines), cost(machines))
    assert seen.states == {state: sum(one["state"] == state for one in machines) for state in STATES}
    for key, shown in (("zone", seen.zones), ("type", seen.types), ("cluster", seen.clusters)):
        assert {group.name: (group.machines, group.states, group.cost) for group in shown} == groups(
            machines, key
        )
        assert [group.machines for group in shown] == sorted(
            (group.machines for group in shown), reverse=True
        )
    pairs = [{**one, "pair": f"{one['zone']} {one['type']}"} for one in machines]
    blocks = {f"{block.zone} {block.type}": block.states for block in seen.blocks}
    assert blocks == {pair: counts for pair, (_, counts, _) in groups(pairs, "pair").items()}
    spending = seen.spending
    assert (spending.now, spending.idle) == (
        cost(everything), cost([one for one in everything if one["state"] == "idle"])
    )  # fmt: skip
    price = {one["row"]: one["price"] for one in everything}
    made, given_back = (sum(price[row] for row in plan.rows(op).tolist()) for op in (Op.CREATE, Op.RELEASE))
    assert (spending.made, spending.given_back) == (made, given_back)
    assert spending.after == spending.now + made - given_back
    own = {one["provider"] for one in everything}
    assert all(each.cost == 0 and each.cap is not None for each in spending.providers if each.name not in own)
    assert {each.name: each.cost for each in spending.providers if each.name in own} == {
        name: money for name, (_, _, money) in groups(everything, "provider").items() if name
    }
    assert seen.actions == {op.name.lower(): plan.count(op) for op in Op}
    check_needs(seen, fleet, demand, plan, chosen)
    check_clusters(seen, fleet, demand)


def check_clusters(seen: Overview, fleet: Fleet, demand: Demand) -> None:
    names = fleet.names.clusters
    heard = {names[number] for number in demand.heard}
    served = {one["cluster"] for one in machines_of(fleet, Chosen())} - {""}
    assert (seen.unheard, seen.held) == (len(served - heard), len(demand.held))
    assert seen.all_clusters == len(heard)
    for group in seen.zones:
        shapes = [fleet.kinds.shapes[int(fleet.kind[row])] for row, name in enumerate(fleet.ids) if name]
        mine = [shape for shape in shapes if shape.zone == group.name]
        assert group.region == ", ".join(sorted({shape.region for shape in mine} - {""}))
        assert group.provider == ", ".join(sorted({shape.provider for shape in mine} - {""}))


def check_needs(seen: Overview, fleet: Fleet, demand: Demand, plan: Plan, chosen: Chosen) -> None:
    names = fleet.names
    asked = {f"{cluster}/{need.name}": need for cluster, needs in demand.needs().items() for need in needs}
    mine = {
        name: need for name, need in asked.items() if not chosen.cluster or need.cluster == chosen.cluster
    }
    assert seen.needs == len(mine)
    short = {names.subject(each.need).removeprefix("need/"): each for each in plan.shortfalls}
    short = {name: each for name, each in short.items() if name in mine}
    assert seen.unmet == len(short)
    assert {cause.code: cause.needs for cause in seen.causes} == Counter(
        each.reason.code for each in short.values()
    )
    assert {cause.code: cause.since for cause in seen.causes} == {
        code: min(each.since for each in short.values() if each.reason.code == code)
        for code in {each.reason.code for each in short.values()}
    }
    assert {(each.name, each.priority, each.since, each.code) for each in seen.unmet_needs} == {
        (name, asked[name].priority, each.since, each.reason.code) for name, each in short.items()
    }
    priorities = [each.priority for each in seen.unmet_needs]
    assert priorities == sorted(priorities, reverse=True)
    for each in seen.unmet_needs:
        missing, count = short[each.name].units, asked[each.name].count
        wanted = f"{missing:,} of " if count is not None else "% of the sum"
        assert wanted in each.missing
        assert each.told
        assert not each.told.startswith(each.name)
