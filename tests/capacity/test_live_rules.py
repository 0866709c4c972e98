"""How rules for scale sets come, go and meet what is there already, in a real API server."""

from typing import Any

import pytest
from tests.capacity.builders import NOW, policy
from tests.capacity.controllers import LABELLED, SETS
from tests.capacity.live import GUARDED, installed, is_noticed, put, remove, try_out
from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.servers.loopback import Answer

from remuda.capacity.decide.guards import Action, admission

pytestmark = pytest.mark.slow
RULES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"


@pytest.mark.parametrize(("action", "warns"), [("Warn", True), ("Audit", False)])
def test_rules_may_only_warn_or_be_noted(
    guarded: Cluster, version: str, place: str, action: Action, warns: bool
) -> None:
    rendered = admission("kvm", policy(**GUARDED), action, NOW)
    put(guarded, rendered)
    try:
        if warns:
            eventually(lambda: is_noticed(try_out(guarded, place, "probe", {"maxRunners": 99})), "a warning")
        else:
            bound = guarded.request("GET", f"{RULES}ybindings/remuda-capacity-kvm").json()
            assert bound["spec"]["validationActions"] == ["Audit"]
        answer = try_out(guarded, place, "new", {"maxRunners": 99, "minRunners": 3, "requests": None})
        assert answer.status == 201, answer.text
        assert len(answer.warnings) == (3 if warns else 0)
    finally:
        remove(guarded, rendered)
        eventually(lambda: not is_noticed(try_out(guarded, place, "probe", {"maxRunners": 99})), "the end")


def test_a_set_that_was_there_lives_on_until_its_spec_changes(
    guarded: Cluster, version: str, place: str
) -> None:
    assert try_out(guarded, place, "old", {"maxRunners": 99}, dry=False).status == 201
    path = f"{SETS.format(place)}/old"
    merge = "application/merge-patch+json"

    def patch(body: object) -> Answer:
        return guarded.request("PATCH", path, body, content_type=merge)

    with installed(guarded, admission("kvm", policy(**GUARDED), "Deny", NOW)):
        # what the controller does to each of its scale sets
        held = {"metadata": {"finalizers": ["example.com/held"], "annotations": {"runner-scale-set-id": "1"}}}
        assert patch(held).status == 200
        assert patch({"spec": {"maxRunners": 98}}).status == 422
        assert patch({"spec": {"maxRunners": 1}}).status == 200
        assert patch({"spec": {"maxRunners": 2}}).status == 422
        assert guarded.request("DELETE", path).status == 200
        assert patch({"metadata": {"finalizers": None}}).status == 200
        assert guarded.request("GET", path).status == 404


def test_a_policy_of_thousands_of_sets_is_enforced(guarded: Cluster, version: str, place: str) -> None:
    listed = [{"name": f"a-namespace-of-some-length/a-set-{number}", "max": 2} for number in range(3_000)]
    many = GUARDED | {"sets": [*listed, {"name": f"{place}/last", "max": 4}]}
    with installed(guarded, admission("kvm", policy(**many), "Deny", NOW)):
        assert try_out(guarded, place, "last", {"maxRunners": 4}).status == 201
        assert try_out(guarded, place, "last", {"maxRunners": 5}).status == 422
        assert try_out(guarded, place, "a-set-1", {"maxRunners": 2}).status == 422


def test_the_server_finds_nothing_wrong_with_the_rules(guarded: Cluster, version: str) -> None:
    """The server checks expressions against the custom resource it has; of fields it lacks it may complain."""
    with installed(guarded, admission("kvm", policy(**GUARDED), "Deny", NOW)):
        path = f"{RULES}ies/remuda-capacity-kvm"

        def checked(path: str = path) -> dict[str, Any] | None:
            status = guarded.request("GET", path).json().get("status", {})
            return status if "observedGeneration" in status else None

        checked_types = eventually(checked, "the type checking").get("typeChecking", {})
        wrong = [item["warning"] for item in checked_types.get("expressionWarnings", [])]
        assert [item for item in wrong if version in LABELLED or "runnerScaleSetLabels" not in item] == []
