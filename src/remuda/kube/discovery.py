"""Which versions of a kind a server has: the preferred one first, else the newest it serves."""

from collections.abc import AsyncIterator

from msgspec import Struct

from remuda.kube.client import Client, decoded
from remuda.kube.errors import Missing
from remuda.kube.resources import Resource


class _Version(Struct, frozen=True, rename="camel"):
    version: str = ""


class _Group(Struct, frozen=True, rename="camel"):
    name: str = ""
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version = _Version()


class _Named(Struct, frozen=True, rename="camel"):
    name: str = ""
    kind: str = ""
    namespaced: bool = True


class _Resources(Struct, frozen=True, rename="camel"):
    resources: tuple[_Named, ...] = ()


class ServerVersion(Struct, frozen=True, rename="camel"):
    """What a server says of itself; a plus sign after the minor number is dropped."""

    major: str = "0"
    minor: str = "0"
    git_version: str = ""

    @property
    def pair(self) -> tuple[int, int]:
        """For comparing."""
        major, minor = ("".join(filter(str.isdecimal, part))[:9] or "0" for part in (self.major, self.minor))
        return int(major), int(minor)


async def server_version(client: Client) -> ServerVersion:
    """The server's version."""
    doing = "asking for the server's version"
    return decoded(await client.request("GET", "/version", doing=doing, safe=True), ServerVersion, doing)


async def find_resource(client: Client, group: str, plural: str) -> Resource | None:
    """A kind by its group and plural name, in the version that the server prefers among those that have it."""
    async for found in served(client, group, plural):
        return found
    return None


async def served(client: Client, group: str, plural: str) -> AsyncIterator[Resource]:
    """A kind in every version that the server has it in, the preferred one first."""
    versions = ["v1"]
    if group:
        try:
            doing = f"discovering {group}"
            data = await client.request("GET", f"/apis/{group}", doing=doing, safe=True)
        except Missing:
            return
        known = decoded(data, _Group, doing)
        preferred = known.preferred_version.version
        versions = [preferred, *(item.version for item in known.versions if item.version != preferred)]
    for version in versions:
        found = await _in_version(client, group, version, plural)
        if found is not None:
            yield found


async def _in_version(client: Client, group: str, version: str, plural: str) -> Resource | None:
    path, doing = (
        f"/apis/{group}/{version}" if group else f"/api/{version}",
        f"discovering {group or 'core'}/{version}",
    )
    try:
        known = decoded(await client.request("GET", path, doing=doing, safe=True), _Resources, doing)
    except Missing:
        return None
    for item in known.resources:
        if item.name == plural:
            return Resource(group, version, plural, item.kind, item.namespaced)
    return None
