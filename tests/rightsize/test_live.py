"""A whole review, as a team does it: a real cluster, a real Prometheus, patches that are applied, and the review after that."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import Ran
from tests.rightsize.observe.clusters import container, template, workload
from tests.rightsize.observe.history.cadvisor import Scraped, lines
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Programs, new_namespace
from tests.servers.prometheus import NAMES, PrometheusServer

from remuda.cli.tree import main
from remuda.rightsize.observe.history.promql import CPU, MEMORY
from remuda.rightsize.report.kept import newest_of_each

pytestmark = pytest.mark.slow

MIB = 2**20
PODS = ("web-5d4f8b7c9d-bcdfg", "web-5d4f8b7c9d-hjklm")
Run = Callable[..., Ran]


class Shop:
    """A namespace with workloads, and a Prometheus that measured them for two days."""

    def __init__(self, cluster: Cluster, namespace: str, url: str) -> None:
        self.cluster, self.namespace, self.url = cluster, namespace, url

    def resources(self, kind: str, name: str) -> dict[str, Any]:
        found = self.cluster.kubectl("get", kind, name, "-n", self.namespace, "-o", "json")
        spec = json.loads(found)["spec"]["template"]["spec"]
        return {each["name"]: each["resources"] for each in spec["containers"]}


def series(namespace: str, now: int) -> Iterator[Scraped]:
    """From before two days ago until after the tests, however long they take."""
    since = now - 2 * 86_400
    for pod in PODS:
        yield Scraped(
            CPU,
            namespace,
            pod,
            "web",
            lambda at: (at - since + 9_000) * 0.2,
            since - 3600,
            now + 3600,
            interval=60,
        )
        yield Scraped(
            MEMORY,
            namespace,
            pod,
            "web",
            lambda at: 300.0 * MIB + at % 7,
            since - 3600,
            now + 3600,
            interval=60,
        )


@pytest.fixture(scope="module")
def shop(cluster: Cluster, programs: Programs) -> Iterator[Shop]:
    with new_namespace(cluster) as namespace:
        web = container(
            "web",
            resources={
                "requests": {"cpu": "2", "memory": "2Gi"},
                "limits": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "0"},
            },
        )
        idle = container("idle")
        for item in (
            workload(name="web", template=template(web), replicas=2),
            workload(name="idle", template=template(idle)),
        ):
            item["metadata"]["namespace"] = namespace
            cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(item))
        with PrometheusServer(
            programs(*NAMES), samples=lines(series(namespace, int(time.time()) // 60 * 60))
        ) as prometheus:
            yield Shop(cluster, namespace, prometheus.url)


@pytest.fixture
def run(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.setenv("KUBECONFIG", str(shop.cluster.kubeconfig()))
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))

    def call(*words: str | Path) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call


def review(shop: Shop, run: Run, *words: str | Path) -> Ran:
    return run(
        "rightsize",
        "review",
        "--prometheus",
        shop.url,
        "--namespace",
        shop.namespace,
        "--history",
        "2d",
        *words,
    )


def web_of(ran: Ran) -> Any:
    return next(item for item in json.loads(ran.out)["workloads"] if item["name"] == "web")["containers"][0]


def test_a_review_is_patched_applied_and_reviewed_again(shop: Shop, run: Run, tmp_path: Path) -> None:
    first = review(shop, run, "-o", "json")
    web = web_of(first)
    evidence, recommended = web["evidence"], web["recommended"]
    # a sample a minute of both pods, but for the minutes that went by since
    assert 2 * 2700 < evidence["memorySamples"] <= 2 * 2881
    assert 2 * 2700 < evidence["cpuSamples"] <= 2 * 2881
    assert evidence["replicas"] == 2
    assert 200 <= evidence["cpuPeak"] <= 201
    assert 300 * MIB <= evidence["memoryPeak"] < 301 * MIB
    assert recommended["limits"]["cpu_millicores"] is None
    assert recommended["limits"]["memory_bytes"] % (16 * MIB) == 0
    # without a tier the request is the target, in whole mebibytes, and the limit what is recommended
    target = web["evidence"]["estimate"]["target"]["memory_bytes"]
    assert recommended["requests"]["memory_bytes"] == -(-target // MIB) * MIB
    assert (
        recommended["requests"]["cpu_millicores"] == web["evidence"]["estimate"]["target"]["cpu_millicores"]
    )

    why = run("why", "workload", f"{shop.namespace}/web")
    assert why.code == 0
    assert "bucket" in why.out
    assert "× 1.2" in why.out

    before = shop.resources("deployment", "web")["web"]
    file = tmp_path / "review.json"
    file.write_text(first.out)
    made = run("rightsize", "patch", file, "--as", "json")
    assert made.code == 0
    patches = json.loads(made.out)
    assert list(patches) == [f"{shop.namespace}/Deployment/web"]
    assert shop.resources("deployment", "web")["web"] == before
    shop.cluster.kubectl(
        "patch", "deployment", "web", "-n", shop.namespace, "--type=json", "-p", json.dumps(*patches.values())
    )
    now = shop.resources("deployment", "web")["web"]
    assert "cpu" not in now["limits"]
    assert now["limits"]["nvidia.com/gpu"] == "0"

    again = review(shop, run, "-o", "json", "--since-last")
    changes = json.loads(again.out)["changes"]
    assert [(each["place"]["name"], each["outcome"]) for each in changes["heard"]] == [("web", "followed")]
    assert web_of(again)["verdict"] == "keep"
    assert run("rightsize", "patch", "--as", "kustomize").err.startswith("nothing is to be changed")


def test_a_workload_without_samples_is_left_and_reported(shop: Shop, run: Run) -> None:
    ran = review(shop, run, f"{shop.namespace}/idle", "-o", "json", "--no-keep")
    (idle,) = json.loads(ran.out)["workloads"]
    (found,) = idle["containers"]
    assert found["verdict"] == "leave"
    assert any(item["object"].endswith("/idle") for item in json.loads(ran.out)["findings"])
    why = run("why", "workload", f"{shop.namespace}/idle")
    assert (why.code, why.out) == (2, "")
    assert "no review is kept" in why.err


def test_a_prometheus_that_is_not_there_ends_with_its_address_and_code_one(shop: Shop, run: Run) -> None:
    ran = run("rightsize", "review", "--prometheus", "http://127.0.0.1:9", "--namespace", shop.namespace)
    assert ran.code == 1
    assert "http://127.0.0.1:9" in ran.err
    assert ran.out == ""


def test_a_namespace_that_is_not_there_is_bad_input_and_patterns_match_those_that_are(
    shop: Shop, run: Run
) -> None:
    ran = run("rightsize", "review", "--prometheus", shop.url, "--namespace", shop.namespace[:-1])
    assert (ran.code, ran.out) == (2, "")
    assert f"no namespace is called {shop.namespace[:-1]}: did you mean " in ran.err
    ran = run("rightsize", "review", "--prometheus", shop.url, "--namespace", "no-such-*")
    assert (ran.code, ran.out) == (2, "")
    assert "no namespace matches no-such-*: there is " in ran.err
    words = ("--namespace", f"{shop.namespace[:-1]}?", "--no-keep", "--history", "1h", "-o", "json")
    ran = run("rightsize", "review", "--prometheus", shop.url, *words)
    assert {item["name"] for item in json.loads(ran.out)["workloads"]} == {"web", "idle"}


def test_who_may_read_nothing_gets_no_review_and_loses_none(
    shop: Shop, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review(shop, run, "--history", "1h")
    before = newest_of_each(tmp_path / "data")
    assert [len(each.workloads) for each in before] == [2]
    token = shop.cluster.kubectl("create", "token", "default", "-n", shop.namespace).strip()
    monkeypatch.setenv("KUBECONFIG", str(shop.cluster.kubeconfig("stranger", token=token)))
    ran = review(shop, run)
    assert (ran.code, ran.out) == (1, "")
    assert f"deployments cannot be reviewed: may not list deployments.apps in {shop.namespace}" in ran.err
    assert "remuda rbac rightsize" in ran.err
    assert newest_of_each(tmp_path / "data") == before


def test_a_namespace_without_workloads_is_no_fault(shop: Shop, run: Run, tmp_path: Path) -> None:
    with new_namespace(shop.cluster) as empty:
        ran = run("rightsize", "review", "--prometheus", shop.url, "--namespace", empty)
    assert ran.code == 0
    assert "0 workloads" in ran.out
    assert "there are no workloads: this review is not kept" in ran.err
    assert newest_of_each(tmp_path / "data") == []


def test_a_diagnosis_tells_how_much_history_there_is_and_what_is_missing(shop: Shop, run: Run) -> None:
    ran = run("diagnose", "metrics", "--prometheus", shop.url, "-o", "json")
    found = {item["check"]: item for item in json.loads(ran.out)["findings"]}
    assert found["prometheus"]["verdict"] == "ok"
    assert found["samples"]["verdict"] == "ok"
    assert (found["history"]["verdict"], found["history"]["told"]) == ("ok", "samples go back 2.0 days")
    assert found["metrics-server"]["verdict"] == "ok"
    down = run("diagnose", "metrics", "--prometheus", "http://127.0.0.1:9", "-o", "json")
    assert down.code == 1
    verdicts = {item["check"]: item["verdict"] for item in json.loads(down.out)["findings"]}
    assert (verdicts["prometheus"], verdicts["samples"]) == ("problem", "unknown")


def test_without_a_cluster_a_prometheus_is_still_looked_at(
    shop: Shop, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    ran = run("diagnose", "metrics", "--prometheus", shop.url, "-o", "json")
    found = {item["check"]: item["verdict"] for item in json.loads(ran.out)["findings"]}
    assert (ran.code, found["prometheus"], found["history"], found["recommender"]) == (
        0,
        "ok",
        "ok",
        "unknown",
    )
    assert run("diagnose", "metrics").code == 2
