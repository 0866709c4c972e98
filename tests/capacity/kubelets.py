"""Kubelets that only tell how full they are: the real API server asks them, as `kubectl get --raw` makes it."""

import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.servers.cluster import Cluster

STATUS_PATCH = "application/strategic-merge-patch+json"


def own_address() -> str | None:
    """An address of this machine that is not loopback, which the API server refuses to ask; None without any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith(("127.", "0.")) else address


class Kubelets:
    """Serves `stats/summary` over TLS from `__enter__` to `__exit__`, for one node at a port each."""

    def __init__(self, cluster: Cluster, address: str) -> None:
        self._cluster = cluster
        self._address = address
        self._servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for server, thread in self._servers:
            server.shutdown()
            thread.join()
            server.server_close()

    def serve(self, node: str, summary: dict[str, Any] | None) -> None:
        """Become the kubelet of a node; without a summary it never answers."""
        closing = self._closing

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if summary is None:
                    closing.wait()
                    return
                found = self.path.partition("?")[0] == "/stats/summary"
                data = json.dumps(summary if found else {}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer((self._address, 0), Handler)
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._cluster.serving_certificate(f"kubelet-{node}"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, name=f"kubelet of {node}")
        thread.start()
        self._servers.append((server, thread))
        status = {
            "addresses": [{"type": "InternalIP", "address": self._address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_address[1]}},
        }
        path = f"/api/v1/nodes/{node}/status"
        answer = self._cluster.request("PATCH", path, {"status": status}, content_type=STATUS_PATCH)
        assert answer.status == 200, answer.text
