"""`remuda import`: what others wrote for other tools, as objects."""

import sys
from functools import partial

import click
import msgspec

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.job import Place
from remuda.objects.load import load_text
from remuda.objects.tree import decode, read_bytes, read_stream
from remuda.output.show import Report
from remuda.pools.provisioner import import_values


@click.command("provisioner-values", cls=Command)
@click.argument("file")
@pass_session
def provisioner_values(session: Session, file: str) -> None:
    """
    Pools from values of Runner Provisioner.

    FILE holds values of CircleCI's Runner Provisioner, version 0.1.0 or 0.1.2; - is standard input. Tokens are not printed: pools refer to a Secret,
    and the command that makes it is printed. The chart takes the same values as they are, so this is only for who wants
    the objects. For example: remuda import provisioner-values my-values.yaml > pools.yaml
    """
    jobs, name = session.jobs, "stdin" if file == "-" else file

    def text() -> str:
        return decode(read_stream(sys.stdin.buffer) if file == "-" else read_bytes(file))

    found = import_values(
        text,
        name,
        partial(load_text, name=name, kinds=jobs.kinds(Place.RUN, Place.KEPT), checks=jobs.checks()),
    )
    if found.problems:
        raise BadInput("\n".join(map(str, found.problems)))
    if not session.quiet:
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
    if session.form == "json":
        session.show(Report({"apiVersion": "v1", "kind": "List", "items": found.objects}))
        return
    import yaml

    plain = msgspec.json.decode(msgspec.json.encode(found.objects))
    click.echo(yaml.safe_dump_all(plain, sort_keys=False, allow_unicode=True), nl=False)
