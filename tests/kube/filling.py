"""Many objects at once: written into etcd, as the API server would have stored them."""

import base64
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from tests.servers.cluster import Cluster

#: etcd takes 128 operations and 1.5 MB in one transaction
TXN_OPERATIONS, TXN_BYTES = 100, 1_000_000


def fill(cluster: Cluster, place: str, objects: Iterable[Mapping[str, Any]]) -> None:
    """Store objects under `/registry/<place>/`; each gets a uid and the time of its making. Watches see them."""
    puts: list[dict[str, Any]] = []
    size = 0
    for number, body in enumerate(objects):
        made = {"uid": str(uuid.UUID(int=number + 1)), "creationTimestamp": "2026-01-05T00:00:00Z"}
        metadata = {**made, **body["metadata"]}
        value = json.dumps({**body, "metadata": metadata}).encode()
        key = f"/registry/{place}/{metadata['name']}".encode()
        if puts and (len(puts) == TXN_OPERATIONS or size + len(value) > TXN_BYTES):
            cluster.etcd._post("kv/txn", {"success": puts})
            puts, size = [], 0
        size += len(value)
        puts.append({"request_put": {"key": _text(key), "value": _text(value)}})
    cluster.etcd._post("kv/txn", {"success": puts})


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
