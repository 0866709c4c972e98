"""How people name what a fleet is made of: kinds, amounts, needs, and actions with all that their numbers stand for."""

from collections.abc import Mapping

from remuda.fleet.columns import Fleet
from remuda.fleet.plan import Block, Op
from remuda.model.amount_texts import quantity
from remuda.model.plans import Reason, Term
from remuda.model.shapes import CapacityType, Shape
from remuda.model.units import FleetNeed, Unsatisfiable
from remuda.output.words import dollars

#: actions that take a machine from who has it
_TAKES = frozenset({Op.ADOPT, Op.PREEMPT, Op.RECLAIM})
#: terms that are left out where there is nothing to say
_ASIDE = frozenset({"need", "from", "grace"})


def kind_text(shape: Shape) -> str:
    """A kind of machine in a few words: `m6i.large in eu-1a, spot`."""
    where = f" in {shape.zone or shape.region}" if shape.zone or shape.region else ""
    how = "" if shape.capacity_type is CapacityType.BARE_METAL else f", {shape.capacity_type}"
    return f"{shape.instance_type}{where}{how}"


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Amounts as people write them: `cpu 4, memory 16Gi`."""
    return ", ".join(f"{resource} {quantity(resource, amount)}" for resource, amount in amounts.items())


def need_name(fleet: Fleet, code: int) -> str:
    """CLUSTER/NAME of a need; nothing for none."""
    return fleet.names.subject(code).removeprefix("need/") if code >= 0 else ""


def rules_of(need: FleetNeed) -> list[str]:
    """How the units of a need lie to each other."""
    rules = []
    if need.same:
        rules.append(f"all in one {need.same}, all of them or none")
    if need.spread:
        what = "" if need.spread.when is Unsatisfiable.DO_NOT_SCHEDULE else ", as far as possible"
        rules.append(f"level over {need.spread.key}, at most {need.spread.max_skew} apart{what}")
    if need.separation:
        where = f"in one {need.separation.key}" if need.separation.key else "on one machine"
        rules.append(f"at most {need.separation.most} {where}")
    return rules


def penalties_of(need: FleetNeed) -> list[str]:
    """What it costs to interrupt it, and to take a machine back."""
    penalties = (("interruption", need.interruption_penalty), ("reclamation", need.reclamation_penalty))
    return [f"{what} {dollars(penalty)}" for what, penalty in penalties if penalty]


def named_reason(fleet: Fleet, block: Block, index: int) -> Reason:
    """
    The reason of one action, with names in the place of the numbers that mean something only inside.

    It names the kind of the machine, the need it is for, and the one it is taken from.
    """
    row = int(block.rows[index])
    columns = block.terms_at(index)
    cluster = int(fleet.cluster[row])
    before = int(columns.pop("victim", fleet.need[row])) if block.op in _TAKES else -1
    holder = need_name(fleet, before) or (fleet.names.clusters[cluster] if cluster >= 0 else "")
    terms: dict[str, Term] = {
        **columns,
        "kind": kind_text(fleet.kinds.shapes[int(fleet.kind[row])]),
        "need": need_name(fleet, int(block.needs[index])),
        "from": holder if block.op in _TAKES else "",
        "grace": int(block.grace[index]),
    }
    used: dict[str, Term] = {key: value for key, value in terms.items() if value or key not in _ASIDE}
    return Reason(block.code, f"machine/{fleet.ids[row]}", used)


def named_shortfall(reason: Reason) -> Reason:
    """The reason of a shortfall, with amounts as people write them."""
    resource = reason.terms.get("resource")
    if not isinstance(resource, str):
        return reason
    amounts = {
        key: quantity(resource, value)
        for key in ("unit", "largest")
        if isinstance(value := reason.terms.get(key), int)
    }
    return Reason(reason.code, reason.subject, {**reason.terms, **amounts})
