"""The sdist and the wheel: built, installed as pipx does it, in an environment that has nothing else, and run."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from deploy.part_of_lock import entries
from tests.deploy.conftest import EVERY_MODULE, INSTALLED, ROOT, do

from remuda import __version__

pytestmark = pytest.mark.slow

#: Prints what the schema of CycloneDX has against the document on standard input: nothing, or the first problem.
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()) or "")
"""


def complaint(document: str) -> str:
    """What the schema of CycloneDX says against a bill of materials."""
    return subprocess.run(
        [sys.executable, "-c", VALIDATE], input=document, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="session")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in the sdist."""
    place = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    return next(place.iterdir())


@pytest.fixture(scope="session")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from the sdist: there is no git in it."""
    made = tmp_path_factory.mktemp("wheel")
    do(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made, cwd=unpacked)
    return next(made.glob("*.whl"))


def test_a_wheel_of_the_clone_and_one_of_the_sdist_are_the_same_to_the_byte(
    wheel: Path, tmp_path: Path
) -> None:
    do(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    assert next(tmp_path.glob("*.whl")).read_bytes() == wheel.read_bytes()
    assert [path.suffix for path in tmp_path.iterdir()] == [".whl"]
    assert not (ROOT / "src" / "remuda" / "commit.txt").exists()


def test_a_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].removesuffix(".dist-info") for name in names} == {
        "remuda",
        f"remuda-{__version__}",
    }
    assert "remuda/py.typed" in names
    tracked = do("git", "ls-files", "--cached", "--others", "--exclude-standard", "src/remuda").split()
    written = {name for name in names if name.startswith("remuda/")} - {"remuda/commit.txt"}
    assert written == {path.removeprefix("src/") for path in tracked if (ROOT / path).exists()}


def test_what_is_installed_runs_needs_nothing_more_and_knows_its_commit(
    wheel: Path, commit: str, tmp_path: Path
) -> None:
    do(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    # what is imported below is compiled then, and nothing else
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-compile")
    do(*pip, "--require-hashes", "--only-binary=:all:", "-r", ROOT / "deploy" / "runtime.lock")
    # fails where the lock lacks what the wheel says it needs
    do(*pip, "--no-index", wheel)
    environ = {"PATH": os.defpath, "HOME": str(tmp_path)}

    def says(*words: str) -> str:
        return do(python.with_name(words[0]), *words[1:], cwd=tmp_path, env=environ)

    assert f"(commit {commit[:12]}" in says("remuda", "--version")
    assert says("remuda", "--help").startswith("Usage: remuda")
    assert "kind: CustomResourceDefinition" in says("remuda", "crds")
    says("python", "-c", EVERY_MODULE)
    locked = entries((ROOT / "deploy" / "runtime.lock").read_text(encoding="utf-8"))
    assert set(says("python", "-c", INSTALLED).split()) == {*locked, "remuda"}

    bill = json.loads(says("python", str(ROOT / "deploy" / "sbom.py")))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert {part["name"] for part in bill["components"]} == {*locked}
    assert all(part["licenses"] for part in bill["components"])
    known = {part["purl"] for part in bill["components"]} | {bill["metadata"]["component"]["purl"]}
    assert {line["ref"] for line in bill["dependencies"]} == known
    assert all(known.issuperset(line["dependsOn"]) for line in bill["dependencies"])
    assert complaint(json.dumps(bill)) == ""
    bill["components"][0]["type"] = "nonesuch"
    assert "'nonesuch' is not one of" in complaint(json.dumps(bill))


def test_a_bill_of_the_developers_environment_lists_what_runs_alone() -> None:
    bill = json.loads(do(sys.executable, ROOT / "deploy" / "sbom.py"))
    names = {part["name"] for part in bill["components"]}
    assert names == {*entries((ROOT / "deploy" / "runtime.lock").read_text(encoding="utf-8"))}


def test_a_build_that_gets_its_commit_uses_it(unpacked: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=unpacked,
        env={**os.environ, "REMUDA_COMMIT": "feedfacefeedface"},
        check=True,
        capture_output=True,
    )
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        assert archive.read("remuda/commit.txt") == b"feedfacefeedface\n"
