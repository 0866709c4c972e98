"""`remuda rightsize`."""

import importlib.util
from typing import TYPE_CHECKING

import click

from remuda.control.command import Group, Session, pass_session
from remuda.errors import BadInput
from remuda.output.show import Report, Table, one_line
from remuda.rightsize.commands.patch import patch
from remuda.rightsize.commands.review import review
from remuda.rightsize.input_files import read_input

if TYPE_CHECKING:  # not for --help
    from remuda.rightsize.estimate.estimator import Estimate
    from remuda.rightsize.estimate.strategies import Answer

_MIB = 1024 * 1024


@click.group(cls=Group)
def rightsize() -> None:
    """
    The size each workload really needs, from what it used.

    Nothing is installed in a cluster, and nothing is changed.
    """


@rightsize.command()
@click.option(
    "--samples",
    required=True,
    metavar="FILE",
    help="What a pod's containers used, as JSON; - for standard input.",
)
@click.option(
    "--strategy",
    default="vpa",
    show_default=True,
    metavar="NAME",
    help="vpa is exact to the integer what the Vertical Pod Autoscaler would say; krr is KRR's simple rule; packages "
    "may bring others.",
)
@click.option(
    "--engine",
    type=click.Choice(["python", "numpy", "numba"]),
    default="python",
    show_default=True,
    help="How vpa computes; all say the same. The others need NumPy, and are for many samples.",
)
@pass_session
def estimate(session: Session, samples: str, strategy: str, engine: str) -> None:
    """
    Estimate what the containers of a pod need.

    FILE is an object like {"containers": {NAME: {"instances": [{"cpu": [{"t": SECONDS, "cores": 0.25}], "memory": [{"t":
    SECONDS, "bytes": 300000000}], "oom": [{"t": SECONDS, "requested_bytes": 268435456}]}]}}}, an instance for each
    replica. Exits 1 when there is too little to go by for a container. For example: remuda rightsize estimate --samples
    examples/rightsize-samples.json
    """
    if engine != "python":
        if strategy != "vpa":
            raise BadInput(f"--engine {engine} is for --strategy vpa: leave it out for {strategy}")
        need_numpy(engine)
    answer = _answer(samples, strategy, engine)
    session.show(_report(answer))
    for name, why in answer.lacking.items():
        click.echo(f"{one_line(name)} {why}", err=True)
    if answer.lacking:
        raise click.exceptions.Exit(1)


def need_numpy(engine: str) -> None:
    """Raise `BadInput` with what to install where NumPy, or Numba for its engine, is missing."""
    needed = {"numpy": "NumPy: pip install 'remuda[rightsize]'"}
    if engine == "numba":
        needed["numba"] = "Numba: pip install 'remuda[rightsize]' numba"
    for module, what in needed.items():
        if importlib.util.find_spec(module) is None:
            raise BadInput(f"--engine {engine} needs {what}, or leave --engine out")


def _answer(samples: str, strategy: str, engine: str) -> "Answer":
    from remuda.rightsize.estimate.plugins import find_strategy
    from remuda.rightsize.estimate.samples import MOST_BYTES, read_samples
    from remuda.rightsize.estimate.strategies import Answer, lacking_samples

    chosen = find_strategy(strategy)
    pod = read_samples(*read_input(samples, MOST_BYTES))
    if engine == "python":
        return chosen.answer(pod)
    from remuda.rightsize.estimate.columns import columns_of
    from remuda.rightsize.estimate.engine import estimate_columns

    estimates = dict(zip(pod, estimate_columns(columns_of([pod]), engine), strict=True))
    return Answer(estimates, lacking_samples(pod))


def _report(answer: "Answer") -> Report:
    rows = tuple(row for name, each in answer.estimates.items() for row in _rows(name, each))
    headings = ("CONTAINER", "RESOURCE", "LOWER BOUND", "TARGET", "UPPER BOUND")
    return Report(
        {"containers": answer.estimates}, (Table(headings, rows, note="no container has an estimate"),)
    )


def _rows(name: str, found: "Estimate") -> tuple[tuple[str, ...], tuple[str, ...]]:
    bounds = (found.lower_bound, found.target, found.upper_bound)
    return (
        (name, "cpu", *(f"{each.cpu_millicores:,}m" for each in bounds)),
        (name, "memory", *(f"{each.memory_bytes / _MIB:,.1f}Mi" for each in bounds)),
    )


rightsize.add_command(review)
rightsize.add_command(patch)
