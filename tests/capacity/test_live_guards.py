"""Which scale sets a real API server takes and refuses, with GitHub's own custom resources."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.capacity.builders import CAPABILITY, LABEL, NOW, policy, sized
from tests.capacity.controllers import LABELLED
from tests.capacity.live import GUARDED, installed, new_place, try_out
from tests.servers.cluster import Cluster

from remuda.capacity.render import admission

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
        "pod": {"tolerations": TOLERATED, "affinity": PREFERRED} | pod,
    }


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
    "no requests": ("new", {"requests": None}, "must request cpu and memory"),
    "requests for memory alone": ("new", {"requests": sized(memory="1Gi")}, "must request cpu and memory"),
    "limits, which are requests, too": ("new", {"requests": None, "limits": sized("1", "1Gi")}, None),
    "another label": ("new", {"runnerScaleSetName": "other", "maxRunners": 99, "requests": None}, None),
    "the label in capitals": ("new", {"runnerScaleSetName": LABEL.upper(), "maxRunners": 9}, "at most 1"),
    "the label by the object's name": (LABEL, {"runnerScaleSetName": None, "maxRunners": 9}, "at most 1"),
    "an empty name of the label": (LABEL, {"runnerScaleSetName": "", "maxRunners": 9}, "at most 1"),
    "a toleration with all it needs": ("new", tolerating(), None),
    "a toleration without local storage": (
        "new", tolerating() | {"requests": sized("2", "8Gi")}, "must request ephemeral-storage",
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
    "a toleration of everything": ("new", {"pod": {"tolerations": [{"operator": "Exists"}]}}, "must request"),
    "a toleration of something else": ("new", {"pod": {"tolerations": [{"key": "ci", "operator": "Exists"}]}}, None),
    "no containers": ("new", {"template": {"spec": {"containers": []}}}, "must request cpu and memory"),
    "no template": ("new", {"template": None}, "must request cpu and memory"),
}  # fmt: skip


@pytest.fixture(scope="module")
def denied(guarded: Cluster, version: str) -> Iterator[str]:
    """A namespace in which the rules hold."""
    with installed(guarded, admission("kvm", policy(**GUARDED), "Deny", NOW)):
        yield new_place(guarded)


@pytest.mark.parametrize("case", CASES)
def test_scale_sets_that_break_the_policy_are_refused_and_others_are_not(
    guarded: Cluster, denied: str, case: str
) -> None:
    name, words, said = CASES[case]
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
