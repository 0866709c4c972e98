"""`remuda tiers plan --suppose`."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.tiers.clusters import named, pod
from tests.tiers.why import node

EXAMPLES = Path(__file__).parents[2] / "examples"
FROM = ("--from", EXAMPLES / "tiers-cluster.yaml", "--from", EXAMPLES / "tiers-summary.json")


def test_one_more_workload_that_fits(run: Run) -> None:
    ran = run("tiers", "plan", *FROM, "--suppose", "workload=home/wiki,cpu=250m,memory=256Mi")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == (
        "Deployment home/wiki (tier 4-aux): the quota admits 1 of 1 pods; requests.cpu of ResourceQuota home-quota: 7500m of 8 used,"
        " 250m a pod"
    )


def test_one_more_workload_that_does_not(run: Run) -> None:
    ran = run("tiers", "plan", *FROM, "--suppose", "workload=home/wiki,replicas=3,cpu=1,memory=6Gi")
    assert ran.code == 1
    assert "the quota admits 0 of 3 pods" in ran.out
    assert "at most 4Gi in tier 4-aux" in ran.out


def test_a_workload_that_no_node_takes(run: Run) -> None:
    words = (
        "namespace=lab,tier=2-gpu",
        "workload=lab/train,cpu=1,memory=2Gi,memory-limit=2Gi,gpu=1,tier=2-gpu",
    )
    ran = run("tiers", "plan", *FROM, *(each for word in words for each in ("--suppose", word)))
    assert ran.code == 1
    assert "Deployment lab/train: no node takes it: tower has the card" in ran.out
    assert "Namespace lab: tier none → 2-gpu" in ran.out


def test_another_policy_as_a_program_reads_it(run: Run) -> None:
    ran = run("tiers", "plan", *FROM, "--suppose", f"policy={EXAMPLES / 'tiers.yaml'}", "-o", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["moved"] == [{"namespace": "scratch", "before": "", "after": "4-aux"}]


def test_where_no_quota_bounds_and_nothing_moves(run: Run) -> None:
    ran = run("tiers", "plan", *FROM, "--suppose", "workload=scratch/x")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Deployment scratch/x (no tier): no quota bounds it")
    ran = run("tiers", "plan", *FROM, "--suppose", "namespace=home,tier=4-aux")
    assert ran.out.splitlines()[0] == "no namespace changes its tier"


def test_who_would_be_evicted_first_is_shown_where_it_changes(run: Run, tmp_path: Path) -> None:
    items = [
        named("Namespace", name, labels={"tier": tier}) for name, tier in (("a", "4-aux"), ("b", "3-edge"))
    ]
    items += [pod("web", name, spec={"nodeName": "n1"}) for name in "ab"]
    items += [
        named(
            "PodMetrics",
            "web",
            name,
            "metrics.k8s.io/v1beta1",
            containers=[{"name": "app", "usage": {"memory": "1Gi"}}],
        )
        for name in "ab"
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, node()]}))
    ran = run("tiers", "plan", "--from", file, "--suppose", "namespace=a,tier=0-core")
    assert ran.code == 0
    assert "First to be evicted\nNODE   NOW     THEN\nn1     a/web   b/web" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing is supposed"),
        (("foo",), "--suppose foo: write policy=FILE"),
        (("namespace=home,tier=gold",), "there is no tier gold: there are 0-core"),
        (("namespace=home,tier=",), "write policy=FILE"),
        (("workload=home",), "a workload is NAMESPACE/NAME"),
        (("workload=home/photos",), "home/photos is there already"),
        (("workload=lab/x",), "there is no namespace lab"),
        (("workload=home/x,cpu=much",), "is not a quantity"),
        (("workload=home/x,replicas=0",), "replicas is '0'"),
        (("workload=home/x,replicas=many",), "replicas is 'many'"),
        (("workload=home/x,colour=red",), "write policy=FILE"),
        (("policy=absent.yaml",), "absent.yaml"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("tiers", "plan", *FROM, *(each for word in words for each in ("--suppose", word)))
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_everything_wrong_is_said_at_once(run: Run) -> None:
    ran = run(
        "tiers",
        "plan",
        *FROM,
        "--suppose",
        "foo",
        "--suppose",
        "workload=x",
        "--suppose",
        "namespace=a,tier=b",
    )
    assert sum(line.startswith("--suppose") for line in ran.err.splitlines()) == 3
