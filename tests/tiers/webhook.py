"""A mutating webhook as meshes have one: it adds a container to every pod that it is asked about and that has none of it."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.cluster import Cluster
from tests.tiers.live import container

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@contextmanager
def injecting(cluster: Cluster, name: str, namespace: str) -> Iterator[None]:
    """Pods that are made in a namespace get a container of this name, without resources."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
            present = [each["name"] for each in asked["object"]["spec"]["containers"]]
            patch = [{"op": "add", "path": "/spec/containers/-", "value": container(name)}]
            given: dict[str, Any] = {"uid": asked["uid"], "allowed": True}
            if name not in present:
                given |= {
                    "patchType": "JSONPatch",
                    "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
                }
            body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": given}
            text = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    certificate, key = cluster.serving_certificate("webhook")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        configuration = {
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"{name}.example.org",
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{server.server_port}/",
                        "caBundle": base64.b64encode(cluster.ca.read_bytes()).decode(),
                    },
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods"],
                        }
                    ],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }
        answer = cluster.request("POST", CONFIGURATIONS, configuration)
        assert answer.status == 201, answer.text
        try:
            yield
        finally:
            cluster.request("DELETE", f"{CONFIGURATIONS}/{name}")
            server.shutdown()
            thread.join()
