"""
Proof of who we are: a token, a token file that rotates, client certificates, or a plug-in that is asked.

A `Proof` is asked for before every request and costs next to nothing while nothing changed.
"""

import asyncio
import base64
import json
import os
import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from remuda.errors import Unavailable
from remuda.loop.clock import Clock

#: a plug-in that takes longer has failed
EXEC_TIMEOUT_S = 60.0
#: credentials this close to their end are renewed
MARGIN_MS = 10_000


class Proof(Struct, frozen=True):
    """What goes with a request: a bearer token, and the TLS context with the client certificate in it."""

    tls: ssl.SSLContext | bool
    token: str | None = None


class Credentials(Protocol):
    """Proves who we are."""

    async def proof(self) -> Proof:
        """What goes with the next request."""
        ...

    def renew(self) -> None:
        """The server refused the last one: do not use it again."""
        ...


class Trust(Struct, frozen=True):
    """Whom we believe to be the server. `ca` is PEM text; none means the system's authorities."""

    ca: str | None = None
    verify: bool = True

    def context(self, certificate: bytes | None = None, key: bytes | None = None) -> ssl.SSLContext:
        """A TLS context, with a client certificate if there is one."""
        try:
            context = ssl.create_default_context(cadata=self.ca)
        except (ssl.SSLError, ValueError) as error:
            raise Unavailable(f"the certificate authority of the cluster cannot be read: {error}") from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate and key:
            _load_pair(context, certificate, key)
        return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module reads certificates from files alone: they exist for a moment, readable by us alone."""
    with tempfile.TemporaryDirectory(prefix="remuda-") as directory:
        pair = Path(directory) / "pair.pem"
        pair.touch(mode=0o600)
        pair.write_bytes(certificate.rstrip() + b"\n" + key)
        try:
            context.load_cert_chain(pair)
        except (ssl.SSLError, ValueError) as error:
            raise Unavailable(f"the client certificate or its key cannot be read: {error}") from error


class Fixed:
    """A token or a client certificate that does not change."""

    def __init__(
        self, trust: Trust, token: str | None = None, pair: tuple[bytes, bytes] | None = None
    ) -> None:
        self._proof = Proof(trust.context(*pair) if pair else trust.context(), token)

    async def proof(self) -> Proof:
        """Always the same."""
        return self._proof

    def renew(self) -> None:
        """There is nothing newer."""


class TokenFile:
    """A token in a file that someone rotates, as the kubelet does."""

    def __init__(self, trust: Trust, path: Path) -> None:
        self._tls = trust.context()
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._proof: Proof | None = None

    async def proof(self) -> Proof:
        """Read again when the file changed."""
        try:
            stat = self._path.stat()
            if self._proof is None or (stat.st_mtime_ns, stat.st_ino) != self._stamp:
                token = self._path.read_text(encoding="utf-8").strip()
                self._stamp = (stat.st_mtime_ns, stat.st_ino)
                self._proof = Proof(self._tls, token)
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(f"the token file {self._path} cannot be read: {error}") from error
        return self._proof

    def renew(self) -> None:
        """Read the file again, changed or not."""
        self._proof = None


class _ExecStatus(Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(Struct, frozen=True, rename="camel"):
    status: _ExecStatus
    api_version: str = ""


class ExecPlugin(Struct, frozen=True, rename="camel"):
    """A plug-in as a kubeconfig names it."""

    command: str
    api_version: str = "client.authentication.k8s.io/v1"
    args: tuple[str, ...] = ()
    env: tuple[dict[str, str], ...] = ()
    install_hint: str = ""


class Exec:
    """Credentials that a plug-in prints; kept until they expire or are refused."""

    def __init__(self, trust: Trust, plugin: ExecPlugin, clock: Clock, directory: Path) -> None:
        self._trust = trust
        self._plugin = plugin
        self._clock = clock
        self._directory = directory
        self._proof: Proof | None = None
        self._until: int | None = None
        self._turn = asyncio.Lock()

    async def proof(self) -> Proof:
        """Ask the plug-in when there is nothing, or nothing good any more; once, however many wait."""
        async with self._turn:
            if self._proof is None or (
                self._until is not None and self._until - MARGIN_MS <= self._clock.now()
            ):
                self._take(await self._ask())
            assert self._proof is not None
            return self._proof

    def renew(self) -> None:
        """Ask the plug-in again."""
        self._proof = None

    def _take(self, status: _ExecStatus) -> None:
        tls = self._proof.tls if self._proof else self._trust.context()
        if status.client_certificate_data and status.client_key_data:
            tls = self._trust.context(
                status.client_certificate_data.encode(), status.client_key_data.encode()
            )
        elif not status.token:
            raise Unavailable(f"{self._told()} printed neither a token nor a client certificate with its key")
        self._proof = Proof(tls, status.token)
        self._until = _instant(status.expiration_timestamp) if status.expiration_timestamp else None

    async def _ask(self) -> _ExecStatus:
        plugin = self._plugin
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environ = {**os.environ, **{item["name"]: item["value"] for item in plugin.env}}
        environ["KUBERNETES_EXEC_INFO"] = json.dumps(info)
        command = plugin.command
        if "/" in command and not command.startswith("/"):
            command = str(self._directory / command)
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *plugin.args,
                env=environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f" {plugin.install_hint.strip()}" if plugin.install_hint else ""
            raise Unavailable(f"{self._told()} cannot be started: {error.strerror}.{hint}") from error
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_S):
                printed, complained = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Unavailable(f"{self._told()} did not end within {EXEC_TIMEOUT_S:g} s") from None
        if process.returncode != 0:
            said = complained.decode(errors="replace").strip()[-500:]
            raise Unavailable(f"{self._told()} failed with exit code {process.returncode}: {said}")
        try:
            return msgspec.json.decode(printed, type=_ExecCredential).status
        except msgspec.MsgspecError as error:
            # What it printed may hold a secret: it is not repeated here.
            raise Unavailable(
                f"{self._told()} printed something that is no ExecCredential: {error}"
            ) from None

    def _told(self) -> str:
        return f"the credential plug-in {self._plugin.command}"


def _instant(text: str) -> int:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise Unavailable(f"a credential plug-in gave {text!r} as its expiry, which is no time") from None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1_000)


def decoded(text: str, what: str) -> bytes:
    """Base64 as a kubeconfig holds it."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Unavailable(f"{what} is not base64: {error}") from None
