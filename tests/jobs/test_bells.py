"""A job is a package and a line: bells run in `up`, on files and in a cluster, and nothing else knows of them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.jobs.bells import BELL, WITH_BELLS
from tests.servers.cluster import Cluster
from tests.test_cluster import Replica, define, until

from remuda.control.client import Remuda
from remuda.objects.crds import crd_of

PROGRAM = ("-m", "tests.jobs.bells")
ROOT = Path(__file__).parents[2]
API = "/apis/remuda.dev/v1alpha1/namespaces"

pytestmark = pytest.mark.slow


def bell(name: str, rings: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "Bell",
        "metadata": {"name": name},
        "spec": {"rings": rings, **spec},
    }


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *PROGRAM, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bells.yaml"
    path.write_text(yaml.safe_dump(bell("big", 3)))
    return path


@pytest.fixture
def running(file: Path, tmp_path: Path) -> Iterator[Path]:
    """The data directory of bells that run."""
    data = tmp_path / "d"
    command = [
        sys.executable,
        *PROGRAM,
        "up",
        file,
        "--data-dir",
        data,
        "--health-port",
        "0",
        "--live-port",
        "0",
    ]
    command += ["--interval", "0.1"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, cwd=ROOT)
    try:
        until((data / "ports.json").exists, "it is up")
        yield data
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def rung(data: Path, name: str) -> int:
    path = data / "bells" / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_it_runs_on_files_is_asked_why_and_follows_a_change(running: Path, file: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung as often as it should be")
    remuda = Remuda(running, None, WITH_BELLS.views)
    until(
        lambda: remuda.get("/v1/why/bell/big", dict)["headline"] == "big was rung 3 times",
        "the cycle that saw it is recorded",
    )
    assert remuda.post("/v1/bells/big/ring", None, dict) == {"bell": "big"}
    file.write_text(yaml.safe_dump(bell("big", 3)) + "---\n" + yaml.safe_dump(bell("small", 2)))
    until(lambda: rung(running, "small") == 2, "a changed file is followed")
    assert rung(running, "big") == 4
    listed = json.loads(run("loops", "list", "-o", "json", "--data-dir", running).stdout)
    assert [loop["name"] for loop in listed["loops"]] == ["bells"]


def test_its_pages_are_in_the_dashboard_and_why_answers_there(running: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung")
    link = run("web", "--data-dir", running).stdout.strip()
    where, _, token = link.partition("/?token=")

    def page(path: str) -> str:
        asked = urllib.request.Request(where + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return str(answer.read().decode())

    until(lambda: "<li>big</li>" in page("/bells"), "its page shows it")
    now = page("/")
    assert "1 bells hang" in now
    assert '<a href="/bells">Bells</a>' in now
    assert "Pools" not in now, "there are no facts about pools here"
    assert "big was rung 3 times" in page("/why?kind=bell&name=big")


def test_its_history_is_kept_and_shown_when_nothing_runs(running: Path, file: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung")
    until(
        lambda: run("why", "bell", "big", "--data-dir", running, "-q").stdout == "big was rung 3 times\n",
        "the command tells why",
    )


def test_its_subjects_are_found_by_their_name_alone(running: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung")
    until(
        lambda: run("why", "big", "--data-dir", running, "-q").stdout == "big was rung 3 times\n",
        "the kind is found",
    )
    ran = run("why", "bigg", "--data-dir", running)
    assert ran.returncode == 2
    assert ran.stderr == "remuda: nothing is called 'bigg'; did you mean remuda why bell big?\n"


def test_its_checks_are_among_those_of_a_diagnosis_without_a_word(running: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung")
    ran = run("diagnose", "--data-dir", running, "-o", "json")
    found = {item["check"]: item["told"] for item in json.loads(ran.stdout)["findings"]}
    assert found["bells"] == "1 bells hang"
    assert "bells" in found["loops"]


def test_its_part_is_on_the_page_of_a_report(running: Path, tmp_path: Path) -> None:
    until(lambda: rung(running, "big") == 3, "it is rung")
    ran = run("report", "--since", "1h", "--data-dir", running, "--html", tmp_path / "report.html")
    assert ran.returncode == 0, ran.stderr
    html = re.sub(r">\s+<", "><", (tmp_path / "report.html").read_text())
    assert "<h2>Bells</h2><p>1 bells hang.</p>" in html


def test_a_dry_run_of_it_rings_nothing(file: Path, tmp_path: Path) -> None:
    ran = run("up", file, "--data-dir", tmp_path / "d", "--dry-run", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    plan = json.loads(ran.stdout)
    assert [action["target"] for action in plan["actions"]] == ["big"]
    assert rung(tmp_path / "d", "big") == 0


def test_its_objects_are_checked_explained_and_defined(file: Path) -> None:
    file.write_text(yaml.safe_dump(bell("big", 3, after="none")))
    ran = run("validate", file)
    assert ran.returncode == 2
    assert "there is no Bell none" in ran.stderr
    assert "How often it is to be rung." in run("explain", "Bell.spec.rings").stdout
    crds = [item["metadata"]["name"] for item in yaml.safe_load_all(run("crds").stdout)]
    assert "bells.remuda.dev" in crds
    rules = yaml.safe_load(run("rbac", "up").stdout)["rules"]
    assert "bells" in [name for rule in rules for name in rule["resources"]]


def test_its_permissions_are_enough_and_its_status_is_written_on_a_real_server(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    define(cluster)
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(crd_of(BELL)))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/bells.remuda.dev")
    path = f"{API}/{namespace}/bells"
    until(lambda: cluster.request("POST", path, bell("big", 2)).status in {201, 409}, "it is made")
    assert cluster.request("POST", path, bell("lost", 1, after="none")).status == 201
    replica = Replica(cluster, namespace, tmp_path, "one", (*PROGRAM, "up", "--cluster"))
    try:

        def status(name: str) -> dict[str, Any]:
            found: dict[str, Any] = cluster.request("GET", f"{path}/{name}").json().get("status", {})
            return found

        until(lambda: status("big").get("rung") == 2, "its status counts")
        conditions = {item["type"]: item for item in status("big")["conditions"]}
        assert {name: item["status"] for name, item in conditions.items()} == {
            "Accepted": "True",
            "Done": "True",
        }
        assert conditions["Done"]["message"] == "big was rung 2 times"
        lost = until(lambda: status("lost").get("conditions"), "the other is refused")
        assert (lost[0]["type"], lost[0]["status"]) == ("Accepted", "False")
        assert "there is no Bell none" in lost[0]["message"]
        assert rung(replica.data, "lost") == 0
    finally:
        replica.stop()
        replica.end()


IMPORTS = """
import asyncio, sys
from remuda.cli import main
try: main(sys.argv[1:])
finally: print(*sorted(name for name in sys.modules if name.startswith("remuda.")), file=sys.stderr)
"""


def test_up_with_pools_alone_imports_nothing_of_other_jobs(tmp_path: Path) -> None:
    example = ROOT / "examples" / "laptop.yaml"
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS, "up", example, "--dry-run", "--data-dir", tmp_path / "d"],
        capture_output=True, text=True, check=True, timeout=120, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    imported = ran.stderr.split()
    others = {job.name for job in WITH_BELLS if job.runtime is None and job.name != "queue"}
    assert {"fleet", "capacity", "rightsize", "diagnose"} <= others
    strays = [
        name
        for name in imported
        if name.split(".")[1] in others
        and name not in {f"remuda.{job}" for job in others} | {f"remuda.{job}.job" for job in others}
    ]
    assert strays == []
    assert "remuda.pools.decide" in imported
