"""
What a pool's VMs are made of: its own words, completed by what Secrets hold.

The Secret may be in the layout of Runner Provisioner 0.1.0. Every problem is reported at once, and no value of a Secret is
ever part of a report.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import yaml
from msgspec import Struct

from remuda.errors import BadInput, RemudaError
from remuda.kube.secrets import Secrets, digest
from remuda.model.times import HOUR, SECOND, Duration, is_go_duration
from remuda.objects.problems import child_path, did_you_mean, quoted
from remuda.objects.tree import Refused, parse
from remuda.providers.kubevirt.guest.userdata import DiskMount, GuestConfig
from remuda.rules.instances import BUNDLE_VOLUME, check_spec, empty_disks

_TOP = ("resourceClass",)
_OF_A_CLASS = ("token", "idleTimeout", "spec")
#: a Secret has at most a mebibyte; what aliases repeat counts each time
_MOST_VALUES = 50_000


class Setup(Protocol):
    """What is known of a pool."""

    @property
    def name(self) -> str:
        """The pool's name."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its own words about its VMs."""
        ...

    @property
    def idle_timeout(self) -> int | None:
        """Milliseconds."""
        ...


class _Key(Struct, frozen=True):
    secret: str
    key: str


class _Mount(Struct, frozen=True, rename="camel"):
    serial: str
    path: str
    fs_type: str


class Settings(Struct, frozen=True, rename="camel"):
    """A pool's words about its VMs, as its object holds them."""

    class_: str = msgspec.field(name="class", default="")
    url: str = "https://runner.circleci.com/"
    spec: dict[str, Any] | None = None
    token: _Key | None = None
    provisioner: _Key | None = None
    max_run_time: str = str(Duration(5 * HOUR))
    bundle: str | None = None
    grant_sudo: bool = False
    empty_disk_mounts: tuple[_Mount, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the Secrets it refers to."""
        return tuple(item.secret for item in (self.token, self.provisioner) if item is not None)


@dataclass(frozen=True, slots=True)
class Make:
    """What the VMs of one configuration are made of."""

    spec: dict[str, Any]
    guest: GuestConfig
    #: the image of the bundle disk
    bundle: str | None
    #: digest of what Secrets added
    beside: str
    job_class: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """What Secrets hold of a pool."""

    spec: dict[str, Any]
    token: str = field(repr=False)
    idle_timeout: str | None = None


def read_settings(settings: Mapping[str, Any]) -> Settings:
    """A pool's words, read."""
    return msgspec.convert(settings, Settings)


def resolve(settings: Mapping[str, Any], idle_timeout: int | None, secrets: Secrets) -> Make:
    """Complete a pool's words. `BadInput` with every problem, `Unavailable` while a Secret is not read yet."""
    words = read_settings(settings)
    found = _found(words, secrets)
    if unknown := {item.serial for item in words.empty_disk_mounts} - empty_disks(found.spec):
        raise BadInput(
            f"emptyDiskMounts: no disk of the spec with the serial {', '.join(sorted(unknown))} has an emptyDisk volume"
        )
    guest = GuestConfig(
        token=found.token,
        api_url=words.url,
        max_run_time=Duration.parse(words.max_run_time),
        idle_timeout=go_duration(idle_timeout) or found.idle_timeout,
        bundle=BUNDLE_VOLUME if words.bundle else None,
        grants_sudo=words.grant_sudo,
        disks=tuple(DiskMount(item.serial, item.path, item.fs_type) for item in words.empty_disk_mounts),
    )
    return Make(found.spec, guest, words.bundle, _beside(words, found), words.class_)


def fingerprint(settings: Mapping[str, Any], secrets: Secrets) -> str:
    """Digest of what Secrets add to a pool's words. Raises as `resolve` does."""
    words = read_settings(settings)
    return _beside(words, _found(words, secrets))


def go_duration(ms: int | None) -> str | None:
    """As the runner reads it, which knows no days."""
    if not ms:
        return None
    return f"{ms}ms" if ms % SECOND else f"{ms // SECOND}s"


def _found(words: Settings, secrets: Secrets) -> _Found:
    if words.provisioner is not None:
        where = words.provisioner
        text = secrets.value(where.secret, where.key)
        try:
            return read_provisioner(text, words.class_)
        except BadInput as error:
            raise BadInput(f"Secret {where.secret}, key {where.key}: {error}") from None
    if words.token is None or words.spec is None:
        raise BadInput("a pool of VMs wants spec and token, or provisioner")
    return _Found(words.spec, secrets.value(words.token.secret, words.token.key))


def _beside(words: Settings, found: _Found) -> str:
    parts: dict[str, Any] = {"token": found.token}
    if words.provisioner is not None:
        parts |= {"spec": found.spec, "idleTimeout": found.idle_timeout}
    return digest(parts)


def read_provisioner(text: str, job_class: str) -> _Found:
    """One class of a `config.yaml` of Runner Provisioner 0.1.0; `BadInput` with every problem of it."""
    try:
        return _read_provisioner(text, job_class)
    except RecursionError:
        raise BadInput("holds an alias inside its own anchor, or is nested too deep") from None


def _read_provisioner(text: str, job_class: str) -> _Found:
    try:
        # Its limits alone are asked for: what is odd in our own files was right for Runner Provisioner.
        for _ in parse(text, "", lambda _: None, most_nodes=_MOST_VALUES):
            pass
        read = yaml.load(text, yaml.CSafeLoader)
    except Refused as error:
        place = f" at line {error.line}, column {error.column}" if error.line else ""
        is_yaml = not str(error).startswith("is not YAML")
        raise BadInput(f"{'is too large or too deep' if is_yaml else 'is not YAML'}{place}") from None
    except yaml.MarkedYAMLError as error:
        # Its own words may hold a part of the text, which is secret.
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInput(f"is not YAML{place}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise BadInput("is not YAML") from None
    problems = [f"{path}: {problem}" if path else problem for path, problem in _problems(read, job_class)]
    if problems:
        raise BadInput("; ".join(problems))
    mine = read["resourceClass"][job_class]
    return _Found(mine["spec"], mine["token"], mine.get("idleTimeout") or None)


def _problems(read: object, job_class: str) -> Iterator[tuple[str, str]]:
    if not isinstance(read, dict):
        yield "", "wants a mapping with the key resourceClass"
        return
    yield from _unknown("", read, _TOP)
    classes = read.get("resourceClass")
    if not isinstance(classes, dict) or not classes:
        yield "resourceClass", "wants a mapping of classes, each with token and spec"
        return
    if job_class not in classes:
        names = [str(name) for name in classes]
        message = ", ".join(quoted(name) for name in sorted(names)[:10])
        yield "resourceClass", f"has no class {job_class}{did_you_mean(job_class, names)} (it has: {message})"
        return
    path, mine = child_path("resourceClass", job_class), classes[job_class]
    if not isinstance(mine, dict):
        yield path, "wants a mapping with token and spec"
        return
    yield from _unknown(path, mine, _OF_A_CLASS)
    if not isinstance(mine.get("token"), str) or not mine["token"]:
        yield f"{path}.token", "is missing: the resource class token, as text"
    idle = mine.get("idleTimeout") or ""
    if not isinstance(idle, str) or (idle and not is_go_duration(idle)):
        yield f"{path}.idleTimeout", 'wants a duration such as "10m", or "" for never'
    spec = mine.get("spec")
    if not isinstance(spec, dict):
        yield f"{path}.spec", "is missing: a VirtualMachineInstanceSpec"
        return
    for below, problem in check_spec(spec):
        yield f"{path}.spec{below}", problem
    try:
        msgspec.json.encode(spec)
    except (TypeError, ValueError):
        yield f"{path}.spec", "holds something that JSON has not: put its keys in quotes"


def _unknown(path: str, mapping: dict[Any, Any], known: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for key in mapping:
        if key not in known:
            shown = quoted(str(key))
            yield child_path(path, str(key)), f"{shown} is not known{did_you_mean(str(key), known)}"


class Fingerprints:
    """
    The fingerprints of pools, each the last one known while a Secret is missing or not whole.

    So a lost Secret never looks like a new template. `remembered` is what an earlier process knew.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: dict[str, str] = {}

    def of(self, setup: Setup, remembered: str) -> str:
        """The digest of what Secrets add to a pool; empty when that was never known."""
        try:
            self._known[setup.name] = fingerprint(setup.settings, self._secrets)
        except RemudaError:
            return self._known.get(setup.name) or remembered
        return self._known[setup.name]

    def keep(self, pools: frozenset[str]) -> None:
        """Forget all other pools."""
        self._known = {name: known for name, known in self._known.items() if name in pools}
