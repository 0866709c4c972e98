"""
Values of CircleCI's Runner Provisioner, 0.1.0 and 0.1.2, to the RunnerPools that serve the same classes.

The chart takes the same values as they are; this is for whoever wants the objects instead. No token leaves here: what is
made refers to Secrets, and the notes say which to create. Nothing in a file is passed over without a problem or a note.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Self

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from remuda.model.times import HOUR, MINUTE, SECOND, is_go_duration, write_duration
from remuda.objects.convert import BROKEN, convert, plain
from remuda.objects.kinds import API_VERSION
from remuda.objects.load import Loaded
from remuda.objects.nodes import MapNode, Node, place_of
from remuda.objects.problems import Problem, child_path, did_you_mean, path_steps
from remuda.objects.scalars import Count, CronText, ObjectName, Share, Url, ZoneName
from remuda.objects.tree import Refused, parse
from remuda.pools.runners import CLOUD, EmptyDiskMount
from remuda.rules.bounds import DEFAULT_MAX, DEFAULT_MIN

#: the Secret that the chart makes in a release called remuda
SECRET: Final = "remuda-provisioner"  # noqa: S105 - a name
API_TOKEN_KEY: Final = "circle-token"  # noqa: S105 - a name
CONFIG_KEY: Final = "config.yaml"
#: what the chart's values.yaml says of a class that says nothing
DEFAULTS: Final[dict[str, Any]] = {
    "idleTimeout": "",
    "bootTimeout": "",
    "minReplicas": DEFAULT_MIN,
    "maxReplicas": DEFAULT_MAX,
    "spec": {},
}
#: what the chart completes a spec with that lacks a domain or volumes, and so is no machine
DEFAULT_SPEC: Final[dict[str, Any]] = {
    "domain": {
        "resources": {"requests": {"memory": "2Gi", "cpu": "1"}},
        "devices": {"disks": [{"name": "disk", "disk": {"bus": "virtio"}}]},
    },
    "volumes": [{"name": "disk", "containerDisk": {"image": "quay.io/containerdisks/ubuntu:22.04"}}],
}
#: what stands for a bound that cannot be read, so that the rest can be judged without it
_UNREAD: Final = {"minReplicas": 0, "maxReplicas": 100_000}
_LONGEST_NAME: Final = 50
_CLASSES: Final = "provisioner.resourceClass"
#: for a name that is no class, so that the rest of what is said of it can be judged
_STAND_IN: Final = "my-org/my-runner"
_GO_UNITS: Final[dict[str, Fraction]] = {
    "ns": Fraction(1, 1_000_000),
    "us": Fraction(1, 1_000),
    "ms": Fraction(1),
    "s": Fraction(SECOND),
    "m": Fraction(MINUTE),
    "h": Fraction(HOUR),
}
_GO_PART = re.compile(r"([0-9.]+)(ns|us|ms|s|m|h)")
#: what a pool says → what the values call it
_THEIRS: Final = {"min": "minReplicas", "max": "maxReplicas"}
_PATH = re.compile(r"spec(?:\.provider\.kubevirt)?\.(\w+)(.*)")
_NO_PROXY: Final = (
    "there is no proxy: the class token is in the VM, where root alone can read it. A class whose jobs get root and"
    " must not have it stays with Runner Provisioner; docs/guides/migrating.md says why and what else to do"
)
_PROXY_OFF: Final = "the proxy is off, and here there is none: nothing changes"
#: what 0.1.2 knows and a pool does not, wherever it stands
_LEFT_OUT: Final = {
    "tokenProxy": _NO_PROXY,
    "sidecar": _NO_PROXY,  # what later versions call it
    "runnerBundle": "name such a container disk as spec.provider.kubevirt.bundle of a pool",
    "replicaCount": "is replicas among the values of Remuda's chart",
}
#: where values newer than 0.1.2 are said to keep what a class has flat; nothing published says what is in them
_NESTED: Final = {
    "scaling": "minReplicas, maxReplicas, headroom, maxSurge, scaleDownDelay and schedules",
    "runner": "token, idleTimeout, bootTimeout, grantSudo and emptyDiskMounts",
}
_TOKEN = re.compile(r"(?:.*\.)?(?:token|circleToken)")
_CHART = "belongs to the chart, not to pools: keep it in the values of the chart, if it has it"


class GoDuration(int):
    """Milliseconds, written as Go does: `1h30m` or `1.5h`; nothing at all is 0."""

    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "10m or 1h30m"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read the written form."""
        if not isinstance(text, str) or not (text == "" or is_go_duration(text)):
            raise ValueError(f"{text!r} is not a duration: write it like {cls.example}")
        return cls(sum(Fraction(number) * _GO_UNITS[unit] for number, unit in _GO_PART.findall(text)))


class _Name(str):
    """A name, or nothing."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = ObjectName.json_schema
    example: ClassVar[str] = ObjectName.example

    @classmethod
    def parse(cls, text: object) -> Self:
        return cls(text if text == "" else ObjectName.parse(text))


class _Window(Struct, frozen=True, rename="camel"):
    start: Annotated[CronText, Meta(description="When the window opens.")]
    end: Annotated[CronText, Meta(description="When it closes.")]
    timezone: ZoneName = ZoneName("UTC")
    min_replicas: Count | UnsetType = UNSET
    max_replicas: Count | UnsetType = UNSET
    headroom: Share | UnsetType = UNSET


class _Shared(Struct, frozen=True, rename="camel"):
    """What a class of either version may say."""

    idle_timeout: GoDuration = GoDuration(0)
    boot_timeout: GoDuration = GoDuration(0)
    min_replicas: Count | UnsetType = UNSET
    max_replicas: Count | UnsetType = UNSET
    spec: dict[str, Any] | UnsetType = UNSET


class _OneClass(_Shared, frozen=True, rename="camel"):
    """The class of 0.1.0."""

    name: str = ""
    token: str = ""


class _Defaults(_Shared, frozen=True, rename="camel"):
    headroom: Share | UnsetType = UNSET
    max_surge: Count | UnsetType = UNSET
    scale_down_delay: GoDuration = GoDuration(0)
    schedules: tuple[_Window, ...] = ()
    grant_sudo: bool = False
    empty_disk_mounts: tuple[EmptyDiskMount, ...] = ()


class _Class(_Defaults, frozen=True, rename="camel"):
    """A class of 0.1.2."""

    token: str = ""


class _Provisioner(Struct, frozen=True, rename="camel"):
    circleci_api_addr: Url = msgspec.field(name="circleciAPIAddr", default=CLOUD)
    namespace: _Name = _Name("")
    circle_token: str = ""
    existing_secret: _Name = _Name("")
    resource_class: Any = UNSET
    resource_classes: dict[str, Any] = {}
    resource_class_defaults: Any = UNSET


@dataclass(frozen=True, slots=True)
class Imported:
    """The objects as a file would hold them, what to know about them, and problems; with any, nothing should be used."""

    objects: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def import_values(text: Callable[[], str], file: str, load: Callable[[str], Loaded]) -> Imported:
    """Read values; `load` judges the objects that come out as any file is judged. `text` may raise `Refused`."""
    reading = _Reading(file, load)
    try:
        roots = list(parse(text(), file, reading.report))
        for root in roots[:1]:
            reading.take(root)
        for root in roots[1:]:
            reading.report(Problem(file, root.line, root.column, "", "is a second document: values are one"))
        if not roots:
            reading.report(Problem(file, 0, 0, "", "holds no values: they begin with provisioner:"))
    except Refused as error:
        reading.report(Problem(file, error.line, error.column, "", str(error)))
    if reading.problems:
        return Imported(problems=tuple(sorted(set(reading.problems))))
    return Imported(tuple(reading.objects), tuple(reading.notes))


def pool_name(job_class: str) -> str:
    """The name of a class's RunnerPool, as the chart makes it; empty when nothing of the class can be in a name."""
    return re.sub("[^a-z0-9]+", "-", job_class.lower()).strip("-")[:_LONGEST_NAME].strip("-")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """As helm merges values: mappings key by key, null takes a key away, and everything else is replaced."""
    made = dict(below)
    for key, value in above.items():
        under = made.get(key)
        made[key] = merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return {key: value for key, value in made.items() if value is not None}


def whole_spec(own: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with a domain and volumes is taken as it is; one that lacks either changes the default, key by key."""
    return dict(own) if own.get("domain") and own.get("volumes") else merged(DEFAULT_SPEC, own)


@dataclass(slots=True)
class _Reading:
    """One file of values on its way to objects."""

    file: str
    load: Callable[[str], Loaded]
    objects: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def report(self, problem: Problem) -> None:
        """Keep a problem; what stands where a token belongs is not repeated."""
        key = str((path_steps(problem.path) or ("",))[-1])
        if problem.message.startswith("is not a known key") and key in _NESTED:
            place = (problem.file, problem.line, problem.column, problem.path)
            message = (
                "is of values newer than 0.1.2, which are not known here: write what is in it directly into the class,"
                f" as 0.1.2 does ({_NESTED[key]})"
            )
            problem = Problem(*place, message)
        if _TOKEN.fullmatch(problem.path) and not problem.message.startswith("is not a known key"):
            place = (problem.file, problem.line, problem.column, problem.path)
            problem = Problem(*place, "wants text, in quotes and once (what is there is not shown)")
        self.problems.append(problem)

    def take(self, root: Node) -> None:
        """Read the whole file."""
        if not isinstance(root, MapNode):
            self.report(
                Problem(self.file, root.line, root.column, "", "wants a mapping that holds provisioner")
            )
            return
        others = [key for key in root.entries if key != "provisioner"]
        for key in others:
            near = did_you_mean(key, ["provisioner"]) if "provisioner" not in root.entries else ""
            if near:
                self._blame(root, key, f"is not a known key{near}")
            else:
                self.notes.append(f"{key}: {_left_out(key, root.entries[key].node)}")
        given = root.entries.get("provisioner")
        if given is None:
            if not self.problems:
                self._blame(root, "provisioner", "is required: it holds the classes")
            return
        node = self._without("provisioner", given.node)
        values: _Provisioner = self._converted(node, _Provisioner, "provisioner")
        if isinstance(node, MapNode):
            self._classes(root, node, _Provisioner() if values is BROKEN else values)

    def _classes(self, root: Node, node: MapNode, values: _Provisioner) -> None:
        """Turn each class into a pool, as far as it is whole."""
        found = dict[str, str]()  # pool → class
        for path, said, settings in self._settings(node, values):
            is_class = "/" in said and bool(pool_name(said))
            job_class = said if is_class else _STAND_IN
            name = pool_name(job_class)
            if not is_class:
                self._blame(root, path, "is no class of CircleCI: write one like my-org/my-runner")
            elif name in found:
                clash = f"becomes the pool {name}, and so does {found[name]}"
                self._blame(
                    root, path, f"{job_class} {'is here twice' if found[name] == job_class else clash}"
                )
            else:
                found[name] = job_class
            made = _pool(name, job_class, settings, values)
            below = path.removesuffix(".name")
            for problem in self.load(msgspec.json.encode(made).decode()).problems:
                self._blame(root, f"{below}{_path_in_values(problem.path)}", problem.message)
            self.objects.append(made)
        if not found and not any(item.path.startswith(_CLASSES) for item in self.problems):
            unseen = f"; Secret {values.existing_secret} is not read here" if values.existing_secret else ""
            self._blame(root, "provisioner.resourceClass.name", f"is required: no class is named{unseen}")
        self.notes += _notes(self.objects, values)

    def _settings(self, node: MapNode, values: _Provisioner) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Where each class stands, its name, and all its settings that can be read."""
        entries = node.entries
        if "resourceClass" in entries:
            path = "provisioner.resourceClass"
            own = self._readable(entries["resourceClass"].node, _OneClass, path)
            if name := own.get("name"):
                self._note_defaults(name, own, values)
                yield f"{path}.name", name, merged(DEFAULTS, own)
        defaults = DEFAULTS
        if "resourceClassDefaults" in entries:
            path = "provisioner.resourceClassDefaults"
            defaults = merged(
                DEFAULTS, self._readable(entries["resourceClassDefaults"].node, _Defaults, path)
            )
        classes = entries["resourceClasses"].node if "resourceClasses" in entries else None
        for name, entry in classes.entries.items() if isinstance(classes, MapNode) else ():
            path = child_path("provisioner.resourceClasses", name)
            own = self._readable(entry.node, _Class, path)
            if defaults is DEFAULTS:
                self._note_defaults(name, own, values)
            yield path, name, merged(defaults, own)

    def _readable(self, node: Node, type_: type, path: str) -> dict[str, Any]:
        """
        What a mapping says, as far as it can be read: what is wrong in it is reported and replaced.

        So the rest of it is judged in the same round.
        """
        before = len(self.problems)
        node = self._without(path, node)
        is_whole = self._converted(node, type_, path) is not BROKEN
        own = plain(node)
        if not isinstance(own, dict):
            return {}
        if is_whole:
            return own
        depth = len(path_steps(path))
        wrong = {path_steps(problem.path)[depth : depth + 1] for problem in self.problems[before:]}
        kept = {key: value for key, value in own.items() if (key,) not in wrong}
        return kept | {key: value for key, value in _UNREAD.items() if key in own and key not in kept}

    def _note_defaults(self, job_class: str, own: Mapping[str, Any], values: _Provisioner) -> None:
        bounds = [f"{key} {DEFAULTS[key]}" for key in ("minReplicas", "maxReplicas") if key not in own]
        spec = (
            []
            if own.get("spec") or values.existing_secret
            else ["the spec of an Ubuntu 22.04 with 2Gi and 1 CPU"]
        )
        if bounds or spec:
            self.notes.append(f"{job_class}: by default it has {', '.join([*bounds, *spec])}")

    def _without(self, path: str, node: Node) -> Node:
        """The node without what is known and left out; each of these becomes a note."""
        if not isinstance(node, MapNode):
            return node
        for key in filter(_LEFT_OUT.__contains__, node.entries):
            self.notes.append(f"{child_path(path, key)}: {_left_out(key, node.entries[key].node)}")
        return structs.replace(
            node, entries={key: entry for key, entry in node.entries.items() if key not in _LEFT_OUT}
        )

    def _converted(self, node: Node, type_: type, path: str) -> Any:
        def report(problem: Problem) -> None:
            below = problem.path if not problem.path or problem.path.startswith("[") else f".{problem.path}"
            place = (problem.file, problem.line, problem.column)
            self.report(Problem(*place, f"{path}{below}", problem.message))

        return convert(node, type_, self.file, report)

    def _blame(self, root: Node, path: str, message: str) -> None:
        self.report(Problem(self.file, *place_of(root, path), path, message))


def _left_out(key: str, node: Node) -> str:
    """What to know of a value that no pool has."""
    reason = _LEFT_OUT.get(key, _CHART)
    if reason is _NO_PROXY:
        settings = plain(node)
        if isinstance(settings, dict) and settings.get("enabled") is False:
            return _PROXY_OFF
    return reason


def _pool(name: str, job_class: str, settings: Mapping[str, Any], values: _Provisioner) -> dict[str, Any]:
    """The RunnerPool that the chart would make; without a Secret of the user's, with its template in the open."""
    existing = str(values.existing_secret)
    circleci = {
        "url": str(values.circleci_api_addr),
        "token": {"secret": existing or SECRET, "key": API_TOKEN_KEY},
    }
    idle = GoDuration.parse(settings["idleTimeout"])
    delay = GoDuration.parse(settings.get("scaleDownDelay", ""))
    boot = GoDuration.parse(settings["bootTimeout"])
    if existing:
        kubevirt: dict[str, Any] = {"provisioner": {"secret": existing, "key": CONFIG_KEY}}
    else:
        kubevirt = {
            "spec": whole_spec(settings.get("spec") or {}),
            "token": {"secret": SECRET, "key": token_key(job_class)},
        }
    kubevirt |= {key: settings[key] for key in ("grantSudo", "emptyDiskMounts") if settings.get(key)}
    spec = {
        "class": job_class,
        "source": {"circleci": circleci},
        "provider": {"kubevirt": kubevirt},
        "min": settings["minReplicas"],
        "max": settings["maxReplicas"],
        "headroom": settings.get("headroom"),
        "maxSurge": settings.get("maxSurge"),
        "scaleDownDelay": write_duration(delay) if delay else None,
        "schedules": [_window(item) for item in settings.get("schedules", ())],
        "idleTimeout": write_duration(idle) if idle and not existing else None,
        "bootTimeout": write_duration(boot) if boot else None,
        "scaleIn": "natural",
    }
    kept = {key: value for key, value in spec.items() if value or key in ("min", "max")}
    return {"apiVersion": API_VERSION, "kind": "RunnerPool", "metadata": {"name": name}, "spec": kept}


def token_key(job_class: str) -> str:
    """The key of a class's token in the Secret: a key has no slash."""
    return job_class.replace("/", ".")


def _window(given: Mapping[str, Any]) -> dict[str, Any]:
    names = {"minReplicas": "min", "maxReplicas": "max"}
    return {names.get(key, key): value for key, value in given.items()}


def _path_in_values(path: str) -> str:
    """Where a field of a pool stands in the values of its class."""
    found = _PATH.fullmatch(path)
    if found is None or found[1] in ("class", "token", "source"):
        return ""
    return f".{_THEIRS.get(found[1], found[1])}{found[2]}"


def _notes(pools: list[dict[str, Any]], values: _Provisioner) -> Iterator[str]:
    if not pools:
        return
    where = f" -n {values.namespace}" if values.namespace else ""
    if values.existing_secret:
        yield (
            f"Secret {values.existing_secret} is used as it is: {API_TOKEN_KEY}, and class tokens, specs and idle timeouts"
            f" from {CONFIG_KEY}; those among the values are ignored"
        )
    else:
        keys = [API_TOKEN_KEY, *(token_key(pool["spec"]["class"]) for pool in pools)]
        literals = " ".join(f"--from-literal={key}=TOKEN" for key in keys)
        yield f"tokens are not printed: kubectl{where} create secret generic {SECRET} {literals}"
    if values.namespace:
        yield f"the pools belong into the namespace of their VMs: kubectl{where} apply -f FILE"
    if sudo := [
        pool["spec"]["class"] for pool in pools if "grantSudo" in pool["spec"]["provider"]["kubevirt"]
    ]:
        yield f"{', '.join(sudo)}: with grantSudo a job can read the class token in its VM, because there is no proxy that keeps it: docs/guides/migrating.md"
    yield "scaleIn natural: a VM that was never used stays until its idleTimeout; active would remove it when it is surplus"
    yield "CircleCI is asked about each class every second, more slowly while nothing happens or 20 requests a second are reached"
    yield "a changed token, address or spec reaches new VMs only; `remuda pools status` shows which are old"
