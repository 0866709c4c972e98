"""What must hold of every plan and of every world at rest, judged by the oracle's rules and not by the engine's."""

from collections import defaultdict

from tests.fleet.oracle import counted_domains, labels_of, units_on, usable
from tests.fleet.world import LivingFleet

from remuda.fleet import states
from remuda.fleet.plan import EXPECTS, Op, Plan
from remuda.model.shapes import Shape
from remuda.model.units import FleetNeed, Unsatisfiable

_GIVES = (Op.ADOPT, Op.ASSIGN, Op.CREATE)
_SERVES = (states.CONFIGURED, states.CONFIGURING)
_COMES = (states.CREATING, states.IDLE, states.DRAINING)


def check_plan(world: LivingFleet, plan: Plan) -> None:
    """What a plan says is right for the world as it is before the plan is begun."""
    check_machines(world, plan)
    _check_gifts(world, plan)
    _check_preemptions(world, plan)
    _check_losses(world, plan)
    check_limits(world, plan)
    _check_gangs(world, plan)


def check_rest(world: LivingFleet, plan: Plan) -> None:
    """Where nothing moves and nothing is to be done: what counts as met is, and what is missing cannot be had."""
    fleet = world.fleet
    assert not len(plan)
    short = {shortfall.need: shortfall.units for shortfall in plan.shortfalls}
    for code, need in world.needs.items():
        rows = [
            row
            for row in range(fleet.rows)
            if fleet.need[row] == code and fleet.state[row] == states.CONFIGURED
        ]
        served = worth(world, need, rows)
        asked = 1_000_000 if need.count is None else need.count
        if need.same:
            assert served in {0, asked}, f"part of gang {need.name} runs"
        assert asked - served == short.get(code, 0), (
            f"{need.name}: {served} of {asked} served, {short.get(code, 0)} said to be missing"
        )
        for row in rows:
            others = [other for other in rows if other != row]
            dropped = worth(world, need, others)
            assert dropped < served or _is_kept_for_spread(need, world, others), (
                f"{need.name} keeps machine {fleet.ids[row]} that it does not need"
            )
        if code in short and not need.same and need.count is not None:
            _check_nothing_left(world, code, need, rows, served)


def worth(world: LivingFleet, need: FleetNeed, rows: list[int]) -> int:
    """Units that machines give a need; for one expressed as a sum, parts per million of its scarcest resource."""
    shapes = [world.shape(row) for row in rows]
    if need.count is None and need.same:
        return _worth_in_one(world, need, rows)
    if need.count is None:
        return _share(need, shapes)
    standing = (
        world.shape(row)
        for row in range(world.fleet.rows)
        if world.fleet.state[row] not in {states.ABSENT, states.FAILED}
    )
    return usable(need, shapes, counted_domains(need, standing))


def _share(need: FleetNeed, shapes: list[Shape]) -> int:
    """Parts per million of its scarcest resource that machines give a need expressed as a sum."""
    fitting = [shape for shape in shapes if units_on(need, shape)]
    return min(
        min(1_000_000, sum(shape.allocatable.get(name, 0) for shape in fitting) * 1_000_000 // total)
        for name, total in need.total.items()
        if total
    )


def held_by(world: LivingFleet, code: int) -> list[int]:
    """The machines that serve a need or are meant for it; one that has long been idle is meant for nobody."""
    fleet = world.fleet
    lapsed = world.now - world.policy.gang_patience
    return [
        row
        for row in range(fleet.rows)
        if (fleet.state[row] in _SERVES and fleet.need[row] == code)
        or (
            fleet.state[row] in _COMES
            and fleet.claim[row] == code
            and (fleet.state[row] != states.IDLE or fleet.since[row] > lapsed)
        )
    ]


def given_by(plan: Plan, ops: tuple[Op, ...] = _GIVES) -> dict[int, list[int]]:
    """The machines a plan gives to each need, without those that were meant for it already."""
    found: dict[int, list[int]] = defaultdict(list)
    for block in plan.blocks:
        if block.op in ops and "claimed" not in block.terms:
            for row, need in zip(block.rows.tolist(), block.needs.tolist(), strict=True):
                found[need].append(row)
    return found


def check_machines(world: LivingFleet, plan: Plan) -> None:
    rows = [row for block in plan.blocks for row in block.rows.tolist()]
    assert len(rows) == len(set(rows)), "a machine is used twice"
    for block in plan.blocks:
        for row in block.rows.tolist():
            state = int(world.fleet.state[row])
            fits = state == EXPECTS[block.op] or (block.op is Op.ADOPT and state == states.CONFIGURING)
            assert fits, f"{block.op.name} of a machine in state {state}"
            assert block.op is Op.ADOPT or world.fleet.not_before[row] <= world.now, (
                "a machine is tried too early"
            )


def _check_gifts(world: LivingFleet, plan: Plan) -> None:
    """
    What is given fits, stays in its cluster where it is adopted, and is not more than the need has use for.

    What is adopted was the cluster's already, and may turn out too much once the rest is found.
    """
    fleet = world.fleet
    loose = any(
        fleet.state[row] in {states.CREATING, states.DRAINING} and not _is_meant_for_another(world, row, -1)
        for row in range(fleet.rows)
    )
    adopted = given_by(plan, (Op.ADOPT,))
    used = {row for given in given_by(plan).values() for row in given}
    for code, rows in given_by(plan).items():
        need = world.needs[code]
        for row in rows:
            assert units_on(need, world.shape(row)), f"{need.name} is given what it cannot use"
        if loose:
            continue
        held = [row for row in held_by(world, code) if row not in used or row in rows]
        if need.same:
            home = labels_of(world.shape(rows[0]))[need.same]
            held = [row for row in held if labels_of(world.shape(row)).get(need.same) == home]
        served = worth(world, need, held + rows)
        for row in rows:
            others = [other for other in held + rows if other != row]
            waits = (need.same and served == 0) or row in adopted[code]
            assert waits or worth(world, need, others) < served, f"{need.name} is given more than it can use"
    for block in plan.blocks:
        if block.op is Op.ADOPT:
            clusters = [world.needs[code].cluster for code in block.needs.tolist()]
            assert clusters == [fleet.names.clusters[fleet.cluster[row]] for row in block.rows.tolist()]


def _check_preemptions(world: LivingFleet, plan: Plan) -> None:
    """Only of strictly lower priorities; gangs go whole, but for what they had too much."""
    fleet = world.fleet
    used = {row for block in plan.blocks for row in block.rows.tolist()}
    taken = {
        row: code
        for block in plan.blocks
        if block.op is Op.PREEMPT
        for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True)
    }
    for row, code in taken.items():
        holder = world.needs.get(int(fleet.need[row]))
        priority = int(fleet.priority[row]) if holder is None else holder.priority
        assert priority < world.needs[code].priority, "preempted for an equal or lower priority"
        if holder is not None and holder.same:
            held = held_by(world, int(fleet.need[row]))
            mine = [
                other
                for other in held
                if fleet.state[other] in _SERVES and units_on(holder, world.shape(other))
            ]
            left = [other for other in mine if other not in used]
            asked = 1_000_000 if holder.count is None else holder.count
            assert not left or worth(world, holder, left) == asked, (
                f"gang {holder.name} is broken by preemption"
            )
    for code in set(taken.values()):
        need = world.needs[code]
        useful = [row for row, of in taken.items() if of == code and units_on(need, world.shape(row))]
        assert useful, f"{need.name} preempts what it cannot use"


def _check_losses(world: LivingFleet, plan: Plan) -> None:
    """Nothing is taken back or given up that some need claims."""
    fleet = world.fleet
    gone = set(plan.rows(Op.RECLAIM).tolist()) | set(plan.rows(Op.RELEASE).tolist())
    given = given_by(plan)
    for code, need in world.needs.items():
        held = held_by(world, code)
        lost = [row for row in held if row in gone]
        if not lost or need.same:
            continue
        adopted = [row for row in held if any(row in rows for other, rows in given.items() if other != code)]
        before = worth(world, need, held)
        after = worth(
            world, need, [row for row in held if row not in gone and row not in adopted] + given.get(code, [])
        )
        assert after >= before, f"{need.name} loses machines that it needs"
    for row in plan.rows(Op.RELEASE).tolist():
        hold = world.policy.holds[world.shape(row).capacity_type]
        assert hold is not None
        assert fleet.since[row] + hold <= world.now, "released too early"
    heard = world.demand.heard
    for row in plan.rows(Op.RECLAIM).tolist():
        assert int(fleet.cluster[row]) in heard, "taken back from a cluster nobody has heard from"


def check_limits(world: LivingFleet, plan: Plan) -> None:
    """What is bought stays within quotas and caps, counted with all that exists."""
    fleet, rails = world.fleet, world.policy.rails
    bought = plan.rows(Op.CREATE).tolist()
    exist = [
        world.shape(row)
        for row in range(fleet.rows)
        if row in bought or fleet.state[row] not in {states.ABSENT, states.SPECULATIVE}
    ]
    new = [world.shape(row) for row in bought]
    for quota in rails.quotas:

        def counts(
            shape: Shape,
            provider: str = quota.provider,
            region: str = quota.region,
            of: str = quota.instance_type,
        ) -> bool:
            return (
                shape.provider == provider
                and region in {"", shape.region}
                and of in {"", shape.instance_type}
            )

        if any(map(counts, new)):
            assert sum(map(counts, exist)) <= quota.most, "a quota is exceeded"
    for provider, cap in rails.spending.items():
        if any(shape.provider == provider and shape.price for shape in new):
            assert sum(shape.price for shape in exist if shape.provider == provider) <= cap, (
                "a cap is exceeded"
            )


def _check_gangs(world: LivingFleet, plan: Plan) -> None:
    """A gang is started whole and in one domain, and nothing is bought for one that cannot be completed."""
    fleet = world.fleet
    given: dict[int, dict[Op, list[int]]] = defaultdict(lambda: defaultdict(list))
    for block in plan.blocks:
        if block.op in _GIVES:
            for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True):
                given[code][block.op].append(row)
    used = {row for block in plan.blocks for row in block.rows.tolist()}
    for code, ops in given.items():
        need = world.needs[code]
        if not need.same:
            continue
        full = 1_000_000 if need.count is None else need.count
        serving = [row for row in held_by(world, code) if fleet.state[row] in _SERVES]
        mine = [*serving, *ops[Op.ADOPT], *ops[Op.ASSIGN]]
        free = [
            row
            for row in range(fleet.rows)
            if row not in used and fleet.state[row] in _COMES and not _is_meant_for_another(world, row, code)
        ]
        if ops[Op.ASSIGN]:
            domains = {labels_of(world.shape(row))[need.same] for row in ops[Op.ASSIGN]}
            assert len(domains) == 1, f"gang {need.name} is started in {domains}"
            assert serving or _worth_in_one(world, need, mine) == full, f"gang {need.name} is started in part"
        able = _worth_in_one(world, need, [*mine, *ops[Op.CREATE], *free]) == full
        assert able, f"gang {need.name} is given machines and cannot be completed"


def _is_meant_for_another(world: LivingFleet, row: int, code: int) -> bool:
    """True when some other need has use for a machine that is meant for it."""
    claim = int(world.fleet.claim[row])
    other = world.needs.get(claim)
    if other is None or claim == code:
        return False
    held = held_by(world, claim)
    return row in held and worth(world, other, [each for each in held if each != row]) < worth(
        world, other, held
    )


def _worth_in_one(world: LivingFleet, need: FleetNeed, rows: list[int]) -> int:
    """What machines are worth to a gang in its best domain."""
    by_domain: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if units_on(need, world.shape(row)):
            by_domain[labels_of(world.shape(row))[need.same]].append(row)
    if need.count is None:
        return max(
            (_share(need, [world.shape(row) for row in mine]) for mine in by_domain.values()), default=0
        )
    return max((worth(world, need, mine) for mine in by_domain.values()), default=0)


def _is_kept_for_spread(need: FleetNeed, world: LivingFleet, others: list[int]) -> bool:
    """True where a machine counts for nothing only because a domain of the spread has too few."""
    if not need.spread or need.spread.when is not Unsatisfiable.DO_NOT_SCHEDULE or need.count is None:
        return False
    return sum(units_on(need, world.shape(row)) for row in others) < need.count


def _check_nothing_left(world: LivingFleet, code: int, need: FleetNeed, rows: list[int], served: int) -> None:
    """No machine that is free, or held by less than its priority, would serve another unit."""
    fleet, rails = world.fleet, world.policy.rails
    limited = {quota.provider for quota in rails.quotas} | set(rails.spending)
    for row in range(fleet.rows):
        state = fleet.state[row]
        if fleet.not_before[row] > world.now or worth(world, need, [*rows, row]) <= served:
            continue
        if state == states.SPECULATIVE:
            assert world.shape(row).provider in limited, f"{need.name} is short and {fleet.ids[row]} for sale"
        elif state == states.IDLE:
            claim = world.needs.get(int(fleet.claim[row]))
            gangs = any(other.same and units_on(other, world.shape(row)) for other in world.needs.values())
            assert claim is not None or gangs, f"{need.name} is short and {fleet.ids[row]} idle"
        elif state == states.CONFIGURED:
            holder = world.needs.get(int(fleet.need[row]))
            if holder is not None and not holder.same:
                assert holder.priority >= need.priority, (
                    f"{need.name} is short and {holder.name} is preempted for nobody"
                )
