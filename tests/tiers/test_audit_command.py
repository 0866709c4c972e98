"""`remuda tiers audit` from files, what it keeps, and the page and the diagnosis that show it."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from msgspec.structs import replace
from tests.processes import Ran
from tests.tiers.clusters import NOW, audited, governed, named, node, tiered
from tests.web.clock import SetClock

from remuda.cli.tree import main
from remuda.control.command import Session
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound
from remuda.jobs import JOBS
from remuda.ledger import documents
from remuda.ledger.store import FILE, InlineStore, SqliteStore
from remuda.model.times import DAY
from remuda.tiers import kept
from remuda.tiers.checkup import check_tiers
from remuda.tiers.decide.audit import Audit
from remuda.tiers.pages import tiers_page
from remuda.tiers.routes import VIEWS
from remuda.web.access import Person
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment
from remuda.web.page import Content, Role

DATA = Path(__file__).parents[1] / "data"
GIVEN = ("--from", str(DATA / "tiers-cluster.yaml"), "--policy", str(DATA / "tiers-policy.yaml"))
Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))

    def call(*words: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["tiers", "audit", *words])
        out, err = capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return call


def test_a_table_has_namespaces_by_tier_nodes_and_findings_by_cause(run: Run) -> None:
    ran = run(*GIVEN)
    assert (ran.code, ran.err) == (1, "")
    assert "13 errors" in ran.out
    assert re.search(r"shop +3-edge +label +3 +48\.32 / 16 +30\.00 / 31\.00 +12 / 30 +3 Burstable", ran.out)
    assert re.search(r"claimed +- +two-policies", ran.out)
    assert re.search(r"n1 +10 +8\.00 +12\.00 +12\.00 +150 +1 +cluster/wide-1", ran.out)
    assert "Order of eviction" not in ran.out
    assert ran.out.count("object-of-another") == 1, "each cause once"


def test_a_node_that_is_asked_for_shows_the_whole_order_of_eviction(run: Run) -> None:
    ran = run(*GIVEN, "--node", "n1")
    assert re.search(r"7 +shop/web-3 +3-edge +900000 +\? +2Gi +not measured +Burstable", ran.out)
    assert re.search(r"8 +shop/web-2 +3-edge +300000 +2\.44Gi +2Gi +452Mi +Burstable", ran.out)
    assert re.search(r"9 +shop/web-1 +3-edge +0 +1Gi +2Gi +within +Burstable", ran.out)
    wrong = run(*GIVEN, "--node", "n2")
    assert (wrong.code, wrong.err) == (2, "remuda: --node n2: there is no such node; there is: gpu-1, n1\n")
    assert "did you mean gpu-1?" in run(*GIVEN, "--node", "gpu-2").err


def test_json_yaml_and_the_schema_agree(run: Run) -> None:
    made = json.loads(run(*GIVEN, "-o", "json").out)
    schema = json.loads(run("--schema", "-o", "json").out)
    jsonschema.Draft202012Validator(schema).validate(made)
    written = yaml.safe_load(run(*GIVEN, "-o", "yaml").out)
    assert {**made, "at": ""} == {**written, "at": ""}
    assert made["schema"] == "remuda.dev/tiers-audit/v1"
    assert made["policies"] == ["default", "other"]
    assert [row["tier"] for row in made["namespaces"]][:3] == ["0-core", "1-cluster", "2-gpu"]
    (first,) = [row for row in made["nodes"] if row["name"] == "n1"]
    assert first["eviction"][7] == {
        "pod": "shop/web-2", "tier": "3-edge", "priority": 300000, "priorityClass": "tier-3-edge", "qos": "Burstable",
        "usedBytes": 2500 * 2**20, "requestBytes": 2 * 2**30, "aboveBytes": 452 * 2**20,
    }  # fmt: skip
    assert json.loads(run("--schema").out) == schema


def test_markdown_has_every_finding_and_csv_the_namespaces(run: Run) -> None:
    page = run(*GIVEN, "-o", "markdown").out
    assert page.startswith("# Tiers\n")
    assert page.count("| error |") == 13
    lines = run(*GIVEN, "-o", "csv").out.splitlines()
    assert lines[0].startswith("NAMESPACE,TIER,BY")
    assert len(lines) == 12


def write(tmp_path: Path, *items: dict[str, Any]) -> str:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.mark.parametrize(("severity", "code"), [("error", 0), ("warning", 0), ("info", 1)])
def test_how_severe_a_finding_must_be_to_fail(run: Run, tmp_path: Path, severity: str, code: int) -> None:
    file = write(tmp_path, named("Namespace", "plain"), node(), tiered("x"))
    assert run("--from", file, "--fail-on", severity).code == code


def test_without_measurements_it_says_that_priority_alone_counts(run: Run, tmp_path: Path) -> None:
    ran = run("--from", write(tmp_path, node(), tiered("x")))
    assert (
        "so the order of eviction is by priority alone: no file holds any: add what `kubectl get podmetrics -A"
        in ran.out
    )
    assert "namespaces were not read: which namespace has which tier is not known" in ran.out
    assert ran.code == 1, "namespaces that were not read are an error"
    assert "this audit is not kept: namespaces were not read" in ran.err


def test_files_that_are_wrong_are_bad_input_with_every_problem(run: Run, tmp_path: Path) -> None:
    bad = [tiered(name, spec={"overhead": {"cpu": "x"}}) for name in ("a", "b")]
    ran = run("--from", write(tmp_path, *bad))
    assert (ran.code, ran.out) == (2, "")
    assert "Pod shop/a: spec.overhead.cpu" in ran.err
    assert "Pod shop/b: spec.overhead.cpu" in ran.err


def test_an_audit_is_kept_unless_nobody_wants_it(run: Run, tmp_path: Path) -> None:
    run(*GIVEN, "--no-keep")
    assert not (tmp_path / "data").exists()
    run(*GIVEN)
    with documents.documents(tmp_path / "data") as db:
        (item,) = documents.kept_of_family(db, "tiers")
    assert item.kind == f"tiers/{DATA / 'tiers-cluster.yaml'}"


# what is kept


def small(tmp_path: Path, source: str = "cluster", used: str = "31") -> Audit:
    made = audited(
        tmp_path, *governed("shop", used={"pods": used}), named("Namespace", "plain"), tiered("web")
    )
    return replace(made, snapshot=replace(made.snapshot, source=source))


def test_what_cannot_be_kept_is_said_and_no_error(tmp_path: Path) -> None:
    assert "at most 10 are kept" in kept.keep(tmp_path / "d", small(tmp_path), NOW, 10)
    (tmp_path / "file").write_text("")
    assert "cannot be used" in kept.keep(tmp_path / "file" / "d", small(tmp_path), NOW)


class Page:
    """What the page of a data directory shows."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def content(self, **query: str) -> Content:
        store = SqliteStore(self.home / FILE)
        try:
            return asyncio.run(tiers_page(AskRoutes(VIEWS, store, SetClock()), Call({}, query)))
        finally:
            store.close()

    def html(self, **query: str) -> str:
        content = self.content(**query)
        frame = {"person": Person("ada", Role.READ), "menu": (), "version": "1", "now": 0, "may_write": False}
        template = environment(["remuda.tiers"]).get_template(content.template)
        return re.sub(r"\s+", " ", template.render({**frame, "title": content.title, **content.values}))


def test_the_page_without_an_audit_names_the_command(tmp_path: Path) -> None:
    store = InlineStore()
    content = asyncio.run(tiers_page(AskRoutes(VIEWS, store, SetClock()), Call({}, {})))
    assert content.values["chosen"] is None
    store.close()
    documents.keep(tmp_path, "rightsize/x", NOW, {})
    assert "<code>remuda tiers audit</code> makes one" in Page(tmp_path).html()


def test_the_page_shows_quotas_as_bars_with_words_an_order_of_eviction_and_findings_by_cause(
    tmp_path: Path,
) -> None:
    assert kept.keep(tmp_path / "d", small(tmp_path), NOW) == ""
    html = Page(tmp_path / "d").html()
    assert "1 error, 0 warnings" in html
    assert 'aria-label="shop pods: 31 of 30"' in html
    assert 'class="p-over"' in html
    assert 'aria-label="shop requests.memory: 0 of 32Gi"' in html
    assert "Order of eviction on n1" in html
    assert '<th scope="row">shop/web</th><td>3-edge</td>' in html
    assert "More is used than the quota allows" in html
    assert "No tier <small>1 namespace" in html
    assert "<style" not in html
    assert " style=" not in html, "the policy of the page allows none"


def test_another_audit_and_another_node_are_chosen(tmp_path: Path) -> None:
    home = tmp_path / "d"
    kept.keep(home, small(tmp_path), NOW)
    kept.keep(home, small(tmp_path, "other", "1"), NOW + DAY)
    page = Page(home)
    newest, older = page.content().values["audits"]
    assert (newest.source, older.source) == ("other", "cluster")
    assert page.content(audit=str(older.id)).values["chosen"] == older
    assert page.content(node="n1").values["shown"].node == "n1"
    assert 'aria-current="true">other</a>' in page.html()
    with pytest.raises(NotFound, match='knows no node "n2"; there is: n1'):
        page.content(node="n2")
    with pytest.raises(NotFound, match="no audit 99 is kept"):
        page.content(audit="99")
    with pytest.raises(BadInput, match="wants the number"):
        page.content(audit="x")


def test_an_audit_of_another_version_says_so(tmp_path: Path) -> None:
    documents.keep(tmp_path, "tiers/cluster", NOW, {"schema": "remuda.dev/tiers-kept/v9"})
    assert "this remuda reads remuda.dev/tiers-kept/v1: audit again" in Page(tmp_path).html()


def test_the_page_of_a_whole_cluster_can_be_drawn(run: Run, tmp_path: Path) -> None:
    run(*GIVEN)
    html = Page(tmp_path / "data").html()
    assert "two-policies" in html
    assert "Nothing there is ever evicted" not in html
    assert "Nothing there is ever evicted" in Page(tmp_path / "data").html(node="gpu-1")


# the diagnosis


def checked(home: Path) -> list[Any]:
    session = Session(JOBS)
    session.data_dir = home
    return list(check_tiers(session, lambda _: None))


def test_the_diagnosis_says_what_the_last_audit_found(tmp_path: Path) -> None:
    assert checked(tmp_path / "none") == []
    home = tmp_path / "d"
    now = Session(JOBS).now()
    kept.keep(home, small(tmp_path), now)
    (found,) = checked(home)
    assert (found.check, found.verdict, found.message) == (
        "tiers",
        "problem",
        "the last audit of tiers found errors",
    )
    assert "quota-exceeded: ResourceQuota shop/shop-quota: 31, 103 %" in found.evidence
    kept.keep(home, small(tmp_path, used="1"), now + 1)
    (fine,) = checked(home)
    assert fine.verdict == "ok"
