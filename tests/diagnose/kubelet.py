"""A kubelet that has nothing but logs: the real API server fetches them from it, as `kubectl logs` makes it."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.servers.cluster import Cluster

STATUS_PATCH = "application/strategic-merge-patch+json"


class Kubelet:
    """Serves `containerLogs` over TLS from `__enter__` to `__exit__`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: what containers said, by pod and container
        self.logs: dict[tuple[str, str], str] = {}
        #: what the API server asked for
        self.asked: list[str] = []

    def __enter__(self) -> Self:
        kubelet = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kubelet.asked.append(self.path)
                code, data = kubelet._answer(self.path)
                self.send_response(code)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

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
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def serve(self, node: str) -> None:
        """Become the kubelet of a node: logs of pods on it are fetched here."""
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
