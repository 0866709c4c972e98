"""Whether `remuda up` will work in a cluster, asked before anything is started."""

import random

import msgspec

from remuda.cluster.followed import FollowedObjects
from remuda.cluster.replica import ReplicaConfig
from remuda.errors import BadInput
from remuda.job import Jobs, Place
from remuda.kube.client import Client
from remuda.kube.preflight import check
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.objects.crds import crd_of
from remuda.objects.load import Loaded
from remuda.objects.problems import Problem

#: how long a cluster is waited for
TIMEOUT_S = 10.0


async def check_cluster(
    replica: ReplicaConfig, jobs: Jobs, clock: Clock, rng: random.Random, *, only_reads: bool = False
) -> None:
    """Raise `BadInput` with all that keeps `remuda up`, or a dry run of it, from working in a cluster."""
    needs = jobs.permissions()["up"]
    if only_reads:
        # What a backend may not read is part of the plan.
        needs = tuple(
            msgspec.structs.replace(rule, verbs=("list",))
            for rule in Jobs(jobs.jobs).permissions()["up"]
            if "list" in rule.verbs and not rule.names
        )
    async with Client(replica.access, clock, rng, timeout=TIMEOUT_S) as client:
        crds = [crd_of(kind.load()) for kind in jobs.kinds(Place.RUN)]
        await check(client, "up", needs, crds, replica.namespace)
        loaded, problems = await read_cluster(client, replica, jobs, clock, rng)
    if problems and not loaded.objects:
        found = f"no object in namespace {replica.namespace} can be run"
        raise BadInput("\n".join(f"{found}: {problem}" for problem in problems))


async def read_cluster(
    client: Client, replica: ReplicaConfig, jobs: Jobs, clock: Clock, rng: random.Random
) -> tuple[Loaded, tuple[Problem, ...]]:
    """The objects of a cluster that are whole, and the problems of the others. Nothing is written."""
    log = Log(clock, lambda _: None)
    return await FollowedObjects(client, replica.namespace, jobs, clock, rng, log).read_once()
