import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import json
from tests.objects.sample import KINDS, load, problems, sample

from remuda.objects.kinds import Object
from remuda.objects.load import MAX_PROBLEMS, Objects, load_files, load_text
from remuda.objects.tree import MAX_BYTES

CLUSTER_FORM = """
apiVersion: remuda.dev/v1alpha1
kind: Sample
metadata:
  name: one
  namespace: default
  uid: 5f8a6c1e
  resourceVersion: "12"
  generation: 2
  creationTimestamp: null
  managedFields: [{manager: kubectl, fieldsV1: {"f:spec": {}}}]
  ownerReferences: []
  finalizers: [remuda.dev/x]
  labels: {example.com/team: ci}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec: {class: a}
status: {ready: 3}
"""


def sample_name(objects: Objects) -> list[str]:
    return [each.name for each in objects]


def check_ceilings(objects: Objects) -> Iterator[tuple[Object[Any], str, str]]:
    for each in objects:
        if each.kind == "Sample" and each.spec.ceiling and not objects.may_hold("Ceiling", each.spec.ceiling):
            yield each, "spec.ceiling", f"there is no Ceiling {each.spec.ceiling}"


def test_an_object_reads_the_same_as_kubernetes_writes_it() -> None:
    loaded = load(CLUSTER_FORM)
    assert loaded.problems == ()
    (one,) = loaded.objects
    assert (one.kind, one.name, one.file, one.line) == ("Sample", "one", "f.yaml", 2)
    assert one.labels == {"example.com/team": "ci"}
    assert one.annotations == {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert one.place("spec.class") == (16, 15)
    assert one.place("spec.max") == (16, 1)


def test_objects_are_equal_when_they_say_the_same() -> None:
    assert load(sample()).objects == load("# a comment\n" + sample("{'class': 'a'}")).objects
    assert load(sample()).objects != load(sample("{class: b}")).objects


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "f.yaml: holds no object: one begins with", id="an empty file"),
        pytest.param("# a\n---\n---\n", "f.yaml: holds no object: one begins with", id="a file of comments"),
        pytest.param("[]", "f.yaml:1:1: an object is a mapping with apiVersion, kind, metadata and spec", id="a list"),
        pytest.param("hello", 'f.yaml:1:1: an object is a mapping with apiVersion, kind, metadata and spec, found the text "hello"', id="text"),
        pytest.param("{}", "f.yaml:1:1: kind: is required: one of Sample, Ceiling", id="an empty mapping"),
        pytest.param(
            "apiVersion: remuda.dev/v1alpha1\nkind: sample",
            'f.yaml:2:7: kind: "sample" is no kind: did you mean Sample?',
            id="a kind in another case",
        ),
        pytest.param(
            "apiVersion: remuda.dev/v1alpha1\nkind: Zebra",
            'f.yaml:2:7: kind: "Zebra" is no kind: the known ones are Sample, Ceiling',
            id="an unknown kind",
        ),
        pytest.param("kind: [a]", 'f.yaml:1:7: kind: "" is no kind', id="a kind that is a list"),
        pytest.param(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {a: b}",
            'f.yaml:1:13: apiVersion: wants remuda.dev/v1alpha1, found the text "apps/v1"',
            id="an object of somebody else",
        ),
        pytest.param(
            sample().replace("v1alpha1", "v2"),
            'f.yaml:1:13: apiVersion: wants remuda.dev/v1alpha1, found the text "remuda.dev/v2"',
            id="another version",
        ),
        pytest.param(
            "kind: Sample\nmetadata: {name: a}\nspec: {class: a}",
            "f.yaml:1:1: apiVersion: is required",
            id="no version",
        ),
        pytest.param(
            "apiVersion: remuda.dev/v1alpha1\nkind: Sample\nmetadata: {name: a}", "f.yaml:1:1: spec: is required", id="no spec"
        ),
        pytest.param(
            "apiVersion: remuda.dev/v1alpha1\nkind: Sample\nspec: {class: a}", "f.yaml:1:1: metadata: is required", id="no name"
        ),
        pytest.param(sample(name="''"), 'f.yaml:3:18: metadata.name: "" is no name', id="an empty name"),
        pytest.param(sample(name="5"), "f.yaml:3:18: metadata.name: 5 is no name", id="a number as a name"),
        pytest.param(
            sample().replace("{name: one}", "{nmae: one}"),
            "f.yaml:3:12: metadata.nmae: is not a known key; did you mean name?",
            id="a slip in metadata",
        ),
        pytest.param(
            sample().replace("{name: one}", "{name: one, labels: {a b: c}}"),
            "f.yaml:3:32: metadata.labels[\"a b\"]: 'a b' is no label key",
            id="a label key",
        ),
        pytest.param(
            sample().replace("{name: one}", "{name: one, labels: {a: 5}}"),
            "f.yaml:3:35: metadata.labels.a: 5 is no label value: write text, with quotes around it",
            id="a label value",
        ),
        pytest.param(sample() + "spek: 1\n", "f.yaml:5:1: spek: is not a known key", id="an unknown key at the top"),
        pytest.param(
            sample("{class: a, min: 11}"),
            "f.yaml:4:23: spec.min: is 11, more than max, which is 10",
            id="what one object alone gets wrong",
        ),
        pytest.param(
            sample() + "---\n" + sample(),
            'f.yaml:8:18: metadata.name: Sample "one" is here a second time: the first is at f.yaml:3',
            id="two of one name",
        ),
        pytest.param(
            sample("{}") + "---\n" + sample(), "f.yaml:4:1: spec.class", id="a second time is told of broken ones too"
        ),
        pytest.param(
            sample("{class: a, env: {A: &x [1], B: *y}}"), "f.yaml:4:38: spec.env.B: the alias *y has no", id="an alias"
        ),
        pytest.param(sample("[1"), "f.yaml:5:1: is not YAML", id="not YAML"),
    ],
)  # fmt: skip
def test_a_bad_text_is_a_problem_that_says_where_and_what(text: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(text)), problems(text)


def test_a_good_object_is_read_beside_a_bad_one() -> None:
    loaded = load(sample("{class: 5}") + "---\n" + sample(name="two"))
    assert sample_name(loaded.objects) == ["two"]
    assert len(loaded.problems) == 1


def test_a_list_of_objects_is_its_objects() -> None:
    one, two = CLUSTER_FORM, CLUSTER_FORM.replace("name: one", "name: two")
    items = "".join("- " + each.strip().replace("\n", "\n  ") + "\n" for each in (one, two))
    listed = f"apiVersion: v1\nkind: List\nmetadata: {{}}\nitems:\n{items}"
    loaded = load(listed)
    assert loaded.problems == ()
    assert [(each.name, each.line) for each in loaded.objects] == [("one", 5), ("two", 21)]
    assert loaded.objects[0] == load(one).objects[0]
    assert problems("kind: List\nitems: []") == [
        "f.yaml: holds no object: one begins with apiVersion: remuda.dev/v1alpha1 and kind:"
    ]


def test_objects_of_two_kinds_may_have_one_name() -> None:
    ceiling = (
        "---\n{apiVersion: remuda.dev/v1alpha1, kind: Ceiling, metadata: {name: one}, spec: {machines: 1}}"
    )
    assert load(sample() + ceiling).problems == ()


@pytest.mark.parametrize(
    ("others", "is_problem"),
    [
        pytest.param("", True, id="nobody defined it"),
        pytest.param("kind: Ceiling\nmetadata: {name: top}\nspec: {machines: 1}", False, id="it is there"),
        pytest.param(
            "kind: Ceiling\nmetadata: {name: pot}\nspec: {machines: 1}", True, id="another one is there"
        ),
        pytest.param(
            "kind: Ceiling\nmetadata: {name: top}\nspec: {}",
            False,
            id="it is there, with a problem of its own",
        ),
        pytest.param(
            "kind: Celing\nmetadata: {name: top}\nspec: {machines: 1}", False, id="something unknown is there"
        ),
        pytest.param("kind: Ceiling\nmetadata: {name: top", False, id="the file is broken"),
    ],
)
def test_a_check_between_objects_blames_a_field(others: str, is_problem: bool) -> None:
    text = sample("{class: a, ceiling: top}") + (
        f"---\napiVersion: remuda.dev/v1alpha1\n{others}" if others else ""
    )
    found = [str(problem) for problem in load_text(text, "f.yaml", KINDS, [check_ceilings]).problems]
    assert ("f.yaml:4:27: spec.ceiling: there is no Ceiling top" in found) is is_problem


def test_files_directories_and_standard_input_are_loaded(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.json", ".hidden.yaml", "notes.txt"):
        (tmp_path / name).write_text(sample(name=name[0].replace(".", "h")))
    (tmp_path / "c.json").write_bytes(
        json.encode(
            {
                "apiVersion": "remuda.dev/v1alpha1",
                "kind": "Sample",
                "metadata": {"name": "c"},
                "spec": {"class": "x"},
            }
        )
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "d.yaml").write_text(sample(name="d"))
    stdin = io.BytesIO(sample(name="e").encode())
    loaded = load_files([tmp_path, str(tmp_path / "more/d.yaml"), "-"], KINDS, stdin=stdin)
    assert loaded.problems == ()
    assert sample_name(loaded.objects) == ["a", "b", "c", "d", "e"]
    assert [each.file for each in loaded.objects][-2:] == [str(tmp_path / "more/d.yaml"), "stdin"]


def test_every_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "huge.yaml").touch()
    os.truncate(tmp_path / "huge.yaml", MAX_BYTES + 1)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    (tmp_path / "nul.yaml").write_bytes(b"a: \0")
    os.mkfifo(tmp_path / "pipe.yaml")
    names = ["empty", "gone.yaml", "huge.yaml", "latin.yaml", "nul.yaml", "pipe.yaml"]
    loaded = load_files(
        [tmp_path / name for name in names] + ["-"], KINDS, stdin=io.BytesIO(b" " * (MAX_BYTES + 1))
    )
    words = [str(problem).removeprefix(f"{tmp_path}/") for problem in loaded.problems]
    assert words == [
        "empty: holds no file that ends in .yaml, .yml, .json",
        "gone.yaml: there is no such file",
        "huge.yaml: is too large: 4,194,305 bytes, and 4,194,304 are the most; split it into several files",
        "latin.yaml:1:4: is not UTF-8 text",
        "nul.yaml:1:4: the character U+0000 is not allowed: in text, write it as an escape in double quotes",
        "pipe.yaml: is not a regular file; write - to read standard input",
        "stdin: is too large: 4,194,305 bytes, and 4,194,304 are the most; split it into several files",
    ]


def test_two_files_that_define_one_object_are_both_named(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text(sample())
    second.write_text(sample())
    assert [str(problem) for problem in load_files([first, second], KINDS).problems] == [
        f'{second}:3:18: metadata.name: Sample "one" is here a second time: the first is at {first}:3'
    ]


def test_problems_are_sorted_by_place(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml"):
        (tmp_path / name).write_text(sample("{mode: 1, class: 5}", name=name[0]))
    found = load_files([tmp_path / "b.yaml", tmp_path / "a.yaml"], KINDS).problems
    assert [(problem.file[-6:], problem.column) for problem in found] == [
        ("a.yaml", 14), ("a.yaml", 24), ("b.yaml", 14), ("b.yaml", 24)
    ]  # fmt: skip


@pytest.mark.slow
def test_reading_stops_when_nobody_would_read_more() -> None:
    text = sample("{class: a, " + ", ".join(f"zebra{number}: 1" for number in range(5_000)) + "}")
    found = load(text).problems
    assert len(found) == MAX_PROBLEMS + 1
    assert "the rest was not read" in str(found[-1]) + str(found[-2])


YAML_LIKE = st.lists(
    st.sampled_from(
        ["apiVersion: ", "remuda.dev/v1alpha1", "\nkind: ", "Sample", "Ceiling", "\nmetadata: ", "{name: a}", "\nspec: ", "{", "}",
         "[", "]", ",", ": ", "\n", "\n  ", "- ", "&a ", "*a", "!!str ", "'", '"', "#", "---\n", "|", "?", "<<", "yes", "010", "1e9",
         "class", "min", "parts", "startAt", "limits", "memory", "members", "-", "null", "%", "\t", "\0", "\x85", "é", "\ufeff"]
    )
).map("".join)  # fmt: skip


@given(YAML_LIKE | st.text())
@example("\ud800")
@example("&a &a a")
@example("? - a\n: b")
@example("!!map x")
@example("!!int '_'")
def test_no_text_crashes_the_loader(text: str) -> None:
    loaded = load(text)
    assert loaded.objects or loaded.problems
    assert all("\n" not in str(problem) for problem in loaded.problems)


@given(st.binary())
@example(b"\xff\xfea\0:\0")
@example(b"\xef\xbb\xbf")
def test_no_bytes_crash_the_loader(content: bytes) -> None:
    loaded = load_files(["-"], KINDS, stdin=io.BytesIO(content))
    assert loaded.problems


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["one", "5m", "2Gi", "25%"])
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(
    st.sampled_from([*KINDS[0].spec.__struct_encode_fields__, "machines", "members", "x"]), TREES
)


@given(
    st.fixed_dictionaries(
        {"spec": FIELDS | TREES, "metadata": TREES | st.just({"name": "a"})}, optional={"x": TREES}
    ),
    st.data(),
)
def test_no_tree_crashes_the_loader(tree: dict[str, Any], data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["Sample", "Ceiling"]))
    text = json.encode({"apiVersion": "remuda.dev/v1alpha1", "kind": kind, **tree}).decode()
    loaded = load(text)
    assert loaded.objects or loaded.problems
