"""`remuda rbac`: permissions, for kubectl."""

import json

import pytest
import yaml
from tests.cli.conftest import Run

from remuda.kube.rbac import cluster_role, role


@pytest.mark.parametrize(
    ("options", "made"),
    [
        pytest.param([], role("up", "remuda"), id="a Role"),
        pytest.param(["--namespace", "ci"], role("up", "remuda", "ci"), id="a Role of a namespace"),
        pytest.param(["--name", "mine"], role("up", "mine"), id="a Role by a name"),
    ],
)
def test_the_command_prints_it_for_kubectl(options: list[str], made: object, run: Run) -> None:
    assert yaml.safe_load(run("rbac", "up", *options).out) == made
    assert json.loads(run("rbac", "up", *options, "-o", "json").out) == made


def test_what_goes_beyond_a_namespace_comes_with_a_cluster_role(run: Run) -> None:
    printed = yaml.safe_load(run("rbac", "diagnose").out)
    assert printed["items"] == [role("diagnose", "remuda"), cluster_role("diagnose", "remuda")]


def test_what_a_command_can_do_without_is_printed_on_request(run: Run) -> None:
    printed = yaml.safe_load(run("rbac", "diagnose", "--optional").out)
    assert printed["items"][1] == cluster_role("diagnose", "remuda", optional=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            ["validate"],
            "validate asks nothing of the Kubernetes API; commands that do: up, diagnose",
            id="a command that needs nothing",
        ),
        pytest.param(
            ["uq"],
            "there is no command uq; commands that need permissions: up, diagnose",
            id="a command there is not",
        ),
    ],
)
def test_what_cannot_be_printed_is_told(words: list[str], told: str, run: Run) -> None:
    ran = run("rbac", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"remuda: {told}\n")
