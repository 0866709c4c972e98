"""What runs before each commit for whoever installed the hooks."""

import sys
from pathlib import Path

import yaml
from tests.deploy.conftest import ROOT, do

CONFIG = ROOT / ".pre-commit-config.yaml"


def test_the_hooks_can_be_read_and_every_program_they_start_is_there() -> None:
    tools = Path(sys.executable).parent
    do(tools / "prek", "validate-config", CONFIG)
    hooks = [
        hook for repo in yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repos"] for hook in repo["hooks"]
    ]
    assert hooks
    for hook in hooks:
        # nothing is fetched: a commit needs no network, and lints as `make lint` does
        assert hook["language"] == "system"
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        assert (tools / Path(program).name).exists()
