"""
Samples of many workloads from JSON.

    {"workloads": [{"namespace": "shop", "kind": "Deployment", "name": "web", "containers": {…}}]}

`containers` is as `remuda.rightsize.estimate.samples` reads it. Everything that is wrong is reported at once, each with its path.
"""

from typing import Any, Final

from remuda.model.workloads import WorkloadId
from remuda.objects.problems import child_path, did_you_mean
from remuda.rightsize.estimate.samples import MISSING, Reader, shown
from remuda.rightsize.estimate.usage import Pod
from remuda.rightsize.observe.usage_fast_path import read_quickly
from remuda.rightsize.snapshot import KINDS

_KEYS: Final = ("namespace", "kind", "name", "containers")
_FORM: Final = '{"workloads": [{"namespace": …, "kind": "Deployment", "name": …, "containers": {…}}]}'


def read_usage(text: bytes, file: str) -> list[tuple[WorkloadId, Pod]]:
    """Whose samples a file holds, in its order. Raises `BadInput` with every problem, a line each."""
    quick = read_quickly(text)
    if quick is not None:
        return quick
    reader = Reader(file)
    made = [
        (child_path("workloads", n), *_entry(reader, each, child_path("workloads", n)))
        for n, each in enumerate(_entries(reader, reader.load(text)))
    ]
    _check_twice(reader, [(path, who) for path, who, _ in made if who is not None])
    reader.check()
    return [(who, pod) for _, who, pod in made if who is not None]


def _entries(reader: Reader, found: object) -> list[Any]:
    if isinstance(found, dict) and "containers" in found and "workloads" not in found:
        words = "is missing: these are samples of one pod, and nothing says whose"
        reader.add_problem("workloads", f"{words}; write {_FORM}")
        return []
    read = reader.mapping(found, "", ("workloads",))
    if read is None:
        return []
    if "workloads" not in read:
        reader.add_problem("workloads", f"is missing: write {_FORM}")
        return []
    entries = reader.sequence(read["workloads"], "workloads")
    if entries is not None and not entries:
        reader.add_problem("workloads", "is empty: there is nothing to review")
    return entries or []


def _entry(reader: Reader, found: object, path: str) -> tuple[WorkloadId | None, Pod]:
    read = reader.mapping(found, path, _KEYS)
    if read is None:
        return None, {}
    words = {key: _word(reader, read, key, path) for key in ("namespace", "kind", "name")}
    kind = words["kind"]
    if kind is not None and kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        reader.add_problem(child_path(path, "kind"), f"is {shown(kind)}{near}; there is: {', '.join(KINDS)}")
    pod = reader.containers(read, child_path(path, "containers"))
    present = [word for word in words.values() if word is not None]
    return WorkloadId(*present) if len(present) == len(words) else None, pod


def _word(reader: Reader, within: dict[str, Any], key: str, path: str) -> str | None:
    value = within.get(key, MISSING)
    if isinstance(value, str) and value:
        return value
    what = "is missing" if value is MISSING else "is empty" if value == "" else f"is {shown(value)}"
    reader.add_problem(child_path(path, key), f"{what}: the {key} of the workload")
    return None


def _check_twice(reader: Reader, found: list[tuple[str, WorkloadId]]) -> None:
    first: dict[WorkloadId, str] = {}
    for path, who in found:
        before = first.setdefault(who, path)
        if before != path:
            reader.add_problem(path, f"{who} is at {before} already: put all its instances there")
