"""
What docs/guides/kubernetes.md says to type is typed, against a real server.

No kubelet runs there, so Remuda is started beside it once it is installed, and what is executed in the pod is executed
there. Building the image is left out.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.charts.rendering import DEADLINE_S, ROOT
from tests.docs.test_examples import pattern, squeezed
from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.servers.fixtures import NewCluster, Programs

PAGE = (ROOT / "docs" / "guides" / "kubernetes.md").read_text(encoding="utf-8")
#: what removes everything comes late, and the other way to install last of all
ORDER = ["Install", "Values", "Security", "Upgrade", "Uninstall", "Why `charts/package`"]
KUBECTL = """#!/bin/sh
case "$*" in
  "-n ci exec pod/remuda-0 -- "*) shift 5; exec "$@" ;;
esac
exec "{real}" "$@"
"""


def sections() -> dict[str, str]:
    return dict(re.findall(r"^##+ (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def steps(text: str) -> Iterator[tuple[str, list[str] | None]]:
    """Commands of a section, in blocks and in sentences, each with the lines it should print where the page says."""
    found = re.compile(
        r"```sh\n(.*?)```|```console\n(.*?)```|`((?:remuda [^`|]+ \| )?(?:kubectl|helm) \S+ [^`]+)`",
        re.DOTALL,
    )
    for block, session, sentence in found.findall(text):
        for line in [*block.splitlines(), " ".join(sentence.split())]:
            if line and not line.startswith("podman "):
                yield line, None
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            yield command, expected


def test_every_command_of_the_page_is_in_a_section_that_is_tried() -> None:
    assert {name for name, text in sections().items() if list(steps(text))} == set(ORDER)


class Shell:
    """A user with helm, kubectl and remuda, in a clone."""

    def __init__(self, cluster: Cluster, programs: Programs, home: Path) -> None:
        self.home = home
        for name in ("charts", "deploy", "examples"):
            shutil.copytree(ROOT / name, home / name)
        tools = home / "bin"
        tools.mkdir()
        (tools / "helm").symlink_to(programs("helm")["helm"])
        (tools / "kubectl").write_text(KUBECTL.format(real=programs("kubectl")["kubectl"]))
        (tools / "kubectl").chmod(0o755)
        self.environ = {
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "KUBECONFIG": str(cluster.kubeconfig()),
            "REMUDA_DATA_DIR": str(home / "data"),
        }

    def type(self, command: str, expected: list[str] | None) -> None:
        """Type it; a question may be asked again until the world has settled."""
        until = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=self.home,
                env=self.environ,
                capture_output=True,
                text=True,
                check=False,
                timeout=DEADLINE_S,
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            if expected is None or pattern(expected).fullmatch(squeezed(f"{done.stdout.rstrip()}\n")):
                return
            assert time.monotonic() < until, f"$ {command}\n{done.stdout}\nwanted:\n" + "\n".join(expected)
            time.sleep(0.2)

    @contextmanager
    def pod(self) -> Iterator[None]:
        """Remuda, as if a kubelet ran it; nothing of it is left afterwards."""
        environ = self.environ | {"POD_NAME": "remuda-0", "POD_NAMESPACE": "ci"}
        words = ["up", "--cluster", "--health-port=0", "--live-port=0", "--interval=0.2"]
        with (self.home / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "remuda", *words], env=environ, stdout=log, stderr=log
            )
        try:
            eventually(lambda: (self.home / "data" / "ports.json").exists() or process.poll(), "remuda is up")
            assert process.poll() is None, (self.home / "log").read_text()
            yield
            self.type("kubectl -n ci delete runnerpools --all", None)
            eventually(lambda: not list((self.home / "data" / "machines").iterdir()), "no machine is left")
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


@pytest.mark.slow
def test_what_the_page_says_to_type_works(
    new_cluster: NewCluster, programs: Programs, tmp_path: Path
) -> None:
    shell = Shell(new_cluster(), programs, tmp_path)
    found = sections()
    install = list(steps(found["Install"]))
    for command, expected in install:
        if expected is None:
            shell.type(command, None)
    with shell.pod():
        asked = [step for step in install if step[1] is not None]
        for command, expected in [*asked, *(step for name in ORDER[1:4] for step in steps(found[name]))]:
            shell.type(command, expected)
    for name in ORDER[4:]:
        for command, expected in steps(found[name]):
            shell.type(command, expected)
