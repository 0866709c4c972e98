"""The table of permissions; that the chart grants the same is tested with the chart."""

import click
import pytest

from remuda.cli.tree import root
from remuda.jobs import JOBS
from remuda.kube.rbac import Rule, cluster_role, role

NEEDS = JOBS.permissions()

VERBS = {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}


def test_a_role_holds_the_rules_of_its_command() -> None:
    made = role(NEEDS["up"], "ci-remuda", "ci")
    assert made["metadata"] == {"name": "ci-remuda", "namespace": "ci"}
    assert made["rules"] == [rule.written() for rule in NEEDS["up"] if not rule.is_cluster_wide]


def test_what_is_beyond_a_namespace_is_in_a_cluster_role() -> None:
    made, wide = role(NEEDS["diagnose"], "looks", "ci"), cluster_role(NEEDS["diagnose"], "looks")
    assert wide is not None
    assert (made["kind"], wide["kind"], wide["metadata"]) == ("Role", "ClusterRole", {"name": "looks"})
    needed = [rule.written() for rule in NEEDS["diagnose"] if not rule.is_optional]
    assert made["rules"] + wide["rules"] == needed
    assert cluster_role(NEEDS["up"], "remuda") is None


def test_up_can_do_without_what_tiers_ask_of_the_cluster() -> None:
    whole = cluster_role(NEEDS["up"], "remuda", optional=True)
    assert whole is not None
    assert {name for rule in whole["rules"] for name in rule["resources"]} == {
        "namespaces", "limitranges", "resourcequotas", "priorityclasses", "nodes",
        "validatingadmissionpolicies", "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
    }  # fmt: skip
    assert {"verbs": ["get", "list", "watch", "patch"], "apiGroups": [""], "resources": ["nodes"]} in whole[
        "rules"
    ]


def test_commands_in_pods_are_granted_only_when_they_are_asked_for() -> None:
    rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
    needed, whole = (
        cluster_role(NEEDS["diagnose"], "looks"),
        cluster_role(NEEDS["diagnose"], "looks", optional=True),
    )
    assert needed is not None
    assert whole is not None
    assert rule not in needed["rules"]
    assert whole["rules"] == [*needed["rules"], rule]


def test_an_audit_only_reads_and_asks_kubelets_only_when_that_is_granted() -> None:
    rule = {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]}
    needed, whole = (
        cluster_role(NEEDS["capacity"], "audits"),
        cluster_role(NEEDS["capacity"], "audits", optional=True),
    )
    assert needed is not None
    assert whole is not None
    assert {verb for each in needed["rules"] for verb in each["verbs"]} == {"list"}
    assert whole["rules"] == [*needed["rules"], rule]


def test_right_sizing_only_reads() -> None:
    needed, whole = (
        cluster_role(NEEDS["rightsize"], "reads"),
        cluster_role(NEEDS["rightsize"], "reads", optional=True),
    )
    assert needed is not None
    assert needed == whole
    assert {verb for each in needed["rules"] for verb in each["verbs"]} == {"get", "list"}
    assert role(NEEDS["rightsize"], "reads")["rules"] == []


def test_names_are_written_only_where_there_are_any() -> None:
    rule = Rule("g", ("things",), ("get",))
    assert rule.written() == {"apiGroups": ["g"], "resources": ["things"], "verbs": ["get"]}
    assert Rule("g", ("things",), ("get",), ("one",)).written() == {
        **rule.written(),
        "resourceNames": ["one"],
    }


@pytest.mark.parametrize("command", NEEDS)
def test_nothing_is_granted_twice_or_wholesale(command: str) -> None:
    granted = [
        (rule.group, resource, verb, rule.is_cluster_wide)
        for rule in NEEDS[command]
        for resource in rule.resources
        for verb in rule.verbs
    ]
    assert len(granted) == len(set(granted))
    assert {verb for _, _, verb, _ in granted} <= VERBS
    assert not any("*" in part for grant in granted for part in grant[:3])


def test_only_commands_there_are_need_anything() -> None:
    assert {command.split()[0] for command in NEEDS} <= set(root.list_commands(click.Context(root)))
