"""
What a command in a container prints and how it ends, as a kubelet reports it over a WebSocket.

The protocol is the fourth one: every kubelet speaks it, and the fifth adds nothing but the end of an input.
"""

import aiohttp
import msgspec
from msgspec import Struct

from remuda.kube.errors import Details, KubeError, Status, broken, error_for

CHANNELS = "v4.channel.k8s.io"
_STDOUT, _STDERR, _END = 1, 2, 3
_FAILED = "NonZeroExitCode"


class Ran(Struct, frozen=True):
    """A command that ended."""

    code: int
    out: bytes
    err: bytes


class _End(Struct, frozen=True):
    status: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


async def read_channels(socket: aiohttp.ClientWebSocketResponse, doing: str, most: int) -> Ran:
    """Read to the end; a command that could not be started, or whose end is not reported, is a `KubeError`."""
    if socket.protocol != CHANNELS:
        raise KubeError(doing, Status(message=f"the kubelet does not speak {CHANNELS}"))
    said = {_STDOUT: b"", _STDERR: b"", _END: b""}
    async for message in socket:
        if message.type is aiohttp.WSMsgType.ERROR:
            raise KubeError(doing, Status(message=f"the connection broke: {message.data}"))
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel in said:
            said[channel] = (said[channel] + data)[:most]
        if channel == _END and data:
            return Ran(_exit_code(said[_END], doing), said[_STDOUT], said[_STDERR])
    raise KubeError(doing, Status(message="the connection ended before the command did"))


def _exit_code(data: bytes, doing: str) -> int:
    try:
        end = msgspec.json.decode(data, type=_End)
        if end.status == "Success":
            return 0
        if end.reason == _FAILED:
            causes = end.details.causes if end.details else ()
            return next(int(cause.message) for cause in causes if cause.reason == "ExitCode")
    except (ValueError, RecursionError, StopIteration) as error:
        raise broken(doing, error) from None
    raise error_for(doing, Status(end.code, end.reason, end.message, end.details))
