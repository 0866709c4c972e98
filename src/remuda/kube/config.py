"""
Finds a cluster: the one we run in, or the one a kubeconfig names.

Several files in `KUBECONFIG` are merged as kubectl does: for each name the first file that has it wins. Every problem
is one sentence that names the file and what to do.
"""

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from remuda.errors import BadInput
from remuda.kube.credentials import Credentials, Exec, ExecPlugin, Fixed, TokenFile, bearer
from remuda.kube.proxies import checked_proxy, is_url, proxy_around
from remuda.kube.trust import Pair, Trust, check_not_expired, decoded
from remuda.loop.clock import Clock

T = TypeVar("T")

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(Struct, frozen=True):
    """How to reach a cluster and prove who we are."""

    server: str
    credentials: Credentials
    namespace: str = "default"
    proxy: str | None = None
    #: the name in the server's certificate, if it is not the one in its address
    server_name: str | None = None
    #: things a person should know, such as TLS that is not verified
    warnings: tuple[str, ...] = ()


class _Cluster(Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _User(Struct, frozen=True, rename="kebab"):
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: ExecPlugin | None = None
    username: str | None = None
    auth_provider: Any = None
    as_: str | None = msgspec.field(name="as", default=None)


class _Context(Struct, frozen=True):
    cluster: str = ""
    user: str | None = None
    namespace: str | None = None


class _Merged:
    """What all files say together; each entry knows its file, because paths in it are relative to that."""

    def __init__(self, files: list[Path]) -> None:
        self.current: str | None = None
        self._named: dict[str, dict[str, tuple[Any, Path]]] = {"cluster": {}, "user": {}, "context": {}}
        self._files = ", ".join(str(path) for path in files)
        for path in files:
            self._add(path, _read(path))

    def _add(self, path: Path, read: dict[Any, Any]) -> None:
        current = read.get("current-context") or None
        if current is not None and not isinstance(current, str):
            raise BadInput(f"kubeconfig {path}: current-context is no name")
        self.current = self.current or current
        for kind, known in self._named.items():
            entries = read.get(f"{kind}s") or []
            if not isinstance(entries, list):
                raise BadInput(f"kubeconfig {path}: {kind}s is no list")
            for entry in entries:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise BadInput(f"kubeconfig {path}: an entry of {kind}s has no name")
                known.setdefault(entry["name"], (entry.get(kind) or {}, path))

    def names(self, kind: str) -> str:
        """All that are known, for an error."""
        return ", ".join(sorted(self._named[kind])) or "none"

    def find(self, kind: str, name: str, shape: type[T]) -> tuple[T, Path]:
        """An entry by its name, and the file it is in."""
        found = self._named[kind].get(name)
        if found is None:
            raise BadInput(f"kubeconfig {self._files} has no {kind} {name!r}; there is: {self.names(kind)}")
        try:
            return msgspec.convert(found[0], shape), found[1]
        except msgspec.ValidationError as error:
            raise BadInput(f"kubeconfig {found[1]}: {kind} {name!r}: {error}") from None


def find_access(
    environ: Mapping[str, str], clock: Clock, *, context: str | None = None, account: Path = SERVICE_ACCOUNT
) -> Access:
    """The cluster of the kubeconfig that is named or found, else the one we run in; `BadInput` when there is none."""
    files = _files(environ)
    if files:
        access = from_kubeconfig(files, clock, context)
    elif context is None and environ.get("KUBERNETES_SERVICE_HOST"):
        access = in_cluster(environ, account)
    else:
        raise BadInput("no cluster is known: there is no kubeconfig, and this is not a pod. Set KUBECONFIG")
    if access.proxy is None:
        return msgspec.structs.replace(access, proxy=proxy_around(environ, access.server))
    return access


def choose_namespace(environ: Mapping[str, str], access: Access, explicit: str | None) -> str:
    """The namespace that is variable, else the pod's, else the kubeconfig's; `BadInput` when that is no name."""
    chosen = explicit or environ.get("POD_NAMESPACE") or access.namespace
    if not _NAMESPACE.fullmatch(chosen):
        raise BadInput(f"{chosen!r} cannot be the name of a namespace: write small letters, digits and -")
    return chosen


def _files(environ: Mapping[str, str]) -> list[Path]:
    variable = environ.get("KUBECONFIG")
    if variable:
        found = [
            path for path in map(Path, filter(None, variable.split(os.pathsep))) if os.path.lexists(path)
        ]
        if not found:
            raise BadInput(f"KUBECONFIG names {variable}, and no such file exists")
        return found
    usual = Path(environ.get("HOME", "/nonexistent")) / ".kube" / "config"
    return [usual] if os.path.lexists(usual) else []


def in_cluster(environ: Mapping[str, str], account: Path = SERVICE_ACCOUNT) -> Access:
    """The cluster whose pod we are."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        ca, namespace = ((account / name).read_bytes().decode() for name in ("ca.crt", "namespace"))
        (account / "token").read_bytes()
    except OSError as error:
        raise BadInput(
            f"this is a pod, and its service account cannot be read: {account}: {error.strerror}. "
            "Is automountServiceAccountToken false?"
        ) from error
    except UnicodeDecodeError:
        raise BadInput(f"the service account in {account} is not text") from None
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if not is_url(server, "https"):
        raise BadInput(f"KUBERNETES_SERVICE_HOST and _PORT name no server: {server}")
    return Access(server, TokenFile(Trust(ca), account / "token"), namespace.strip() or "default")


def from_kubeconfig(files: list[Path], clock: Clock, context: str | None = None) -> Access:
    """The cluster of a context: the variable one, else the current one."""
    merged = _Merged(files)
    chosen = context or merged.current
    if not chosen:
        raise BadInput(f"the kubeconfig has no current context; choose one of: {merged.names('context')}")
    place, file = merged.find("context", chosen, _Context)
    if not place.cluster:
        raise BadInput(f"kubeconfig {file}: context {chosen!r} names no cluster")
    cluster, cluster_file = merged.find("cluster", place.cluster, _Cluster)
    user, user_file = merged.find("user", place.user, _User) if place.user else (_User(), cluster_file)
    server = cluster.server.rstrip("/")
    if not is_url(server, "https", "http"):
        raise BadInput(
            f"kubeconfig {cluster_file}: cluster {place.cluster!r} has no usable server: {server!r}"
        )
    proxy = (
        checked_proxy(cluster.proxy_url, f"kubeconfig {cluster_file}: proxy-url")
        if cluster.proxy_url
        else None
    )
    skips = cluster.insecure_skip_tls_verify
    try:
        trust = Trust(verify=False) if skips else _trust(cluster, cluster_file)
        credentials = _credentials(trust, user, user_file, clock, _plugin_info(cluster, trust))
    except BadInput as error:
        where = (
            "" if str(error).startswith("kubeconfig ") else f"kubeconfig {user_file}, context {chosen!r}: "
        )
        raise BadInput(f"{where}{error}") from None
    return Access(
        server,
        credentials,
        place.namespace or "default",
        proxy,
        cluster.tls_server_name or None,
        (f"TLS of {server} is not verified (insecure-skip-tls-verify)",) if skips else (),
    )


def _trust(cluster: _Cluster, file: Path) -> Trust:
    what = "certificate-authority"
    data = _bytes(cluster.certificate_authority_data, cluster.certificate_authority, file, what)
    # PEM may have comments around it, in any encoding.
    return Trust(None if data is None else data.decode("ascii", "ignore"))


def _credentials(trust: Trust, user: _User, file: Path, clock: Clock, cluster: dict[str, Any]) -> Credentials:
    if user.auth_provider is not None or user.username:
        raise BadInput(
            f"kubeconfig {file}: auth-provider and username/password are not supported by Kubernetes any more; "
            "use a token, a client certificate or an exec plug-in"
        )
    if user.as_:
        raise BadInput(f"kubeconfig {file}: acting as someone else ({user.as_!r}) is not supported")
    certificate = _bytes(user.client_certificate_data, user.client_certificate, file, "client-certificate")
    key = _bytes(user.client_key_data, user.client_key, file, "client-key")
    if (certificate is None) != (key is None):
        raise BadInput(f"kubeconfig {file}: a client certificate and its key belong together; one is missing")
    pair = Pair(certificate, key) if certificate is not None and key is not None else None
    if pair is not None:
        check_not_expired(pair.certificate, clock.now())
    if user.exec is not None:
        return Exec(trust, user.exec, clock, file.parent, cluster)
    if user.token_file and not user.token:
        return TokenFile(trust, file.parent / user.token_file, pair)
    return Fixed(trust, bearer(user.token, f"kubeconfig {file}: token") if user.token else None, pair)


def _plugin_info(cluster: _Cluster, trust: Trust) -> dict[str, Any]:
    """What a plug-in learns of the cluster when the kubeconfig says so."""
    info = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(trust.ca.encode()).decode() if trust.ca else None,
        "proxy-url": cluster.proxy_url,
    }
    return {name: value for name, value in info.items() if value}


def _bytes(data: str | None, path: str | None, file: Path, what: str) -> bytes | None:
    """Inline data wins over a path, as for kubectl."""
    if data:
        return decoded(data, f"kubeconfig {file}: {what}-data")
    if not path:
        return None
    try:
        return (file.parent / path).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"kubeconfig {file}: {what} {path} cannot be read: {why}") from error


def _read(path: Path) -> dict[Any, Any]:
    import yaml  # noqa: PLC0415 - only who reads a kubeconfig pays for it

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise BadInput(f"kubeconfig {path} is not YAML{line}") from None
    if not isinstance(read, dict):
        raise BadInput(f"kubeconfig {path} holds no kubeconfig")
    return read
