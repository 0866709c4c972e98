"""`remuda validate`, `explain` and `schema`; and that `up` refuses what `validate` refuses."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.catalog import KINDS
from tests.cli.conftest import Run
from tests.cli.golden import check_golden
from tests.processes import ceiling, pool

from remuda.objects.kinds import find_kind
from remuda.objects.schema import schema_of

WINDOW = {"start": "0 8 * * *", "end": "0 18 * * *", "timezone": "Europe/Paris", "min": 1}
FULL_POOL = pool(
    provider={"process": {"limits": {"memory": "1Gi", "cpu": 1}, "env": {"A": "b"}}},
    schedules=[WINDOW],
    min=1,
    max=4,
    headroom="50%",
    ceiling="laptop",
)
SECRET = {"secret": "runner", "key": "token"}
FULL_RUNNERS = pool(
    **{"class": "my-org/ci"},
    source={"circleci": {"url": "https://ci.example/", "token": dict(SECRET), "planConcurrency": 9}},
    provider={
        "kubevirt": {
            "spec": {
                "domain": {"devices": {"disks": [{"name": "docker", "serial": "docker"}]}},
                "volumes": [{"name": "docker", "emptyDisk": {"capacity": "9Gi"}}],
            },
            "token": SECRET,
            "bundle": "images.example/runner:3",
            "emptyDiskMounts": [{"serial": "docker", "path": "/var/lib/docker", "fsType": "xfs"}],
        }
    },
    ceiling="laptop",
)
FULL_CEILING = ceiling("laptop", 8, members=[{"name": "shell", "guaranteed": 1, "priority": 1, "weight": 2}])


def fields(
    schema: dict[str, Any], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every field a person may write, with its schema."""
    for name, inner in schema.get("properties", {}).items():
        if "ignored" not in inner.get("description", ""):
            yield (*path, name), inner
            yield from fields(inner, (*path, name))
    if "items" in schema:
        yield (*path, 0), schema["items"]
        yield from fields(schema["items"], (*path, 0))


EVERY_FIELD = [
    (kind, path, schema)
    for kind in ("RunnerPool", "Ceiling")
    for path, schema in fields(schema_of(find_kind(KINDS, kind)))
]


def written(path: tuple[str | int, ...]) -> str:
    """A field's path as problems name it."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def changed(kind: str, path: tuple[str | int, ...], value: object) -> list[dict[str, Any]]:
    """The two objects, with another value in one field."""
    is_runner = {"circleci", "kubevirt"} & set(path)
    objects = copy.deepcopy([FULL_RUNNERS if is_runner else FULL_POOL, FULL_CEILING])
    if "provisioner" in path:
        objects[0]["spec"]["provider"]["kubevirt"] = {"provisioner": dict(SECRET)}
    at: Any = objects[kind == "Ceiling"]
    for part in path[:-1]:
        at = at.setdefault(part, {}) if isinstance(at, dict) else at[part]
    at[path[-1]] = value
    return objects


def save(folder: Path, *objects: dict[str, Any]) -> Path:
    """Write objects to a file, pretty, so that places in it mean something."""
    file = folder / "objects.yaml"
    file.write_text("\n---\n".join(json.dumps(item, indent=2) for item in objects))
    return file


def test_the_full_objects_are_right(tmp_path: Path, run: Run) -> None:
    ran = run("validate", save(tmp_path, FULL_POOL, FULL_CEILING))
    assert ran.code == 0
    remarks = ran.err.splitlines()
    expected = ["separation", "memory", "cpu"]
    assert [line.partition(":")[0] for line in remarks] == [
        f"on this host, {what} of pool shell" for what in expected
    ]
    assert run("--quiet", "validate", save(tmp_path, FULL_POOL, FULL_CEILING)).err == ""
    assert "2 objects, no problems" in ran.out


def wrong_type(schema: dict[str, Any]) -> object:
    """A value of a kind that the field never has."""
    return "text" if schema.get("type") in {"object", "array", "integer", "boolean"} else [True]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        pytest.param(kind, path, wrong_type(schema), id=f"{kind} {written(path)}")
        for kind, path, schema in EVERY_FIELD
    ],
)
def test_every_field_of_the_wrong_type_is_one_clear_problem(
    kind: str, path: tuple[str | int, ...], value: object, tmp_path: Path, run: Run
) -> None:
    file = save(tmp_path, *changed(kind, path, value))
    ran = run("validate", file)
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    place = line.removeprefix(f"remuda: {file}:")
    assert place != line
    number, column, field, words = place.split(":", 3)
    assert int(number) > 0
    assert int(column) > 0
    assert field.strip() == written(path)
    assert len(words.split()) >= 3


RANGES = [
    pytest.param(kind, path, schema[bound] + step, id=f"{kind} {written(path)} {bound} {step:+d}")
    for kind, path, schema in EVERY_FIELD
    for bound, step in (("minimum", -1), ("maximum", 1))
    if schema.get("type") == "integer" and bound in schema
]


@pytest.mark.parametrize(("kind", "path", "value"), RANGES)
def test_every_number_out_of_its_range_is_one_clear_problem(
    kind: str, path: tuple[str | int, ...], value: int, tmp_path: Path, run: Run
) -> None:
    ran = run("validate", save(tmp_path, *changed(kind, path, value)))
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert f" {written(path)}: " in line
    assert str(value) in line


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        pytest.param(kind, path, id=f"{kind} {written(path) or 'itself'}")
        for kind, path, schema in [("RunnerPool", (), {"properties": {"x": 1}}), *EVERY_FIELD]
        if schema.get("properties")
    ],
)
def test_an_unknown_key_is_met_with_the_nearest_right_one(
    kind: str, path: tuple[str | int, ...], tmp_path: Path, run: Run
) -> None:
    known = {
        written(found): list(schema.get("properties", ()))
        for name, found, schema in EVERY_FIELD
        if name == kind
    }
    right = (known.get(written(path)) or ["metadata"])[0]
    typo = right[:-1] + right[-1] * 2
    objects = changed(kind, (*path, typo), 1)
    at: Any = objects[kind == "Ceiling"]
    for part in path:
        at = at[part]
    at.pop(right, None)  # it is only near while it is not there
    ran = run("validate", save(tmp_path, *objects))
    assert ran.code == 2
    assert f"{written((*path, typo))}: is not a known key; did you mean {right}?" in ran.err


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"min": 5, "max": 3}, "spec.min: min 5 is more than max 3", id="min above max"),
        pytest.param({"scaleDownDelay": "10 minutes"}, "'10 minutes' is not a duration: write", id="words"),
        pytest.param({"idleTimeout": -5}, "is not a duration", id="a negative duration"),
        pytest.param({"jobTimeout": "99999d"}, "longer than ten years", id="too long"),
        pytest.param({"bootTimeout": "0s"}, "spec.bootTimeout: must be at least 1s", id="no time to boot"),
        pytest.param({"headroom": "half"}, "write it like 2 or 25%", id="headroom in words"),
        pytest.param({"headroom": -1}, "spec.headroom", id="negative headroom"),
        pytest.param({"maxSurge": 0}, "spec.maxSurge: wants at least 1", id="no surge at all"),
        pytest.param({"maxUses": 3}, "set singleTask to false", id="uses of a single-task machine"),
        pytest.param({"scaleIn": "sometimes"}, "active", id="an unknown word"),
        pytest.param({"class": "a b"}, "is no class", id="a class with a space"),
        pytest.param({"source": {}}, "spec.source: wants exactly one of: queue", id="no source"),
        pytest.param({"provider": {}}, "spec.provider: wants exactly one of: process", id="no provider"),
        pytest.param(
            {"provider": {"process": {"limits": {"memory": "1 gig"}}}}, "limits.memory", id="a size in words"
        ),
        pytest.param({"schedules": [{**WINDOW, "start": "daily"}]}, "write five fields", id="no cron"),
        pytest.param({"schedules": [{**WINDOW, "end": "0 25 * * *"}]}, "use 0 to 23", id="hour 25"),
        pytest.param({"schedules": [{**WINDOW, "start": "0 0 31 2 *"}]}, "start", id="the 31st of February"),
        pytest.param({"schedules": [{**WINDOW, "timezone": "Mars/X"}]}, "is no time zone", id="no time zone"),
        pytest.param(
            {"schedules": [{**WINDOW, "min": 11}]}, "min 11 is more than max 10", id="a window crossed"
        ),
        pytest.param(
            {"schedules": [{"start": "0 8 * * *", "end": "0 9 * * *"}]},
            "changes nothing",
            id="an idle window",
        ),
        pytest.param({"ceiling": "nope"}, "there is no Ceiling nope; there is: none", id="no such ceiling"),
        pytest.param(
            {"idleTimeout": "1s", "scaleDownDelay": "1m"}, "at least scaleDownDelay", id="ends while wanted"
        ),
    ],
)
def test_garbage_is_one_clear_problem(
    spec: dict[str, object], message: str, tmp_path: Path, run: Run
) -> None:
    ran = run("validate", save(tmp_path, pool(**spec)))
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


BETWEEN = [
    pytest.param([pool(), pool()], 'RunnerPool "shell" is here a second time', id="two pools of one name"),
    pytest.param(
        [pool(), pool("other", **{"class": "test/shell"})], "already served", id="a class served twice"
    ),
    pytest.param(
        [pool(min=3, ceiling="c"), ceiling("c", 2)],
        "guarantees and minima add up to 3 (shell 3): more than the ceiling of 2",
        id="minima above the ceiling",
    ),
    pytest.param(
        [ceiling("c", 2, members=[{"name": "nope"}])],
        "there is no RunnerPool nope",
        id="a member nobody defined",
    ),
    pytest.param(
        [pool(), ceiling("c", 2, members=[{"name": "shell"}])],
        "set its spec.ceiling",
        id="a member not under it",
    ),
]


@pytest.mark.parametrize(("objects", "message"), BETWEEN)
def test_what_is_wrong_between_objects_is_found(
    objects: list[dict[str, Any]], message: str, tmp_path: Path, run: Run
) -> None:
    ran = run("validate", save(tmp_path, *objects))
    assert ran.code == 2
    assert message in ran.err


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
TEXTS = [
    pytest.param("", "holds no object", id="an empty file"),
    pytest.param("# only words\n", "holds no object", id="a file of comments"),
    pytest.param("x" * (5 << 20), "is too large", id="a huge file"),
    pytest.param(BOMB, "aliases", id="an alias bomb"),
    pytest.param(
        "kind: RunnerPool\nkind: Ceiling\n", "kind: this key is here a second time", id="a key twice"
    ),
    pytest.param("kind: [\n", "is not YAML", id="broken YAML"),
    pytest.param("- 1\n- 2\n", "an object is a mapping", id="a list"),
    pytest.param("\0", "U+0000 is not allowed", id="a NUL byte"),
    pytest.param(
        json.dumps({"kind": "RunnerPol", "apiVersion": "remuda.dev/v1alpha1"}), "RunnerPool", id="a kind"
    ),
]


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_files_that_are_no_objects_are_refused(text: str, message: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(text)
    ran = run("validate", file)
    assert ran.code == 2
    assert message in ran.err
    assert str(file) in ran.err


def test_all_problems_are_reported_at_once_with_their_places(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(pool(mni=1, scaleDownDelay="soon", max="many"), indent=1))
    (tmp_path / "b.yaml").write_text(json.dumps(ceiling("Bad", -1), indent=1))
    ran = run("validate", tmp_path, tmp_path / "nope.yaml")
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) == 7
    assert lines[-1] == "remuda: 6 problems; nothing was started or changed"
    for words in ("did you mean min?", "'soon'", '"many"', '"Bad"', "found -1", "there is no such file"):
        assert sum(words in line for line in lines) == 1
    message = json.loads(run("validate", tmp_path, tmp_path / "nope.yaml", "-o", "json").out)
    assert len(message["problems"]) == 6
    assert {problem["path"] for problem in message["problems"]} >= {
        "spec.mni",
        "spec.scaleDownDelay",
        "spec.machines",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(pool(min=5, max=3)), id="min above max"),
        pytest.param(json.dumps(pool(ceiling="nope")), id="a ceiling nobody defined"),
        pytest.param(
            json.dumps(pool()) + "\n---\n" + json.dumps(pool(mxa=1)), id="one good and one bad object"
        ),
        pytest.param("", id="an empty file"),
        pytest.param(BOMB, id="an alias bomb"),
    ],
)
def test_up_refuses_what_validate_refuses_and_starts_nothing(text: str, tmp_path: Path, run: Run) -> None:
    file, data = tmp_path / "objects.yaml", tmp_path / "data"
    file.write_text(text)
    command = [sys.executable, "-m", "remuda", "up", str(file), "--data-dir", str(data)]
    up = subprocess.run(
        [*command, "--health-port", "0", "--live-port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert up.returncode == 2
    assert up.stderr == run("validate", file).err
    assert not data.exists()


def test_standard_input_may_be_validated() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "remuda", "validate", "-"],
        input=json.dumps(pool(mni=1)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "stdin:1:" in ran.stderr


@pytest.mark.parametrize(
    "what", ["RunnerPool", "RunnerPool.spec", "RunnerPool.spec.schedules.start", "Ceiling.spec.members"]
)
def test_explain_looks_as_it_did(what: str, run: Run, request: pytest.FixtureRequest) -> None:
    ran = run("explain", what)
    assert ran.code == 0
    check_golden(f"explain-{what}", ran.out, request.config)


ALL_AT_ONCE = [
    pytest.param(
        {"schedules": [{**WINDOW, "start": "daily"}], "min": 11, "maxSurge": 0, "ceiling": "nope"},
        [
            "spec.schedules[0].start:",
            "spec.min: min 11 is more than max 10",
            "spec.maxSurge:",
            "no Ceiling nope",
        ],
        id="cron, bounds, surge and ceiling",
    ),
    pytest.param({"min": 50, "max": "many"}, ["spec.max:"], id="min is not compared with a max nobody knows"),
    pytest.param({"min": 50, "mxa": 60}, ["spec.mxa:"], id="nor with one that has a typo in its key"),
    pytest.param({"mni": 1}, ["spec.mni:"], id="a typo alone"),
    pytest.param(
        {"class": "a b", "min": 11, "provider": {}},
        ["spec.class:", "spec.min:", "spec.provider: wants exactly one"],
        id="what is required is broken, and the rest is checked",
    ),
    pytest.param({"source": {"queue": 5}}, ["spec.source.queue:"], id="a broken source is still a source"),
    pytest.param({"source": {"quu": {}}}, ["spec.source.quu:"], id="and so is one with a typo"),
    pytest.param(
        {"schedules": [{**WINDOW, "end": "x"}, {**WINDOW, "min": 11}]},
        ["spec.schedules[0].end:", "spec.schedules[1].min: while"],
        id="a window beside a broken one",
    ),
    pytest.param(
        {"schedules": [{**WINDOW, "min": 20, "max": "x"}]}, ["spec.schedules[0].max:"], id="half a window"
    ),
    pytest.param(
        {"idleTimeout": "1s", "scaleDownDelay": "soon", "maxUses": 2, "singleTask": "no"},
        ["spec.scaleDownDelay:", "spec.singleTask:"],
        id="what rests on a broken field is not told",
    ),
    pytest.param(
        {"headroom": "x", "jobTimeout": "0"}, ["spec.headroom:", "spec.jobTimeout:"], id="two fields"
    ),
]


@pytest.mark.parametrize(("spec", "message"), ALL_AT_ONCE)
def test_a_broken_field_hides_no_other_problem_and_makes_none_up(
    spec: dict[str, object], message: list[str], tmp_path: Path, run: Run
) -> None:
    ran = run("validate", save(tmp_path, pool(**spec)))
    assert ran.code == 2
    lines = [line for line in ran.err.splitlines() if "nothing was started or changed" not in line]
    assert len(lines) == len(message), ran.err
    for words in message:
        assert sum(words in line for line in lines) == 1


ALL_BETWEEN = [
    pytest.param(
        [pool(max="x", **{"class": "a/b"}), pool("other", **{"class": "a/b"})],
        ["spec.max:", "class a/b is already served by pool shell"],
        id="a class served twice, once by a broken pool",
    ),
    pytest.param(
        [pool(**{"class": "a b"}), pool("other", **{"class": "my-org/my-runner"})],
        ["spec.class:"],
        id="a class that could not be read is nobody's",
    ),
    pytest.param(
        [pool(min=3, headroom="x", ceiling="c"), ceiling("c", 2)],
        ["spec.headroom:", "guarantees and minima add up to 3"],
        id="minima above the ceiling beside a broken field",
    ),
    pytest.param(
        [pool(min="x", ceiling="c"), pool("b", min=3, ceiling="c"), ceiling("c", 2)],
        ["spec.min:"],
        id="minima of which one could not be read",
    ),
    pytest.param(
        [pool(ceiling=5), ceiling("c", 2, members=[{"name": "shell"}])],
        ["spec.ceiling:"],
        id="a member whose ceiling could not be read",
    ),
    pytest.param(
        [pool(ceiling="c"), ceiling("c", 2, members=[{"name": "shell", "guaranteed": 3, "weight": 0}])],
        ["weight:", "spec.machines: is 2", "guarantees and minima add up to 3"],
        id="guarantees above the ceiling beside a broken field",
    ),
    pytest.param(
        [pool(ceiling="c"), ceiling("c", 2, members=[{"name": "shell", "guaranteed": "x"}])],
        ["guaranteed:"],
        id="a guarantee that could not be read",
    ),
]


@pytest.mark.parametrize(("objects", "message"), ALL_BETWEEN)
def test_what_is_wrong_between_objects_is_found_beside_broken_fields(
    objects: list[dict[str, Any]], message: list[str], tmp_path: Path, run: Run
) -> None:
    said = run("validate", save(tmp_path, *objects)).err.splitlines()
    lines = [line for line in said if "nothing was started or changed" not in line]
    assert len(lines) == len(message), lines
    for words in message:
        assert sum(words in line for line in lines) == 1
