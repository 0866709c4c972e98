"""Which scale sets a real API server takes and refuses, with GitHub's own custom resources."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.capacity.builders import CAPABILITY, LABEL, NOW, policy, sized
from tests.capacity.controllers import LABELLED
from tests.capacity.live import GUARDED, installed, new_place, try_out
from tests.servers.cluster import Cluster

from remuda.capacity.decide.guards import admission

pytestmark = pytest.mark.slow

TOLERATED = [{"key": "overflow", "operator": "Exists", "effect": "NoSchedule"}]
PREFERRED = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [
                        {"key": next(iter(CAPABILITY)), "operator": "In", "values": ["true"]}
                    ]
                },
            }
        ]
    }
}


def preferring(key: str, operator: str, *values: str, field: str = "matchExpressions") -> dict[str, Any]:
    term = {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
    preferred = [{"weight": 1, "preference": {field: [term]}}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def tolerating(**pod: Any) -> dict[str, Any]:
    """A set that may be on overflow nodes and is as it should be, but for what is given."""
    return {
        "requests": sized("2", "8Gi", "4Gi"),
        "limits": sized("", "16Gi", "8Gi"),
        "pod": {"tolerations": TOLERATED, "affinity": PREFERRED} | pod,
    }


FULL_SIZE = {"requests": sized("2", "8Gi"), "limits": sized("", "16Gi")}


def with_sidecar(runner: Any, sidecar: Any, key: str = "containers", **words: str) -> dict[str, Any]:
    """A set of a runner and one more container, each with its resources."""
    beside = {"name": "dind", "image": "docker", "resources": sidecar, **words}
    spec = {"containers": [{"name": "runner", "image": "runner", "resources": runner}]}
    spec[key] = [*spec.get(key, []), beside]
    return {"template": {"spec": spec}}


#: id → (name, words of the set, what the server says; None when it takes it)
CASES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "a newcomer within its bound": ("new", {}, None),
    "a newcomer above its bound": ("new", {"maxRunners": 2}, "spec.maxRunners is 2"),
    "a listed set at its maximum": ("vm-test", {"maxRunners": 2}, None),
    "a listed set above its maximum": ("vm-test", {"maxRunners": 3}, "at most 2"),
    "no maximum": ("vm-test", {"maxRunners": None}, "not given, which is no limit"),
    "no minimum": ("vm-test", {"minRunners": None}, None),
    "a minimum": ("vm-test", {"minRunners": 1}, "spec.minRunners must be 0"),
    "a minimum with a decision": ("warm", {"minRunners": 1}, None),
    "a minimum with a decision that ended": ("was-warm", {"minRunners": 1}, "spec.minRunners must be 0"),
    "no requests": ("new", {"requests": None}, "cpu and memory must be requested"),
    "requests for memory alone": ("new", {"requests": sized(memory="1Gi")}, "cpu and memory must be requested"),
    "no limits": ("new", {"limits": None}, "memory must be limited"),
    "a sidecar that gives what the runner does not": (
        "new", with_sidecar({}, FULL_SIZE), "cpu and memory must be requested",
    ),
    "a sidecar that gives nothing": ("new", with_sidecar(FULL_SIZE, {}), "cpu and memory must be requested"),
    "a first container that stays and gives nothing": (
        "new", with_sidecar(FULL_SIZE, {}, key="initContainers", restartPolicy="Always"), "must be requested",
    ),
    "a first container that ends and gives nothing": (
        "new", with_sidecar(FULL_SIZE, {}, key="initContainers"), None,
    ),
    "a sidecar that gives as much": ("new", with_sidecar(FULL_SIZE, FULL_SIZE), None),
    "a name of a repository as label": (
        "new", {"runnerScaleSetName": LABEL, "runnerScaleSetLabels": [LABEL, "acme-docs"]}, "must not be like ^acme-",
    ),
    "limits, which are requests, too": ("new", {"requests": None, "limits": sized("1", "1Gi")}, None),
    "another label": ("new", {"runnerScaleSetName": "other", "maxRunners": 99, "requests": None}, None),
    "the label in capitals": ("new", {"runnerScaleSetName": LABEL.upper(), "maxRunners": 9}, "at most 1"),
    "the label by the object's name": (LABEL, {"runnerScaleSetName": None, "maxRunners": 9}, "at most 1"),
    "an empty name of the label": (LABEL, {"runnerScaleSetName": "", "maxRunners": 9}, "at most 1"),
    "a toleration with all it needs": ("new", tolerating(), None),
    "a toleration without local storage": (
        "new", tolerating() | {"requests": sized("2", "8Gi"), "limits": sized("", "16Gi")},
        "ephemeral-storage must be requested and limited",
    ),
    "a toleration without a limit of local storage": (
        "new", tolerating() | {"limits": sized("", "16Gi")}, "ephemeral-storage must be requested and limited",
    ),
    "a toleration without affinity": ("new", tolerating(affinity=None), "must prefer primary nodes"),
    "a preference for something else": (
        "new", tolerating(affinity=preferring("zone", "In", "a")), "must prefer primary nodes",
    ),
    "a preference for a primary label": ("new", tolerating(affinity=preferring(next(iter(CAPABILITY)), "Exists")), None),
    "a preference for another node": ("new", tolerating(affinity=preferring("kubernetes.io/hostname", "In", "honey")), None),
    "a preference for the overflow node": (
        "new", tolerating(affinity=preferring("kubernetes.io/hostname", "In", "sting")), "must prefer primary nodes",
    ),
    "a preference against the overflow node": ("new", tolerating(affinity=preferring("kubernetes.io/hostname", "NotIn", "sting")), None),
    "a preference by a field": (
        "new", tolerating(affinity=preferring("metadata.name", "NotIn", "sting", field="matchFields")), None,
    ),
    "a toleration of everything": ("new", {"pod": {"tolerations": [{"operator": "Exists"}]}}, "must be requested"),
    "a toleration of something else": ("new", {"pod": {"tolerations": [{"key": "ci", "operator": "Exists"}]}}, None),
    "no containers": ("new", {"template": {"spec": {"containers": []}}}, "cpu and memory must be requested"),
    "no template": ("new", {"template": None}, "cpu and memory must be requested"),
}  # fmt: skip


@pytest.fixture(scope="module")
def denied(guarded: Cluster, version: str) -> Iterator[str]:
    """A namespace in which the rules hold."""
    with installed(guarded, admission("kvm", policy(**GUARDED), "Deny", NOW)):
        yield new_place(guarded)


@pytest.mark.parametrize("case", CASES)
def test_scale_sets_that_break_the_policy_are_refused_and_others_are_not(
    guarded: Cluster, denied: str, version: str, case: str
) -> None:
    name, words, said = CASES[case]
    if "runnerScaleSetLabels" in words and version not in LABELLED:
        said = None  # an older controller has no such field, and is targeted by the name
    answer = try_out(guarded, denied, name, words)
    if said is None:
        assert answer.status == 201, answer.text
    else:
        assert answer.status == 422, answer.text
        assert said in answer.json()["message"]
        assert "CapacityPolicy kvm" in answer.json()["message"]


def test_a_label_among_others_counts_where_the_controller_knows_labels(
    guarded: Cluster, denied: str, version: str
) -> None:
    words = {"runnerScaleSetName": "other", "runnerScaleSetLabels": ["linux", LABEL], "maxRunners": 9}
    answer = try_out(guarded, denied, "new", words)
    # an older controller has no such field, so that the label is nobody's
    assert answer.status == (422 if version in LABELLED else 201), answer.text
