"""Observe and act for tiers, over a `World`. No judgement lives here."""

from collections.abc import Callable

from msgspec.structs import replace

from remuda.kube.errors import Conflict, Missing
from remuda.ledger.record import Kinds
from remuda.loop.clock import Clock
from remuda.model.plans import Operation, Outcome, Plan, Reason
from remuda.model.times import Instant
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.compare import fingerprint, key_of
from remuda.tiers.decide.model import (
    ABSENT,
    Mark,
    Memory,
    Policies,
    Remove,
    Snapshot,
    TierAction,
    Write,
)
from remuda.tiers.decide.shared import wanted_objects
from remuda.tiers.decide.taints import device_labels, node_patch
from remuda.tiers.world import Wanted, World

LOOP = "tiers"
#: the types of its records, for whoever reads its ledger
TIER_KINDS: Kinds[Snapshot, Memory, Policies, TierAction] = Kinds(
    snapshot=Snapshot,
    memory=Memory,
    policy=Policies,
    plan=Plan[TierAction],
    operation=Operation[TierAction],
)


class TiersController:
    """One loop for all policies, because a namespace must have one at most."""

    name = LOOP

    def __init__(self, world: World, clock: Clock) -> None:
        self._world = world
        self._clock = clock
        self._wanted = Wanted()
        #: what was last seen, the policies it was judged by, and the decision, where there was nothing to do
        self._settled: tuple[Snapshot, Policies, tuple[Plan[TierAction], Memory]] | None = None
        #: called with what was seen and planned in each cycle; without reasons another replica decides now
        self.decided: Callable[[tuple[Reason, ...], tuple[TierAction, ...]], None] = lambda _, __: None
        #: called when policies that are gone may have left something
        self.remembers: Callable[[], None] = lambda: None

    def follow(self, policies: Policies) -> None:
        """Look at what these policies ask for."""
        names = {key for version in ("", "v1") for key in wanted_objects(policies.policies, version)[0]}
        self._wanted = Wanted(
            device_labels(policies.policies), frozenset((kind, name) for kind, _, name in names)
        )

    async def observe(self, operations: tuple[Operation[TierAction], ...]) -> Snapshot:
        """The cluster as it was seen last; the very same snapshot while nothing changes."""
        seen = self._world.look(self._wanted)
        return replace(seen, operations=operations) if operations else seen

    def decide(
        self, seen: Snapshot, memory: Memory, policy: Policies, now: Instant
    ) -> tuple[Plan[TierAction], Memory]:
        """Judge, see `remuda.tiers.decide.changes`; what was settled and has not changed is not judged again."""
        if memory.policies:
            self.remembers()
        last = self._settled
        if last is not None and last[0] is seen and last[1] is policy and last[2][1] == memory:
            return last[2]
        made = decide(seen, memory, policy, now)
        # what failed is tried again when its time comes, whatever is seen, and what is gone is forgotten in time
        is_waiting = made[0].actions or made[1].failures or made[1].traceless
        self._settled = None if is_waiting else (seen, policy, made)
        return made

    async def act(self, operation: Operation[TierAction]) -> Outcome:
        """Carry out one operation, or refuse it when the cluster is no longer what the plan saw."""
        try:
            match operation.action:
                case Write():
                    return await self._write(operation.action)
                case Remove():
                    return await self._remove(operation.action)
                case Mark():
                    return await self._mark(operation.action)
        except Conflict as error:
            return self._refused(f"somebody changed it meanwhile: {error}")
        except Missing as error:
            return self._refused(f"it is gone: {error}")

    async def _write(self, action: Write) -> Outcome:
        kind, namespace, name = key_of(action.manifest)
        if namespace:
            there = self._world.namespace(namespace)
            if there is None or there.uid != action.namespace_uid or there.is_terminating:
                return self._refused("the namespace is not the one that was seen")
        found = await self._world.find(kind, name, namespace)
        if action.expects == ABSENT:
            if found is not None:
                return self._refused("it was made meanwhile")
            await self._world.create(action.manifest)
            return self._done("created")
        if found is None or fingerprint(found.seen) != action.expects:
            return self._refused("it was changed meanwhile")
        if action.anew:
            await self._world.delete(found)
            await self._world.create(action.manifest)
            return self._done("made again")
        await self._world.apply(action.manifest, found.version)
        return self._done("changed")

    async def _remove(self, action: Remove) -> Outcome:
        found = await self._world.find(action.kind, action.name, action.namespace)
        if found is None:
            return self._done("gone already")
        if fingerprint(found.seen) != action.expects:
            return self._refused("it was changed meanwhile")
        await self._world.delete(found)
        return self._done("removed")

    async def _mark(self, action: Mark) -> Outcome:
        found = await self._world.find_node(action.node, self._wanted.devices)
        if found is None or fingerprint(found.seen) != action.expects:
            return self._refused("the node was changed meanwhile")
        patch = node_patch(action, found.seen, found.version, has_annotations=found.has_annotations)
        await self._world.patch_node(action.node, tuple(patch))
        return self._done("changed")

    def report(self, seen: Snapshot, plan: Plan[TierAction]) -> dict[str, object]:
        """Hand on what was decided, and return the totals."""
        self.decided(plan.reasons, plan.actions)
        numbers = {reason.code for reason in plan.reasons if reason.code not in _QUIET}
        return {"namespaces": len(seen.namespaces), "unsettled": sorted(numbers)}

    def stand_by(self) -> None:
        """Say nothing of namespaces: the replica that acts does."""
        self.decided((), ())

    def _done(self, detail: str) -> Outcome:
        return Outcome("done", self._clock.now(), detail)

    def _refused(self, detail: str) -> Outcome:
        return Outcome("refused", self._clock.now(), detail)


#: what is said while everything is as it should be
_QUIET = frozenset({"tier.settled", "tier.own", "tier.none", "tier.node-marked", "tiers.policy"})
