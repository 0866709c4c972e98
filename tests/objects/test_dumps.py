"""What kubectl prints, read by whoever says which kinds it reads; what all of them have in common."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from remuda.model.findings import Place
from remuda.objects.dumps import Dumps, Form


class Meta(Struct, frozen=True):
    name: str
    namespace: str = ""


class Spec(Struct, frozen=True):
    size: Any = None
    limits: dict[str, Any] = {}
    color: str = ""


class KubeObject(Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: Meta
    spec: Spec = Spec()


Taken = dict[str, tuple[KubeObject, Place]]


def take(into: Taken, item: KubeObject, place: Place, _: int) -> bool:
    for path, words in colorless(item):
        raise ValueError(f"{path}: {words}")
    is_known = item.metadata.name in into
    into[item.metadata.name] = (item, place)
    return is_known


def colorless(item: KubeObject) -> Iterator[tuple[str, str]]:
    if item.spec.color == "clear":
        yield "spec.color", "is no color"


FORMS: dict[str, Form[Taken]] = {
    kind: Form(
        kind,
        tuple(f"example.org/{version}" for version in versions),
        KubeObject,
        take,
        msgspec.json.Decoder(KubeObject).decode,
        has_line=kind == "Cup",
        faults=colorless,
    )
    for kind, versions in (("Cup", ("v2", "v1")), ("Plate", ("v1",)))
}


def thing(name: str, kind: str = "Cup", version: str = "v1", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "home"}
    return {"apiVersion": f"example.org/{version}", "kind": kind, "metadata": meta, "spec": spec}


def read(folder: Path, *items: Any) -> tuple[Dumps[Taken], Taken]:
    taken: Taken = {}
    (folder / "f.json").write_text("\n".join(map(json.dumps, items)))
    dumps = Dumps(FORMS, taken, 0, "a cook", guess=FORMS["Plate"])
    assert dumps.read_all([folder / "f.json", folder / "f.json"]) == str(folder / "f.json")
    return dumps, taken


def notes_of(dumps: Dumps[Taken]) -> list[str]:
    return [f"{each.line}: {each.path}: {each.message}" for each in sorted(dumps.problems)]


def test_each_kind_is_read_in_each_of_its_versions(tmp_path: Path) -> None:
    items = thing("a"), thing("b", version="v2"), thing("c", "Plate")
    dumps, taken = read(tmp_path, *items)
    assert notes_of(dumps) == []
    assert dumps.met == {"Cup", "Plate"}
    assert taken.keys() == {"a", "b", "c"}


def test_a_version_that_is_not_read_is_reported_with_those_that_are(tmp_path: Path) -> None:
    dumps, taken = read(tmp_path, thing("a", version="v3"))
    [line] = notes_of(dumps)
    assert line.startswith(
        '1: Cup home/a: apiVersion: wants example.org/v2 or example.org/v1, found "example.org/v3"'
    )
    assert taken == {}


def test_the_line_is_found_where_it_is_wanted(tmp_path: Path) -> None:
    _, taken = read(tmp_path, thing("a", "Plate"), thing("b"))
    file = str(tmp_path / "f.json")
    assert {name: place for name, (_, place) in taken.items()} == {"a": Place(file), "b": Place(file, 2)}


def test_types_amounts_and_what_the_reader_knows_are_reported_together(tmp_path: Path) -> None:
    bad = thing("a", color="clear", size="huge", limits={"cpu": "-1"})
    bad["metadata"]["labels"] = 3  # nobody reads it
    dumps, taken = read(tmp_path, thing("b", "Plate"), bad)
    assert notes_of(dumps) == [
        "2: Cup home/a: spec.color: is no color",
        "2: Cup home/a: spec.limits.cpu: '-1' is not a quantity: it cannot be below zero",
        "2: Cup home/a: spec.size: 'huge' is not a quantity: write a number with or without a suffix, like 512Mi, 2 or 500m",
    ]
    assert taken.keys() == {"b"}


def test_what_the_reader_knows_is_not_reported_about_what_could_not_be_read(tmp_path: Path) -> None:
    dumps, _ = read(tmp_path, thing("a", color=3))
    assert notes_of(dumps) == ["1: Cup home/a: spec.color: wants text, found the number 3: put it in quotes"]


def test_without_a_reader_of_answers_one_is_an_object_without_a_kind(tmp_path: Path) -> None:
    dumps, _ = read(tmp_path, {"node": {"nodeName": "n"}})
    assert notes_of(dumps) == ["1: kind: is required: a cook reads Cup, Plate"]


def test_notes_name_the_reader(tmp_path: Path) -> None:
    dumps, _ = read(tmp_path, thing("a", "Spoon"), thing("b"), thing("b"))
    assert list(dumps.notes()) == [
        "passed over, since a cook does not read them: 1 Spoon.example.org",
        "1 Cup more than once: the last counts, of home/b",
    ]


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list_of_a_kind_means_that_there_are_none(tmp_path: Path, items: object) -> None:
    dumps, _ = read(tmp_path, {"apiVersion": "example.org/v1", "kind": "CupList", "items": items})
    assert (notes_of(dumps), dumps.met) == ([], {"Cup"})
