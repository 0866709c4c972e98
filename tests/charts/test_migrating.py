"""What docs/guides/migrating.md says to type is typed, against a real server."""

import re
from pathlib import Path

import pytest
from tests.charts.rendering import ROOT
from tests.charts.test_page import Shell, steps
from tests.servers.fixtures import NewCluster, Programs

PAGE = (ROOT / "docs" / "guides" / "migrating.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_the_page_says_to_type_works(
    new_cluster: NewCluster, programs: Programs, tmp_path: Path
) -> None:
    shell = Shell(new_cluster(), programs, tmp_path)
    (values,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my-values.yaml").write_text(values, encoding="utf-8")
    typed = [step for step in steps(PAGE) if step[0] != "helm template"]
    assert len(typed) >= 5
    for command, expected in typed:
        shell.type(command, expected)


def test_the_page_names_every_value() -> None:
    named = set(re.findall(r"^\| `provisioner\.([A-Za-z]+)`", PAGE, re.MULTILINE))
    schema = (ROOT / "charts" / "remuda" / "values.schema.json").read_text(encoding="utf-8")
    (known,) = re.findall(r'"propertyNames": \{"enum": \[("circleciAPIAddr".*?)\]', schema)
    assert named == set(re.findall(r'"(\w+)"', known))
