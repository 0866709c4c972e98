"""Samples of many workloads from JSON: whose they are, and every problem at its path."""

import json
from typing import Any

import pytest

from remuda.errors import BadInput
from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.usage import Replica, Sample
from remuda.rightsize.observe.usage import read_usage

CONTAINERS = {"app": {"instances": [{"cpu": [{"t": 1, "cores": 0.5}]}]}}


def entry(**rest: Any) -> dict[str, Any]:
    return {"namespace": "shop", "kind": "Deployment", "name": "web", "containers": CONTAINERS, **rest}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in entry().items() if name != key}


def text(*entries: Any) -> bytes:
    return json.dumps({"workloads": entries}).encode()


def problems(given: bytes) -> list[str]:
    with pytest.raises(BadInput) as raised:
        read_usage(given, "u.json")
    return [line.removeprefix("u.json: ") for line in str(raised.value).splitlines()]


def test_each_workload_has_its_samples() -> None:
    other = {"db": {"instances": [{"memory": [{"t": 2, "bytes": 7}]}, {}]}}
    found = read_usage(text(entry(), entry(kind="StatefulSet", containers=other)), "u.json")
    assert found == [
        (WorkloadId("shop", "Deployment", "web"), {"app": [Replica([Sample(1, 0.5)], [], [])]}),
        (
            WorkloadId("shop", "StatefulSet", "web"),
            {"db": [Replica([], [Sample(2, 7)], []), Replica([], [], [])]},
        ),
    ]


FORM = '{"workloads": [{"namespace": …, "kind": "Deployment", "name": …, "containers": {…}}]}'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            json.dumps({"containers": CONTAINERS}).encode(),
            f"workloads: is missing: these are samples of one pod, and nothing says whose; write {FORM}",
            id="one pod",
        ),
        pytest.param(b"{}", f"workloads: is missing: write {FORM}", id="nothing"),
        pytest.param(b"", "u.json:1:1: is empty", id="an empty file"),
        pytest.param(b"[]", "is a list: write an object, {…}", id="a list"),
        pytest.param(b'{"workloads": {}}', "workloads: is an object: write a list, […]", id="an object"),
        pytest.param(b'{"workloads": []}', "workloads: is empty: there is nothing to review", id="none"),
        pytest.param(b'{"workloads": null}', "workloads: is null: write a list, […]", id="null"),
        pytest.param(text(3), "workloads[0]: is 3: write an object, {…}", id="a number"),
        pytest.param(
            text(without("namespace")),
            "workloads[0].namespace: is missing: the namespace of the workload",
            id="no namespace",
        ),
        pytest.param(
            text(entry(name="")), "workloads[0].name: is empty: the name of the workload", id="an empty name"
        ),
        pytest.param(
            text(entry(name=7)), "workloads[0].name: is 7: the name of the workload", id="a number for a name"
        ),
        pytest.param(
            text(entry(kind="deployment")),
            'workloads[0].kind: is the text "deployment"; did you mean Deployment?; there is: Deployment, StatefulSet, '
            "DaemonSet, CronJob, ReplicaSet, Job, Rollout, DeploymentConfig, StrimziPodSet",
            id="a kind in small letters",
        ),
        pytest.param(
            text(without("containers")),
            'workloads[0].containers: is missing: write {"containers": {NAME: {"instances": […]}}}',
            id="no containers",
        ),
        pytest.param(
            text(entry(containers={})),
            "workloads[0].containers: is empty: there is nothing to estimate",
            id="empty containers",
        ),
        pytest.param(
            text(entry(replicas=3)),
            "workloads[0].replicas: is unknown; there is: namespace, kind, name, containers",
            id="an unknown key",
        ),
        pytest.param(
            text(entry(), entry(name="other"), entry()),
            "workloads[2]: Deployment shop/web is at workloads[0] already: put all its instances there",
            id="twice",
        ),
        pytest.param(
            text(entry(containers={"app": {"instances": [{"cpu": [{"t": 1, "cores": -1}]}]}})),
            "workloads[0].containers.app.instances[0].cpu[0].cores: is -1: nothing can use less than 0",
            id="a bad sample",
        ),
    ],
)
def test_what_is_wrong_is_reported_at_its_path(given: bytes, expected: str) -> None:
    assert problems(given) == [expected]


def test_everything_wrong_is_reported_at_once() -> None:
    bad = entry(kind="Pod", containers={"app": {"instances": [{"cpu": 1}]}})
    assert [line.split(":")[0] for line in problems(text(bad, without("name"), entry(), entry()))] == [
        "workloads[0].kind",
        "workloads[0].containers.app.instances[0].cpu",
        "workloads[1].name",
        "workloads[3]",
    ]


def test_a_typo_is_reported_with_what_was_meant() -> None:
    assert problems(b'{"workload": []}') == [
        "workload: is unknown; did you mean workloads?; there is: workloads",
        f"workloads: is missing: write {FORM}",
    ]
