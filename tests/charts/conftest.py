"""The whole chart, made once for each test process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.charts.rendering import DEADLINE_S, ROOT, Chart, Helm
from tests.servers.fixtures import Programs


@pytest.fixture(scope="session")
def helm(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Run helm, without anything of the user's."""
    return Helm(programs("helm")["helm"], tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def chart(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    """The chart that `charts/package` makes."""
    made = tmp_path_factory.mktemp("charts")
    # where helm cannot be found, the chart is not packed
    environ = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}"}
    subprocess.run([ROOT / "charts" / "package", made], env=environ, check=True, timeout=DEADLINE_S)
    return Chart(made / "remuda", helm)
