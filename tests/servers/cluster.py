"""
A Kubernetes control plane on loopback, without any kubelet: etcd and kube-apiserver, and more on request.

RBAC is on, tokens are known, every request is in the audit log. Two clusters share nothing, and nothing of a cluster is
left when it is closed or its process ends. All calls block; an async test makes the slow ones in a thread.
"""

import csv
import json
import os
import secrets
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import yaml
from tests.servers.authority import Authority
from tests.servers.etcd import Etcd
from tests.servers.found import ServersError
from tests.servers.kept import Kept
from tests.servers.loopback import Answer, Port, Reader, send

Extra = Literal["kube-controller-manager", "kube-scheduler", "kwok"]
ALWAYS = ("etcd", "kube-apiserver")
ADMIN = "admin"
KUBECTL_S = 120.0
#: one line per request; of a watch also one when it begins
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class Cluster:
    """
    Servers that run from `__enter__` to `__exit__`.

    Args:
        programs: where the programs are; `ALWAYS` and `extras` are needed, kubectl for `kubectl`.
        users: groups of more users by name; each gets a token. `admin` (system:masters) is always there.
        extras: what runs beside the API server: the controllers, the scheduler, kwok (which makes every node Ready and
            every pod that is bound to one Running).
        audit: False leaves the audit log out, for measuring.
        flags: more of the API server, as a feature gate.
    """

    def __init__(
        self,
        programs: Mapping[str, Path],
        *,
        users: Mapping[str, Sequence[str]] | None = None,
        extras: Sequence[Extra] = (),
        audit: bool = True,
        flags: Sequence[str] = (),
    ) -> None:
        self._programs = programs
        self._groups = {**(users or {}), ADMIN: ("system:masters",)}
        self._tokens = {user: secrets.token_hex(16) for user in self._groups}
        self._extras = extras
        self._audits = audit
        self._flags = flags
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._kept = Kept()
            stack.callback(self._kept.close)
            self._port, client, peer = self._hold_port(stack), self._hold_port(stack), self._hold_port(stack)
            self.directory = self._kept.directory
            self.url = f"https://127.0.0.1:{self._port}"
            self.etcd = Etcd(f"http://127.0.0.1:{client}")
            self._write_secrets()
            self._reader = Reader("127.0.0.1", self._port, self._trust)
            stack.callback(self._reader.close)
            self._start_etcd(peer)
            self._start_apiserver()
            for extra in self._extras:
                self._start_extra(extra, self._hold_port(stack))
            self._closing = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @property
    def processes(self) -> Mapping[str, subprocess.Popen[bytes]]:
        """What runs now, by name."""
        return self._kept.processes

    @property
    def ca(self) -> Path:
        """The certificate that clients must trust."""
        return self._authority.certificate

    def token(self, user: str = ADMIN) -> str:
        """The token of a user."""
        return self._tokens[user]

    def token_for(self, namespace: str, service_account: str, *, lasts_s: int = 3600) -> str:
        """A new token of a service account; the API server gives none that lasts less than 600 s."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        answer = self.request("POST", path, {"spec": {"expirationSeconds": lasts_s}})
        if answer.status != 201:
            raise ServersError(
                f"requesting a token of {namespace}/{service_account}: {answer.status} {answer.text}"
            )
        return str(answer.json()["status"]["token"])

    def certificate_for(self, user: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """A client certificate that makes its bearer this user, and its key."""
        return self._authority.issue(user, groups)

    def serving_certificate(self, name: str) -> tuple[Path, Path]:
        """A certificate for one more server at 127.0.0.1, and its key."""
        return self._authority.issue(name, addresses=("IP:127.0.0.1",))

    def kubeconfig(self, user: str = ADMIN, *, token: str | None = None, namespace: str = "default") -> Path:
        """Write a kubeconfig with the token of a user, or with a token given."""
        path = self.directory / f"kubeconfig-{secrets.token_hex(4)}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}
            ],
            "users": [{"name": user, "user": {"token": token or self.token(user)}}],
            "contexts": [
                {"name": "test", "context": {"cluster": "test", "user": user, "namespace": namespace}}
            ],
            "current-context": "test",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Ask the API server, as admin unless a token is given. Raises OSError when it does not answer."""
        headers = {"Authorization": f"Bearer {token or self.token()}", "Content-Type": content_type}
        if method == "GET" and body is None:
            return self._reader.get(path, headers)
        return send(method, self.url + path, body, headers=headers, context=self._trust)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl as admin and return its output. Raises ServersError with its words when it fails."""
        command = [str(self._programs["kubectl"]), f"--kubeconfig={self._admin_config}", *arguments]
        environ = {**os.environ, "HOME": str(self.directory)}  # kubectl caches and configures there
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=False, timeout=KUBECTL_S, env=environ
        )
        if done.returncode != 0:
            raise ServersError(f"kubectl {' '.join(arguments)} exited with {done.returncode}\n{done.stderr}")
        return done.stdout

    def start(self, name: str, command: Sequence[str], is_ready: Callable[[], bool]) -> None:
        """Start one more process, which ends with the cluster; see `Kept.start`."""
        self._kept.start(name, command, is_ready)

    def kill(self, name: str) -> None:
        """End a process with SIGKILL; one that is not running stays so."""
        self._kept.kill(name)

    def kill_apiserver(self) -> None:
        """End the API server with SIGKILL; connections are refused until `restart_apiserver`."""
        self._kept.kill("kube-apiserver")

    def restart_apiserver(self) -> None:
        """Kill the API server if it runs, and start it again with its data, at the same address."""
        self.kill_apiserver()
        self._start_apiserver()

    def compact(self) -> None:
        """
        Forget all history, so that a watch from any earlier resource version is answered with 410.

        The API server is restarted for it: its watch cache would still answer what etcd has forgotten.
        """
        self.etcd.compact()
        self.restart_apiserver()

    def erase_namespace(self, name: str) -> None:
        """
        Remove a namespace with all it holds, at once.

        Done in etcd, since it must work without the controllers and whatever finalizers there are; watches see deletions.
        """
        inside, itself = f"/{name}/".encode(), f"/namespaces/{name}".encode()
        keys = [key for key in self.etcd.stored() if inside in key or key.endswith(itself)]
        # the namespace first: a controller that misses something can make nothing in it any more
        self.etcd.delete(sorted(keys, key=lambda key: not key.endswith(itself)))

    def audit(self) -> Iterator[dict[str, Any]]:
        """
        What was asked of the API server, oldest first.

        A request is written a moment after its response was sent: wait for it, and never for its absence.
        """
        with self._audit_log.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def _start_apiserver(self) -> None:
        command = [
            str(self._programs["kube-apiserver"]),
            f"--etcd-servers={self.etcd.url}",
            "--etcd-compaction-interval=0",  # history is forgotten when a test says so
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            "--permit-port-sharing=true",  # with the socket that keeps the port ours
            "--endpoint-reconciler-type=none",  # a loopback address is refused in Endpoints, again and again
            f"--tls-cert-file={self._serving[0]}",
            f"--tls-private-key-file={self._serving[1]}",
            f"--client-ca-file={self.ca}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--service-account-issuer=https://localhost",
            f"--service-account-key-file={self._signing[0]}",
            f"--service-account-signing-key-file={self._signing[1]}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            *self._flags,
        ]
        if self._audits:
            command += [
                f"--audit-policy-file={self.directory / 'audit-policy.json'}",
                f"--audit-log-path={self._audit_log}",
                "--audit-log-maxsize=100000",  # megabytes: one file, never rotated
            ]
        self._kept.start("kube-apiserver", command, self._is_serving)

    def _is_serving(self) -> bool:
        try:
            return all(
                self.request("GET", path).status == 200 for path in ("/readyz", "/api/v1/namespaces/default")
            )
        except OSError:
            return False

    def _start_etcd(self, peer: int) -> None:
        name, peer_url = "only", f"http://127.0.0.1:{peer}"
        command = [
            str(self._programs["etcd"]),
            f"--name={name}",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={self.etcd.url}",
            f"--advertise-client-urls={self.etcd.url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster={name}={peer_url}",
            "--socket-reuse-port=true",  # with the sockets that keep the ports ours
            "--unsafe-no-fsync=true",
            f"--quota-backend-bytes={4 << 30}",
            "--log-level=warn",
        ]
        self._kept.start("etcd", command, self.etcd.is_ready)

    def _start_extra(self, name: Extra, port: int) -> None:
        kubeconfig = f"--kubeconfig={self._admin_config}"
        serving = ["--bind-address=127.0.0.1", f"--secure-port={port}", "--permit-port-sharing=true"]
        flags = {
            "kube-controller-manager": [
                *serving,
                "--leader-elect=false",
                f"--service-account-private-key-file={self._signing[1]}",
                f"--root-ca-file={self.ca}",
            ],
            "kube-scheduler": [*serving, "--leader-elect=false"],
            "kwok": ["--manage-all-nodes=true"],
        }[name]
        # kwok cannot share a port and needs none
        is_ready = (lambda: True) if name == "kwok" else (lambda: _is_healthy(port))
        self._kept.start(name, [str(self._programs[name]), kubeconfig, *flags], is_ready)

    def _write_secrets(self) -> None:
        self._authority = Authority(self.directory / "certificates")
        self._serving = self._authority.issue("kube-apiserver", addresses=("IP:127.0.0.1", "DNS:localhost"))
        self._signing = self._authority.issue("service-accounts")
        self._trust = ssl.create_default_context(cafile=str(self.ca))
        self._admin_config = self.kubeconfig()
        self._audit_log = self.directory / "audit.log"
        (self.directory / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
        with (self.directory / "tokens.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            for user, groups in self._groups.items():
                rows.writerow([self.token(user), user, user, ",".join(groups)])

    @staticmethod
    def _hold_port(stack: ExitStack) -> int:
        port = Port()
        stack.callback(port.close)
        return port.number


def _is_healthy(port: int) -> bool:
    # its certificate is its own; that the port is ours says who answers
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    try:
        return send("GET", f"https://127.0.0.1:{port}/healthz", context=unverified).status == 200
    except OSError:
        return False
