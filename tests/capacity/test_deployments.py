"""RunnerDeployments and RunnerSets, the older forms of scale sets: read, counted under a ceiling, judged."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.capacity.builders import NOW, policy

from remuda.capacity.decide.audit import audit
from remuda.capacity.observe.files import read_files
from remuda.capacity.snapshot import JOB_PODS, ScaleSet, Snapshot
from remuda.output.findings import describe

API = "actions.summerwind.dev/v1alpha1"
SMALL = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}


def deployment(name: str = "old", replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    runner = {
        "repository": "acme/app",
        "labels": ["nix-kvm"],
        "dockerEnabled": False,
        "resources": SMALL,
    } | spec
    made = {"template": {"spec": runner}} | ({} if replicas is None else {"replicas": replicas})
    meta = {"namespace": "ci", "name": name}
    return {"apiVersion": API, "kind": "RunnerDeployment", "metadata": meta, "spec": made}


def runner_set(
    name: str = "old", containers: list[dict[str, Any]] | None = None, **spec: Any
) -> dict[str, Any]:
    pod = {"containers": [{"name": "runner", "resources": SMALL}] if containers is None else containers}
    made = {
        "repository": "acme/app",
        "labels": ["nix-kvm"],
        "dockerEnabled": False,
        "serviceName": "old",
        "selector": {"matchLabels": {"app": "old"}},
        "template": {"metadata": {"labels": {"app": "old"}}, "spec": pod | spec.pop("pod", {})},
    } | spec
    meta = {"namespace": "ci", "name": name}
    return {"apiVersion": API, "kind": "RunnerSet", "metadata": meta, "spec": made}


def autoscaler(name: str = "old", kind: str = "RunnerDeployment", **spec: Any) -> dict[str, Any]:
    target = {"scaleTargetRef": {"kind": kind, "name": name}} | spec
    meta = {"namespace": "ci", "name": f"scales-{name}"}
    return {"apiVersion": API, "kind": "HorizontalRunnerAutoscaler", "metadata": meta, "spec": target}


def runner(name: str, of: str) -> dict[str, Any]:
    meta = {"namespace": "ci", "name": name, "labels": {"runner-deployment-name": of}}
    pod = {"nodeName": "honey", "containers": [{"resources": SMALL}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod, "status": {"phase": "Running"}}


@pytest.fixture
def seen(tmp_path: Path) -> Any:
    def read(*items: dict[str, Any]) -> Snapshot:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        found = read_files([path], NOW)
        assert found.problems == ()
        return found.snapshot

    return read


def only(snapshot: Snapshot) -> ScaleSet:
    (made,) = snapshot.scale_sets
    return made


def test_a_deployment_is_a_scale_set_by_the_labels_of_its_runners(seen: Any) -> None:
    made = only(seen(deployment(nodeSelector={"kvm": "true"})))
    assert (made.kind, made.id, made.labels) == ("RunnerDeployment", "ci/old", ("nix-kvm",))
    assert made.scope == "https://github.com/acme/app"
    assert (made.requests, made.limits) == ({"cpu": 1000, "memory": 2 * 2**30}, {"memory": 4 * 2**30})
    assert made.node_selector == {"kvm": "true"}
    assert made.place.line == 1


@pytest.mark.parametrize(
    ("replicas", "scales", "bounds"),
    [
        pytest.param(None, None, (1, 1), id="one where nothing is said"),
        pytest.param(4, None, (4, 4), id="as many as it says"),
        pytest.param(4, {"minReplicas": 0, "maxReplicas": 9}, (0, 9), id="its autoscaler decides"),
        pytest.param(None, {"maxReplicas": 9}, (1, 9), id="at least one"),
        pytest.param(4, {"minReplicas": 2}, (4, 4), id="an autoscaler without a maximum changes nothing"),
        pytest.param(4, {"kind": "RunnerSet", "maxReplicas": 9}, (4, 4), id="one of something else"),
        pytest.param(4, {"name": "other", "maxReplicas": 9}, (4, 4), id="one of another"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_how_many_there_may_be(
    seen: Any, replicas: int | None, scales: dict[str, Any] | None, bounds: tuple[int, int], is_first: bool
) -> None:
    items = [deployment(replicas=replicas), *([] if scales is None else [autoscaler(**scales)])]
    made = only(seen(*(items if is_first else reversed(items))))
    assert (made.min, made.max) == bounds


@pytest.mark.parametrize(
    ("spec", "memory"),
    [
        pytest.param({}, 2, id="the runner alone"),
        pytest.param(
            {"dockerEnabled": None, "dockerdContainerResources": {"requests": {"memory": "3Gi"}}}, 5, id="docker beside it"
        ),
        pytest.param(
            {
                "dockerEnabled": True,
                "dockerdWithinRunnerContainer": True,
                "dockerdContainerResources": {"requests": {"memory": "3Gi"}},
            },
            2,
            id="docker within it",
        ),
        pytest.param({"containers": [{"name": "runner"}, {"name": "cache"}]}, 2, id="a listed runner gets what is given"),
        pytest.param(
            {"containers": [{"name": "runner", "resources": {"requests": {"memory": "7Gi"}}}]}, 7, id="or has its own"
        ),
        pytest.param({"sidecarContainers": [{"name": "x", "resources": SMALL}]}, 4, id="sidecars count"),
    ],
)  # fmt: skip
def test_what_a_runner_asks_for(seen: Any, spec: dict[str, Any], memory: int) -> None:
    assert only(seen(deployment(**spec))).requests["memory"] == memory * 2**30


def test_runners_count_for_their_deployment_and_its_maximum_under_the_ceiling(seen: Any) -> None:
    snapshot = seen(
        deployment(), autoscaler(minReplicas=0, maxReplicas=9), runner("a", "old"), runner("b", "old")
    )
    made = audit(snapshot, ["nix-kvm"], {"kvm": policy(ceiling=4)}, NOW)
    (label,) = made.labels
    assert (label.max, label.running) == (9, 2)
    found = {item.rule: describe(item).found for item in made.findings}
    assert found["ceiling-exceeded"] == "9 at maximum: old 9"


def test_a_deployment_that_may_be_above_its_share_says_what_to_set(seen: Any) -> None:
    made = audit(seen(deployment(replicas=3)), ["nix-kvm"], {"kvm": policy(ceiling=4, newcomerMax=1)}, NOW)
    (found,) = [item for item in made.findings if item.rule == "newcomer-above-default"]
    assert found.subject == "RunnerDeployment ci/old"
    assert describe(found).fix.startswith(
        "set spec.replicas, or spec.maxReplicas of its autoscaler to 1, or list"
    )


@pytest.mark.parametrize(
    ("spec", "scope"),
    [
        ({"repository": "", "organization": "acme"}, "https://github.com/acme"),
        ({"repository": "", "enterprise": "big"}, "https://github.com/enterprises/big"),
        ({"repository": ""}, ""),
    ],
)
def test_it_is_registered_with_whom_it_says(seen: Any, spec: dict[str, Any], scope: str) -> None:
    assert only(seen(deployment(**spec))).scope == scope


def test_jobs_in_pods_of_their_own_are_not_counted_and_that_is_said(seen: Any) -> None:
    assert any(words == JOB_PODS for words in only(seen(deployment(containerMode="kubernetes"))).unsure)


def test_one_that_is_being_deleted_does_not_count(seen: Any) -> None:
    item = deployment()
    item["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    snapshot = seen(item)
    assert (snapshot.scale_sets, snapshot.leaving) == ((), ("ci/old",))


def test_a_runner_set_is_a_scale_set_by_what_it_says_beside_its_template(seen: Any) -> None:
    made = only(seen(runner_set(replicas=3, pod={"nodeSelector": {"kvm": "true"}})))
    assert (made.kind, made.id, made.labels) == ("RunnerSet", "ci/old", ("nix-kvm",))
    assert (made.min, made.max, made.scope) == (3, 3, "https://github.com/acme/app")
    assert (made.requests, made.limits) == ({"cpu": 1000, "memory": 2 * 2**30}, {"memory": 4 * 2**30})
    assert made.node_selector == {"kvm": "true"}


@pytest.mark.parametrize(
    ("spec", "bare"),
    [
        pytest.param({}, set(), id="the runner alone"),
        pytest.param({"dockerEnabled": None}, {"docker"}, id="docker is added"),
        pytest.param({"dockerEnabled": True, "dockerdWithinRunnerContainer": True}, set(), id="it is within"),
        pytest.param({"dockerEnabled": None, "containerMode": "kubernetes"}, set(), id="jobs have pods of their own"),
        pytest.param({"containers": []}, {"runner"}, id="a runner is added"),
        pytest.param(
            {"dockerEnabled": True, "containers": [{"name": name, "resources": SMALL} for name in ("runner", "docker")]},
            set(),
            id="both are listed",
        ),
    ],
)  # fmt: skip
def test_containers_that_a_runner_set_does_not_list_are_added(
    seen: Any, spec: dict[str, Any], bare: set[str]
) -> None:
    found = only(seen(runner_set(**spec))).bare
    assert {
        name
        for each in found
        if (each.kind, each.resource) == ("requests", "cpu")
        for name in each.containers
    } == bare


def test_an_autoscaler_scales_the_kind_that_it_names(seen: Any) -> None:
    """A RunnerSet and a RunnerDeployment may have one name."""
    both = (deployment(replicas=2), runner_set(replicas=3))
    made = seen(*both, autoscaler(kind="RunnerSet", maxReplicas=9), autoscaler(kind="", maxReplicas=5))
    assert {each.kind: each.max for each in made.scale_sets} == {"RunnerDeployment": 5, "RunnerSet": 9}


def test_runners_count_for_their_runner_set(seen: Any) -> None:
    pod = runner("old-abc-0", "old")
    pod["metadata"]["labels"] = {"runnerset-name": "old"}
    made = audit(seen(runner_set(replicas=3), pod), ["nix-kvm"], {"kvm": policy(ceiling=2)}, NOW)
    (label,) = made.labels
    assert (label.max, label.running) == (3, 1)
    (found,) = [item for item in made.findings if item.rule == "newcomer-above-default"]
    assert (found.subject, found.field) == (
        "RunnerSet ci/old",
        "spec.replicas, or spec.maxReplicas of its autoscaler",
    )
