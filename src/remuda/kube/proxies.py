"""The proxy between us and a server: named for one cluster, or by the environment for all programs."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from remuda.errors import BadInput


def is_url(text: str, *schemes: str) -> bool:
    """True for an address with one of the schemes, a host and a port that can be."""
    try:
        read = urlsplit(text)
        return read.scheme in schemes and bool(read.hostname) and (read.port is None or read.port > 0)
    except ValueError:
        return False


def checked_proxy(url: str, where: str) -> str:
    """A proxy that we can use, else `BadInput`, which does not show it: it may hold a password."""
    if not is_url(url, "https", "http"):
        raise BadInput(f"{where} names no proxy that is supported: http:// and https:// are")
    return url


def proxy_around(environ: Mapping[str, str], server: str) -> str | None:
    """The proxy that the environment names for a server, unless it excepts it; never for this computer itself."""
    named = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy")}
    url = urlsplit(server)
    found = named.get(f"{url.scheme}_proxy")
    if not found or _is_excepted(url.hostname or "", named.get("no_proxy", "")):
        return None
    return checked_proxy(found, f"{url.scheme.upper()}_PROXY")


def _is_excepted(host: str, exceptions: str) -> bool:
    """As Go reads NO_PROXY, and so kubectl: names with what is under them, addresses, networks, `*`."""
    try:
        address = ip_address(host)
    except ValueError:
        names = [
            part.strip().lower().lstrip("*").strip(".") for part in exceptions.split(",") if part.strip()
        ]
        return host == "localhost" or any(not name or f".{host}".endswith(f".{name}") for name in names)
    return address.is_loopback or any(_is_within(address, part.strip()) for part in exceptions.split(","))


def _is_within(address: object, part: str) -> bool:
    try:
        return part == "*" or address in ip_network(part, strict=False)
    except ValueError:
        return False
