"""
The tutorials that need a cluster are typed as they stand: a real API server, and for some virt-controller and a stand-in for CircleCI.

No kubelet runs there: guests are played, and Remuda is started beside the cluster once it is installed.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.charts.rendering import DEADLINE_S, ROOT
from tests.charts.test_page import Shell
from tests.docs.test_examples import commands, pattern, squeezed
from tests.kubevirt.agents import Agents
from tests.kubevirt.fixtures import NewKubevirt
from tests.kubevirt.guests import Guests
from tests.processes import eventually
from tests.servers.fixtures import NewCluster, Programs
from tests.sources.circleci.loopback import TOKEN, Circle, in_thread

pytestmark = pytest.mark.slow

CLOUD = "https://runner.circleci.com/"


class Reader:
    """Somebody who types what a tutorial says, in a cluster where CircleCI's address leads to a stand-in."""

    def __init__(self, page: str, shell: Shell, circle: Circle) -> None:
        text = (ROOT / "docs" / "tutorials" / page).read_text(encoding="utf-8")
        self.sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
        self.left = list(self.sections)
        self.shell, self.circle = shell, circle
        shell.environ |= {"CIRCLE_TOKEN": circle.token, "RUNNER_TOKEN": "runner-token"}

    def section(self, title: str) -> None:
        """Type all of a section; sections come in their order."""
        assert self.left.pop(0) == title
        for command, expected in commands(self.sections[title]):
            given = command.replace(CLOUD, self.circle.url).replace(
                "your-circle-api-token", self.circle.token
            )
            if "helm install" in command:
                # VMs run in the namespace, and what makes its account is not there
                self._account(given.partition("--namespace ")[2].split()[0])
            self._type(given, expected)

    def _account(self, namespace: str) -> None:
        self.shell.type(f"kubectl create namespace {namespace}", None)
        self.shell.type(f"kubectl -n {namespace} create serviceaccount default", None)

    def _type(self, command: str, expected: list[str]) -> None:
        """A question is asked again until the world has settled; what changes something is typed once."""
        until = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=self.shell.home,
                env=self.shell.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=DEADLINE_S,
            )
            if pattern(expected).fullmatch(squeezed(done.stdout)):
                return
            told = f"$ {command}\n{done.stdout}\nwanted:\n" + "\n".join(expected)
            assert re.match(r"kubectl -n \S+ (get|exec) ", command), told
            assert time.monotonic() < until, f"{told}\n{self._log()}"
            time.sleep(0.5)

    def _log(self) -> str:
        log = self.shell.home / "log"
        return log.read_text()[-4000:] if log.exists() else ""

    @contextmanager
    def pod(self, namespace: str) -> Iterator[None]:
        """Remuda, as if a kubelet ran it."""
        environ = self.shell.environ | {"POD_NAME": "remuda-0", "POD_NAMESPACE": namespace}
        words = ["up", "--cluster", "--namespace", namespace, "--health-port=0", "--live-port=0"]
        with (self.shell.home / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "remuda", *words], env=environ, stdout=log, stderr=log
            )
        try:
            ports = self.shell.home / "data" / "ports.json"
            eventually(lambda: ports.exists() or process.poll(), "remuda is up")
            assert process.poll() is None, self._log()
            yield
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


@pytest.fixture
def circle() -> Iterator[Circle]:
    made = Circle()
    made.tasks("my-org/linux")
    made.tasks("my-org/my-runner")
    with in_thread(made):
        yield made


def test_circleci_on_kubevirt_works_as_written(
    new_kubevirt: NewKubevirt, programs: Programs, circle: Circle, tmp_path: Path
) -> None:
    cluster = new_kubevirt().cluster
    reader = Reader("circleci-on-kubevirt.md", Shell(cluster, programs, tmp_path), circle)
    reader.section("Install Remuda")
    with Guests(cluster, "ci") as guests, Agents(circle, guests, {"linux": "my-org/linux"}) as agents:
        with reader.pod("ci"):
            reader.section("Describe the pool")
            agents.submit("my-org/linux", 3)
            reader.section("Push a commit")
            agents.finish(*agents.busy())
            reader.section("Watch it end")
            reader.section("Clean up")
        assert agents.killed == []
    assert reader.left == []


def test_moving_from_runner_provisioner_works_as_written(
    new_kubevirt: NewKubevirt, programs: Programs, circle: Circle, tmp_path: Path
) -> None:
    cluster, namespace, pool = new_kubevirt().cluster, "runner-provisioner", "my-org-my-runner"
    reader = Reader("runner-provisioner.md", Shell(cluster, programs, tmp_path), circle)
    reader.section("Look before you leap")
    notes = (tmp_path / "notes.txt").read_text()
    assert TOKEN not in notes + (tmp_path / "pools.yaml").read_text()
    reader.section("Install beside it")
    with Guests(cluster, namespace) as guests, Agents(circle, guests, {pool: "my-org/my-runner"}) as agents:
        with reader.pod(namespace):
            reader.section("See it work")
            agents.submit("my-org/my-runner")
            reader.section("Run a task")
            reader.section("Take the old one away")
        assert agents.killed == []
    left = cluster.kubectl("get", "runnerpools", "--all-namespaces", "--output=json")
    assert json.loads(left)["items"] == []
    assert reader.left == []


def test_tiers_on_a_homelab_work_as_written(
    new_cluster: NewCluster, programs: Programs, tmp_path: Path
) -> None:
    shell = Shell(new_cluster(extras=("kube-controller-manager",)), programs, tmp_path)
    # quotas are counted, and rules taken up, a moment after they are made
    type_all("tiers-homelab.md", shell, again=("remuda why", "kubectl -n lab run"))
    assert "created ResourceQuota home/home-quota" in squeezed((tmp_path / "applied.txt").read_text())


def type_all(page: str, shell: Shell, again: tuple[str, ...]) -> None:
    """Type a whole tutorial; what begins so is typed again until the world has settled."""
    text = (ROOT / "docs" / "tutorials" / page).read_text(encoding="utf-8")
    for command, expected in commands(text):
        until = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=shell.home,
                env=shell.environ,
                capture_output=True,
                text=True,
                check=False,
                timeout=DEADLINE_S,
            )
            printed = f"{done.stdout.rstrip()}\n" if done.stdout else ""
            if pattern(expected).fullmatch(squeezed(printed)):
                break
            told = f"$ {command}\n{done.stdout}{done.stderr}\nwanted:\n" + "\n".join(expected)
            assert command.startswith(again), told
            assert time.monotonic() < until, told
            time.sleep(0.5)
