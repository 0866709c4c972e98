"""
Who may see and change what: tokens, cookies that stand for them, and a proxy that knows the person.

Whoever has no token sees nothing, on loopback too: every user of this host can connect there, and so can the jobs that
run on it. A browser is signed in once, with a link that holds the token, and then has a cookie of its own.
"""

import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from remuda.errors import BadInput
from remuda.model.times import Instant
from remuda.objects.convert import convert
from remuda.objects.problems import Problem
from remuda.objects.tree import Refused, decode, parse, read_bytes
from remuda.web.page import Role
from remuda.web.signed_out import SESSION, SignedOut

TOKEN_FILE = "web-token"  # noqa: S105 - the name of a file
_LONGEST_TOKEN = 4_096
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class _Kept(Struct, frozen=True):
    """How a file with a token is kept."""

    flags: int
    forbidden: int
    mode: str
    mend: str


_OURS = _Kept(os.O_NOFOLLOW, 0o077, "600", ": remove it, and a new one is made at the next start")
_GROUP_TOO = _Kept(0, 0o007, "640", ": write one there, long and at random")


class TokenSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A token that programs or people have, known by its SHA-256 alone."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    role: Literal["read", "write"] = "read"


class ProxySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A proxy that signs people in, as one for OIDC does, and says in a header who they are."""

    #: addresses whose word is believed
    networks: Annotated[tuple[str, ...], Meta(min_length=1)]
    user_header: Annotated[str, Meta(min_length=1)] = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    #: users and groups that may change things; everybody else the proxy lets through may read
    writers: tuple[str, ...] = ()


class AccessSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of `--web-access`."""

    tokens: tuple[TokenSpec, ...] = ()
    proxy: ProxySpec | None = None


class Person(Struct, frozen=True):
    """Who asks, and what they may do."""

    name: str
    role: Role
    #: what a form must carry to prove that our own page sent it; empty when the request itself is proof
    csrf: str = ""
    #: what the session of a browser is known by; empty for who sends a token, or comes through a proxy
    session: str = ""

    @property
    def may_write(self) -> bool:
        """True when they may change things."""
        return self.role is Role.WRITE


class Asked(Struct, frozen=True):
    """What of a request tells who asks."""

    headers: Mapping[str, str]
    #: of the session; empty without one
    cookie: str
    #: the address it came from
    peer: str

    @property
    def token(self) -> str | None:
        """What a program sends; None when it sends none."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else None


class Access:
    """Knows people by their tokens, their cookies and their proxy."""

    def __init__(
        self, token: str, spec: AccessSpec | None = None, signed_out: SignedOut | None = None
    ) -> None:
        """`token` is the owner's: it may do everything, and what cookies are signed with comes of it."""
        spec = spec or AccessSpec()
        self._owner = _digest(token)
        self.signed_out = signed_out or SignedOut()
        self._known = {
            self._owner: Person("owner", Role.WRITE),
            **{each.sha256: Person(each.name, Role(each.role)) for each in spec.tokens},
        }
        self._key = hashlib.sha256(b"remuda cookie\0" + token.encode()).digest()
        self._proxy = spec.proxy
        self._networks: tuple[_Network, ...] = ()
        if spec.proxy is not None:
            self._networks = tuple(_network(text) for text in spec.proxy.networks)

    def by_token(self, token: str) -> Person | None:
        """Who has a token."""
        return self._known.get(_digest(token)) if 0 < len(token) <= _LONGEST_TOKEN else None

    def is_owners(self, token: str) -> bool:
        """Whether a token is the owner's, which nobody guesses however often they try."""
        return _is_same(_digest(token), self._owner)

    def person(self, asked: Asked, now: Instant) -> Person | None:
        """Who asks; None for a stranger."""
        token = asked.token
        if token is not None:
            return self.by_token(token)
        # A cookie that has ended must not keep out whom the proxy knows.
        return (self._by_cookie(asked.cookie, now) if asked.cookie else None) or self._by_proxy(asked)

    def cookie_for(self, token: str, now: Instant) -> str:
        """What a browser gets in the place of a token; it says nothing about it."""
        known = _digest(token)[:24]
        # At random, because two browsers may sign in at once, and one of them out again.
        content = f"{known}.{now + SESSION}.{secrets.token_hex(8)}"
        return f"{content}.{self._sign('session', content)}"

    def _by_cookie(self, cookie: str, now: Instant) -> Person | None:
        content, _, signature = cookie.rpartition(".")
        known, ends, _ = [*content.split("."), "", ""][:3]
        if not _is_same(signature, self._sign("session", content)):
            return None
        session = _digest(cookie)[:32]
        if not ends.isdecimal() or int(ends) <= now or session in self.signed_out:
            return None
        found = next((person for digest, person in self._known.items() if digest.startswith(known)), None)
        return found and msgspec.structs.replace(found, csrf=self._sign("form", cookie), session=session)

    def _by_proxy(self, asked: Asked) -> Person | None:
        proxy = self._proxy
        if proxy is None or not self._is_proxy(asked.peer):
            return None
        user = asked.headers.get(proxy.user_header, "").strip()
        if not user:
            return None
        groups = {text.strip() for text in asked.headers.get(proxy.groups_header, "").split(",")}
        may_write = not {user, *groups}.isdisjoint(proxy.writers)
        # The browser sends what the proxy knows it by with every request, whoever caused it.
        return Person(user, Role.WRITE if may_write else Role.READ, csrf=self._sign("form", f"proxy {user}"))

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self._networks)

    def _sign(self, use: str, text: str) -> str:
        return hmac.new(self._key, _bytes(f"{use}\0{text}"), "sha256").hexdigest()


def is_proven(person: Person, proof: str, origin: str | None, host: str) -> bool:
    """Whether a request that changes something came from a page of ours, or from a program that holds a token."""
    if not person.csrf:
        return True
    if origin is not None and origin.partition("://")[2] != host:
        return False
    return _is_same(proof, person.csrf)


def own_token(path: Path) -> str:
    """The owner's token, kept in a file that only they can read; made where there is none."""
    token = known_token(path)
    if token is None:
        token = secrets.token_urlsafe(24)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123
            file.write(token + "\n")
    return token


def given_token(path: Path) -> str:
    """A token in a file that somebody else keeps, as a mounted Secret is: it may be a link, and its group may read it."""
    token = known_token(path, _GROUP_TOO)
    if token is None:
        raise BadInput(f"there is no token of the dashboard in {path}: write one there, as --web-token says")
    return token


def known_token(path: Path, kept: _Kept = _OURS) -> str | None:
    """The token in a file, or None where there is no file; `BadInput` says what is wrong with it."""
    try:
        # Not waiting: a named pipe has no token.
        descriptor = os.open(path, os.O_RDONLY | kept.flags | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"the token of the dashboard cannot be read: {path}: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{path} is no file{kept.mend}")
        if found.st_mode & kept.forbidden:
            raise BadInput(f"{path} can be read by others: chmod {kept.mode} {path}")
        token = os.read(descriptor, _LONGEST_TOKEN).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
    if len(token) < 16 or not token.isprintable() or "\ufffd" in token:
        raise BadInput(f"{path} has no token of at least 16 characters{kept.mend}")
    return token


def read_access(path: Path) -> AccessSpec:
    """The file of `--web-access`; `BadInput` with everything that is wrong with it, a line each."""
    problems: list[Problem] = []
    try:
        nodes = list(parse(decode(read_bytes(str(path))), str(path), problems.append))
    except Refused as error:
        raise BadInput(f"{path}: {error}") from None
    if not nodes:
        raise BadInput(f"{path} is empty: write tokens: or proxy:")
    spec = convert(nodes[0], AccessSpec, str(path), problems.append)
    if len(nodes) > 1:
        problems.append(Problem(str(path), nodes[1].line, nodes[1].column, "", "one document is enough"))
    if problems:
        raise BadInput("\n".join(map(str, problems)))
    for text in spec.proxy.networks if spec.proxy else ():
        _network(text)
    found: AccessSpec = spec
    return found


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise BadInput(
            f"{text!r} is no network: write an address like 10.0.0.7 or a range like 10.0.0.0/8"
        ) from None


def _bytes(text: str) -> bytes:
    """What was sent, though it is no text: headers may hold any byte."""
    return text.encode("utf-8", "surrogateescape")


def _is_same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _digest(token: str) -> str:
    return hashlib.sha256(_bytes(token)).hexdigest()
