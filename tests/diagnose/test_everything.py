"""`remuda diagnose` without a word: on a host where Remuda runs, died, ended, or never ran."""

import json
import sqlite3
import tarfile
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.capacity.builders import decision, sized, write, written_node, written_policy, written_set
from tests.processes import Place, eventually, place, pool

from remuda.diagnose.everything import check_everything, check_runs
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.job import Job, Jobs
from remuda.ledger.store import FILE
from remuda.model.checks import CheckResult

#: no cluster is known, and nothing of the machine that the tests run on leaks in
ALONE = {"KUBECONFIG": "", "HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": "", "PROMETHEUS_URL": ""}


def diagnosed(where: Place, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    ran = where.cli("diagnose", "-o", "json", *words, env=ALONE)
    assert ran.out, ran.err
    findings = {item["check"]: item for item in json.loads(ran.out)["findings"]}
    assert ran.code == int(any(item["verdict"] == "problem" for item in findings.values()))
    return ran.code, findings


@pytest.fixture
def home() -> Iterator[Place]:
    with place() as made:
        made.write(pool(min=1, max=2, provider={"process": {}}))
        yield made


def says_no(session: Any, progress: Any) -> list[CheckResult]:
    raise Unavailable("the stable is closed")


def says_fine(session: Any, progress: Any) -> list[CheckResult]:
    progress("horses")
    return [CheckResult("horses", "ok", "all are well")]


def test_checks_come_from_every_job_and_one_that_cannot_be_made_hides_no_other() -> None:
    class Asked:
        jobs = Jobs(
            (
                Job("a", checkups=("tests.diagnose.test_everything:says_no",)),
                Job("b", checkups=("tests.diagnose.test_everything:says_fine",)),
            )
        )
        server = "unix:/nowhere"
        data_dir = Path("/nowhere")

        def now(self) -> int:
            return 0

    heard: list[str] = []
    found = [item for item in check_everything(Asked(), heard.append) if item.check in {"says-no", "horses"}]  # type: ignore[arg-type]
    assert [(item.check, item.verdict) for item in found] == [("says-no", "unknown"), ("horses", "ok")]
    assert found[0].evidence == ("the stable is closed",)
    assert "horses" in heard


def test_where_only_what_was_recorded_is_shown_there_is_nothing_to_diagnose() -> None:
    class Records:
        def get(self, path: str, kind: object) -> None:
            raise NotFound(f"there is no GET {path}")

    class Asked:
        server = "http://127.0.0.1:9"
        remuda = Records()

    with pytest.raises(BadInput, match=r"nothing runs at http://127\.0\.0\.1:9: .* diagnose on its host"):
        check_runs(Asked())  # type: ignore[arg-type]


@pytest.mark.slow
def test_where_nothing_ever_ran_nothing_is_wrong_and_nothing_is_made(home: Place) -> None:
    _, found = diagnosed(home)
    assert found["process"]["told"] == f"nothing has run with {home.data} yet"
    assert not home.data.exists()


@pytest.mark.slow
def test_what_runs_well_is_told_and_what_goes_wrong_is_found(home: Place) -> None:
    home.start()
    home.wait_idle(1)
    _, found = diagnosed(home)
    assert {found[name]["verdict"] for name in found if name not in {"limits", "separation"}} == {"ok"}
    assert {
        "store",
        "disk",
        "clock",
        "process",
        "ports",
        "loops",
        "separation",
        "limits",
        "pools",
        "queue",
    } <= found.keys()

    home.cli("loops", "pause", "pools")
    good = home.file.read_text()
    home.file.write_text(json.dumps(pool(min=7, max=2)))
    eventually(lambda: home.health("ready")[1].details.get("refused_reload"), "the reload is refused")
    code, found = diagnosed(home)
    assert code == 1
    assert found["loops"]["evidence"] == ["loop pools is paused and decides nothing"]
    assert found["loops"]["fix"] == ["remuda loops resume pools"]
    assert found["reload"]["verdict"] == "problem"
    home.file.write_text(good)

    home.kill()
    code, found = diagnosed(home)
    assert code == 1
    assert found["process"]["told"] == "remuda ended unexpectedly"
    assert "stays so at the next start" in found["loops"]["evidence"][0]

    home.start()
    home.cli("loops", "resume", "pools")
    home.stop()
    _, found = diagnosed(home)
    assert found["process"]["told"] == "no remuda runs; it ended in good order"
    assert found["loops"]["verdict"] == "ok"


@pytest.mark.slow
def test_a_store_of_a_newer_remuda_is_told_and_the_rest_is_checked(home: Place) -> None:
    home.start()
    home.stop()
    with sqlite3.connect(home.data / FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    code, found = diagnosed(home)
    assert code == 1
    assert "install the newer remuda that wrote it" in found["store"]["evidence"][0]
    assert found["disk"]["verdict"] == "ok"
    ran = home.cli("why", "shell", env=ALONE)
    assert ran.code == 2
    assert "install the newer remuda that wrote it" in ran.err


@pytest.mark.slow
def test_a_word_that_is_no_check_is_met_with_a_hint(home: Place) -> None:
    ran = home.cli("diagnose", "hots", env=ALONE)
    assert ran.code == 2
    assert "Did you mean 'host'?" in ran.err


SECRETS = {
    name: f"planted-{name}-4f9a"
    for name in (
        "file",
        "process",
        "caller",
        "address",
        "jobenv",
        "poolenv",
        "command",
        "annotation",
        "output",
        "scope",
        "runnerenv",
        "rollback",
        "node",
    )
}


def audit(home: Place) -> None:
    """Keep an audit of a world in which somebody wrote secrets where they do not belong."""
    scope: dict[str, Any] = {"githubConfigUrl": f"https://robot:{SECRETS['scope']}@github.com/acme"}
    runner = {"name": "runner", "env": [{"name": "A", "value": SECRETS["runnerenv"]}]}
    machine = written_node()
    machine["metadata"]["annotations"] = {"password": SECRETS["node"]}
    patch = {"spec": {"template": {"spec": {"containers": [{"env": {"A": SECRETS["rollback"]}}]}}}}
    site = {
        "node": "sting",
        "envelopes": ["vm"],
        "admitted": decision(),
        "rollbacks": [{"lane": "vm-test", "patch": patch}],
    }
    envelope = {"name": "vm", "requests": sized("2", "8Gi", "4Gi"), "limits": sized("8", "16Gi", "8Gi")}
    rules = written_policy(nodes={"primary": {"a": "b"}, "overflow": [site]}, envelopes=[envelope])
    world = write(
        home.home, written_set(pod={"containers": [runner]}, runnerScaleSetName="nix-kvm", **scope), machine
    )
    policy = write(home.home, rules, name="policy.json")
    ran = home.cli("capacity", "audit", "--from", str(world), "--policy", str(policy))
    assert ran.code == 1, ran.err


def planted_in(data: bytes) -> list[str]:
    return [name for name, value in SECRETS.items() if value.encode() in data]


def recorded(path: Path) -> bytes:
    """Everything that the ledger keeps, unpacked."""
    with sqlite3.connect(path) as db:
        parts = [
            value
            for table in ("cycles", "policies", "memories", "stories", "operations", "settings", "documents")
            for row in db.execute(f"SELECT * FROM {table}")
            for value in row
            if isinstance(value, bytes | str)
        ]
    db.close()
    plain = b""
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        try:
            plain += zlib.decompress(raw)
        except zlib.error:
            plain += raw
    return plain


@pytest.mark.slow
def test_no_secret_that_is_planted_anywhere_is_in_a_bundle_the_log_the_ledger_metrics_or_pages(
    home: Place,
) -> None:
    written = pool(min=1, max=2, provider={"process": {"env": {"DEPLOY": SECRETS["poolenv"]}}})
    written["metadata"]["annotations"] = {"repo": f"https://robot:{SECRETS['annotation']}@git.example/x"}
    home.write(written)
    home.start(
        "--web-port",
        "0",
        env={
            "DATABASE_PASSWORD": SECRETS["process"],
            "HTTPS_PROXY": f"http://u:{SECRETS['address']}@proxy.example",
        },
    )
    token = (home.data / "web-token").read_text().strip()
    secret = home.home / "token"
    secret.write_text(SECRETS["file"] + "\n")
    secret.chmod(0o644)
    ran = home.cli(
        "submit", "test/shell", "--wait", "--secret-env", f"TOKEN={secret}", "--env", f"K={SECRETS['jobenv']}",
        "--", "sh", "-c", f'echo "{SECRETS["output"]} $TOKEN"; : --password={SECRETS["command"]}; exit 3',
    )  # fmt: skip
    assert "***" in ran.out
    # Such words come back in messages: of a class that nobody serves, of a refused reload.
    home.file.write_text(json.dumps(pool(min=7, max=2)))
    eventually(lambda: home.health("ready")[1].details.get("refused_reload"), "the reload is refused")
    audit(home)
    bundle = home.home / "bundle.tar.gz"
    ran = home.cli("diagnose", "--bundle", str(bundle), env={**ALONE, "SOME_API_KEY": SECRETS["caller"]})
    assert ran.code in {0, 1}, ran.err
    assert bundle.stat().st_mode & 0o777 == 0o600
    assert planted_in((ran.out + ran.err).encode()) == []
    with tarfile.open(bundle) as archive:
        parts = {item.name.removeprefix("remuda-bundle/"): archive.extractfile(item) for item in archive}
        files = {name: part.read() for name, part in parts.items() if part is not None}
    assert {name: planted_in(data) for name, data in files.items() if planted_in(data)} == {}
    assert files.keys() >= {
        "about.json", "checks.json", "health.json", "store.json", "jobs.json", "decisions.json", "why-pool.json",
        "cycles-pools.json", "metrics.txt", "log.txt", "here.json",
    }  # fmt: skip
    assert b"remuda_loop_cycle_seconds" in files["metrics.txt"]
    assert b"remuda is up" in files["log.txt"]
    objects = json.loads(files["about.json"])["process"]["objects"]
    assert objects[0]["spec"]["provider"]["process"]["env"] == {"DEPLOY": "***"}
    assert json.loads(files["jobs.json"])["jobs"][0]["attempts"][0]["exit_code"] == 3

    ports = json.loads((home.data / "ports.json").read_bytes())
    with urllib.request.urlopen(f"http://127.0.0.1:{ports['health']}/ready", timeout=10) as page:
        ready = page.read()

    def shown(path: str) -> bytes:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{ports['web']}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked, timeout=10) as page:
            body: bytes = page.read()
            return body

    assert b"shell" in shown("/pools/shell")
    assert b"nix-kvm is not known: pods were not read" in shown("/capacity")
    pages = {
        **{path: shown(path) for path in ("/", "/pools", "/pools/shell", "/capacity")},
        "label": json.dumps(home.remuda.get("/v1/why/label/nix-kvm", dict)).encode(),
        "metrics": home.metrics().encode(),
        "ready": ready,
        "about": json.dumps(home.remuda.get("/v1/about", dict)["options"]).encode(),
        "why": json.dumps(home.remuda.get("/v1/why/pool/shell", dict)).encode(),
        "log": home.log.encode(),
        "ledger": recorded(home.data / FILE),
    }
    assert {name: planted_in(data) for name, data in pages.items() if planted_in(data)} == {}
    assert b"https://github.com/acme" in pages["ledger"], "what is no secret is kept"
    # What a job's owner wrote of it is on its own page, which only who holds the token sees; its secret is not.
    assert SECRETS["file"].encode() not in shown("/jobs") + shown("/jobs/1")
    assert [name for name, data in (*files.items(), *pages.items()) if token.encode() in data] == []


@pytest.mark.slow
def test_a_bundle_of_what_ended_says_what_could_not_be_had(home: Place) -> None:
    home.start()
    home.stop()
    bundle = home.home / "bundle.tar.gz"
    assert home.cli("diagnose", "--bundle", str(bundle), env=ALONE).code in {0, 1}
    with tarfile.open(bundle) as archive:
        names = {item.name.removeprefix("remuda-bundle/") for item in archive}
        metrics = archive.extractfile("remuda-bundle/metrics.txt")
        assert metrics is not None
        assert metrics.read() == b"not collected: no remuda runs\n"
    assert {"cycles-pools.json", "why-pool.json"} <= names


@pytest.mark.slow
def test_a_bundle_that_cannot_be_written_is_bad_input(home: Place) -> None:
    ran = home.cli("diagnose", "--bundle", str(home.home / "none" / "b.tar.gz"), env=ALONE)
    assert ran.code == 2
    assert "cannot be written: No such file or directory" in ran.err
    assert [item.name for item in home.home.iterdir()] == ["pools.yaml"]
