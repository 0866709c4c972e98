"""`remuda rightsize patch`: a review as files for the tool a team already uses."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput, RemudaError
from remuda.output.show import Report, Table, one_line

if TYPE_CHECKING:  # not for --help
    from remuda.rightsize.patches import Made, PatchFile
    from remuda.rightsize.review import Review

_FORMS = ("terraform", "tfvars", "kustomize", "helm", "json")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[REVIEW] [WORKLOAD…]")
@click.option("--as", "what", type=click.Choice(_FORMS), required=True, help="What to make.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write files to a directory that is new or empty. Default: print them.",
)
@pass_session
def patch(session: Session, /, words: tuple[str, ...], what: str, out: Path | None) -> None:
    """
    Make patches of a review; nothing is applied.

    REVIEW is what review -o json printed: a file whose name ends in .json, or - for standard input. Default: the last
    review that was kept. A WORKLOAD is NAMESPACE/NAME or NAMESPACE/KIND/NAME, where * and ? match; all by default. What
    is left out, and why, is written to standard error: what has too little data, what a review keeps or leaves as it is.
    Exit codes: 0 done, or there is nothing to change, 1 files cannot be written, 2 bad input.

    \b
    remuda rightsize patch --as kustomize --out rightsize
    remuda rightsize patch review.json shop/checkout --as json
    """
    from remuda.model.workloads import WorkloadId
    from remuda.rightsize.patches import make
    from remuda.rightsize.report.document import read_review_file
    from remuda.rightsize.selection import select_named

    named = words[:1] if words and _is_review(words[0]) else ()
    review = read_review_file(named[0]) if named else last_review(session)
    there = [WorkloadId(item.namespace, item.kind, item.name) for item in review.workloads]
    names = words[len(named) :]
    made = make(review, what, select_named(there, names) if names else ())
    if out is not None and made.files:
        write_files(out, made.files)
    _show(session, made, what, out)


def last_review(session: Session) -> "Review":
    """The last review that was kept, of whichever source; which one is reported where there are several."""
    from remuda.rightsize.report.kept import newest_of_each

    kept = newest_of_each(session.home)
    if not kept:
        raise BadInput(
            "no review is kept: run remuda rightsize review, or give the file that its -o json was printed to"
        )
    if len(kept) > 1 and not session.quiet:
        click.echo(f"of {len(kept)} kept reviews, the last is of {one_line(kept[0].source)}", err=True)
    return kept[0]


def _is_review(word: str) -> bool:
    """By its name alone, so that a file that happens to be called as a workload changes nothing."""
    return word == "-" or word.endswith(".json")


def write_files(directory: Path, files: "Iterable[PatchFile]") -> None:
    """
    Write files to a directory that is new or empty: all of them, or none.

    One with files is refused even where these are patches: what an earlier review changed and this one keeps would be
    missing among the new ones, and so be undone where a tool reads them from there.
    """
    is_new = False
    beside = None
    moved: list[Path] = []
    try:
        is_new = not directory.exists()
        if not is_new and (not directory.is_dir() or any(directory.iterdir())):
            raise BadInput(f"{directory}: is there and not an empty directory: give --out a new one")
        directory.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".remuda-", dir=directory))
        for file in files:
            (beside / file.path).write_text(file.text, encoding="utf-8", newline="\n")
        for path in sorted(beside.iterdir()):
            path.rename(directory / path.name)
            moved.append(directory / path.name)
        beside.rmdir()
    except OSError as error:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        with contextlib.suppress(OSError):
            for path in moved:
                path.unlink()
            if is_new:
                directory.rmdir()
        raise RemudaError(
            f"{directory}: cannot be written: {error.strerror or error}; nothing was kept of it"
        ) from None


def _show(session: Session, made: "Made", form: str, out: Path | None) -> None:
    if session.form != "table":
        session.show(_report(made, form))
        return
    if out is None:
        from remuda.rightsize.patches import text_of

        click.echo(text_of(made, form), nl=False)
    if session.quiet:
        return
    if out is not None and made.files:
        from remuda.rightsize.patches import FORMS

        count = len(made.files)
        click.echo(f"wrote {count} file{'s' * (count != 1)} to {out}. {FORMS[form].usage}", err=True)
    if not made.files:
        click.echo("nothing is to be changed", err=True)
    for line in dict.fromkeys(line for file in made.files for line in file.about):
        click.echo(one_line(line), err=True)
    for line in made.left:
        click.echo(f"left out: {one_line(line)}", err=True)
    for line in made.beware:
        click.echo(f"before you apply them: {one_line(line)}", err=True)


def _report(made: "Made", form: str) -> Report:
    files = [
        {"path": file.path, "text": file.text} | ({"about": list(file.about)} if file.about else {})
        for file in made.files
    ]
    rows = tuple((file.path, str(file.workload or "")) for file in made.files)
    left = tuple((line,) for line in made.left)
    return Report(
        {"form": form, "files": files, "left": list(made.left), "beware": list(made.beware)},
        (Table(("FILE", "WORKLOAD"), rows, note="nothing is to be changed"), Table(("LEFT OUT",), left)),
    )
