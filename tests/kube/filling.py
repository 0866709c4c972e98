"""Many objects at once: written into etcd, as the API server would have stored them."""

import base64
import json
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.servers.cluster import Cluster

#: etcd takes 128 operations and 1.5 MB in one transaction
TXN_OPERATIONS, TXN_BYTES = 100, 1_000_000


def fill(
    cluster: Cluster, place: str, objects: Iterable[Mapping[str, Any]], at_once: int = TXN_OPERATIONS
) -> None:
    """
    Store objects under `/registry/<place>/`; each gets a uid and the time of its making. Watches see them.

    Those that are stored `at_once` share a version, which no API server would give them: a watch that is cut between
    them cannot go on where it was.
    """
    puts: list[dict[str, Any]] = []
    size = 0
    transactions = []
    for number, body in enumerate(objects):
        made = {"uid": str(uuid.UUID(int=number + 1)), "creationTimestamp": "2026-01-05T00:00:00Z"}
        metadata = {**made, **body["metadata"]}
        value = json.dumps({**body, "metadata": metadata}).encode()
        key = f"/registry/{place}/{metadata['name']}".encode()
        if puts and (len(puts) == at_once or size + len(value) > TXN_BYTES):
            transactions.append(puts)
            puts, size = [], 0
        size += len(value)
        puts.append({"request_put": {"key": _text(key), "value": _text(value)}})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda some: cluster.etcd._post("kv/txn", {"success": some}), [*transactions, puts]))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
