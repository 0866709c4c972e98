"""Patches on a real API server: the sizes that were recommended, and nothing else changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.rightsize.patches.cases import review
from tests.rightsize.patches.objects import lasting, pod_of, resized, seen, written
from tests.servers.cluster import Cluster
from tests.servers.found import ServersError

from remuda.rightsize.patches import make

pytestmark = pytest.mark.slow

EVERY_KIND = pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "CronJob"])
Applied = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def applied(cluster: Cluster, namespace: str) -> Applied:
    """Apply an object as people do, and look what the server made of it."""

    def apply(item: dict[str, Any]) -> dict[str, Any]:
        out = cluster.kubectl("apply", "-f", "-", "-o", "json", stdin=json.dumps(item))
        return _object(out)

    return apply


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def _where(item: dict[str, Any]) -> tuple[str, ...]:
    return (item["kind"], item["metadata"]["name"], "-n", item["metadata"]["namespace"])


def _patched(cluster: Cluster, item: dict[str, Any], sort: str, patch: str, *words: str) -> dict[str, Any]:
    return _object(cluster.kubectl("patch", *_where(item), "--type", sort, "-p", patch, "-o", "json", *words))


def _now(cluster: Cluster, item: dict[str, Any]) -> dict[str, Any]:
    return _object(cluster.kubectl("get", *_where(item), "-o", "json"))


@EVERY_KIND
def test_a_json_patch_gives_the_sizes_and_changes_nothing_else(
    cluster: Cluster, namespace: str, applied: Applied, kind: str
) -> None:
    before = applied(written(kind, namespace))
    made = make(review(seen(before)), "json")
    assert made.left == ()
    (file,) = made.files
    pretended = _patched(cluster, before, "json", file.text, "--dry-run=server")
    assert lasting(pretended) == lasting(resized(before))
    assert _now(cluster, before) == before
    _patched(cluster, before, "json", file.text)
    assert lasting(_now(cluster, before)) == lasting(resized(before))


def _swap(pod: Any) -> None:
    pod["containers"].reverse()


def _insert(pod: Any) -> None:
    pod["initContainers"].insert(0, {**pod["initContainers"][0], "name": "before"})


def _limit(name: str, side: str, resource: str, value: str | None) -> Callable[[Any], None]:
    def change(pod: Any) -> None:
        (found,) = (each for each in pod["containers"] if each["name"] == name)
        if value is None:
            del found["resources"][side][resource]
        else:
            found.setdefault("resources", {}).setdefault(side, {})[resource] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_swap, id="containers changed places"),
        pytest.param(_insert, id="a first container came before the sidecar"),
        pytest.param(_limit("bare", "requests", "memory", "1Gi"), id="one without resources got some"),
        pytest.param(_limit("requests", "limits", "memory", "1Gi"), id="one without limits got one"),
        pytest.param(_limit("requests", "requests", "cpu", "1"), id="one without a CPU request got one"),
        pytest.param(_limit("full", "limits", "cpu", None), id="the CPU limit was removed"),
        pytest.param(_limit("full", "requests", "memory", None), id="the memory request was removed"),
        pytest.param(_limit("full", "requests", "memory", "600Mi"), id="the memory request was changed"),
        pytest.param(_limit("full", "limits", "memory", "2Gi"), id="the memory limit was changed"),
        pytest.param(_limit("full", "limits", "nvidia.com/gpu", "2"), id="the GPUs were changed"),
        pytest.param(_limit("limits", "requests", "memory", "1Gi"), id="one without requests got one"),
    ],
)
def test_a_json_patch_is_refused_and_changes_nothing_where_the_object_is_not_as_it_was_seen(
    cluster: Cluster, namespace: str, applied: Applied, change: Callable[[Any], None]
) -> None:
    item = written("Deployment", namespace)
    (file,) = make(review(seen(applied(item))), "json").files
    change(pod_of(item))
    after = applied(item)
    with pytest.raises(ServersError, match="the server rejected our request"):
        _patched(cluster, item, "json", file.text)
    assert _now(cluster, item) == after


@EVERY_KIND
def test_a_json_patch_from_a_manifest_fits_what_the_server_made_of_it(
    cluster: Cluster, namespace: str, applied: Applied, kind: str
) -> None:
    """A manifest says 0.5, 1024Mi or 1.5Gi, and a server 500m, 1Gi and 1536Mi."""
    item = written(kind, namespace)
    found = pod_of(item)["containers"]
    found[0]["resources"]["requests"] = {"cpu": "0.5", "memory": "1024Mi"}
    found[0]["resources"]["limits"] |= {"cpu": "1000m", "memory": "1.5Gi"}
    found[3]["resources"]["requests"] = {"memory": "1e9", "ephemeral-storage": "1000k"}
    found[4]["resources"]["limits"] = {"cpu": "2.50", "memory": "1073741824"}
    (file,) = make(review(seen(item)), "json").files
    before = applied(item)
    pretended = _patched(cluster, before, "json", file.text, "--dry-run=server")
    assert lasting(pretended) == lasting(resized(before))


def test_a_json_patch_of_an_older_review_is_taken_where_the_same_is_set(
    cluster: Cluster, namespace: str, applied: Applied
) -> None:
    before = applied(written("Deployment", namespace))
    there = seen(before)
    older = tuple(msgspec.structs.replace(each, written=None) for each in there.containers)
    made = make(review(msgspec.structs.replace(there, containers=older)), "json")
    (file,) = made.files
    assert made.beware
    pretended = _patched(cluster, before, "json", file.text, "--dry-run=server")
    assert lasting(pretended) == lasting(resized(before))


def test_a_json_patch_of_one_workload_is_refused_by_another(
    cluster: Cluster, namespace: str, applied: Applied
) -> None:
    (file,) = make(review(seen(applied(written("Deployment", namespace)))), "json").files
    other = applied(written("Deployment", namespace, "other"))
    same_name = applied(written("DaemonSet", namespace))
    for item in (other, same_name):
        with pytest.raises(ServersError):
            _patched(cluster, item, "json", file.text)
        assert _now(cluster, item) == item


@EVERY_KIND
def test_a_component_gives_the_sizes_and_changes_nothing_else(
    cluster: Cluster, namespace: str, applied: Applied, tmp_path: Path, kind: str
) -> None:
    item = written(kind, namespace)
    before = applied(item)
    made = make(review(seen(before)), "kustomize")
    assert made.left == ()
    _write(tmp_path, item, {file.path: file.text for file in made.files})
    built = cluster.kubectl("kustomize", str(tmp_path / "over"))
    assert yaml.safe_load(built) == resized(item)
    pretended = _object(cluster.kubectl("apply", "--dry-run=server", "-o", "json", "-f", "-", stdin=built))
    assert lasting(pretended) == lasting(resized(before))
    assert _now(cluster, before) == before


@EVERY_KIND
def test_a_patch_of_the_component_is_taken_by_the_server_as_it_is(
    cluster: Cluster, namespace: str, applied: Applied, kind: str
) -> None:
    before = applied(written(kind, namespace))
    (_, file) = make(review(seen(before)), "kustomize").files
    pretended = _patched(cluster, before, "strategic", file.text, "--dry-run=server")
    assert lasting(pretended) == lasting(resized(before))


def test_a_component_for_what_is_not_there_is_an_error_and_no_silence(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    made = make(review(seen(written("Deployment", namespace, "gone"))), "kustomize")
    _write(tmp_path, written("Deployment", namespace), {file.path: file.text for file in made.files})
    with pytest.raises(ServersError, match="no matches for Id Deployment"):
        cluster.kubectl("kustomize", str(tmp_path / "over"))


def _write(root: Path, item: dict[str, Any], component: dict[str, str]) -> None:
    files = {
        "base": {"kustomization.yaml": "resources: [item.yaml]\n", "item.yaml": yaml.safe_dump(item)},
        "over": {"kustomization.yaml": "resources: [../base]\ncomponents: [../rightsize]\n"},
        "rightsize": component,
    }
    for directory, texts in files.items():
        (root / directory).mkdir()
        for name, text in texts.items():
            (root / directory / name).write_text(text, encoding="utf-8")
