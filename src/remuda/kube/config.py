"""
Finds a cluster: the one we run in, or the one a kubeconfig names.

Several files in `KUBECONFIG` are merged as kubectl does: for each name the first file that has it wins. Every problem
is one sentence that names the file and what to do.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from remuda.errors import BadInput
from remuda.kube.credentials import Credentials, Exec, ExecPlugin, Fixed, TokenFile, Trust, decoded
from remuda.loop.clock import Clock

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(Struct, frozen=True):
    """How to reach a cluster and prove who we are."""

    server: str
    credentials: Credentials
    namespace: str = "default"
    proxy: str | None = None
    #: things a person should know, such as TLS that is not verified
    warnings: tuple[str, ...] = ()


class _Cluster(Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
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


class _Context(Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = "default"


class _Merged:
    """What all files say together; each entry knows its file, because paths in it are relative to that."""

    def __init__(self) -> None:
        self.current: str | None = None
        self.named: dict[str, dict[str, tuple[Any, Path]]] = {"clusters": {}, "users": {}, "contexts": {}}

    def add(self, path: Path) -> None:
        read = _read(path)
        self.current = self.current or read.get("current-context") or None
        for section, singular in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for entry in read.get(section) or []:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise BadInput(f"kubeconfig {path}: an entry of {section} has no name")
                self.named[section].setdefault(entry["name"], (entry.get(singular) or {}, path))

    def find(self, section: str, name: str, kind: type[Any]) -> tuple[Any, Path]:
        found = self.named[section].get(name)
        if found is None:
            known = ", ".join(sorted(self.named[section])) or "none"
            raise BadInput(f"the kubeconfig has no {section.removesuffix('s')} {name!r}; there is: {known}")
        try:
            return msgspec.convert(found[0], kind), found[1]
        except msgspec.ValidationError as error:
            raise BadInput(f"kubeconfig {found[1]}: {section.removesuffix('s')} {name!r}: {error}") from None


def find_access(
    environ: Mapping[str, str], clock: Clock, *, context: str | None = None, account: Path = SERVICE_ACCOUNT
) -> Access:
    """The cluster of the kubeconfig that is named or found, else the one we run in; `BadInput` when there is none."""
    files = _files(environ)
    if (
        context is None
        and not files
        and (account / "token").exists()
        and environ.get("KUBERNETES_SERVICE_HOST")
    ):
        return in_cluster(environ, account)
    if not files:
        raise BadInput("no cluster is known: there is no kubeconfig, and this is not a pod. Set KUBECONFIG")
    return from_kubeconfig(files, clock, context)


def _files(environ: Mapping[str, str]) -> list[Path]:
    given = environ.get("KUBECONFIG")
    if given:
        named = [Path(part).expanduser() for part in given.split(os.pathsep) if part]
        found = [path for path in named if path.exists()]
        if not found:
            raise BadInput(f"KUBECONFIG names {given}, and no such file exists")
        return found
    usual = Path(environ.get("HOME", "/nonexistent")) / ".kube" / "config"
    return [usual] if usual.exists() else []


def in_cluster(environ: Mapping[str, str], account: Path = SERVICE_ACCOUNT) -> Access:
    """The cluster whose pod we are."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        trust = Trust((account / "ca.crt").read_text())
        namespace = (account / "namespace").read_text().strip()
    except OSError as error:
        raise BadInput(f"the service account in {account} cannot be read: {error.strerror}") from error
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Access(server, TokenFile(trust, account / "token"), namespace or "default")


def from_kubeconfig(files: list[Path], clock: Clock, context: str | None = None) -> Access:
    """The cluster of a context: the given one, else the current one."""
    merged = _Merged()
    for path in files:
        merged.add(path)
    chosen = context or merged.current
    if not chosen:
        known = ", ".join(sorted(merged.named["contexts"])) or "none"
        raise BadInput(f"the kubeconfig has no current context; choose one of: {known}")
    place: _Context = merged.find("contexts", chosen, _Context)[0]
    cluster, cluster_file = merged.find("clusters", place.cluster, _Cluster)
    user, user_file = merged.find("users", place.user, _User) if place.user else (_User(), cluster_file)
    server = cluster.server.rstrip("/")
    if urlsplit(server).scheme not in ("https", "http") or not urlsplit(server).hostname:
        raise BadInput(
            f"kubeconfig {cluster_file}: cluster {place.cluster!r} has no usable server: {server!r}"
        )
    warnings: tuple[str, ...] = ()
    if cluster.insecure_skip_tls_verify:
        warnings = (f"TLS of {server} is not verified (insecure-skip-tls-verify)",)
    return Access(
        server,
        _credentials(_trust(cluster, cluster_file), user, user_file, clock),
        place.namespace or "default",
        _proxy(cluster.proxy_url, cluster_file),
        warnings,
    )


def _trust(cluster: _Cluster, file: Path) -> Trust:
    if cluster.insecure_skip_tls_verify:
        return Trust(verify=False)
    data = _bytes(
        cluster.certificate_authority_data, cluster.certificate_authority, file, "certificate-authority"
    )
    return Trust(data.decode("ascii", "replace") if data else None)


def _credentials(trust: Trust, user: _User, file: Path, clock: Clock) -> Credentials:
    if user.auth_provider is not None or user.username is not None:
        raise BadInput(
            f"kubeconfig {file}: auth-provider and username/password are not supported by Kubernetes any more; "
            "use a token, a client certificate or an exec plug-in"
        )
    certificate = _bytes(user.client_certificate_data, user.client_certificate, file, "client-certificate")
    key = _bytes(user.client_key_data, user.client_key, file, "client-key")
    if (certificate is None) != (key is None):
        raise BadInput(f"kubeconfig {file}: a client certificate and its key belong together; one is missing")
    if user.exec is not None:
        return Exec(trust, user.exec, clock, file.parent)
    if user.token_file and not user.token:
        return TokenFile(trust, _near(user.token_file, file))
    return Fixed(trust, user.token, (certificate, key) if certificate and key else None)


def _proxy(given: str | None, file: Path) -> str | None:
    if given and urlsplit(given).scheme not in ("http", "https"):
        raise BadInput(f"kubeconfig {file}: proxy-url {given!r} is not supported: http and https are")
    return given or None


def _bytes(data: str | None, path: str | None, file: Path, what: str) -> bytes | None:
    """Inline data wins over a path, as for kubectl."""
    if data:
        return decoded(data, f"kubeconfig {file}: {what}-data")
    if not path:
        return None
    try:
        return _near(path, file).read_bytes()
    except OSError as error:
        raise BadInput(f"kubeconfig {file}: {what} {path} cannot be read: {error.strerror}") from error


def _near(path: str, file: Path) -> Path:
    return file.parent / Path(path).expanduser()


def _read(path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - only who reads a kubeconfig pays for it

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise BadInput(f"kubeconfig {path} is not YAML{line}") from None
    if not isinstance(read, dict):
        raise BadInput(f"kubeconfig {path} holds no kubeconfig")
    return read
