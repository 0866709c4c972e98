"""
What can be wrong, a pure function each, from the world to a finding.

Causes come before what they cause: of several problems the first in the list is the one to fix first.
"""

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import msgspec

from remuda.diagnose.checks.controller import controller, permissions, secret_keys
from remuda.diagnose.checks.guests import cold_start, guests
from remuda.diagnose.checks.kubevirt import kubevirt, operator
from remuda.diagnose.checks.nodes import images, kvm, nodes, placement, virt_handler
from remuda.diagnose.checks.scaling import configuration, demand, rollout, scaling
from remuda.diagnose.world import World
from remuda.output.checks import CheckResult

Check: TypeAlias = Callable[[World], CheckResult]

#: what is about the cluster alone
KUBEVIRT: tuple[Check, ...] = (kubevirt, operator, virt_handler, nodes, kvm, placement)
_FIRST: tuple[Check, ...] = (controller, configuration, secret_keys, permissions)
_LAST: tuple[Check, ...] = (demand, scaling, rollout)
_GUESTS: tuple[Check, ...] = (images, guests, cold_start)


def judge_kubevirt(world: World) -> Iterator[CheckResult]:
    """What is wrong with KubeVirt."""
    return (check(world) for check in KUBEVIRT)


def judge_pools(world: World, only: Collection[str] = ()) -> Iterator[CheckResult]:
    """What is wrong with pools: all of them, or those of these names. KubeVirt counts where a pool has VMs of it."""
    if only:
        world = msgspec.structs.replace(world, pools=tuple(pool for pool in world.pools if pool.name in only))
    has_vms = any(pool.words.vms is not None for pool in world.pools)
    middle = (*KUBEVIRT, *_GUESTS) if has_vms else ()
    return (check(world) for check in (*_FIRST, *middle, *_LAST))
