"""CircleCI's queue gets its VMs: the real `remuda up --cluster`, API server and virt-controller; guests are played."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.kubevirt.agents import Agents, wait_until
from tests.kubevirt.guests import Guests
from tests.kubevirt.installation import Installation
from tests.kubevirt.machines import DOMAIN, Machines
from tests.sources.circleci.loopback import TOKEN, Circle, in_thread
from tests.test_cluster import Replica, conditions, define

pytestmark = pytest.mark.slow

CLASS = "my-org/ci"
RUNNER_TOKEN = "runner-token-of-ci"


@pytest.fixture(scope="module")
def defined(kubevirt: Installation) -> Installation:
    define(kubevirt.cluster)
    return kubevirt


@pytest.fixture
def circle() -> Iterator[Circle]:
    made = Circle()
    made.tasks(CLASS)
    with in_thread(made):
        yield made


class Rig:
    """One namespace with everything in it."""

    def __init__(
        self, kubevirt: Installation, namespace: str, guests: Guests, circle: Circle, directory: Path
    ) -> None:
        self.cluster, self.namespace, self.circle = kubevirt.cluster, namespace, circle
        self.machines = Machines(kubevirt, namespace)
        self.agents = Agents(circle, guests, self.machines, {"ci": CLASS, "nix": "my-org/nix"})
        self.guests = guests
        self._directory = directory
        self.replicas: list[Replica] = []

    def up(self, name: str = "one") -> Replica:
        self.replicas.append(Replica(self.cluster, self.namespace, self._directory, name))
        return self.replicas[-1]

    def secret(self, name: str = "runner", **values: str) -> None:
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}
        self.apply(body)

    def apply(self, *bodies: dict[str, Any]) -> None:
        self.cluster.kubectl(
            "-n", self.namespace, "apply", "--server-side", "--force-conflicts", "-f", "-",
            stdin=yaml.safe_dump_all(bodies),
        )  # fmt: skip

    def pool(self, name: str = "ci", job_class: str = CLASS, **spec: Any) -> None:
        body = {
            "class": job_class,
            "source": {"circleci": {"url": self.circle.url, "token": {"secret": "runner", "key": "api"}}},
            "provider": {
                "kubevirt": {"spec": {"domain": DOMAIN}, "token": {"secret": "runner", "key": "token"}}
            },
            "idleWindow": "1s",
            **spec,
        }
        self.apply(
            {
                "apiVersion": "remuda.dev/v1alpha1",
                "kind": "RunnerPool",
                "metadata": {"name": name},
                "spec": body,
            }
        )

    def running(self) -> set[str]:
        return {name for name, phase in self.machines.phases().items() if phase == "Running"}

    def wait(self, look: Callable[[], Any], what: str) -> None:
        try:
            wait_until(look, what)
        except AssertionError as error:
            log = self.replicas[-1].log.read_text()[-4000:] if self.replicas else ""
            raise AssertionError(f"{error}\nVMs: {self.machines.statuses()}\n{log}") from None


@pytest.fixture
def rig(
    defined: Installation, vm_namespace: str, guests: Guests, circle: Circle, tmp_path: Path
) -> Iterator[Rig]:
    made = Rig(defined, vm_namespace, guests, circle, tmp_path)
    made.secret(api=TOKEN, token=RUNNER_TOKEN)
    with made.agents:
        yield made
        for replica in made.replicas:
            replica.end()


def test_the_queue_gets_its_vms_and_finished_ones_are_replaced(rig: Rig) -> None:
    rig.pool(min=1, max=4)
    rig.up()
    rig.wait(lambda: len(rig.running()) == 1, "a warm VM")
    rig.agents.submit(CLASS, 6)
    rig.wait(lambda: len(rig.agents.busy()) == 4, "four busy VMs")
    for _ in range(6):
        rig.wait(rig.agents.busy, "a busy VM")
        rig.agents.finish(min(rig.agents.busy()))
    rig.wait(lambda: not rig.circle.tasks(CLASS).running, "the end of all tasks")
    rig.wait(lambda: len(rig.running()) == len(rig.machines.statuses()) == 1, "one warm VM again")
    assert rig.agents.killed == []
    told = conditions(rig.cluster, rig.namespace, "ci")
    assert told["Accepted"]["status"] == "True"
    everything = rig.cluster.kubectl("-n", rig.namespace, "get", "vm,vmi,vmpool,pod", "-o", "json")
    assert RUNNER_TOKEN not in everything
    assert TOKEN not in everything
    assert RUNNER_TOKEN not in rig.replicas[0].log.read_text()
