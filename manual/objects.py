"""Every kind of object with every field, its type, default and meaning, from the types that the loader reads."""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, json

from manual.tables import code, prose, table
from remuda.job import Jobs, KindReference, Place
from remuda.objects.explain import FieldNote, explain
from remuda.objects.kinds import API_VERSION

_PLACES = {
    Place.RUN: "in files and in a cluster; `remuda up` runs them",
    Place.KEPT: "in files and in a cluster; commands read them",
    Place.FILES: "in files alone",
}


def page(jobs: Jobs) -> str:
    """`reference/objects.md`."""
    intro = (
        f"# Objects\n\nThe form is `{API_VERSION}`, the same in a file and in a cluster. `remuda explain KIND.field`"
        " says what stands here, `remuda schema KIND` is the JSON Schema for editors, `remuda validate FILE` checks. A"
        " field in **bold** is required; `[]` after a field is a list, and `{}` a mapping with keys of your own.\n"
    )
    return "\n".join((intro, *(_kind(jobs, kind) for kind in jobs.kinds())))


def fields(jobs: Jobs, kind: str) -> Iterator[tuple[str, FieldNote]]:
    """Every field of a kind below `spec`, by its path."""
    yield from _below("spec", explain(jobs.kinds(), f"{kind}.spec").fields)


def _kind(jobs: Jobs, kind: KindReference) -> str:
    told = explain(jobs.kinds(), f"{kind.name}.spec")
    names = ", ".join(map(code, (kind.plural, *kind.short_names)))
    what = told.description.removeprefix("What is wanted.").strip()
    rows = [_row(path, note) for path, note in fields(jobs, kind.name)]
    return "\n".join(
        (
            f"## {kind.name}\n",
            f"{prose(what)}\n",
            f"Also called {names}. Kept {_PLACES[kind.place]}.\n",
            table(("field", "type", "default", "meaning"), rows),
        )
    )


def _below(path: str, notes: tuple[FieldNote, ...]) -> Iterator[tuple[str, FieldNote]]:
    for note in notes:
        mark = "[]" if note.type.startswith("[]") else "{}" if note.type.startswith("map[") else ""
        here = f"{path}.{note.name}{mark}"
        yield here, note
        yield from _below(here, note.fields)


def _row(path: str, note: FieldNote) -> tuple[str, str, str, str]:
    name = code(path.removeprefix("spec."))
    facts = (
        prose(note.description),
        f"One of {', '.join(map(code, note.choices))}." if note.choices else "",
        f"{note.bounds[0].upper()}{note.bounds[1:]}." if note.bounds else "",
        f"Written like {code(note.example)}." if note.example else "",
    )
    default = "" if note.default is UNSET else _written(note.default)
    return (
        f"**{name}**" if note.required else name,
        code(note.type),
        code(default),
        " ".join(filter(None, facts)),
    )


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()
