"""The few things asked of etcd directly, through its JSON gateway."""

import base64
from typing import Any

from tests.servers.found import ServersError
from tests.servers.loopback import send

TXN_OPERATIONS = 100  # etcd takes 128 in one transaction
REGISTRY = b"/registry/"


class Etcd:
    """The etcd of one cluster."""

    def __init__(self, url: str) -> None:
        self.url = url

    def is_ready(self) -> bool:
        """True once it has a leader and answers."""
        try:
            return send("GET", f"{self.url}/health").status == 200
        except OSError:
            return False

    def stored(self) -> list[bytes]:
        """Every key that Kubernetes stores."""
        end = REGISTRY[:-1] + bytes([REGISTRY[-1] + 1])
        found = self._post("kv/range", {"key": _text(REGISTRY), "range_end": _text(end), "keys_only": True})
        return [base64.b64decode(one["key"]) for one in found.get("kvs", ())]

    def delete(self, keys: list[bytes]) -> None:
        """Delete keys; the API server's watches see each as a deletion."""
        for start in range(0, len(keys), TXN_OPERATIONS):
            some = keys[start : start + TXN_OPERATIONS]
            self._post("kv/txn", {"success": [{"request_delete_range": {"key": _text(key)}} for key in some]})

    def compact(self) -> None:
        """Forget every revision but the current one."""
        revision = self._post("kv/range", {"key": _text(REGISTRY), "count_only": True})["header"]["revision"]
        self._post("kv/compaction", {"revision": revision, "physical": True})

    def _post(self, path: str, body: dict[str, object]) -> Any:
        answer = send("POST", f"{self.url}/v3/{path}", body)
        if answer.status != 200:
            raise ServersError(f"etcd {path}: {answer.status} {answer.text}")
        return answer.json()


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
