"""
What can be wrong, a pure function each, from the snapshot to a finding.

Causes come before what they cause: of several problems the first in the list is the one to fix first.
"""

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import msgspec

from remuda.diagnose.decide.controller import controller, permissions, secret_keys
from remuda.diagnose.decide.guests import cold_start, guests
from remuda.diagnose.decide.kubevirt import kubevirt, operator
from remuda.diagnose.decide.nodes import images, kvm, nodes, placement, virt_handler
from remuda.diagnose.decide.scaling import configuration, demand, rollout, scaling
from remuda.diagnose.snapshot import Snapshot
from remuda.model.checks import CheckResult

Check: TypeAlias = Callable[[Snapshot], CheckResult]

#: what is about the cluster alone
KUBEVIRT: tuple[Check, ...] = (kubevirt, operator, virt_handler, nodes, kvm, placement)
_FIRST: tuple[Check, ...] = (controller, configuration, secret_keys, permissions)
_LAST: tuple[Check, ...] = (demand, scaling, rollout)
_GUESTS: tuple[Check, ...] = (images, guests, cold_start)


def judge_kubevirt(snapshot: Snapshot) -> Iterator[CheckResult]:
    """What is wrong with KubeVirt."""
    return (check(snapshot) for check in KUBEVIRT)


def judge_pools(snapshot: Snapshot, only: Collection[str] = ()) -> Iterator[CheckResult]:
    """What is wrong with pools: all of them, or those of these names. KubeVirt counts where a pool has VMs of it."""
    if only:
        snapshot = msgspec.structs.replace(
            snapshot, pools=tuple(pool for pool in snapshot.pools if pool.name in only)
        )
    has_vms = any(pool.words.vms is not None for pool in snapshot.pools)
    middle = (*KUBEVIRT, *_GUESTS) if has_vms else ()
    return (check(snapshot) for check in (*_FIRST, *middle, *_LAST))
