"""A kubelet that has logs and answers of commands: the real API server fetches them, as kubectl logs and exec make it."""

import base64
import hashlib
import json
import ssl
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.servers.cluster import Cluster

STATUS_PATCH = "application/strategic-merge-patch+json"
CHANNELS = "v4.channel.k8s.io"
#: what a WebSocket's key is joined with, by its standard
WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True)
class Command:
    """What a command prints, and how it ends: None is never."""

    out: str = ""
    err: str = ""
    code: int | None = 0


class Kubelet:
    """Serves `containerLogs` and `exec` over TLS from `__enter__` to `__exit__`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: what containers said, by pod and container
        self.logs: dict[tuple[str, str], str] = {}
        #: how any command goes, by pod and container
        self.commands: dict[tuple[str, str], Command] = {}
        #: what the API server asked for
        self.asked: list[str] = []
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        kubelet = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                kubelet.asked.append(self.path)
                kind, _, *place = [part for part in urlsplit(self.path).path.split("/") if part]
                command = kubelet.commands.get((place[0], place[1]))
                if kind == "exec" and command is not None:
                    self._open_socket()
                    kubelet._run(self, command)
                    return
                code, data = kubelet._answer(self.path)
                self.send_response(code)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _open_socket(self) -> None:
                key = self.headers["Sec-WebSocket-Key"] + WEBSOCKET
                assert CHANNELS in self.headers["Sec-WebSocket-Protocol"]
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                accepted = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
                self.send_header("Sec-WebSocket-Accept", accepted)
                self.send_header("Sec-WebSocket-Protocol", CHANNELS)
                self.end_headers()
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._cluster.serving_certificate("kubelet"))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="kubelet")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def serve(self, node: str) -> None:
        """Become the kubelet of a node: logs of pods on it are fetched here, and commands are run."""
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_address[1]}},
        }
        path = f"/api/v1/nodes/{node}/status"
        answer = self._cluster.request("PATCH", path, {"status": status}, content_type=STATUS_PATCH)
        assert answer.status == 200, answer.text

    def _answer(self, path: str) -> tuple[int, bytes]:
        asked = urlsplit(path)
        kind, _, pod, container = [part for part in asked.path.split("/") if part]
        if kind != "containerLogs" or (pod, container) not in self.logs:
            return 404, f"container {container} of {pod} is not here".encode()
        lines = self.logs[pod, container].splitlines(keepends=True)
        tail = parse_qs(asked.query).get("tailLines")
        return 200, "".join(lines[-int(tail[0]) :] if tail else lines).encode()

    def _run(self, to: BaseHTTPRequestHandler, command: Command) -> None:
        if command.code is None:
            self._closing.wait()
            return
        for channel in (1, 2, 3):
            to.wfile.write(_frame(channel, b""))  # as a kubelet begins
        to.wfile.write(_frame(1, command.out.encode()) + _frame(2, command.err.encode()))
        to.wfile.write(_frame(3, json.dumps(ending(command.code)).encode()) + b"\x88\x02\x03\xe8")


def ending(code: int) -> dict[str, Any]:
    """How a kubelet tells that a command ended."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    words = {"message": f"command terminated with non-zero exit code: exit status {code}"}
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}, **words}


def _frame(channel: int, data: bytes) -> bytes:
    size = len(data) + 1
    assert size < 2**16
    head = bytes([0x82, size]) if size < 126 else bytes([0x82, 126]) + size.to_bytes(2, "big")
    return head + bytes([channel]) + data
