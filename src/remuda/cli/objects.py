"""`remuda validate`, `explain` and `schema`: what files may say."""

import sys
from collections.abc import Callable

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.job import KindReference, Place
from remuda.objects.crds import crd_of
from remuda.objects.explain import explain as explain_path
from remuda.objects.explain import words
from remuda.objects.kinds import find_kind
from remuda.objects.schema import schema_of
from remuda.output.show import Report, Table


def _complete(*places: Place) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        del parameter
        session = context.find_object(Session)
        kinds: tuple[KindReference, ...] = session.jobs.kinds(*places) if session else ()
        return [kind.name for kind in kinds if kind.name.lower().startswith(begun.lower())]

    return complete


#: what a cluster keeps
_KEPT = (Place.RUN, Place.KEPT)


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True)
@pass_session
def validate(session: Session, files: tuple[str, ...]) -> None:
    """
    Check files and report every problem at once.

    FILES are YAML or JSON files, directories of them, or - for standard input. Nothing is started or changed.
    """
    loaded = session.jobs.load(files)
    if loaded.problems and session.form not in ("json", "yaml"):
        raise BadInput("\n".join(str(problem) for problem in loaded.problems))
    table = Table(
        ("KIND", "NAME", "WHERE"),
        tuple((item.kind, item.name, f"{item.file}:{item.line}") for item in loaded.objects),
    )
    problems = [
        {"file": p.file, "line": p.line, "column": p.column, "path": p.path, "message": p.message}
        for p in loaded.problems
    ]
    found = [
        {"kind": item.kind, "name": item.name, "file": item.file, "line": item.line}
        for item in loaded.objects
    ]
    count = len(loaded.objects)
    lines = () if session.quiet else (f"{count} object{'s' * (count != 1)}, no problems",)
    session.show(Report({"objects": found, "problems": problems}, (table,), lines))
    if problems:
        raise click.exceptions.Exit(2)
    if not session.quiet:
        sys.stdout.flush()  # so that what is said of it comes after it
        for line in session.jobs.remarks(loaded.objects):
            click.echo(line, err=True)


@click.command(cls=Command)
@click.argument("what", metavar="KIND[.FIELD]", shell_complete=_complete())
@click.option("--recursive", is_flag=True, help="Also list all fields below.")
@pass_session
def explain(session: Session, what: str, recursive: bool) -> None:
    """
    The fields of a kind of object, as kubectl explain.

    For example: remuda explain RunnerPool.spec.schedules
    """
    found = explain_path(session.jobs.kinds(), what)
    session.show(Report(found, lines=(words(found, recursive=recursive).rstrip(),)))


@click.command(cls=Command)
@click.argument("kind", shell_complete=_complete())
@pass_session
def schema(session: Session, kind: str) -> None:
    """
    The JSON Schema of a kind of object, for editors.

    It comes from the same types that files are read with.
    """
    session.form = "yaml" if session.form == "yaml" else "json"
    session.show(Report(schema_of(find_kind(session.jobs.kinds(), kind))))


@click.command(cls=Command)
@click.argument("kinds", nargs=-1, metavar="[KIND…]", shell_complete=_complete(*_KEPT))
@pass_session
def crds(session: Session, kinds: tuple[str, ...]) -> None:
    """
    The custom resource definitions, for kubectl apply.

    All of them, or those of some kinds: remuda crds | kubectl apply --server-side -f -
    """
    kept = session.jobs.kinds(*_KEPT)
    chosen = [find_kind(kept, kind) for kind in kinds] or [kind.load() for kind in kept]
    made = [crd_of(kind) for kind in chosen]
    if session.form == "json":
        session.show(Report({"apiVersion": "v1", "kind": "List", "items": made}))
        return
    import yaml

    click.echo(yaml.safe_dump_all(made, sort_keys=False, allow_unicode=True), nl=False)
