"""
Where Prometheus is, and what goes with each request: a token or a password, a tenant's header, whom to believe.

Secrets come from environment variables or from files, which are read anew for every request, so that a rotated token is
used at once. They are in no text, and sent to the one address that was named.
"""

import base64
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from remuda.errors import BadInput
from remuda.kube.credentials import bearer
from remuda.kube.proxies import proxy_around

#: all that is read of the environment, besides proxies; each of these three may have `_FILE` behind it
_TOKEN, _PASSWORD, _HEADER = (f"REMUDA_PROMETHEUS_{what}" for what in ("TOKEN", "PASSWORD", "HEADER"))
_USER, _CA_FILE, _LABELS = (f"REMUDA_PROMETHEUS_{what}" for what in ("USER", "CA_FILE", "LABELS"))
_LARGEST_SECRET = 64 * 1024
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LABEL = re.compile(r"\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*([^,]*?)\s*")
#: what the request itself says
_OURS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)


def _no_headers() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Access:
    """One server. `headers` is asked before each request and raises `BadInput` for a secret that cannot be read."""

    #: with the path that all requests begin with, without a slash in the end
    url: str
    headers: Callable[[], Mapping[str, str]] = _no_headers
    tls: ssl.SSLContext | None = None
    proxy: str | None = None
    #: what tells the series that are meant from those of others in the same store: `cluster`, say
    labels: tuple[tuple[str, str], ...] = ()


def find_access(url: str, environ: Mapping[str, str]) -> Access:
    """
    How to reach the server at `url`, with what the environment says.

    Raises `BadInput` with all that is wrong, and shows neither secrets nor an address that may hold one.
    """
    wrong: list[str] = []

    def tried(read: Callable[[], object]) -> object:
        try:
            return read()
        except BadInput as error:
            wrong.append(str(error))
            return None

    tried(lambda: check_url(url))

    def headers() -> Mapping[str, str]:
        return _headers(environ)

    tried(headers)
    tls = tried(lambda: _trust(environ.get(_CA_FILE, "")))
    labels = tried(lambda: _labels(environ.get(_LABELS, "")))
    proxy = None if wrong else tried(lambda: proxy_around(environ, url))
    if wrong:
        raise BadInput("\n".join(wrong))
    assert tls is None or isinstance(tls, ssl.SSLContext)
    assert proxy is None or isinstance(proxy, str)
    assert isinstance(labels, tuple)
    return Access(check_url(url), headers, tls, proxy, labels)


def check_url(url: str) -> str:
    """The address without its last slash, or `BadInput`, which does not show it: it may hold a password."""
    try:
        read = urlsplit(url)
        is_right = read.scheme in {"http", "https"} and read.hostname and read.port != 0
        is_right = is_right and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        is_right = False
    if not is_right:
        raise BadInput(
            "the URL of Prometheus is no address: write one like http://prometheus.monitoring:9090, "
            "with the path that its API is under, if there is one"
        )
    if read.username is not None or read.query or read.fragment:
        raise BadInput(
            f"the URL of Prometheus may hold neither user, password, ? nor #: give those in {_USER} and "
            f"{_PASSWORD}, or a token in {_TOKEN}"
        )
    return url.rstrip("/")


def _headers(environ: Mapping[str, str]) -> Mapping[str, str]:
    token, password = _secret(environ, _TOKEN), _secret(environ, _PASSWORD)
    user = environ.get(_USER, "")
    if token and (user or password):
        raise BadInput(f"give {_TOKEN} or {_USER} and {_PASSWORD}, not both: one request proves one thing")
    if bool(user) != bool(password):
        raise BadInput(f"{_USER} and {_PASSWORD} (or {_PASSWORD}_FILE) belong together; one is missing")
    headers = _extra(_secret(environ, _HEADER))
    if token:
        headers["Authorization"] = f"Bearer {bearer(token, _TOKEN)}"
    elif user:
        if ":" in user:
            raise BadInput(f"{_USER} may not hold a colon: basic authentication ends the name there")
        headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
    return headers


def _extra(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = (part.strip() for part in line.partition(":"))
        is_right = colon and value and _NAME.fullmatch(name) and value.isascii() and value.isprintable()
        if not is_right or name.lower() in _OURS:
            raise BadInput(f"{_HEADER} holds no header: write one a line, like X-Scope-OrgID: tenant")
        headers[name] = value
    return headers


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    found = [_LABEL.fullmatch(part) for part in text.split(",")] if text.strip() else []
    read = [(each[1], each[2]) for each in found if each is not None]
    if len({name for name, _ in read}) < len(found):
        raise BadInput(
            f"{_LABELS} holds no labels, or one twice: write cluster=NAME, several with commas between"
        )
    return tuple(read)


def _secret(environ: Mapping[str, str], name: str) -> str:
    """What a variable holds, or the file that the variable NAME_FILE names; empty without either."""
    value, file = environ.get(name, ""), environ.get(f"{name}_FILE", "")
    if value and file:
        raise BadInput(f"give {name} or {name}_FILE, not both")
    if not file:
        return value.strip()
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(_LARGEST_SECRET + 1)
        text = data.decode().strip()
    except OSError as error:
        raise BadInput(f"{name}_FILE: {file} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{name}_FILE: {file} holds no text") from None
    if not text or len(data) > _LARGEST_SECRET:
        raise BadInput(f"{name}_FILE: {file} is {'too large for a secret' if text else 'empty'}")
    return text


def _trust(file: str) -> ssl.SSLContext | None:
    if not file:
        return None
    try:
        # With an empty text the system's authorities would be believed.
        text = Path(file).read_text(encoding="ascii") or "nothing"
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        raise BadInput(f"{_CA_FILE}: {file} holds no certificates (PEM is expected)") from None
    except OSError as error:
        raise BadInput(f"{_CA_FILE}: {file} cannot be read: {error.strerror}") from None
