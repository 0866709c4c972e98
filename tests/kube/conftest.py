"""What tests of the Kubernetes client share: clients, certificates, permissions, and patience."""

import asyncio
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.servers.authority import Authority
from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.config import Access, from_kubeconfig
from remuda.kube.credentials import Credentials, Fixed
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock

DEADLINE_S = 60.0

#: for servers without TLS
PLAIN = Fixed(Trust(verify=False))

NewClient = Callable[..., Client]


async def eventually(look: Callable[[], object], what: str = "it", deadline: float = DEADLINE_S) -> None:
    """Return when `look` is true; a failure says what it last was."""
    until = time.monotonic() + deadline
    while not (seen := look()):
        assert time.monotonic() < until, (
            f"{what} did not come true within {deadline:g} s; last seen: {seen!r}"
        )
        await asyncio.sleep(0.02)


class SetClock:
    """A clock that a test sets."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self.wall = now
        self.seconds = 1_000.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds


@pytest_asyncio.fixture
async def new_client() -> AsyncIterator[NewClient]:
    """`new_client(url or Access, **options of Client)`; closed after the test."""
    async with AsyncExitStack() as stack:

        def make(to: str | Access, credentials: Credentials | None = None, **options: Any) -> Client:
            access = to if isinstance(to, Access) else Access(to, credentials or PLAIN)
            client = Client(access, SystemClock(), random.Random(1), **options)
            stack.push_async_callback(client.close)
            return client

        yield make


@pytest.fixture
def access_of() -> Callable[..., Access]:
    """`access_of(cluster, url=…, token=…)`: as admin unless a token is given, at another address if that is given."""

    def make(cluster: Cluster, url: str | None = None, token: str | None = None) -> Access:
        found = from_kubeconfig([cluster.kubeconfig(token=token)], SystemClock())
        return Access(url or found.server, found.credentials)

    return make


@pytest.fixture
def admin(cluster: Cluster, new_client: NewClient, access_of: Callable[..., Access]) -> Client:
    """A client that may do everything, without a rate limit."""
    return new_client(access_of(cluster))


@dataclass(frozen=True)
class Robot:
    """A service account that may do nothing until it is permitted."""

    cluster: Cluster
    namespace: str
    name: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def token(self) -> str:
        return self.cluster.token_for(self.namespace, self.name)

    def permit(self, *rules: tuple[str, str, str]) -> None:
        """Rules are groups, resources and verbs, each separated by spaces; `-` is the group of pods."""
        at = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        made = [
            {
                "apiGroups": ["" if group == "-" else group for group in groups.split()],
                "resources": resources.split(),
                "verbs": verbs.split(),
            }
            for groups, resources, verbs in rules
        ]
        self._post(f"{at}/roles", {"metadata": {"name": self.name}, "rules": made})
        binding = {
            "metadata": {"name": self.name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": self.name},
            "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}],
        }
        self._post(f"{at}/rolebindings", binding)

    def forbid(self) -> None:
        at = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        for what in ("roles", "rolebindings"):
            assert self.cluster.request("DELETE", f"{at}/{what}/{self.name}").status == 200

    def _post(self, path: str, body: object) -> None:
        answer = self.cluster.request("POST", path, body)
        assert answer.status == 201, answer.text


@pytest.fixture
def new_robot(cluster: Cluster, namespace: str) -> Callable[[str], Robot]:
    """`new_robot("name")` makes a service account in the test's namespace."""

    def make(name: str) -> Robot:
        robot = Robot(cluster, namespace, name)
        robot._post(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
        return robot

    return make


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A certificate authority of our own."""
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="session")
def serving(authority: Authority) -> ssl.SSLContext:
    """For a loopback server with a certificate of `authority` for 127.0.0.1 and the name `inside`."""
    return server_context(*authority.issue("server", addresses=("IP:127.0.0.1", "DNS:inside")))


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
