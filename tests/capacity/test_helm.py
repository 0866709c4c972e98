"""Fixes of an audit as values of the chart of runner scale sets."""

from typing import Any

import pytest
from tests.capacity.builders import NOW, decision, measured, node, policy, scale_set, sized, snapshot

from remuda.capacity.decide.audit import audit
from remuda.capacity.show.helm import documents
from remuda.capacity.snapshot import ScaleSet

SMALL = {"name": "small", "requests": sized("2", "8Gi"), "limits": sized("8", "16Gi")}


def fixed(made: ScaleSet, **spec: Any) -> tuple[list[str], dict[str, Any]]:
    listed = {"sets": [{"name": "docs", "max": 2, "envelope": "small"}], "envelopes": [SMALL], "ceiling": 2}
    found = audit(snapshot(made, node()), ["nix-kvm"], {"kvm": policy(**(listed | spec))}, NOW)
    ((comments, values),) = documents(found.findings)
    return comments, values


@pytest.mark.parametrize(
    ("fields", "spec", "values"),
    [
        pytest.param({"max": 5}, {}, {"maxRunners": 2}, id="a maximum above its share"),
        pytest.param({"max": None}, {}, {"maxRunners": 2}, id="no maximum"),
        pytest.param({"max": 2}, {"sets": []}, {"maxRunners": 1}, id="a newcomer"),
        pytest.param({"min": 1, "max": 2}, {}, {"minRunners": 0}, id="a minimum"),
        pytest.param(
            {"max": 1}, {"priorityClass": "ci"}, {"template": {"spec": {"priorityClassName": "ci"}}}, id="a class"
        ),
        pytest.param(
            {"max": 1, "requests": measured("2", "9Gi")},
            {},
            {"template": {"spec": {"containers": [{"name": "runner", "resources": {"requests": {"memory": "8Gi"}}}]}}},
            id="another envelope",
        ),
        pytest.param(
            {"max": 1, "limits": {}},
            {},
            {"template": {"spec": {"containers": [{"name": "runner", "resources": {"limits": {"memory": "16Gi"}}}]}}},
            id="no limit",
        ),
    ],
)  # fmt: skip
def test_what_values_can_fix_is_a_value(fields: dict[str, Any], spec: dict[str, Any], values: Any) -> None:
    comments, made = fixed(scale_set("docs", **fields), **spec)
    assert (comments[0], made) == ("AutoscalingRunnerSet arc/docs", values)
    assert any("which Helm replaces" in line for line in comments) == ("containers" in str(values))


def test_without_a_policy_a_maximum_is_one_and_what_was_not_decided_is_left_to_a_person() -> None:
    made = scale_set("docs", max=None, requests={}, node_name="honey")
    ((comments, values),) = documents(audit(snapshot(made, node()), ["nix-kvm"], {}, NOW).findings)
    assert values == {"maxRunners": 1}
    assert [line.split(":")[1].strip() for line in comments[1:]] == ["node-name-set", "missing-requests"]


def test_what_is_accepted_or_about_others_needs_no_values() -> None:
    waivers = [decision(rule="set-above-its-share", until="2026-12-01")]
    listed = {
        "sets": [{"name": "docs", "max": 2, "envelope": "small"}],
        "envelopes": [SMALL],
        "waivers": waivers,
    }
    spec = policy(ceiling=2, **listed)
    found = audit(snapshot(scale_set("docs", max=5), node()), ["nix-kvm"], {"kvm": spec}, NOW)
    assert {item.rule for item in found.findings} >= {"ceiling-exceeded", "set-above-its-share"}
    assert documents(found.findings) == []
