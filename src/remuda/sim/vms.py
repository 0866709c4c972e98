"""
Simulated VMs in VirtualMachinePools, and the agents in them that claim tasks by themselves.

The pool's arithmetic is the real one of `remuda.providers.kubevirt.orders`; virt-controller is played here: it makes what
is lacking a moment later, under the lowest free index, so that names are used again. A VM that is asked to go while its
guest is up is powered off gracefully: its agent hears of it a moment later, may have claimed a task by then, and ends
that first. Calls fail by the fault points `provider.list`, `provider.create`, `provider.created`, `provider.delete`,
`provider.lowered` and `provider.deleted`.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, structs

from remuda.kube.resources import Meta
from remuda.loop.clock import Clock
from remuda.model.jobs import Run
from remuda.model.machines import Ended, Order, Supplied, worker_name
from remuda.model.times import SECOND, Instant
from remuda.providers.kubevirt.orders import (
    MARK,
    Asked,
    Cancel,
    Lower,
    Wish,
    changed,
    order_of,
    placeholders,
    read_notes,
    write_notes,
)
from remuda.providers.kubevirt.resources import ORDERS, PoolSpec, VmPool
from remuda.sim.circle import Agent, SimCircle, Task
from remuda.sim.faults import Faults
from remuda.sim.provider import SimMachine

_SHORT_GRACE_S = 5.0


class Guests(Struct, frozen=True):
    """How VMs and their guests fare. Chances are from 0 to 1 and add up to 1 at most; times are in seconds."""

    #: medians; times are log-normal with this spread
    boot_s: float = 15.0
    install_s: float = 20.0
    spread: float = 0.4
    #: virt-controller takes at most this long to make a VM
    slowness_s: float = 2.0
    #: the VMI fails before it runs
    fails: float = 0.0
    #: it is never scheduled
    hangs: float = 0.0
    #: the guest is up and its agent never calls
    mute: float = 0.0
    #: mean time from up to a crash, idle or busy
    life_s: float | None = None
    #: an agent that is about to go gets a task at that very moment
    spite: float = 0.0
    #: the VM's grace period is a few seconds, whatever its task takes
    short_grace: float = 0.0
    #: its agent does not carry its boot in its name
    plain_name: float = 0.0
    idle_timeout_s: float | None = None


class Vm(SimMachine):
    """A VM, its guest and its agent."""

    __slots__ = ("agent", "has_plain_name", "has_short_grace", "is_leaving", "is_owned", "job_class", "uid")

    def __init__(self, order: Order, uid: str, job_class: str) -> None:
        super().__init__(order)
        self.uid = uid
        self.has_short_grace = self.has_plain_name = False
        self.job_class = job_class
        self.is_owned = True
        #: powered off gracefully
        self.is_leaving = False
        self.agent: Agent | None = None


class Witness(Protocol):
    """Who hears of every change to a VM, as it happens."""

    def made(self, machine: SimMachine) -> None:
        """It exists from now on."""
        ...

    def ready(self, machine: SimMachine) -> None:
        """Its guest is up."""
        ...

    def ended(self, machine: SimMachine) -> None:
        """It is over by itself, and so is what it ran."""
        ...

    def removed(self, machine: SimMachine) -> None:
        """It is being removed, and so is what it runs."""
        ...

    def dismissed(self, vm: Vm) -> None:
        """Somebody wants it to go, and has asked a moment ago whether it has a task."""
        ...

    def killed(self, vm: Vm) -> None:
        """It was asked to go, and its time was over before its task was."""
        ...

    def took(self, vm: Vm, task: Task) -> None:
        """It has a task."""
        ...

    def done(self, vm: Vm, task: Task) -> None:
        """It had a task, which ended by itself."""
        ...


class SimVms:
    """Satisfies the `Provider` port. `class_of` is the class of a pool's tasks."""

    def __init__(
        self,
        clock: Clock,
        dice: random.Random,
        faults: Faults,
        witness: Witness,
        circle: SimCircle,
        guests: Guests,
        class_of: Callable[[str], str],
    ) -> None:
        self.guests = guests
        self.vms: dict[str, Vm] = {}
        self._pools: dict[str, VmPool] = {}
        self._templates: dict[str, str] = {}
        self._noticed: dict[str, Instant] = {}
        self._clock = clock
        self._dice = dice
        self._faults = faults
        self._witness = witness
        self._circle = circle
        self._class_of = class_of
        self._uids = 0

    # What a provider does

    async def list(self) -> tuple[Supplied, ...]:
        """Every VM, and every one that is still to come."""
        await self._faults.fault_point("provider.list")
        found = [_supplied(vm) for vm in self.vms.values()]
        for name, pool in self._pools.items():
            noticed = self._noticed.setdefault(name, self._clock.now())
            to_come = placeholders(pool, self._owned(name), noticed)
            if not to_come:
                del self._noticed[name]
            found += [
                structs.replace(item, template=item.template or self._templates[name]) for item in to_come
            ]
        return tuple(sorted(found, key=lambda item: item.name))

    async def create(self, order: Order) -> None:
        """Order a VM, or find that it was ordered."""
        await self._faults.fault_point("provider.create")
        self._templates[order.pool] = order.template
        if order.pool not in self._pools:
            self._pools[order.pool] = VmPool(Meta(name=order.pool), PoolSpec(replicas=0))
        self._change(order.pool, Asked(order.name, order.created_at, order.template))
        await self._faults.fault_point("provider.created")

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """Lower the pool, take the VM out of it, and remove it or power it off; what is repeated is done once."""
        vm = self.vms.get(name)
        if vm is not None and vm.uid == identity and vm.ended is None:
            self._spite(vm)
            self._witness.dismissed(vm)
        await self._faults.fault_point("provider.delete")
        if MARK in name:
            pool, order = order_of(name)
            self._change(pool, Cancel(order))
            return True
        vm = self.vms.get(name)
        if vm is None:
            return True
        if vm.uid != identity:
            return False
        if vm.is_owned:
            self._change(vm.pool, Lower(vm.uid))
        await self._faults.fault_point("provider.lowered")
        if self.vms.get(name) is not vm:
            return True
        vm.is_owned = False
        self._later(vm.pool)
        if vm.ended is not None or vm.ready_at is None or at_once:
            self._remove(vm)
        elif not vm.is_leaving:
            vm.is_leaving = True
            self._after(self._dice.uniform(0, 3), self._terminate, vm)
            if vm.has_short_grace:
                self._after(_SHORT_GRACE_S, self._kill, vm)
        await self._faults.fault_point("provider.deleted")
        return True

    async def console(self, name: str) -> bytes:
        """Simulated guests say nothing."""
        del name
        return b""

    # What others do

    def crash(self, vm: Vm) -> None:
        """End a guest from outside, with whatever it runs."""
        self._over(vm, "crashed")

    def vanish(self, vm: Vm) -> None:
        """Somebody removes a VM by force."""
        self._over(vm, "vanished")
        del self.vms[vm.name]
        self._later(vm.pool)

    def to_come(self, pool: str) -> int:
        """VMs of a pool that are ordered and not there yet."""
        known = self._pools.get(pool)
        return len(placeholders(known, self._owned(pool), 0)) if known else 0

    def _owned(self, pool: str) -> frozenset[str]:
        return frozenset(vm.uid for vm in self.vms.values() if vm.is_owned and vm.pool == pool)

    def _change(self, name: str, wish: Wish) -> None:
        pool = self._pools.get(name)
        if pool is None:
            return
        change = changed(pool, self._owned(name), [wish], self._clock.now())
        if (change.replicas, change.notes) != (pool.replicas, read_notes(pool)):
            meta = structs.replace(pool.metadata, annotations={ORDERS: write_notes(change.notes)})
            self._pools[name] = VmPool(meta, PoolSpec(replicas=change.replicas))
            self._later(name)

    def _later(self, pool: str) -> None:
        """Let virt-controller look at a pool soon."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._dice.uniform(0, self.guests.slowness_s), self._reconcile, pool)

    def _reconcile(self, name: str) -> None:
        """Make what is lacking. What is too much is left: pools are not managed."""
        pool = self._pools.get(name)
        for _ in range(pool.replicas - len(self._owned(name)) if pool else 0):
            index = next(number for number in range(10_000) if f"{name}-{number}" not in self.vms)
            made_at = self._clock.now() // SECOND * SECOND
            order = Order(f"{name}-{index}", name, self._templates[name], made_at, None, {})
            self._uids += 1
            vm = Vm(order, f"{self._uids:08x}", self._class_of(name))
            vm.has_short_grace = self._dice.random() < self.guests.short_grace
            vm.has_plain_name = self._dice.random() < self.guests.plain_name
            self.vms[vm.name] = vm
            self._witness.made(vm)
            self._boot(vm)

    # How a guest lives

    def _after(self, seconds: float, step: Callable[[Vm], None], vm: Vm) -> None:
        """Let something happen to a VM, if it is still there by then."""

        def happen() -> None:
            if vm.ended is None and self.vms.get(vm.name) is vm:
                step(vm)

        asyncio.get_running_loop().call_later(seconds, happen)

    def _boot(self, vm: Vm) -> None:
        guests, dice = self.guests, self._dice
        seconds = guests.boot_s * dice.lognormvariate(0, guests.spread)
        luck = dice.random() - guests.hangs
        if luck < 0:
            return
        luck -= guests.fails
        if luck < 0:
            self._after(seconds, lambda vm: self._over(vm, "boot"), vm)
        else:
            self._after(seconds, lambda vm: self._come_up(vm, is_mute=luck < guests.mute), vm)

    def _come_up(self, vm: Vm, *, is_mute: bool) -> None:
        guests, dice = self.guests, self._dice
        vm.ready_at = self._clock.now() // SECOND * SECOND
        self._witness.ready(vm)
        if not is_mute:
            self._after(guests.install_s * dice.lognormvariate(0, guests.spread), self._register, vm)
        if guests.life_s is not None:
            self._after(dice.expovariate(1 / guests.life_s), self.crash, vm)

    def _register(self, vm: Vm) -> None:
        name = vm.name if vm.has_plain_name else worker_name(vm.name, vm.uid)
        vm.agent = self._circle.register(name, vm.job_class, lambda task: self._work(vm, task))
        if self.guests.idle_timeout_s is not None:
            self._after(self.guests.idle_timeout_s, self._tire, vm)

    def _work(self, vm: Vm, task: Task) -> None:
        vm.job = Run("", task.number, 1)
        self._witness.took(vm, task)
        self._after(task.seconds, self._finish, vm)

    def _finish(self, vm: Vm) -> None:
        assert vm.agent is not None
        assert vm.agent.task is not None
        self._witness.done(vm, vm.agent.task)
        vm.job = None
        self._circle.finish(vm.agent)
        self._circle.leave(vm.agent)
        self._after(self._dice.uniform(0, 3), lambda vm: self._over(vm, "finished"), vm)

    def _tire(self, vm: Vm) -> None:
        if vm.agent is not None and vm.agent.is_taking and self.guests.idle_timeout_s is not None:
            self._over(vm, "finished")

    def _terminate(self, vm: Vm) -> None:
        """The agent hears that it must go: without a task it does, with one it ends that first."""
        if vm.agent is None:
            self._over(vm, "closed")
        elif vm.job is None:
            vm.agent.is_taking = False
            self._after(self._dice.uniform(0, 2), lambda vm: self._over(vm, "closed"), vm)

    def _kill(self, vm: Vm) -> None:
        """Its grace period is over."""
        if vm.job is not None:
            self._witness.killed(vm)
        self._over(vm, "killed")

    def _spite(self, vm: Vm) -> None:
        if vm.agent is not None and vm.agent.is_taking and self._dice.random() < self.guests.spite:
            self._faults.counts["agent claims as it is asked to go"] += 1
            self._circle.submit(vm.job_class, self._dice.uniform(1, 60))
            self._circle.claim(vm.agent)

    def _over(self, vm: Vm, code: str) -> None:
        """The guest is over, and with it what it ran."""
        if vm.ended is not None:
            return
        self._witness.ended(vm)
        self._end(vm, "closed" if vm.is_leaving else code)

    def _remove(self, vm: Vm) -> None:
        if vm.ended is None:
            self._witness.removed(vm)
            self._end(vm, "removed")
        del self.vms[vm.name]

    def _end(self, vm: Vm, code: str) -> None:
        vm.ended, vm.job = Ended(code), None
        if vm.agent is not None:
            self._circle.leave(vm.agent)
            if vm.agent.task is not None:
                # CircleCI notices by and by.
                asyncio.get_running_loop().call_later(
                    self._dice.uniform(0, 60),
                    lambda agent: self._circle.finish(agent, is_lost=True),
                    vm.agent,
                )


def _supplied(vm: Vm) -> Supplied:
    return Supplied(
        vm.name,
        vm.pool,
        vm.order.template,
        vm.order.created_at,
        vm.ready_at,
        vm.ended,
        vm.is_leaving and vm.ended is None,
        "" if vm.ready_at is not None else "ErrorUnschedulable: no node",
        order="",
        job_class=vm.job_class,
        drains=not vm.has_short_grace,
        boot=vm.uid,
        uid=vm.uid,
    )
