"""Whom we believe to be the server, and the certificates that prove who we are, as TLS contexts."""

import base64
import ssl
import tempfile
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from remuda.errors import BadInput
from remuda.model.times import SECOND, Instant, write_instant

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class Pair(Struct, frozen=True):
    """A client certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class Trust(Struct, frozen=True):
    """Whom we believe to be the server. `ca` is PEM text; none means the system's authorities."""

    ca: str | None = None
    verify: bool = True

    def context(self, pair: Pair | None = None) -> ssl.SSLContext:
        """A TLS context, with a client certificate if there is one; `BadInput` when either cannot be read."""
        if self.ca is not None and _CERTIFICATE not in self.ca:
            raise BadInput("the certificate authority of the cluster holds no certificate")
        try:
            context = ssl.create_default_context(cadata=self.ca)
        except (ssl.SSLError, ValueError) as error:
            raise BadInput(f"the certificate authority of the cluster cannot be read: {error}") from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if pair is not None:
            _load(context, pair)
        return context


def _load(context: ssl.SSLContext, pair: Pair) -> None:
    """The ssl module reads certificates from files alone: they exist for a moment, readable by us alone."""
    with tempfile.TemporaryDirectory(prefix="remuda-") as directory:
        file = Path(directory) / "pair.pem"
        file.touch(mode=0o600)
        file.write_bytes(pair.certificate.rstrip() + b"\n" + pair.key)
        try:
            # A password is given so that a locked key is an error and not a question on the terminal.
            context.load_cert_chain(file, password="")
        except (ssl.SSLError, ValueError) as error:
            raise BadInput(f"the client certificate or its key cannot be read: {error}") from error


def check_not_expired(certificate: bytes, now: Instant) -> None:
    """Raise `BadInput` when a PEM certificate has ended; a server would only say 401."""
    until = _valid_until(certificate)
    if until is not None and until <= now:
        raise BadInput(f"the client certificate expired at {write_instant(until)}; get a new one")


def _valid_until(certificate: bytes) -> Instant | None:
    """The end of a certificate's validity, which the ssl module does not tell; None when it cannot be found."""
    _, begin, rest = certificate.decode("ascii", "ignore").partition(_CERTIFICATE)
    try:
        der = base64.b64decode(rest.partition("-----END")[0] if begin else "")
        body = _items(_items(der)[0][1])[0][1]  # Certificate → tbsCertificate
        fields = [item for item in _items(body) if item[0] != 0xA0]  # without the optional version
        kind, text = _items(fields[3][1])[1]  # serial, algorithm, issuer, validity: from and until
        year = text.decode() if kind == 0x18 else ("19" if text[:2] >= b"50" else "20") + text.decode()
        return int(datetime.strptime(year, "%Y%m%d%H%M%S%z").timestamp()) * SECOND
    except (ValueError, IndexError):
        return None


def _items(der: bytes) -> list[tuple[int, bytes]]:
    """Tag and content of each element in a sequence of DER."""
    found, at = [], 0
    while at < len(der):
        tag, size, at = der[at], der[at + 1], at + 2
        if size & 0x80:
            width = size & 0x7F
            size, at = int.from_bytes(der[at : at + width], "big"), at + width
        found.append((tag, der[at : at + size]))
        at += size
    return found


def decoded(text: str, what: str) -> bytes:
    """Base64 as a kubeconfig holds it; lines may be broken."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError as error:
        raise BadInput(f"{what} is not base64: {error}") from None
