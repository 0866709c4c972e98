"""`remuda why pod|namespace|node` on files, in every form, beside a kept review of sizes."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Run
from tests.rightsize.report.reviews import AT, sample_review

from remuda.control.routes import Call
from remuda.errors import NotFound
from remuda.ledger import documents
from remuda.rightsize.report.kept import keep
from remuda.rightsize.review import ContainerReview, Review
from remuda.rightsize.snapshot import Ask, Size
from remuda.tiers.advice import advices
from remuda.tiers.decide.why_memory import Advice
from remuda.tiers.routes import VIEWS
from remuda.web.why import Answer

EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTER, SUMMARY = EXAMPLES / "tiers-cluster.yaml", EXAMPLES / "tiers-summary.json"
GI = 2**30


def review_of(limit: int, risk: str = "", at: int = AT, source: str = str(CLUSTER)) -> Review:
    """A review of StatefulSet home/notes that advises a memory limit."""
    base = sample_review()
    one: ContainerReview = msgspec.structs.replace(
        base.workloads[0].containers[0], name="app", recommended=Size(limits=Ask(None, limit)), risk=risk
    )
    workload = msgspec.structs.replace(
        base.workloads[0], namespace="home", kind="StatefulSet", name="notes", containers=(one,)
    )
    return msgspec.structs.replace(base, at=at, source=source, workloads=(workload,), findings=())


def test_an_answer_has_its_cause_first_and_the_fix_last(run: Run) -> None:
    ran = run("why", "pod", "home/photos", "--from", CLUSTER)
    assert ran.code == 0
    first, *rest = ran.out.splitlines()
    assert first.startswith(
        "Deployment home/photos: requests.cpu: 7500m of 8 used, 1 asked for, 500m too much"
    )
    assert first.endswith(str(CLUSTER))
    assert [line.split()[0] for line in rest] == ["expected", "fix"]


def test_a_program_gets_rules_and_sentences(run: Run) -> None:
    answer = json.loads(run("why", "node", "shelf", "--from", CLUSTER, "--from", SUMMARY, "-o", "json").out)
    assert (answer["subject"], answer["code"]) == ("node/shelf", "tiers.node-beyond-pods")
    assert answer["causes"][0]["severity"] == "error"
    assert answer["causes"][0]["fix"].startswith("look at runtime")
    assert answer["steps"]


def test_markdown_is_a_table_of_causes(run: Run) -> None:
    text = run("why", "namespace", "home", "--from", CLUSTER, "-o", "markdown").out
    assert text.startswith("**Namespace home: tier 4-aux of TierPolicy default: its label tier is 4-aux**")
    assert "| info | namespace-headroom | pods: 4 of 20 used" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pod", "home/nots-0"), "did you mean home/notes-0?"),
        (("pod", "notes-0"), "write NAMESPACE/NAME"),
        (("pod", "a/b/c"), "write NAMESPACE/NAME"),
        (("namespace", "hom"), "did you mean home?"),
        (("node", "shelv"), "did you mean shelf?"),
        (("node", "another"), 'there is no node "another" in '),
        (("node", "shelf", "--context", "x"), "leave one of them out"),
        (("node", "shelf", "--policy", "absent.yaml"), "absent.yaml"),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_nearest(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    ran = run("why", *words, "--from", CLUSTER)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_policy_of_a_file_is_judged_by(run: Run) -> None:
    ran = run("why", "namespace", "scratch", "--from", CLUSTER, "--policy", EXAMPLES / "tiers.yaml")
    assert ran.out.startswith(
        "Namespace scratch: tier 4-aux of TierPolicy homelab: it says none, and 4-aux is the defaultTier"
    )


def test_a_pod_of_which_nothing_is_wrong_says_that_it_runs(run: Run) -> None:
    out = run("why", "pod", "0-core-dns/resolver", "--from", CLUSTER).out
    assert out.startswith("0-core-dns/resolver: nothing keeps its pods from running")
    out = run("why", "pod", "0-core-dns/resolver-7d9c-x2x7p", "--from", CLUSTER).out
    assert "it runs on shelf, Burstable, priority 900000, tier 0-core" in out


@pytest.mark.parametrize(
    ("limit", "risk", "rule"),
    [
        (6 * GI, "", "pod-oom-below-advice"),
        (2 * GI, "leak", "pod-oom-leak"),
        (2 * GI, "", "pod-oom-on-default"),
    ],
)
def test_a_kill_is_told_beside_what_the_kept_review_says(
    run: Run, tmp_path: Path, limit: int, risk: str, rule: str
) -> None:
    assert keep(tmp_path / "data", review_of(limit, risk)) == ""
    answer = json.loads(run("why", "pod", "home/notes-0", "--from", CLUSTER, "-o", "json").out)
    assert answer["causes"][0]["rule"] == rule


def test_the_newest_review_of_the_same_source_counts(tmp_path: Path) -> None:
    for review in (review_of(1, at=AT), review_of(2, at=AT + 1), review_of(3, at=AT + 2, source="other")):
        assert keep(tmp_path, review) == ""
    key = ("home", "StatefulSet", "notes", "app")
    assert advices(tmp_path, str(CLUSTER)) == {key: Advice(AT + 1, 2)}
    assert advices(tmp_path, "a third") == {}
    assert advices(tmp_path / "absent", "") == {}


def test_the_one_source_that_there_is_counts_for_files_of_another_name(tmp_path: Path) -> None:
    assert keep(tmp_path, review_of(7, "leak")) == ""
    assert list(advices(tmp_path, "cluster.json").values()) == [Advice(AT, 7, leaks=True)]


def test_a_store_that_cannot_be_read_costs_nobody_the_answer(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    (place / "remuda.db").write_bytes(b"no database at all, and longer than a header would be" * 10)
    assert run("why", "pod", "home/notes-0", "--from", CLUSTER).code == 0


def kept_answer(run: Run, tmp_path: Path, kind: str, name: str) -> Path:
    """A store in which an answer is kept: a review made the store, a question makes none."""
    assert keep(tmp_path / "data", review_of(1)) == ""
    assert run("why", kind, name, "--from", CLUSTER, "--from", SUMMARY).code == 0
    return tmp_path / "data"


@pytest.mark.parametrize(("kind", "name"), [("pod", "home/photos"), ("namespace", "home"), ("node", "shelf")])
def test_the_page_why_says_what_the_command_said(run: Run, tmp_path: Path, kind: str, name: str) -> None:
    home = kept_answer(run, tmp_path, kind, name)
    printed = json.loads(run("why", kind, name, "--from", CLUSTER, "--from", SUMMARY, "-o", "json").out)
    view = next(route for route in VIEWS if route.path == f"/v1/why/{kind}/{{{kind}}}").view
    assert view is not None
    with documents.documents(home) as db:
        answer = view(db, Call({kind: name}, {}))
        with pytest.raises(NotFound, match=rf"nobody has asked about {kind} .* did you mean {name}\?"):
            view(db, Call({kind: f"{name}x"}, {}))
        with pytest.raises(NotFound, match=f"ask with remuda why {kind} {name}"):
            view(db, Call({kind: name}, {"at": "1"}))
    assert (answer.headline, answer.code) == (printed["headline"], printed["code"])
    assert [each.text for each in answer.steps] == [each["text"] for each in printed["steps"]]
    page = msgspec.convert(answer, Answer, from_attributes=True)
    assert (page.headline, page.steps) == (answer.headline, answer.steps)


def test_a_name_that_was_asked_about_needs_no_kind(run: Run, tmp_path: Path) -> None:
    kept_answer(run, tmp_path, "node", "shelf")
    assert "did you mean remuda why node shelf?" in run("why", "shelv").err


def test_a_question_makes_no_store(run: Run, tmp_path: Path) -> None:
    assert run("why", "node", "shelf", "--from", CLUSTER).code == 0
    assert not (tmp_path / "data").exists()
