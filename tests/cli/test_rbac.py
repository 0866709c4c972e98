"""`remuda rbac`: permissions, for kubectl."""

import json
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Run

from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role, role

NEEDS = JOBS.permissions()


@pytest.mark.parametrize(
    ("options", "made"),
    [
        pytest.param([], role(NEEDS["up"], "remuda"), id="a Role"),
        pytest.param(["--namespace", "ci"], role(NEEDS["up"], "remuda", "ci"), id="a Role of a namespace"),
        pytest.param(["--name", "mine"], role(NEEDS["up"], "mine"), id="a Role by a name"),
    ],
)
def test_the_command_prints_it_for_kubectl(options: list[str], made: object, run: Run) -> None:
    assert yaml.safe_load(run("rbac", "up", *options).out) == made
    assert json.loads(run("rbac", "up", *options, "-o", "json").out) == made


def test_what_goes_beyond_a_namespace_comes_with_a_cluster_role(run: Run) -> None:
    printed = yaml.safe_load(run("rbac", "diagnose").out)
    assert printed["items"] == [
        role(NEEDS["diagnose"], "remuda-diagnose"),
        cluster_role(NEEDS["diagnose"], "remuda-diagnose"),
    ]


def test_what_a_command_can_do_without_is_printed_on_request(run: Run) -> None:
    printed = yaml.safe_load(run("rbac", "diagnose", "--optional").out)
    assert printed["items"][1] == cluster_role(NEEDS["diagnose"], "remuda-diagnose", optional=True)


def test_a_command_that_needs_nothing_of_a_namespace_is_given_no_empty_role(run: Run) -> None:
    printed = yaml.safe_load(run("rbac", "capacity").out)
    assert printed == cluster_role(NEEDS["capacity"], "remuda-capacity")
    made = yaml.safe_load(run("rbac", "capacity", "render").out)
    assert made == cluster_role(NEEDS["capacity render"], "remuda-capacity-render")


def test_no_command_s_role_takes_the_place_of_the_controller_s(run: Run) -> None:
    names = [
        each["metadata"]["name"]
        for command in NEEDS
        for each in _items(yaml.safe_load(run("rbac", *command.split()).out))
    ]
    assert names.count("remuda") == 1


def _items(printed: dict[str, Any]) -> list[dict[str, Any]]:
    return printed["items"] if printed["kind"] == "List" else [printed]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["validate"],
            "validate asks nothing of the Kubernetes API; commands that do: up, diagnose, diagnose metrics, capacity, capacity rollback, capacity render, tiers, tiers apply, tiers diff, rightsize",
            id="a command that needs nothing",
        ),
        pytest.param(
            ["uq"],
            "there is no command uq; commands that need permissions: up, diagnose, diagnose metrics, capacity, capacity rollback, capacity render, tiers, tiers apply, tiers diff, rightsize",
            id="a command there is not",
        ),
    ],
)
def test_what_cannot_be_printed_is_reported(words: list[str], message: str, run: Run) -> None:
    ran = run("rbac", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"remuda: {message}\n")
