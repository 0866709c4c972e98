"""
Samples of one pod template from JSON: containers → instances → cpu, memory, oom.

    {"containers": {"web": {"instances": [{
        "cpu": [{"t": 1767225900, "cores": 0.25}],
        "memory": [{"t": 1767225900, "bytes": 300000000}],
        "oom": [{"t": 1767226000, "requested_bytes": 268435456}]}]}}}

`t` is in whole seconds since 1970. Everything that is wrong is reported at once, each with its path.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from remuda.errors import BadInput
from remuda.objects.problems import Problem, child_path, did_you_mean, quoted
from remuda.rightsize.estimate.estimator import MOST_AMOUNT
from remuda.rightsize.estimate.usage import Pod, Replica, Sample

MOST_BYTES = 256 * 1024 * 1024
#: 2100-01-01; who writes milliseconds is far beyond it
LAST_TIME = 4_102_444_800
_MOST_SHOWN = 100
#: series → the key of its values, the most they can be, by how much times increase at least
_SERIES = {
    "cpu": ("cores", MOST_AMOUNT // 1000, 1),
    "memory": ("bytes", MOST_AMOUNT, 0),
    "oom": ("requested_bytes", MOST_AMOUNT, None),
}
#: stands for what is not there, since null may be
MISSING: Final = object()


class _Twice(dict[str, Any]):
    """An object in which a key came more than once."""

    keys_twice: tuple[str, ...] = ()


def read_samples(text: bytes, file: str) -> Pod:
    """The pod of a file's text. Raises `BadInput` with every problem, a line each."""
    reader = Reader(file)
    pod = reader.pod(reader.load(text))
    reader.check()
    return pod


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    keys = [key for key, _ in pairs]
    twice = _Twice(made)
    twice.keys_twice = tuple(key for key in made if keys.count(key) > 1)
    return twice


class Reader:
    """Walks through what was read and collects problems; `check` raises them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def add_problem(self, path: str, message: str) -> None:
        """Keep a problem."""
        self.problems.append(Problem(self.file, 0, 0, path, message))

    def check(self) -> None:
        """Raise `BadInput` with every problem so far, a line each, if there is any."""
        if not self.problems:
            return
        lines = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            lines.append(f"{self.file}: and {len(self.problems) - _MOST_SHOWN:,} more like these")
        raise BadInput("\n".join(lines))

    def load(self, text: bytes) -> object:
        """The value that a text of JSON says; `BadInput` where it is none."""
        found: object = None
        if len(text) > MOST_BYTES:
            self.add_problem(
                "", f"has {len(text):,} bytes: the most are {MOST_BYTES:,}; give fewer replicas or days"
            )
            self.check()
        try:
            found = json.loads(text, object_pairs_hook=_pairs)
        except json.JSONDecodeError as error:
            what = "is empty" if not text.strip() else f"is not JSON: {error.msg}"
            self.problems.append(Problem(self.file, error.lineno, error.colno, "", what))
        except RecursionError:
            self.add_problem("", "is not JSON: it is nested too deeply")
        except ValueError as error:
            # Bytes that are no UTF-8, or a number of thousands of digits.
            self.add_problem("", f"is not JSON: {error}")
        self.check()
        return found

    def pod(self, found: object) -> Pod:
        """The pod that an object with nothing but containers is."""
        if isinstance(found, dict) and "containers" not in found and isinstance(found.get("input"), dict):
            self.add_problem("input", "is where the samples are: give this object alone")
            return {}
        named = self.mapping(found, "", ("containers",))
        return {} if named is None else self.containers(named, "containers")

    def containers(self, within: Mapping[str, object], path: str) -> Pod:
        """The containers of an object, which are at this path."""
        containers = within.get("containers", MISSING)
        if containers is MISSING:
            self.add_problem(path, 'is missing: write {"containers": {NAME: {"instances": […]}}}')
            return {}
        read = self.mapping(containers, path, None)
        if read is not None and not read:
            self.add_problem(path, "is empty: there is nothing to estimate")
        return {name: self._container(value, child_path(path, name)) for name, value in (read or {}).items()}

    def _container(self, found: object, path: str) -> list[Replica]:
        read = self.mapping(found, path, ("instances",))
        if read is None:
            return []
        path = child_path(path, "instances")
        instances = self.sequence(read.get("instances", MISSING), path)
        if instances is not None and not instances:
            self.add_problem(path, "is empty: a container has at least one instance")
        return [self._replica(each, child_path(path, n)) for n, each in enumerate(instances or ())]

    def _replica(self, found: object, path: str) -> Replica:
        read = self.mapping(found, path, tuple(_SERIES)) or {}
        return Replica(
            **{name: self._series(name, read.get(name, ()), child_path(path, name)) for name in _SERIES}
        )

    def _series(self, name: str, found: object, path: str) -> list[Sample]:
        key, most, least_step = _SERIES[name]
        samples = []
        before: int | None = None
        for n, each in enumerate(() if found == () else self.sequence(found, path) or ()):
            where = child_path(path, n)
            read = self.mapping(each, where, ("t", key))
            if read is None:
                continue
            at = self._time(read.get("t", MISSING), child_path(where, "t"))
            value = self._value(read.get(key, MISSING), child_path(where, key), most)
            if at is not None and before is not None and least_step is not None and at < before + least_step:
                what = f"is {at}, and the sample before it is at {before}"
                rule = "times must increase" if least_step else "times must not go back"
                self.add_problem(child_path(where, "t"), f"{what}: {rule} within an instance")
            before = before if at is None else at
            if at is not None and value is not None:
                samples.append(Sample(at, value))
        return samples

    def _time(self, found: object, path: str) -> int | None:
        if found is MISSING:
            self.add_problem(path, "is missing: the time in seconds since 1970")
        elif isinstance(found, bool) or not isinstance(found, int):
            self.add_problem(path, f"is {shown(found)}: write whole seconds since 1970, like 1767225900")
        elif not 0 <= found <= LAST_TIME:
            hint = " (are these milliseconds?)" if LAST_TIME < found <= LAST_TIME * 1000 else ""
            self.add_problem(
                path, f"is {shown(found)}{hint}: write seconds from 1970 to 2100, like 1767225900"
            )
        else:
            return found
        return None

    def _value(self, found: object, path: str, most: int) -> float | None:
        if found is MISSING:
            self.add_problem(path, "is missing: a number of at least 0")
        elif isinstance(found, bool) or not isinstance(found, (int, float)):
            self.add_problem(path, f"is {shown(found)}: write a number of at least 0")
        elif isinstance(found, float) and not math.isfinite(found):
            self.add_problem(path, f"is {shown(found)}: leave out samples without a value")
        elif found < 0:
            self.add_problem(path, f"is {shown(found)}: nothing can use less than 0")
        elif found > most:
            self.add_problem(path, f"is {shown(found)}: the most that makes sense is {most:,}")
        else:
            return found
        return None

    def mapping(self, found: object, path: str, known: tuple[str, ...] | None) -> dict[str, Any] | None:
        """The object, with keys that are unknown or came twice reported; None where there is none."""
        if not isinstance(found, dict):
            self.add_problem(path, f"is {shown(found)}: write an object, {{…}}")
            return None
        for key in found.keys_twice if isinstance(found, _Twice) else ():
            self.add_problem(child_path(path, key), "is there twice")
        for key in found if known is not None else ():
            if known is not None and key not in known:
                names = ", ".join(known)
                self.add_problem(
                    child_path(path, key), f"is unknown{did_you_mean(key, known)}; there is: {names}"
                )
        return found

    def sequence(self, found: object, path: str) -> list[Any] | None:
        """The list; None, and it is reported, where there is none."""
        if isinstance(found, list):
            return found
        self.add_problem(
            path, "is missing: a list, […]" if found is MISSING else f"is {shown(found)}: write a list, […]"
        )
        return None


def shown(found: object) -> str:
    """A value in a few words."""
    match found:
        case None:
            return "null"
        case bool():
            return "true" if found else "false"
        case str():
            return f"the text {quoted(found)}"
        case dict():
            return "an object"
        case list():
            return "a list"
        case float() if math.isnan(found):
            return "NaN"
        case float() if math.isinf(found):
            return "infinite"
        case int() if abs(found) >= 10**20:
            return "a number of over 20 digits"
    return str(found)
