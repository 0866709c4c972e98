"""Which versions of a kind a server has: the preferred one first, else the newest it serves."""

import msgspec
from msgspec import Struct

from remuda.kube.client import Client
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
        digits = "".join(character for character in self.minor if character.isdecimal())
        return int(self.major or 0), int(digits or 0)


async def server_version(client: Client) -> ServerVersion:
    """The server's version."""
    data = await client.request("GET", "/version", doing="asking for the server's version", safe=True)
    return msgspec.json.decode(data, type=ServerVersion)


async def find_resource(client: Client, group: str, plural: str) -> Resource | None:
    """A kind by its group and plural name, in the version that the server prefers among those that have it."""
    if not group:
        return await _in_version(client, "", "v1", plural)
    try:
        data = await client.request("GET", f"/apis/{group}", doing=f"discovering {group}", safe=True)
    except Missing:
        return None
    known = msgspec.json.decode(data, type=_Group)
    preferred = known.preferred_version.version
    versions = [preferred, *(item.version for item in known.versions if item.version != preferred)]
    for version in versions:
        found = await _in_version(client, group, version, plural)
        if found is not None:
            return found
    return None


async def _in_version(client: Client, group: str, version: str, plural: str) -> Resource | None:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        data = await client.request("GET", path, doing=f"discovering {group or 'core'}/{version}", safe=True)
    except Missing:
        return None
    for item in msgspec.json.decode(data, type=_Resources).resources:
        if item.name == plural:
            return Resource(group, version, plural, item.kind, item.namespaced)
    return None
