"""
The examples in the documentation are executed.

Each page is one session in a directory of its own: every `$` line of its console blocks is run, and what it prints
must be what the page says, widths of columns apart. `…` stands for anything within a line, and a line of it alone for any lines.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.capacity.codes import RULES
from remuda.jobs import JOBS
from remuda.model.amount_texts import quantity
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.rightsize.codes import RULES as SIZE_RULES
from remuda.tiers.audit_codes import FINDINGS
from remuda.tiers.why_codes import CAUSES

ROOT = Path(__file__).parents[2]
PAGES = [
    *(f"tutorials/{name}.md" for name in (
        "laptop", "arc-ceiling", "rightsizing-review", "simulated-fleet",
    )),
    *(f"guides/{name}.md" for name in (
        "pools", "jobs", "dashboard", "operating", "postgres", "why", "circleci", "diagnose", "fleet", "rightsize", "capacity",
        "tiers",
        "report", "shared-queue",
    )),
]  # fmt: skip
DEADLINE_S = 60


def steps(page: str) -> Iterator[tuple[str, list[str]]]:
    """Commands of a page, each with the lines it should print."""
    return commands((ROOT / "docs" / page).read_text())


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Commands in a text; a block with a title is a file of that name, which is written in its turn."""
    for name, file, block in re.findall(
        r'```\w+ title="([^"]+)"\n(.*?)```|```console\n(.*?)```', text, re.DOTALL
    ):
        if name:
            yield f"cat > {name} <<'END'\n{file}END", []
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            yield command, expected


def pattern(expected: list[str]) -> re.Pattern[str]:
    lines = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(squeezed(line)).replace("…", ".*") + r"[ ]*\n"
        for line in expected
    ]
    return re.compile("".join(lines))


def squeezed(text: str) -> str:
    """Columns may be wider or narrower than on the page."""
    return re.sub(" +", " ", text)


@pytest.fixture
def sandbox() -> Iterator[tuple[Path, dict[str, str]]]:
    directory = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    shutil.copytree(ROOT / "examples", directory / "examples")
    bin_dir = str(Path(sys.executable).parent)
    environ = {
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "HOME": str(directory),
        "REMUDA_DATA_DIR": str(directory / "data"),
        "NO_COLOR": "1",
    }
    yield directory, environ
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(directory).encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((directory / "data" / "lock").read_text()), signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_happens(
    page: str, sandbox: tuple[Path, dict[str, str]], request: pytest.FixtureRequest
) -> None:
    directory, environ = sandbox
    if page == "guides/postgres.md":
        environ["REMUDA_STORE"] = request.getfixturevalue("postgres").url(request.getfixturevalue("schema"))
    if page == "guides/shared-queue.md":
        environ["REMUDA_QUEUE"] = request.getfixturevalue("postgres").url(request.getfixturevalue("schema"))
    for command, expected in steps(page):
        if command.endswith("&"):
            with (directory / "up.log").open("ab") as log:
                # The shell ends at once and is reaped; what it started stays, until the sandbox is cleared.
                subprocess.run(
                    ["bash", "-c", f"{command}"],
                    cwd=directory,
                    env=environ,
                    stdout=log,
                    stderr=log,
                    check=True,
                )
            wait_until_warm(directory, environ)
            continue
        wanted = pattern(expected)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=directory,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=DEADLINE_S,
                check=False,
            )
            # A question may be asked again until the world has settled; what changes something is done once.
            is_question = re.match(r"(remuda (why|pools list|jobs list|loops list|replay)|curl)", command)
            if wanted.fullmatch(squeezed(done.stdout)) or not is_question or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        assert wanted.fullmatch(squeezed(done.stdout)), f"$ {command}\n{done.stdout}\nwanted:\n" + "\n".join(
            expected
        )


def wait_until_warm(directory: Path, environ: dict[str, str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        done = subprocess.run(
            ["remuda", "loops", "list"],
            cwd=directory,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if "running" in done.stdout:
            return
        time.sleep(0.1)
    pytest.fail((directory / "up.log").read_text())


def test_every_reason_code_is_documented_and_nothing_else() -> None:
    text = (ROOT / "docs" / "guides" / "why.md").read_text()
    documented = dict(re.findall(r"^\| `([a-z.-]+)` \| (.*) \|$", text, re.MULTILINE))
    assert documented == {code: words[0] for code, words in JOBS.codes().items() if len(words) == 2}


def test_every_rule_of_an_audit_is_documented_and_nothing_else() -> None:
    text = (ROOT / "docs" / "guides" / "capacity.md").read_text().partition("| rule | means |")[2]
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", text, re.MULTILINE)) == RULES


def test_every_rule_of_a_review_is_explained() -> None:
    text = (
        (ROOT / "docs" / "guides" / "rightsize.md")
        .read_text()
        .partition("| rule of a finding | means |")[2]
        .partition("\n## ")[0]
    )
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", text, re.MULTILINE)) == SIZE_RULES


def test_the_page_of_tiers_has_the_built_in_ones() -> None:
    text = (ROOT / "docs" / "guides" / "tiers.md").read_text().partition("### Built-in tiers")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\| \d-.*", text, re.MULTILINE)
    ]
    expected = [
        [
            tier.name,
            quantity("memory", tier.default_memory),
            quantity("memory", tier.max_memory),
            quantity("cpu", tier.default_cpu),
            quantity("cpu", tier.max_cpu),
            " / ".join(quantity(name.removeprefix("requests."), most) for name, most in tier.quota.items()),
            str(tier.priority),
            "may be below" if tier.burst else "= limit",
        ]
        for tier in DEFAULT_POLICY.tiers.values()
    ]
    assert rows == expected
    for pattern in DEFAULT_POLICY.excluded:
        assert f"`{pattern}`" in text


def test_every_rule_and_cause_of_tiers_is_documented_and_nothing_else() -> None:
    text = (ROOT / "docs" / "guides" / "tiers.md").read_text()
    for head, known in (("| rule of the audit | means |", FINDINGS), ("| cause | means |", CAUSES)):
        table = text.partition(head)[2].partition("\n\n")[0]
        expected = {code.removeprefix("tiers."): words[0] for code, words in known.items()}
        assert dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", table, re.MULTILINE)) == expected


def test_every_test_that_a_page_names_is_there() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for file, _, name in re.findall(r"`(tests/[\w/]+\.py)(::(\w+))?`", page.read_text()):
            assert (ROOT / file).is_file(), f"{page.name} names {file}"
            assert not name or f"def {name}(" in (ROOT / file).read_text(), f"{page.name} names {name}"


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_promises_no_subject_that_its_page_does_not_have() -> None:
    (row,) = re.findall(r"\| operate it: (.*) \| \[Operating\]", (ROOT / "README.md").read_text())
    page = (ROOT / "docs" / "guides" / "operating.md").read_text().lower()
    titles = re.findall(r"^## (.*)|^\| ([a-z]+) \|", page, re.MULTILINE)
    headings = " ".join(" ".join(each) for each in titles)
    for subject in row.split(", "):
        assert re.search(rf"\b{subject[:5]}", headings), subject
