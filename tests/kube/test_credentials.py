"""Tokens that rotate and plug-ins that are asked: kept, renewed, and never shown."""

import asyncio
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kube.conftest import SetClock, eventually
from tests.servers.authority import Authority

from remuda.errors import BadInput, Unavailable
from remuda.kube.credentials import Exec, ExecPlugin, TokenFile, Variable, bearer
from remuda.kube.trust import Trust
from remuda.model.times import write_instant

pytestmark = pytest.mark.slow

V1 = "client.authentication.k8s.io/v1"
SECRET = "hunter2"


def credential(**status: object) -> str:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})


NewExec = Callable[..., Exec]


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def new_exec(tmp_path: Path, clock: SetClock) -> NewExec:
    """`new_exec(script, **fields of ExecPlugin)`: each call of the plug-in adds a line to `calls`."""

    def make(script: str, timeout: float = 60.0, **fields: Any) -> Exec:
        file = tmp_path / "plugin"
        file.write_text(f"#!/bin/sh\necho call >> {tmp_path}/calls\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        plugin = ExecPlugin(**({"command": "./plugin"} | fields))
        return Exec(Trust(), plugin, clock, tmp_path, {"server": "https://api"}, timeout)

    return make


def calls(directory: Path) -> int:
    return len((directory / "calls").read_text().splitlines())


@pytest.mark.parametrize("text", ["", " \n", "two words", "line\nbreak", "not-äscii", "nul\0"])
def test_what_cannot_stand_in_a_header_is_no_token_and_is_not_shown(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        bearer(text, "the file")
    assert str(caught.value) == "the file holds no token: one word of plain characters is expected"
    assert bearer(" abc\n", "it") == "abc"


async def test_a_token_file_is_read_again_when_it_rotates(tmp_path: Path) -> None:
    """As the kubelet rotates: a link to a directory is replaced."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(f"{name}\n")
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "token").symlink_to("data/token")
    credentials = TokenFile(Trust(), tmp_path / "token")
    first = await credentials.proof()
    assert first.token == "one"
    assert await credentials.proof() is first
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").rename(tmp_path / "data")
    second = await credentials.proof()
    assert (second.token, second.tls) == ("two", first.tls)


async def test_a_refused_token_is_read_again_though_the_file_looks_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(Trust(), file)
    first = await credentials.proof()
    was = file.stat()
    file.write_text("two")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (await credentials.proof()).token == "one"
    credentials.renew(first)
    assert (await credentials.proof()).token == "two"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(b"", "holds no token", id="empty"),
        pytest.param(b"\xff\xfe", "holds no token", id="not text"),
    ],
)
async def test_a_token_file_without_a_token_is_reported_and_may_be_repaired(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "token"
    credentials = TokenFile(Trust(), file)
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Unavailable, match=f"the token file {file} {message}"):
        await credentials.proof()
    file.write_text("good")
    assert (await credentials.proof()).token == "good"


async def test_a_plug_in_is_asked_once_however_many_wait(new_exec: NewExec, tmp_path: Path) -> None:
    plugin = new_exec(f"sleep 0.1; echo '{credential(token='abc')}'")
    proofs = await asyncio.gather(*(plugin.proof() for _ in range(20)))
    assert {proof.token for proof in proofs} == {"abc"}
    assert calls(tmp_path) == 1


async def test_a_plug_in_is_asked_again_shortly_before_its_credentials_expire(
    new_exec: NewExec, tmp_path: Path, clock: SetClock
) -> None:
    until = clock.now() + 60_000
    plugin = new_exec(f"echo '{credential(token='abc', expirationTimestamp=write_instant(until))}'")
    await plugin.proof()
    clock.wall = until - 11_000
    await plugin.proof()
    assert calls(tmp_path) == 1
    clock.wall = until - 10_000
    await plugin.proof()
    assert calls(tmp_path) == 2


async def test_refused_credentials_are_renewed_once_however_many_were_refused(
    new_exec: NewExec, tmp_path: Path
) -> None:
    plugin = new_exec(f"echo '{credential(token='abc')}'")
    first = await plugin.proof()
    plugin.renew(first)
    second = await plugin.proof()
    plugin.renew(first)
    assert await plugin.proof() is second
    assert second.tls is first.tls
    assert calls(tmp_path) == 2


async def test_a_plug_in_may_print_a_client_certificate(new_exec: NewExec, authority: Authority) -> None:
    certificate, key = (path.read_text() for path in authority.issue("plugged"))
    text = credential(clientCertificateData=certificate, clientKeyData=key).replace("\\n", "\\\\n")
    proof = await new_exec(f"printf '{text}'").proof()
    assert proof.token is None


async def test_a_plug_in_gets_its_arguments_its_environment_and_the_cluster(
    new_exec: NewExec, tmp_path: Path
) -> None:
    asked = new_exec(
        f'echo "$1 $2 $COLOUR" > {tmp_path}/seen; echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info; '
        f"echo '{credential(token='abc')}'",
        args=("get", "token"),
        env=(Variable("COLOUR", "red"),),
        provide_cluster_info=True,
    )
    await asked.proof()
    assert (tmp_path / "seen").read_text() == "get token red\n"
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://api"}},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param(f"echo {SECRET}", "printed something that is no ExecCredential", id="garbage"),
        pytest.param(f"printf '{SECRET}\\377'", "printed something that is no ExecCredential", id="bytes"),
        pytest.param("true", "printed something that is no ExecCredential", id="nothing"),
        pytest.param(
            f"echo '{credential(token=1, note=SECRET)}'",
            r"printed something that is no ExecCredential: Expected `str \| null`, got `int` - at `\$.status.token`",
            id="a token that is no text",
        ),
        pytest.param(
            f"echo '{credential(note=SECRET)}'",
            "printed neither a token nor a client certificate with its key",
            id="neither token nor certificate",
        ),
        pytest.param(
            f"echo '{credential(token=SECRET, clientCertificateData=SECRET)}'",
            "printed neither a token nor a client certificate with its key",
            id="a certificate without its key",
        ),
        pytest.param(
            f"echo '{credential(clientCertificateData=SECRET, clientKeyData=SECRET)}'",
            "printed what cannot be used: the client certificate or its key cannot be read",
            id="a certificate that is none",
        ),
        pytest.param(
            f"echo '{credential(token='a ' + SECRET)}'",
            "printed what cannot be used: what it printed holds no token",
            id="a token of two words",
        ),
        pytest.param(
            f"echo '{credential(token=SECRET, expirationTimestamp='soon')}'",
            "gave something that is no time as its expiry",
            id="an expiry that is no time",
        ),
        pytest.param(
            f"echo '{credential(token=SECRET)}' | sed s/v1/v1beta1/",
            "printed no ExecCredential of client.authentication.k8s.io/v1",
            id="another version",
        ),
        pytest.param(
            f"echo {SECRET}; echo log in first >&2; exit 3",
            "failed with exit code 3: log in first",
            id="a failure with its words",
        ),
        pytest.param("exit 1", "failed with exit code 1: it said nothing", id="a failure without words"),
    ],
)
async def test_a_plug_in_that_fails_is_one_sentence_without_what_it_printed(
    new_exec: NewExec, script: str, message: str
) -> None:
    with pytest.raises(Unavailable, match=message) as caught:
        await new_exec(script).proof()
    assert "credential plug-in" in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_plug_in_that_failed_is_asked_again_next_time(new_exec: NewExec, tmp_path: Path) -> None:
    plugin = new_exec(f"test -e {tmp_path}/ok && echo '{credential(token='abc')}'")
    with pytest.raises(Unavailable, match="exit code 1"):
        await plugin.proof()
    (tmp_path / "ok").touch()
    assert (await plugin.proof()).token == "abc"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param("no-such-plugin", "No such file or directory. brew install it", id="not on the PATH"),
        pytest.param(
            "./missing", "No such file or directory. brew install it", id="not beside the kubeconfig"
        ),
        pytest.param("./calls", "Permission denied. brew install it", id="not a program"),
        pytest.param("nul\0", "embedded null byte. brew install it", id="no name at all"),
    ],
)
async def test_a_missing_plug_in_is_reported_with_its_hint(
    new_exec: NewExec, tmp_path: Path, command: str, message: str
) -> None:
    (tmp_path / "calls").touch()
    plugin = new_exec("true", command=command, install_hint=" brew install it\n")
    with pytest.raises(Unavailable, match=f"the credential plug-in {command} cannot be started: {message}"):
        await plugin.proof()


@pytest.mark.slow
async def test_a_plug_in_that_hangs_is_ended_with_all_it_started(new_exec: NewExec, tmp_path: Path) -> None:
    plugin = new_exec(f"sleep 600 & echo $! > {tmp_path}/child; sleep 600", timeout=1.0)
    with pytest.raises(Unavailable, match="did not end within 1 s"):
        await plugin.proof()
    child = int((tmp_path / "child").read_text())
    await eventually(lambda: not is_running(child), "the end of what the plug-in started")


@pytest.mark.slow
async def test_a_plug_in_is_ended_when_nobody_waits_for_it_any_more(
    new_exec: NewExec, tmp_path: Path
) -> None:
    plugin = new_exec(f"echo $$ > {tmp_path}/pid; exec sleep 600")
    waiting = asyncio.create_task(plugin.proof())
    await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not is_running(int((tmp_path / "pid").read_text()))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"command": ""}, "the credential plug-in has no command", id="no command"),
        pytest.param(
            {"api_version": "client.authentication.k8s.io/v1alpha1"},
            "speaks client.authentication.k8s.io/v1alpha1; client.authentication.k8s.io/v1 is needed",
            id="a version that is gone",
        ),
        pytest.param(
            {"interactive_mode": "Always"}, r"wants a terminal \(interactiveMode Always\)", id="interactive"
        ),
    ],
)
def test_a_plug_in_that_cannot_work_here_is_bad_input(
    new_exec: NewExec, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        new_exec("true", **fields)
