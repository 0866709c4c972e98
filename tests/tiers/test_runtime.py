"""Tiers in `remuda up`: only with a cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

POLICY = """
apiVersion: remuda.dev/v1alpha1
kind: TierPolicy
metadata: {name: main}
spec: {}
"""


@pytest.mark.parametrize("words", [["up"], ["up", "--dry-run"]])
def test_a_policy_in_a_file_without_a_cluster_is_refused_with_what_to_do(
    tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "tiers.yaml"
    path.write_text(POLICY)
    command = [sys.executable, "-m", "remuda", *words, str(path), "--data-dir", str(tmp_path / "data")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert "tiers are kept in a cluster: TierPolicy main" in ran.stderr
    assert "`remuda up --cluster`" in ran.stderr
    assert "`remuda tiers apply`" in ran.stderr
