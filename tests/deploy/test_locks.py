"""The locks of what runs and of what builds are parts of the one lock, and nothing is installed past them."""

import re

import pytest
from deploy.part_of_lock import entries, part
from tests.deploy.conftest import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_part_of_the_lock_that_runs_has_no_tools_of_developers() -> None:
    running = entries(part(LOCK, "remuda"))
    assert {"aiohttp", "msgspec", "yarl", "click"} <= running.keys()
    assert {"pytest", "mypy", "ruff", "hatchling", "hypothesis"}.isdisjoint(running)
    everything = part(LOCK, "remuda:dev")
    assert {"pytest", "mypy", "ruff", "hatchling"} <= entries(everything).keys()


def test_the_part_of_the_lock_keeps_versions_and_hashes() -> None:
    chosen = part(LOCK, "hatchling")
    assert re.match(r"hatchling==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", chosen)
    for line in chosen.splitlines():
        assert f"{line}\n" in LOCK
    assert set(re.findall(r"^([a-z-]+)==", chosen, re.MULTILINE)) == {*entries(LOCK)} & {
        "hatchling",
        "packaging",
        "pathspec",
        "pluggy",
        "tomlkit",
        "trove-classifiers",
    }


@pytest.mark.parametrize(
    ("name", "roots"),
    [
        pytest.param("runtime", ["remuda", "jinja2", "psycopg"], id="what runs"),
        pytest.param("build", ["hatchling", "editables"], id="what builds"),
    ],
)
def test_the_small_locks_are_what_make_lock_takes_from_the_large_one(name: str, roots: list[str]) -> None:
    kept = (ROOT / "deploy" / f"{name}.lock").read_text(encoding="utf-8")
    assert kept == part(LOCK, *roots), "`make lock` writes it"
    assert "://" not in kept


def test_a_package_that_the_lock_does_not_know_has_no_part() -> None:
    with pytest.raises(KeyError):
        part(LOCK, "remuda", "nonesuch")


def test_no_step_of_the_image_installs_what_the_lock_does_not_know() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    installs = [line for line in text.splitlines() if line.startswith("RUN") and " install " in line]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--no-index" in line


def test_the_base_of_the_image_is_named_by_its_digest() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert re.search(r"^ARG PYTHON=\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${PYTHON}"}
