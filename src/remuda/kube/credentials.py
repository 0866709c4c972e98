"""
Proof of who we are: a token, a token file that rotates, client certificates, or a plug-in that is asked.

A `Proof` is asked for before every request and costs next to nothing while nothing changed.
"""

import asyncio
import contextlib
import json
import os
import signal
import ssl
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from remuda.errors import BadInput, Unavailable
from remuda.kube.trust import Pair, Trust
from remuda.loop.clock import Clock
from remuda.model.times import read_instant

#: a plug-in that takes longer has failed
EXEC_TIMEOUT_S = 60.0
#: credentials this close to their end are renewed
MARGIN_MS = 10_000
_PLUGIN_API = "client.authentication.k8s.io/"


class Proof(Struct, frozen=True):
    """What goes with a request: a bearer token, and the TLS context with the client certificate in it."""

    tls: ssl.SSLContext
    token: str | None = None


class Credentials(Protocol):
    """Proves who we are."""

    async def proof(self) -> Proof:
        """What goes with the next request; `Unavailable` when there is nothing to show."""
        ...

    def renew(self, refused: Proof) -> None:
        """The server refused this one: do not use it again. One that is not the newest any more is no news."""
        ...


def bearer(text: str, where: str) -> str:
    """A token without the space around it; one that cannot stand in a header is `BadInput`, and never shown."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadInput(f"{where} holds no token: one word of plain characters is expected")
    return token


class Fixed:
    """A token or a client certificate that does not change."""

    def __init__(self, trust: Trust, token: str | None = None, pair: Pair | None = None) -> None:
        self._proof = Proof(trust.context(pair), token)

    async def proof(self) -> Proof:
        """Always the same."""
        return self._proof

    def renew(self, refused: Proof) -> None:
        """There is nothing newer."""


class TokenFile:
    """A token in a file that someone rotates, as the kubelet does."""

    def __init__(self, trust: Trust, path: Path, pair: Pair | None = None) -> None:
        self._tls = trust.context(pair)
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._proof: Proof | None = None

    async def proof(self) -> Proof:
        """Read again when the file changed."""
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if self._proof is None or stamp != self._stamp:
                token = bearer(self._path.read_text(encoding="utf-8"), f"the token file {self._path}")
                self._stamp, self._proof = stamp, Proof(self._tls, token)
        except OSError as error:
            raise Unavailable(f"the token file {self._path} cannot be read: {error.strerror}") from error
        except (UnicodeDecodeError, BadInput):
            raise Unavailable(f"the token file {self._path} holds no token") from None
        return self._proof

    def renew(self, refused: Proof) -> None:
        """Read the file again, changed or not."""
        if self._proof is refused:
            self._proof = None


class _ExecStatus(Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(Struct, frozen=True, rename="camel"):
    status: _ExecStatus
    api_version: str = ""
    kind: str = ""


class Variable(Struct, frozen=True):
    """One variable of a plug-in's environment."""

    name: str
    value: str = ""


class ExecPlugin(Struct, frozen=True, rename="camel"):
    """A plug-in as a kubeconfig names it; tools that write kubeconfigs like to write null for nothing."""

    command: str
    api_version: str = f"{_PLUGIN_API}v1"
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool = False
    interactive_mode: str | None = None

    def check(self) -> None:
        """Raise `BadInput` for a plug-in that cannot work here."""
        if not self.command:
            raise BadInput("the credential plug-in has no command")
        if self.api_version not in (f"{_PLUGIN_API}v1", f"{_PLUGIN_API}v1beta1"):
            raise BadInput(
                f"the credential plug-in {self.command} speaks {self.api_version}; {_PLUGIN_API}v1 is needed"
            )
        if self.interactive_mode == "Always":
            raise BadInput(f"the credential plug-in {self.command} wants a terminal (interactiveMode Always)")


class Exec:
    """Credentials that a plug-in prints; kept until they expire or are refused."""

    def __init__(
        self,
        trust: Trust,
        plugin: ExecPlugin,
        clock: Clock,
        directory: Path,
        cluster: dict[str, Any],
        timeout: float = EXEC_TIMEOUT_S,
    ) -> None:
        """`directory` is the kubeconfig's; `cluster` is what a plug-in is told that asks which cluster it is."""
        plugin.check()
        self._trust = trust
        self._plain = trust.context()
        self._plugin = plugin
        self._clock = clock
        self._directory = directory
        self._cluster = cluster
        self._timeout = timeout
        self._proof: Proof | None = None
        self._until: int | None = None
        self._turn = asyncio.Lock()

    async def proof(self) -> Proof:
        """Ask the plug-in when there is nothing, or nothing good any more; once, however many wait."""
        async with self._turn:
            if self._proof is None or (
                self._until is not None and self._until - MARGIN_MS <= self._clock.now()
            ):
                self._proof = self._take(await self._ask())
            return self._proof

    def renew(self, refused: Proof) -> None:
        """Ask the plug-in again."""
        if self._proof is refused:
            self._proof = None

    def _take(self, status: _ExecStatus) -> Proof:
        certificate, key = status.client_certificate_data, status.client_key_data
        if bool(certificate) != bool(key) or not (certificate or status.token):
            raise Unavailable(
                f"{self._description()} printed neither a token nor a client certificate with its key"
            )
        try:
            token = bearer(status.token, "what it printed") if status.token else None
            tls = (
                self._trust.context(Pair(certificate.encode(), key.encode()))
                if certificate and key
                else self._plain
            )
        except BadInput as error:
            raise Unavailable(f"{self._description()} printed what cannot be used: {error}") from None
        self._until = _instant(status.expiration_timestamp) if status.expiration_timestamp else None
        return Proof(tls, token)

    async def _ask(self) -> _ExecStatus:
        plugin = self._plugin
        try:
            process = await asyncio.create_subprocess_exec(
                self._command(),
                *(plugin.args or ()),
                env=self._environ(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            hint = f" {plugin.install_hint.strip()}" if plugin.install_hint else ""
            raise Unavailable(f"{self._description()} cannot be started: {why}.{hint}") from error
        try:
            async with asyncio.timeout(self._timeout):
                printed, complained = await process.communicate()
        except TimeoutError:
            raise Unavailable(f"{self._description()} did not end within {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                # With all it started: a child that holds our pipe would outlive it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            said = complained.decode(errors="replace").strip()[-500:] or "it said nothing"
            raise Unavailable(f"{self._description()} failed with exit code {process.returncode}: {said}")
        try:
            read = msgspec.json.decode(printed, type=_ExecCredential)
        except (ValueError, RecursionError) as error:
            # What it printed may hold a secret: it is not repeated here.
            raise Unavailable(
                f"{self._description()} printed something that is no ExecCredential: {error}"
            ) from None
        if (read.kind, read.api_version) != ("ExecCredential", plugin.api_version):
            raise Unavailable(f"{self._description()} printed no ExecCredential of {plugin.api_version}")
        return read.status

    def _command(self) -> str:
        command = self._plugin.command
        return str(self._directory / command) if "/" in command else command

    def _environ(self) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        own = {item.name: item.value for item in self._plugin.env or ()}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _description(self) -> str:
        return f"the credential plug-in {self._plugin.command}"


def _instant(text: str) -> int:
    try:
        return read_instant(text)
    except ValueError:
        raise Unavailable("a credential plug-in gave something that is no time as its expiry") from None
