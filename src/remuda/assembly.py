"""
From jobs to what runs: which jobs the objects ask for, and their runtimes with the backends that feed them.

`App` assembles what acts, a dry run the same with a store that is only read and loops that are recorded nowhere.
"""

from collections.abc import Callable, Iterable
from typing import Any

from remuda.errors import BadInput
from remuda.job import Job, Jobs, Place, load
from remuda.objects.load import Objects
from remuda.runtime import Runtime, Services


def read_objects(jobs: Jobs, files: tuple[str, ...]) -> Objects:
    """The objects of files; `BadInput` with every problem, a line each."""
    if not files:
        raise BadInput("there is no file to read objects from")
    loaded = jobs.load(files, Place.RUN, Place.KEPT)
    if loaded.problems:
        raise BadInput("\n".join(str(problem) for problem in loaded.problems))
    return loaded.objects


def configured(jobs: Jobs, objects: Objects) -> tuple[Job, ...]:
    """The jobs that objects ask for; where they ask for none, all that can run, which then wait for objects."""
    runnable = tuple(job for job in jobs if job.runtime)
    kinds = {item.kind for item in objects}
    asked = tuple(
        job for job in runnable if any(kind.name in kinds and kind.place is Place.RUN for kind in job.kinds)
    )
    return asked or runnable


def assemble(jobs: Jobs, chosen: Iterable[Job], services_of: Callable[[Job], Services]) -> dict[str, Runtime]:
    """The runtimes of some jobs, by name. Nothing is started and nothing is changed."""
    runtimes = {}
    for job in chosen:
        assert job.runtime is not None
        services = services_of(job)
        backends = [
            load(backend.make)(services)
            for backend in jobs.backends.get(job.name, ())
            if services.cluster is not None or not backend.needs_cluster
        ]
        runtimes[job.name] = load(job.runtime)(services, backends)
    return runtimes


def compile_all(
    runtimes: dict[str, Runtime], objects: Objects, broken: frozenset[tuple[str, str]] = frozenset()
) -> dict[str, Any]:
    """What objects mean to each job; `BadInput` with the problems of all. Nothing changes yet."""
    compiled, problems = dict[str, Any](), list[str]()
    for name, runtime in runtimes.items():
        try:
            compiled[name] = runtime.compile(objects, broken)
        except BadInput as error:
            problems.append(str(error))
    if problems:
        raise BadInput("\n".join(problems))
    return compiled
