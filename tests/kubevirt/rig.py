"""A namespace with everything in it: pools, VMs, played guests and agents, a CircleCI, and real Remuda processes."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kubevirt.agents import Agents, wait_until
from tests.kubevirt.guests import Guests
from tests.kubevirt.installation import Installation
from tests.kubevirt.machines import DOMAIN, Machines
from tests.servers.fixtures import new_namespace
from tests.sources.circleci.loopback import TOKEN, Circle
from tests.test_cluster import API, Replica, conditions, define

#: the class of each pool that tests may make
CLASSES = {"ci": "my-org/ci", "nix": "my-org/nix", "mac": "my-org/mac"}
CI, NIX, MAC = CLASSES.values()
RUNNER_TOKEN = "runner-token-of-ci"
TEMPLATE = "remuda.dev/template"
AT_STEP = Path(__file__).with_name("at_step.py")
CLI_S = 120.0


def steps(
    step: str = "", *, nth: int = 1, sends: str = "KILL", term_s: float = 15.0, acting_after_s: float = 0.0
) -> tuple[str, ...]:
    """
    A program for `Rig.up` that signals itself when it reaches a step, and whose lease has such a term.

    It begins operations so many seconds late.
    """
    return (
        str(AT_STEP),
        f"--step={step}",
        f"--nth={nth}",
        f"--signal={sends}",
        f"--term={term_s}",
        f"--acting-after={acting_after_s}",
    )


class Rig:
    """One namespace and all that happens in it."""

    def __init__(
        self, kubevirt: Installation, namespace: str, guests: Guests, circle: Circle, directory: Path
    ) -> None:
        self.cluster, self.namespace, self.circle = kubevirt.cluster, namespace, circle
        self.machines = Machines(kubevirt, namespace)
        self.agents = Agents(circle, guests, CLASSES)
        self.guests = guests
        self._directory = directory
        self.replicas: list[Replica] = []

    # What a person does

    def up(self, name: str = "one", program: Sequence[str] = ()) -> Replica:
        """Start a replica; one of the same name as before has its data directory."""
        self.replicas.append(Replica(self.cluster, self.namespace, self._directory, name, program))
        return self.replicas[-1]

    def cli(self, *words: str) -> str:
        """What a command says, asked of the replica that was started last."""
        command = [sys.executable, "-m", "remuda", *words, "--data-dir", str(self.replicas[-1].data)]
        ran = subprocess.run(command, capture_output=True, check=False, timeout=CLI_S, text=True)
        assert ran.returncode == 0, f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def kubectl(self, *words: str) -> str:
        """What kubectl says in this namespace."""
        return self.cluster.kubectl("-n", self.namespace, *words)

    def secret(self, name: str = "runner", **values: str) -> None:
        """Make or change a Secret."""
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}
        self._apply(f"/api/v1/namespaces/{self.namespace}/secrets", body)

    def pool(self, name: str = "ci", *, grace_s: int | None = None, **spec: Any) -> None:
        """Make or change a pool; `grace_s` is what its VMs have to end."""
        source = {"url": self.circle.url, "token": {"secret": "runner", "key": "api"}}
        machine: dict[str, Any] = {"domain": DOMAIN}
        if grace_s is not None:
            machine["terminationGracePeriodSeconds"] = grace_s
        body = {
            "class": CLASSES[name],
            "source": {"circleci": source | spec.pop("circleci", {})},
            "provider": {
                "kubevirt": {"spec": machine, "token": {"secret": "runner", "key": "token"}}
                | spec.pop("kubevirt", {})
            },
            "idleWindow": "1s",
            **spec,
        }
        self._object("RunnerPool", name, body)

    def ceiling(self, name: str, machines: int, **priorities: int) -> None:
        """Make a ceiling, with the priorities of its members."""
        members = [{"name": member, "priority": priority} for member, priority in priorities.items()]
        self._object("Ceiling", name, {"machines": machines, "members": members})

    def _object(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        body = {
            "apiVersion": "remuda.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        self._apply(f"{API}/{self.namespace}/{kind.lower()}s", body)

    def _apply(self, path: str, body: dict[str, Any]) -> None:
        """As `kubectl apply --server-side --force-conflicts`, in a hundredth of its time."""
        asked = f"{path}/{body['metadata']['name']}?fieldManager=kubectl&force=true&fieldValidation=Strict"
        answer = self.cluster.request("PATCH", asked, body, content_type="application/apply-patch+yaml")
        assert answer.status in {200, 201}, answer.text

    # What a person sees

    def running(self, pool: str = "") -> set[str]:
        """VMs that run, of one pool or of all."""
        return {
            name
            for name, phase in self.machines.phases().items()
            if phase == "Running" and (not pool or name.rpartition("-")[0] == pool)
        }

    def uids(self) -> dict[str, str]:
        """The uid of every VM by name."""
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in self.vms()}

    def vms(self) -> list[dict[str, Any]]:
        """Every VM as it is."""
        path = f"/apis/kubevirt.io/v1/namespaces/{self.namespace}/virtualmachines"
        found: list[dict[str, Any]] = self.cluster.request("GET", path).json()["items"]
        return found

    def made(self) -> list[str]:
        """The name of every VM that was ever made here, by whomever, as the API server logged it."""
        return [
            line["objectRef"]["name"]
            for line in self.cluster.audit()
            if line["verb"] == "create"
            and line.get("objectRef", {}).get("namespace") == self.namespace
            and (line["objectRef"]["resource"], line["objectRef"].get("subresource"))
            == ("virtualmachines", None)
            and line.get("responseStatus", {}).get("code") == 201
        ]

    def templates(self) -> dict[str, str]:
        """The configuration of every VM by name."""
        return {one["metadata"]["name"]: one["metadata"]["labels"].get(TEMPLATE, "") for one in self.vms()}

    def user_data(self, vm: dict[str, Any]) -> str:
        """What a VM was made a runner with."""
        volumes = vm["spec"]["template"]["spec"]["volumes"]
        name = next(
            one["cloudInitNoCloud"]["secretRef"]["name"] for one in volumes if "cloudInitNoCloud" in one
        )
        return self.kubectl("get", "secret", name, "-o", "go-template={{.data.userdata | base64decode}}")

    def replicas_of(self, pool: str) -> int:
        """What is asked of a VirtualMachinePool."""
        path = f"/apis/pool.kubevirt.io/v1beta1/namespaces/{self.namespace}/virtualmachinepools/{pool}"
        return int(self.cluster.request("GET", path).json()["spec"]["replicas"])

    def status(self, pool: str = "ci") -> dict[str, Any]:
        """What is told on a pool, empty while nothing is."""
        body = self.cluster.request("GET", f"{API}/{self.namespace}/runnerpools/{pool}").json()
        found: dict[str, Any] = body.get("status", {})
        return found

    def condition(self, kind: str, pool: str = "ci") -> dict[str, Any]:
        """One condition of a pool, empty while it is not told."""
        return conditions(self.cluster, self.namespace, pool).get(kind, {})

    def lines(self, message: str) -> list[dict[str, Any]]:
        """What all replicas logged with a message."""
        return [
            json.loads(line)
            for log in {replica.log for replica in self.replicas}
            for line in log.read_text().splitlines()
            if f'"{message}"' in line
        ]

    def wait(self, look: Callable[[], Any], what: str) -> None:
        """Return when `look` is true; a failure shows the VMs and the log."""
        try:
            wait_until(look, what)
        except AssertionError as error:
            log = self.replicas[-1].log.read_text()[-6000:] if self.replicas else ""
            tasks = {name: (one.unclaimed, one.running) for name, one in self.circle.classes.items()}
            raise AssertionError(
                f"{error}\nVMs: {self.machines.statuses()}\nbusy: {self.agents.busy()}\ntasks: {tasks}\n{log}"
            ) from None

    def wait_running(self, count: int, pool: str = "ci") -> None:
        """Return when so many VMs of a pool run and there is no other one of it."""

        def look() -> bool:
            known = {name for name in self.machines.statuses() if name.rpartition("-")[0] == pool}
            return len(known) == count and known == self.running(pool)

        self.wait(look, f"{count} running VMs of {pool}")

    def wait_busy(self, count: int, pool: str = "ci") -> None:
        """Return when so many VMs of a pool have a task."""
        self.wait(lambda: len(self.agents.busy(pool)) == count, f"{count} busy VMs of {pool}")

    def wait_ready(self, count: int, pool: str = "ci") -> None:
        """Return when the pool's status says that so many VMs work or could."""
        self.wait(lambda: self.status(pool).get("ready") == count, f"{count} ready VMs of {pool}")

    def wait_old(self, count: int, pool: str = "ci") -> None:
        """Return when the pool's status says that so many VMs are old."""
        self.wait(lambda: self.status(pool).get("old") == count, f"{count} old VMs of {pool}")

    def wait_gone(self, *uids: str) -> None:
        """Return when there is none of these VMs any more, whoever has their names."""
        self.wait(lambda: not set(uids) & set(self.uids().values()), f"the end of {uids}")

    def wait_condition(self, kind: str, status: str, pool: str = "ci") -> None:
        """Return when a condition of a pool is told so."""
        self.wait(lambda: self.condition(kind, pool).get("status") == status, f"{kind} {status} of {pool}")

    def wait_killed(self, replica: Replica, what: str) -> None:
        """Return when a replica was ended by SIGKILL."""
        self.wait(lambda: replica.process.poll() == -signal.SIGKILL, what)

    def wait_asked(self, call: str) -> None:
        """Return when CircleCI was asked once more."""
        before = self.circle.count(call)
        self.wait(lambda: self.circle.count(call) > before, f"another {call}")

    def wait_reported(self, part: str, pool: str = "ci") -> None:
        """Return when the pool's status says why."""
        self.wait(lambda: part in self.status(pool).get("why", ""), f"{part!r} in the status of {pool}")


@contextmanager
def rigged(
    kubevirt: Installation, namespace: str, guests: Guests, circle: Circle, directory: Path
) -> Iterator[Rig]:
    """A rig with the Secret of its pools; all that was started ends with it, and no task may have been killed."""
    made = Rig(kubevirt, namespace, guests, circle, directory)
    if made.cluster.request("GET", f"{API}/{namespace}/runnerpools").status != 200:
        define(made.cluster)
    made.secret(api=TOKEN, token=RUNNER_TOKEN)
    with made.agents:
        try:
            yield made
        finally:
            for replica in made.replicas:
                replica.end()


@contextmanager
def rigged_alone(kubevirt: Installation, circle: Circle, directory: Path) -> Iterator[Rig]:
    """A rig in an installation of its own."""
    with (
        new_namespace(kubevirt.cluster) as namespace,
        Guests(kubevirt.cluster, namespace) as guests,
        rigged(kubevirt, namespace, guests, circle, directory) as made,
    ):
        yield made
