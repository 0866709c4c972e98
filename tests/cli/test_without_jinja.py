"""Where Jinja2 is not installed, pages cannot be written: that is said at once with what to install, and all else works."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import Ran

pytestmark = pytest.mark.slow
#: `remuda` as if Jinja2 were not installed
NO_JINJA = "import sys; sys.modules['jinja2'] = None; from remuda.cli import main; main()"
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*words: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-c", NO_JINJA, *words], capture_output=True, text=True, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize(
    ("words", "extra"),
    [("rightsize review", "rightsize"), ("report", "web"), ("simulate fleet", "fleet")],
)
def test_a_page_that_cannot_be_written_names_the_extra_that_is_missing(
    words: str, extra: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    ran = run(*words.split(), "--html", str(page), "--data-dir", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"remuda: --html needs Jinja2: pip install 'remuda[{extra}]'\n"
    assert not page.exists()


def test_a_review_without_a_page_needs_none(tmp_path: Path) -> None:
    usage = tmp_path / "usage.json"
    script = [sys.executable, str(EXAMPLES / "rightsize-usage.py"), "1767225600"]
    usage.write_bytes(subprocess.run(script, capture_output=True, check=True).stdout)
    files = ("--from", str(EXAMPLES / "rightsize-cluster.yaml"), "--usage", str(usage))
    ran = run("rightsize", "review", *files, "--at", "2026-01-01T00:00:00Z", "--data-dir", str(tmp_path))
    assert "Jinja2" not in ran.err
    assert "Sizes of" in ran.out
