"""The reference says everything that the code knows: each page is compared with where it comes from."""

import re

import click
import pytest
from manual import cli, codes, http_api, metrics, objects, permissions
from manual.stage import REFERENCE
from manual.tables import code, prose, table

from remuda.cli.tree import tree
from remuda.control.command import shared_options
from remuda.jobs import JOBS

pytestmark = pytest.mark.slow


def cells(text: str) -> list[list[str]]:
    """The rows of all tables, split where Markdown splits them: not within code."""
    rows = [re.sub(r"`[^`]*`", lambda found: found[0].replace("|", "\0"), line) for line in text.splitlines()]
    return [
        [cell.strip().replace("\0", "|") for cell in line.strip("|").split("|")]
        for line in rows
        if line.startswith("| ")
    ]


def test_every_command_has_a_heading_and_all_its_options() -> None:
    text = cli.page(JOBS)
    words = cli.paths(JOBS)
    assert len(words) > 50
    parts = dict(
        re.findall(r"^#{2,4} (remuda .*?)\n(.*?)(?=^#{2,4} remuda |\Z)", text, re.MULTILINE | re.DOTALL)
    )
    assert list(parts) == words[1:]
    shared = {name for option in shared_options() for name in option.opts}
    for name in shared:
        assert f"`{name}`" in text.partition("\n## ")[0], name
    top = tree(JOBS)
    for path in words[1:]:
        command: click.Command = top
        for word in path.split()[1:]:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        for option in command.params:
            if isinstance(option, click.Option) and not shared & set(option.opts):
                assert f"`{option.opts[0]}`" in parts[path], f"{path} {option.opts[0]}"
                assert option.hidden or option.help, f"{path} {option.opts[0]} says nothing"


def test_every_field_of_every_kind_has_a_meaning() -> None:
    text = objects.page(JOBS)
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == [kind.name for kind in JOBS.kinds()]
    for row in cells(text):
        assert len(row) == 4, row
        assert all((row[0], row[1], row[3])), row


def test_defaults_and_bounds_of_fields_are_shown() -> None:
    rows = {row[0]: row for row in cells(objects.page(JOBS).partition("## Ceiling")[0])}
    assert rows["`source.circleci.url`"][2] == "`https://runner.circleci.com/`"
    assert "1 to 100000." in rows["`source.circleci.planConcurrency`"][3]
    assert "**`class`**" in rows


def test_every_code_is_explained_once() -> None:
    reasons = [row[0] for row in cells(codes.reasons_page(JOBS)) if row[0] != "code"]
    findings = [row[0] for row in cells(codes.findings_page(JOBS)) if row[0] != "code"]
    assert sorted(reasons + findings) == sorted(
        f"`{name}`" for name in JOBS.codes() if not name.startswith("---")
    )
    assert min(len(reasons), len(findings)) > 30


def test_every_metric_that_a_process_exports_is_found_in_the_code() -> None:
    _, registry = http_api.assembled(JOBS)
    exported = {
        (f"{each.name}_total" if each.type == "counter" else each.name, each.type, each.documentation)
        for each in registry.collect()
    }
    found = {(each.name, each.type, each.meaning) for each in metrics.metrics()}
    assert len(exported) > 10
    assert exported <= found
    assert ["`remuda_pool_actions_total`", "counter", "`pool`, `action`, `reason`"] in [
        row[:3] for row in cells(metrics.page())
    ]


def test_every_request_and_every_type_is_described() -> None:
    text = http_api.page(JOBS)
    served = http_api.openapi(JOBS)
    for path, methods in served["paths"].items():
        for method in methods:
            assert f"### {method.upper()} {path}\n" in text
    for name in served["components"]["schemas"]:
        assert f"### {name}\n" in text


def test_the_permissions_are_those_of_rbac() -> None:
    text = permissions.page(JOBS)
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == list(JOBS.permissions())
    rules = [rule for rules in JOBS.permissions().values() for rule in rules]
    assert len([row for row in cells(text) if row[0] not in {"group", "---"}]) == len(rules)


def test_every_page_begins_with_its_title() -> None:
    for title, _, make in REFERENCE.values():
        assert make(JOBS).startswith(f"# {title}\n")


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        pytest.param(code("a`b"), "`` a`b ``", id="code may hold a backtick"),
        pytest.param(code(""), "", id="nothing is no code"),
        pytest.param(prose("a <b> | `<c|d>`"), "a &lt;b> &#124; `<c|d>`", id="code is left as it is"),
        pytest.param(table(("a",), [("x\ny",)]), "| a |\n|---|\n| x y |\n", id="a cell is one line"),
        pytest.param(table(("a",), []), "", id="no table without rows"),
    ],
)
def test_texts_come_through_markdown_as_they_are(made: str, wanted: str) -> None:
    assert made == wanted
