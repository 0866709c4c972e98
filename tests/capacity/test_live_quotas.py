"""Quotas and rules put into a real cluster by the command, and quotas as its controllers enforce them."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.capacity.builders import written_policy
from tests.capacity.conftest import Run
from tests.capacity.live import bind
from tests.catalog import KINDS
from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.servers.loopback import Answer

from remuda.objects.crds import crd_of

pytestmark = pytest.mark.slow

Written = Callable[..., Path]


@pytest.fixture
def config(guarded: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig()))


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A file with a policy for sets in namespaces, by their maxima."""

    def write(name: str, maxima: dict[str, int], **spec: Any) -> Path:
        sets = [{"name": f"{place}/vm-test", "max": most} for place, most in maxima.items()]
        path = tmp_path / "policy.yaml"
        path.write_text(json.dumps(written_policy(name, sets=sets, **spec)))
        return path

    return write


def start(cluster: Cluster, place: str, name: str, priority_class: str | None) -> Answer:
    spec: dict[str, Any] = {"containers": [{"name": "runner", "image": "images.example/any"}]}
    spec |= {} if priority_class is None else {"priorityClassName": priority_class}
    body = {"metadata": {"name": name}, "spec": spec}
    return cluster.request("POST", f"/api/v1/namespaces/{place}/pods", body)


def wait_enforced(cluster: Cluster, place: str, most: int) -> None:
    path = f"/api/v1/namespaces/{place}/resourcequotas/remuda-capacity-{place}"

    def is_computed() -> bool:
        answer = cluster.request("GET", path)
        return bool(answer.json().get("status", {}).get("hard") == {"pods": str(most)})

    eventually(is_computed, "the quota's status")


def done(out: str) -> dict[str, str]:
    return {f"{item['kind']} {item['name']}": item["done"] for item in json.loads(out)["applied"]}


@pytest.mark.usefixtures("config")
def test_a_quota_holds_runners_of_the_class_at_the_ceiling_and_lets_others_through(
    guarded: Cluster, place: str, run: Run, written: Written
) -> None:
    policy = written(place, {place: 4}, ceiling=4)
    ran = run("render", "--as", "quota", "--policy", policy, "--apply", "-o", "json")
    assert ran.code == 0, ran.err
    assert set(done(ran.out).values()) == {"created"}
    wait_enforced(guarded, place, 4)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: start(guarded, place, f"runner-{number}", place), range(12)))
    assert sorted(answer.status for answer in answers) == [201] * 4 + [403] * 8
    # the words by which the controller waits instead of giving the runner up
    refused = [answer.json()["message"] for answer in answers if answer.status == 403]
    assert all("exceeded quota: remuda-capacity-" in message for message in refused)
    # as what is printed says
    assert start(guarded, place, "other", None).status == 201
    assert any("without priorityClassName" in line for line in json.loads(ran.out)["notCaught"])


@pytest.mark.usefixtures("config")
def test_applying_again_changes_nothing_and_another_ceiling_only_that(
    guarded: Cluster, place: str, run: Run, written: Written
) -> None:
    words = ("render", "--as", "quota", "--apply", "-o", "json", "--policy")
    first = run(*words, written(place, {place: 4}))
    again = run(*words, written(place, {place: 4}))
    lower = run(*words, written(place, {place: 2}))
    assert [ran.code for ran in (first, again, lower)] == [0, 0, 0], lower.err
    assert set(done(first.out).values()) == {"created"}
    assert set(done(again.out).values()) == {"as it was"}
    assert done(lower.out) == {
        f"PriorityClass {place}": "as it was",
        f"ResourceQuota {place}/remuda-capacity-{place}": "changed",
    }
    managers = guarded.request(
        "GET", f"/api/v1/namespaces/{place}/resourcequotas/remuda-capacity-{place}"
    ).json()["metadata"]["managedFields"]
    assert {item["manager"] for item in managers if item["operation"] == "Apply"} == {"remuda"}


@pytest.mark.usefixtures("config")
def test_nothing_is_applied_when_one_object_is_refused(
    guarded: Cluster, place: str, run: Run, written: Written
) -> None:
    policy = written(place, {place: 1, "no-such-namespace": 1})
    ran = run("render", "--as", "quota", "--policy", policy, "--apply")
    assert ran.code == 1
    assert "no-such-namespace" in ran.err
    path = f"/api/v1/namespaces/{place}/resourcequotas"
    assert guarded.request("GET", path).json()["items"] == []
    assert guarded.request("GET", f"/apis/scheduling.k8s.io/v1/priorityclasses/{place}").status == 404


@pytest.mark.usefixtures("config")
def test_what_somebody_else_set_is_not_overwritten(
    guarded: Cluster, place: str, run: Run, written: Written
) -> None:
    described = {"metadata": {"name": place}, "value": 1_000}
    assert guarded.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", described).status == 201
    words = ("render", "--as", "quota", "--apply", "-o", "json", "--policy")
    first = run(*words, written(place, {place: 2}))
    assert first.code == 0, first.err
    assert done(first.out)[f"PriorityClass {place}"] == "left as it is"
    quota = f"remuda-capacity-{place}"
    patch = json.dumps({"spec": {"hard": {"pods": "9"}}})
    guarded.kubectl("patch", "quota", quota, "-n", place, "--type=merge", "-p", patch, "--field-manager=ada")
    ran = run(*words, written(place, {place: 2}))
    assert ran.code == 1
    assert "ada" in ran.err


@pytest.mark.usefixtures("config")
def test_what_is_printed_can_be_applied_by_kubectl(
    guarded: Cluster, place: str, run: Run, written: Written
) -> None:
    for form in ("quota", "vap"):
        for words in ((), ("-o", "yaml"), ("-o", "json"), ("-q",)):
            ran = run("render", "--as", form, "--policy", written(place, {place: 2}), *words)
            assert ran.code == 0, ran.err
            guarded.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=ran.out)


def test_the_permissions_that_are_printed_are_enough_to_apply(
    guarded: Cluster, place: str, run: Run, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig("renderer")))
    policy = written(place, {place: 2})
    ran = run("render", "--as", "quota", "--policy", policy, "--apply")
    assert ran.code == 1
    assert "remuda rbac" in ran.err
    bind(guarded, "renderer", "capacity render")
    for form in ("quota", "vap"):
        ran = run("render", "--as", form, "--policy", policy, "--apply", "--action", "Audit")
        assert ran.code == 0, ran.err


@pytest.mark.usefixtures("config")
def test_policies_that_the_cluster_keeps_are_used_where_no_file_is_given(
    guarded: Cluster, place: str, run: Run
) -> None:
    ran = run("render", "--as", "quota")
    assert ran.code == 2
    assert "give --policy FILE" in ran.err
    kind = next(kind for kind in KINDS if kind.name == "CapacityPolicy")
    guarded.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(crd_of(kind)))
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{place}/capacitypolicies"
    body = written_policy("kept", sets=[{"name": f"{place}/vm-test", "max": 3}])
    eventually(lambda: guarded.request("POST", path, body).status == 201, "the custom resource")
    try:
        ran = run("render", "--as", "quota", "-o", "json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["items"][1]["spec"]["hard"] == {"pods": "3"}
        twin = path.replace(place, "default")
        assert guarded.request("POST", twin, body).status == 201
        ran = run("render", "--as", "quota")
        assert ran.code == 2
        assert "the name kept has a policy already" in ran.err
        assert "the label nix-kvm has a policy already" in ran.err
    finally:
        guarded.kubectl("delete", "crd", "capacitypolicies.remuda.dev")
