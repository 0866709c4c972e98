"""
The steps of the Containerfile, done in a plain directory instead of a container.

Every absolute path that the steps write to is rewritten to one below the directory of its stage, and the stages' files
are copied as a builder would copy them. What this cannot show: the base image, another user, ownership.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deploy.part_of_lock import entries, part
from tests.charts.rendering import ROOT

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
#: pip reads these from an index
DEADLINE_S = 600
#: directories that the steps may use
TREES = ("/src", "/opt", "/var/lib/remuda")
UNREACHABLE = re.compile(
    r"ConnectionError|Temporary failure in name resolution|Failed to establish|ConnectTimeout"
)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Word and rest of each instruction, comments left out, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, rest = line.split(maxsplit=1)
            yield word, rest


@dataclass
class Stage:
    """A directory in the place of an image."""

    root: Path
    cwd: str = "/"
    environ: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    entrypoint: str = ""

    def here(self, text: str) -> str:
        """Text with its paths below this stage's directory."""
        return re.sub(rf"(?<![\w.])({'|'.join(TREES)})(?=[/\s]|$)", rf"{self.root}\1", text)

    def place(self, path: str) -> Path:
        """Where a path of the image is."""
        assert path.startswith((*TREES, "./")) or not path.startswith("/"), path
        return Path(f"{self.root}{os.path.normpath(os.path.join(self.cwd, path))}")  # noqa: PTH118 - a path of the image


def python_with_pip() -> Path:
    """This Python, in its environment or outside of it."""
    outside = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (Path(sys.executable), outside):
        asked = subprocess.run([candidate, "-m", "pip", "--version"], capture_output=True, check=False)
        if asked.returncode == 0:
            return candidate
    pytest.skip("needs a Python with pip; `python -m ensurepip` provides it")


def run(stage: Stage, command: str, search: Path) -> None:
    environ = {
        **{
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_", "HTTP", "http"))
        },
        "HOME": os.environ.get("HOME", "/"),
        "PATH": f"{search}:{os.environ['PATH']}",
        **stage.environ,
    }
    directory = stage.place(stage.cwd)
    directory.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["sh", "-c", stage.here(command)],
        cwd=directory,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    told = done.stdout + done.stderr
    if done.returncode and UNREACHABLE.search(told) and os.environ.get("REMUDA_REQUIRE_SERVERS") != "1":
        pytest.skip("needs an index of Python packages, which cannot be reached")
    assert done.returncode == 0, f"RUN {command}\n{told}"


def copy(stage: Stage, words: list[str], stages: dict[str, Stage]) -> None:
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    *sources, target = [word for word in words if not word.startswith("--")]
    for source in sources:
        origin = stages[options["from"]].place(source) if "from" in options else ROOT / source
        to = stage.place(target)
        if origin.is_dir():
            shutil.copytree(origin, to, symlinks=True, dirs_exist_ok=True)
        else:
            to = to / origin.name if target.endswith("/") else to
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, to)


def build(directory: Path) -> Stage:
    """Do every step; the last stage is the image."""
    search = directory / "search"
    search.mkdir()
    (search / "python").symlink_to(python_with_pip())
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage = Stage(directory)
    for word, rest in instructions(TEXT):
        match word:
            case "ARG":
                name, _, value = rest.partition("=")
                arguments[name] = value
            case "FROM":
                image, _, name = rest.partition(" AS ")
                assert re.sub(r"\${(\w+)}", lambda found: arguments[found[1]], image) == "python:3.13-slim"
                stage = stages[name or "last"] = Stage(directory / (name or "last"))
            case "WORKDIR":
                stage.cwd = rest
            case "COPY":
                copy(stage, shlex.split(rest), stages)
            case "RUN":
                run(stage, rest, search)
            case "ENV":
                name, _, value = rest.partition("=")
                stage.environ[name] = stage.here(value)
            case "USER":
                stage.user = rest
            case "ENTRYPOINT":
                stage.entrypoint = rest
            case "EXPOSE":
                assert rest == "8000 8001"
            case _:
                pytest.fail(f"{word} is not known here")
    return stage


#: Imports all there is; only what the extras are for may miss NumPy, which is not in the image.
EVERY_MODULE = """
import importlib, pkgutil, remuda
extras = ("remuda.fleet", "remuda.prometheus.series", "remuda.rightsize", "remuda.sim.fleet_")
for module in pkgutil.walk_packages(remuda.__path__, "remuda."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name != "numpy" or not module.name.startswith(extras):
                raise
"""


@pytest.mark.slow
def test_the_steps_make_a_remuda_that_runs_and_holds_nothing_else(tmp_path: Path) -> None:
    image = build(tmp_path)
    assert image.user == "65532:65532"
    assert image.entrypoint == '["remuda"]'
    assert image.environ["REMUDA_DATA_DIR"] == f"{image.root}/var/lib/remuda"
    assert image.place("/var/lib/remuda").is_dir()
    assert (image.place("/opt/remuda") / "bin" / "remuda").exists()
    # A builder keeps the path when it copies; here the scripts still name the stage they were made in.
    made = tmp_path / "build" / "opt" / "remuda"
    clean = {"PATH": os.defpath, "REMUDA_DATA_DIR": str(image.place("/var/lib/remuda"))}

    def says(*words: str) -> str:
        done = subprocess.run(
            [made / "bin" / words[0], *words[1:]],
            env=clean,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert says("remuda", "--help").startswith("Usage: remuda")
    assert "kind: CustomResourceDefinition" in says("remuda", "crds")
    says("python", "-c", EVERY_MODULE)
    names = "from importlib.metadata import distributions as d; print(*sorted(x.metadata['Name'].lower().replace('_', '-') for x in d()))"
    assert set(says("python", "-c", names).split()) == {*entries(part(LOCK, "remuda")), "remuda"}


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


def test_the_locks_of_what_runs_and_of_what_builds_are_parts_of_the_lock() -> None:
    for name, roots in (("runtime", ("remuda",)), ("build", ("hatchling", "editables"))):
        kept = (ROOT / "deploy" / f"{name}.lock").read_text(encoding="utf-8")
        assert kept == part(LOCK, *roots), f"make lock writes deploy/{name}.lock"
        assert "://" not in kept


def test_a_package_that_the_lock_does_not_know_has_no_part() -> None:
    with pytest.raises(KeyError):
        part(LOCK, "nonesuch")


def test_no_step_reads_what_the_lock_does_not_know() -> None:
    for command in (
        rest for word, rest in instructions(TEXT) if word == "RUN" and "pip" in rest and "install" in rest
    ):
        assert "--require-hashes" in command or "--no-index" in command
