"""What virt-handler is asked, and what is made of its words."""

from collections.abc import Sequence

import msgspec
import pytest
from tests.diagnose.snapshots import ROOM, component, healthy, kube_virt, node

from remuda.diagnose.observe.devices import look_for_kvm
from remuda.diagnose.snapshot import Device, Snapshot
from remuda.kube.channels import Ran
from remuda.kube.errors import Forbidden, KubeError, Status, Unreachable

NO_KVM = {name: value for name, value in ROOM.items() if "kvm" not in name}
THERE = b"crw-rw-rw- 1 root kvm 10, 232 Nov 16 10:00 /dev/kvm\n"
HOST = b"crw-rw-rw- 1 root kvm 10, 232 Nov 16 10:00 /proc/1/root/dev/kvm\n"
GONE = b"ls: cannot access '/dev/kvm': No such file or directory\n"


class Commands:
    """Answers as it is told, and keeps what was asked."""

    def __init__(self, answer: Ran | KubeError) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str, str, tuple[str, ...]]] = []

    async def exec(
        self, name: str, namespace: str, container: str, command: Sequence[str], *, within: float, most: int
    ) -> Ran:
        assert within > 0
        assert most > 0
        self.asked.append((name, namespace, container, tuple(command)))
        if isinstance(self._answer, KubeError):
            raise self._answer
        return self._answer


def lacking(**changes: object) -> Snapshot:
    return healthy(nodes=(node(room=NO_KVM),), **changes)


@pytest.mark.parametrize(
    ("answer", "outcome", "message"),
    [
        pytest.param(Ran(0, THERE + HOST, b""), "there", THERE.decode().strip(), id="there"),
        pytest.param(
            Ran(2, HOST, GONE), "there", HOST.decode().strip(), id="loaded after virt-handler began"
        ),
        pytest.param(Ran(2, b"", GONE + GONE), "missing", GONE.decode().strip(), id="missing"),
        pytest.param(
            Ran(0, b"-rw-r--r-- 1 root root 0 Nov 16 10:00 /dev/kvm\n", b""),
            "unsure",
            "ls ended with 0 and said: -rw-r--r-- 1 root root 0 Nov 16 10:00 /dev/kvm",
            id="a file that is no device",
        ),
        pytest.param(
            Ran(2, b"", b"ls: Permission denied\n"),
            "unsure",
            "ls ended with 2 and said: ls: Permission denied",
            id="another complaint",
        ),
        pytest.param(Ran(0, b"", b""), "unsure", "ls ended with 0 and said: nothing", id="nothing"),
        pytest.param(Ran(0, b"\xff\xfe", b""), "unsure", "ls ended with 0 and said: ��", id="no text"),
        pytest.param(
            Forbidden("running ls", Status(403, "Forbidden", "no")),
            "unsure",
            "running ls: 403 Forbidden: no",
            id="refused",
        ),
        pytest.param(
            Unreachable("running ls", Status(message="no answer within 10 s")),
            "unsure",
            "running ls: no answer within 10 s",
            id="silent",
        ),
    ],
)
async def test_an_answer_of_virt_handler_is_read(answer: Ran | KubeError, outcome: str, message: str) -> None:
    commands = Commands(answer)
    found = await look_for_kvm(commands, lacking())
    assert found == {"node-1": Device(outcome, message, "kubevirt/virt-handler-x")}
    command = ("ls", "-l", "/dev/kvm", "/proc/1/root/dev/kvm")
    assert commands.asked == [("virt-handler-x", "kubevirt", "virt-handler", command)]


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(healthy(), id="KVM is allocatable"),
        pytest.param(healthy(nodes=(node(labels={}, room=NO_KVM),)), id="a node that takes no VMs"),
        pytest.param(lacking(component_pods=()), id="no virt-handler"),
        pytest.param(
            lacking(component_pods=(component("virt-handler", status={"phase": "Failed"}),)), id="it ended"
        ),
        pytest.param(
            lacking(component_pods=(component("virt-handler", status={"phase": "Pending"}),)), id="it waits"
        ),
        pytest.param(
            lacking(component_pods=(component("virt-handler", spec={"nodeName": "node-2"}),)),
            id="on another node",
        ),
        pytest.param(
            lacking(kubevirts=(kube_virt(configuration={"developerConfiguration": {"useEmulation": True}}),)),
            id="emulation",
        ),
    ],
)
async def test_nobody_is_asked_in_vain(snapshot: Snapshot) -> None:
    commands = Commands(Ran(0, THERE, b""))
    assert await look_for_kvm(commands, snapshot) == {}
    assert commands.asked == []


async def test_a_zero_is_no_kvm() -> None:
    snapshot = healthy(nodes=(node(room=ROOM | {"devices.kubevirt.io/kvm": "0"}),))
    assert (await look_for_kvm(Commands(Ran(0, THERE, b"")), snapshot))["node-1"].outcome == "there"


async def test_of_a_big_cluster_some_are_asked() -> None:
    names = [f"node-{number}" for number in range(100)]
    snapshot = healthy(
        nodes=tuple(node(name, room=NO_KVM) for name in names),
        component_pods=tuple(component("virt-handler", spec={"nodeName": name}) for name in names),
    )
    assert len(await look_for_kvm(Commands(Ran(0, THERE, b"")), snapshot)) == 20


def test_a_bundle_of_before_has_no_devices() -> None:
    plain = msgspec.to_builtins(healthy())
    del plain["devices"]
    assert msgspec.convert(plain, Snapshot).devices == {}
