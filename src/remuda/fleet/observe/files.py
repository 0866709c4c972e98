"""
Inventory, demand and policy from files.

A file that cannot be read as these objects is bad input, with every problem at its place. A record in it whose values
cannot be believed is refused alone, at its place and by its name, and the rest goes on.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from remuda.errors import BadInput
from remuda.fleet.inputs import Inputs
from remuda.fleet.objects import (
    DEMAND,
    FLEET_POLICY,
    INVENTORY,
    cluster_of,
    machine_records,
    need_records,
    path_of,
)
from remuda.fleet.observe.fields import Flaw
from remuda.fleet.observe.intake import label_keys, read_machines, read_needs
from remuda.fleet.policy import Policy
from remuda.fleet.rows import read_name
from remuda.fleet.settings import policy_of
from remuda.model.times import Instant
from remuda.objects.kinds import Object
from remuda.objects.load import Loaded, load_files
from remuda.objects.problems import Problem, path_steps, quoted

_KINDS = (replace(INVENTORY, check=None), replace(DEMAND, check=None), FLEET_POLICY)
_IN_A_RECORD = re.compile(r"spec\.(machines|needs)\[\d+\]\..+")


def read_files(paths: Iterable[str], now: Instant, stdin: BinaryIO | None = None) -> Inputs:
    """
    The machines, needs and policy of files, directories or `-`; times may be written as how long before `now`.

    Raises `BadInput` with every problem, a line each.
    """
    loaded = load_files(dict.fromkeys(paths), _KINDS, stdin=stdin)
    unreadable, problems = _set_apart(loaded)
    objects = loaded.readable
    problems += _between(objects)
    if problems:
        raise BadInput("\n".join(map(str, sorted(problems))))
    inventories = [each for each in objects if each.kind == INVENTORY.name]
    demands = [each for each in objects if each.kind == DEMAND.name]
    for kind, found in ((INVENTORY, inventories), (DEMAND, demands)):
        if not found:
            raise BadInput(f"the files hold no {kind.name}: remuda explain {kind.name}.spec says what one is")
    places, records = _joined(inventories, unreadable)
    machines = read_machines(records, now, lambda index: _place_of(*places[index]))
    flaws = [_problem(*places[flaw.index], "machines", flaw) for flaw in machines.flaws]
    keys = label_keys({machine.shape.key(): machine.shape for machine in machines.accepted}.values())
    needs = {}
    for demand in demands:
        cluster = cluster_of(demand)
        asked = read_needs(cluster, _with_texts(demand, need_records(demand), unreadable), keys=keys, now=now)
        needs[cluster] = asked.accepted
        flaws += [_problem(demand, flaw.index, "needs", flaw) for flaw in asked.flaws]
    return Inputs(
        machines.accepted,
        needs,
        next((policy_of(each.spec) for each in objects if each.kind == FLEET_POLICY.name), Policy()),
        tuple(problem for problem, is_refused in flaws if is_refused),
        tuple(problem for problem, is_refused in flaws if not is_refused),
    )


def _between(objects: Iterable[Object[Any]]) -> list[Problem]:
    """What is wrong between objects: a cluster with two Demands, and more than one policy."""
    problems = []
    first: dict[tuple[str, str], Object[Any]] = {}
    for each in objects:
        if each.kind == INVENTORY.name:
            continue
        name, path = (each.kind, ""), "kind"
        words = "is a second FleetPolicy: a fleet has one"
        if each.kind == DEMAND.name:
            path = "spec.cluster" if each.spec.cluster else "metadata.name"
            name = (each.kind, cluster_of(each))
            words = f"cluster {quoted(cluster_of(each))} has a second Demand: one Demand is all that a cluster needs"
            try:
                read_name(cluster_of(each))
            except ValueError as error:
                problems.append(Problem(each.file, *each.place(path), path, str(error)))
        before = first.setdefault(name, each)
        if before is not each:
            there = f"{before.file}:{before.line}"
            problems.append(Problem(each.file, *each.place(path), path, f"{words}; the first is at {there}"))
    return problems


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """The text of a value that could not be read, to be judged with its record."""

    owner: Object[Any]
    steps: tuple[str | int, ...]
    text: str


def _set_apart(loaded: Loaded) -> tuple[list[_Unreadable], list[Problem]]:
    """The problems that spoil one record only, and the others."""
    unreadable, problems = [], []
    for problem in loaded.problems:
        inside = _IN_A_RECORD.fullmatch(problem.path)
        owners = [
            each
            for each in loaded.readable
            if each.file == problem.file and each.line <= problem.line and each.kind != FLEET_POLICY.name
        ]
        if problem.number and inside and owners:
            # A number that nobody can mean is the fault of its record alone.
            owner = max(owners, key=lambda each: each.line)
            unreadable.append(_Unreadable(owner, path_steps(problem.path)[2:], problem.number))
        else:
            problems.append(problem)
    return unreadable, problems


def _with_texts(owner: Object[Any], records: list[object], unreadable: Iterable[_Unreadable]) -> list[object]:
    """The records with the texts of what could not be read in their places."""
    for each in unreadable:
        if each.owner is owner:
            at: Any = records
            for step in each.steps[:-1]:
                at = at[step]
            at[each.steps[-1]] = each.text
    return records


def _joined(
    inventories: Iterable[Object[Any]], unreadable: Iterable[_Unreadable]
) -> tuple[list[tuple[Object[Any], int]], list[object]]:
    """The machines of all inventories, and where each is."""
    places: list[tuple[Object[Any], int]] = []
    records: list[object] = []
    for inventory in inventories:
        mine = _with_texts(inventory, machine_records(inventory), unreadable)
        places += [(inventory, index) for index in range(len(mine))]
        records += mine
    return places, records


def _place_of(owner: Object[Any], index: int) -> str:
    return f"{owner.file}:{owner.place(f'spec.machines[{index}]')[0]}"


def _problem(owner: Object[Any], index: int, name: str, flaw: Flaw) -> tuple[Problem, bool]:
    """A flaw at its place, with whose it is; whether the record is refused."""
    path = path_of(name, index, flaw.field)
    kind, _, subject = flaw.subject.partition("/")
    words = f"{kind} {subject}{' is refused' if flaw.refused else ''}: {flaw.message}"
    return Problem(owner.file, *owner.place(path), path, words), flaw.refused
