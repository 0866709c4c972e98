"""`remuda up --cluster` as a person meets it: whatever is wrong is one sentence with what to do, and exit code 2."""

import copy
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.catalog import KINDS
from tests.cli.conftest import Run
from tests.processes import ceiling, eventually, pool
from tests.servers.cluster import Cluster

from remuda.objects.crds import crd_of

OBJECTS = "/apis/remuda.dev/v1alpha1/namespaces/{}/{}"
#: spoils a kubeconfig
Change = Callable[[dict[str, Any]], None]


def plugin(script: str, command: str = "sh") -> dict[str, Any]:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": command,
            "args": ["-c", script],
            "installHint": "Install it with care.",
        }
    }


def cluster_of(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["clusters"][0]["cluster"]
    return found


def user(config: dict[str, Any], **said: Any) -> None:
    config["users"][0]["user"] = said


@pytest.fixture
def config(cluster: Cluster) -> dict[str, Any]:
    """A kubeconfig of the cluster that a test may spoil."""
    read: dict[str, Any] = yaml.safe_load(cluster.kubeconfig().read_text())
    return read


@pytest.fixture
def up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`up(kubeconfig, words…)`: what becomes of `remuda up --cluster` with it, which must end by itself."""

    def call(kubeconfig: object, *words: str) -> Any:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig if isinstance(kubeconfig, str) else yaml.safe_dump(kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(file))
        monkeypatch.delenv("POD_NAMESPACE", raising=False)
        ports = ("--health-port", "0", "--live-port", "0")
        ran = run("up", "--cluster", "--data-dir", tmp_path / "data", *ports, *words)
        assert not (tmp_path / "data").exists()
        assert "Traceback" not in ran.err
        return ran

    return call


BAD: list[Any] = [
    pytest.param(
        lambda c: c.update({"current-context": "prod"}), "has no context 'prod'; there is: test", id="context"
    ),
    pytest.param(
        lambda c: cluster_of(c).update(server="https://127.0.0.1:1"),
        "cannot connect to 127.0.0.1:1: Connection refused; check the address",
        id="a port where nobody listens",
    ),
    pytest.param(
        lambda c: cluster_of(c).update(server="https://no-such-host.invalid"),
        "cannot connect to no-such-host.invalid:443: ",
        id="a host that is not there",
    ),
    pytest.param(
        lambda c: cluster_of(c).update(server=cluster_of(c)["server"].replace("https", "http")),
        "is it an API server?",
        id="no TLS where the server wants it",
    ),
    pytest.param(
        lambda c: cluster_of(c).pop("certificate-authority"),
        "does not hold: unable to get local issuer certificate; give the certificate-authority",
        id="an authority nobody named",
    ),
    pytest.param(lambda c: user(c, token="wrong"), "401 Unauthorized: Unauthorized; fix", id="a wrong token"),
    pytest.param(
        lambda c: user(c, tokenFile="/nowhere/token"),
        "the token file /nowhere/token cannot be read: No such file or directory; fix",
        id="a token file that is not there",
    ),
    pytest.param(
        lambda c: user(c, **plugin("echo please log in >&2; exit 3")),
        "the credential plug-in sh failed with exit code 3: please log in; fix",
        id="a plug-in that fails",
    ),
    pytest.param(
        lambda c: user(c, **plugin("echo hello")),
        "the credential plug-in sh printed something that is no ExecCredential",
        id="a plug-in that prints garbage",
    ),
    pytest.param(
        lambda c: user(c, **plugin("", "no-such-plugin")),
        "the credential plug-in no-such-plugin cannot be started: No such file or directory. Install it with care.",
        id="a plug-in that is not installed",
    ),
    pytest.param(
        lambda c: user(c, **plugin("sleep 1000")),
        "there were no credentials within 10 s: the credential plug-in hangs",
        id="a plug-in that hangs",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_a_kubeconfig_that_does_not_work_is_one_sentence(
    spoil: Change, message: str, config: dict[str, Any], up: Callable[..., Any]
) -> None:
    spoil(config)
    ran = up(config)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("remuda: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_a_kubeconfig_that_is_none_is_one_sentence(up: Callable[..., Any], tmp_path: Path) -> None:
    ran = up("a: [")
    assert (ran.code, ran.err) == (2, f"remuda: kubeconfig {tmp_path / 'kubeconfig'} is not YAML, line 1\n")


@pytest.mark.slow
def test_a_client_certificate_that_has_expired_is_reported(
    config: dict[str, Any], up: Callable[..., Any], tmp_path: Path
) -> None:
    key, request, certificate = (tmp_path / name for name in ("key", "csr", "crt"))
    make = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make += ["-subj", "/CN=old", "-keyout", str(key), "-out", str(request)]
    sign = ["openssl", "x509", "-req", "-in", str(request), "-signkey", str(key), "-days", "-1"]
    for command in (make, [*sign, "-out", str(certificate)]):
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    user(config, **{"client-certificate": str(certificate), "client-key": str(key)})
    ran = up(config)
    assert ran.code == 2
    assert "the client certificate expired at " in ran.err
    assert "; get a new one" in ran.err


@contextmanager
def old_server() -> Iterator[str]:
    class Old(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"major": "1", "minor": "28", "gitVersion": "v1.28.15"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Old) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_a_cluster_that_is_too_old_is_refused_by_name(up: Callable[..., Any]) -> None:
    with old_server() as url:
        config = {
            "clusters": [{"name": "old", "cluster": {"server": url}}],
            "contexts": [{"name": "old", "context": {"cluster": "old"}}],
            "current-context": "old",
        }
        ran = up(config)
    message = "the cluster is Kubernetes v1.28.15, which is too old: upgrade it to 1.29 or newer"
    assert (ran.code, ran.err) == (2, f"remuda: {message}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--namespace", "a/b"], "'a/b' cannot be the name of a namespace", id="a path"),
        pytest.param(["--namespace", "Prod"], "'Prod' cannot be the name of a namespace", id="capitals"),
        pytest.param(["x.yaml"], "say either FILE…, or --cluster", id="files too"),
    ],
)
def test_words_that_cannot_be_are_refused(words: list[str], message: str, up: Callable[..., Any]) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    ran = up(config, *words)
    assert ran.code == 2
    assert message in ran.err


def test_a_namespace_without_a_cluster_is_refused(run: Run) -> None:
    ran = run("up", "x.yaml", "--namespace", "ci")
    assert (ran.code, ran.err) == (2, "remuda: --namespace and --context belong to --cluster\n")


def define(server: Cluster, crds: list[dict[str, Any]]) -> None:
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(crds))


@pytest.mark.slow
def test_what_the_cluster_lacks_is_reported_all_at_once(
    new_cluster: Callable[..., Cluster], up: Callable[..., Any]
) -> None:
    server = new_cluster(users={"guest": ()})
    admin, guest = (yaml.safe_load(server.kubeconfig(name).read_text()) for name in ("admin", "guest"))
    install = "remuda crds | kubectl apply --server-side -f -"

    ran = up(guest, "--namespace", "ci")
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert lines[:3] == [
        f"the cluster knows no {plural}.remuda.dev: install them with {install}"
        for plural in ("runnerpools", "ceilings", "tierpolicies")
    ]
    assert lines[3].startswith("permissions are missing in namespace ci: list runnerpools.remuda.dev, ")
    assert "; grant them with remuda rbac up --namespace ci | kubectl apply -f -" in lines[3]
    assert lines[4] == "remuda: 4 problems; nothing was started or changed"

    crds = [copy.deepcopy(crd_of(kind)) for kind in KINDS]
    schema = crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del schema["properties"]["ceiling"]
    schema.pop("x-kubernetes-validations", None)
    define(server, crds)
    message = (
        "remuda: runnerpools.remuda.dev in the cluster is older than this remuda and would drop spec.ceiling: "
        f"update it with {install}\n"
    )
    # Only a dry run ends by itself while the server has not published the definition yet.
    eventually(lambda: up(admin, "--dry-run").err == message, "the older definition is told")
    assert up(admin).err == message

    # And then it is made right: the dry run shows what would be done, and touches nothing.
    define(server, [crd_of(kind) for kind in KINDS])
    eventually(lambda: up(admin, "--dry-run").code == 0, "it is right")
    objects = [pool("good", min=2, ceiling="room"), pool("lost", ceiling="nowhere"), ceiling("room", 5)]
    for item in objects:
        path = OBJECTS.format("default", item["kind"].lower() + "s")
        answer = server.request("POST", path, item)
        assert answer.status == 201, answer.text
    user(admin, **plugin(f"echo '{credential(server.token())}'"))
    ran = up(admin, "--dry-run")
    assert ran.code == 0, ran.err
    assert "there is no Ceiling nowhere" in ran.err
    assert ran.out.count("create") == 2
    assert "good" in ran.out
    # The log is behind the responses: once it has a later question, it has the dry run's.
    server.request("GET", "/api/v1/namespaces/default/configmaps/later")
    eventually(
        lambda: any("/later" in line["requestURI"] for line in server.audit()), "the log has caught up"
    )
    assert set(asked_by_remuda(server)) == {"list"}
    assert (
        server.request("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases").json()["items"] == []
    )


def asked_by_remuda(server: Cluster) -> list[str]:
    """The verbs that Remuda used inside namespaces; the API server renews leases of its own there."""
    return [
        line["verb"]
        for line in server.audit()
        if line.get("userAgent", "").startswith("remuda") and line.get("objectRef", {}).get("namespace")
    ]


def credential(token: str) -> str:
    body = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    return json.dumps(body)
