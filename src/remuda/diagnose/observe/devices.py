"""Asks virt-handler, who sees the devices of its node, for /dev/kvm, where a node does not offer it to VMs."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from remuda.diagnose.snapshot import COMPONENT, Device, Snapshot
from remuda.kube.channels import Ran
from remuda.kube.errors import KubeError
from remuda.model.pods import Pod

_HANDLER = "virt-handler"
#: virt-handler's own view is as old as it is; the host's it has by the first process
_PATHS = ("/dev/kvm", "/proc/1/root/dev/kvm")
_WITHIN_S, _BYTES = 10.0, 4096
#: of this many nodes virt-handler is asked
_MOST, _AT_ONCE = 20, 8


class Commands(Protocol):
    """Runs a command in a container; whatever hinders it is a `KubeError`."""

    async def exec(
        self, name: str, namespace: str, container: str, command: Sequence[str], *, within: float, most: int
    ) -> Ran:
        """How it ended, and at most so many bytes of what it printed."""
        ...


async def look_for_kvm(commands: Commands, snapshot: Snapshot) -> dict[str, Device]:
    """What virt-handler says, by node; nothing where VMs need no KVM, or no virt-handler runs."""
    if any(item.emulates for item in snapshot.kubevirts):
        return {}
    handlers = {
        pod.spec.node_name: pod
        for pod in snapshot.component_pods
        if pod.metadata.labels.get(COMPONENT) == _HANDLER
        and pod.status.phase == "Running"
        and not pod.is_over
    }
    asked = [(node.name, handlers[node.name]) for node in snapshot.lacking_kvm() if node.name in handlers][
        :_MOST
    ]
    turn = asyncio.Semaphore(_AT_ONCE)
    found = await asyncio.gather(*(_look(commands, pod, turn) for _, pod in asked))
    return {name: device for (name, _), device in zip(asked, found, strict=True)}


async def _look(commands: Commands, pod: Pod, turn: asyncio.Semaphore) -> Device:
    where = f"{pod.metadata.namespace}/{pod.name}"
    try:
        async with turn:
            ran = await commands.exec(
                pod.name,
                pod.metadata.namespace,
                _HANDLER,
                ("ls", "-l", *_PATHS),
                within=_WITHIN_S,
                most=_BYTES,
            )
    except KubeError as error:
        return Device("unsure", str(error), where)
    listed, complained = (text.decode(errors="replace").splitlines() for text in (ran.out, ran.err))
    if there := [line for line in listed if line.startswith("c") and line.endswith(_PATHS)]:
        return Device("there", there[0], where)
    if any("No such file" in line for line in complained):
        return Device("missing", complained[0], where)
    message = " ".join([*complained, *listed]) or "nothing"
    return Device("unsure", f"ls ended with {ran.code} and said: {message}", where)
