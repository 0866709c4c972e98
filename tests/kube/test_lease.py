"""Leader election: never two at once, whatever freezes, is delayed or lost; and soon one again."""

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import groupby
from pathlib import Path

import msgspec
import pytest
from tests.kube.conftest import DEADLINE_S, NewClient, Robot, eventually
from tests.kube.elections import Election, FreezingLoop
from tests.kube.loopback import Wire
from tests.kube.replica import LEASE, TERM, Replica
from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.lease import Leadership, Lease, Term
from remuda.kube.resources import LEASES
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log


@pytest.mark.parametrize(
    "term",
    [
        pytest.param({"act_for": 15}, id="acting as long as the term"),
        pytest.param({"renew_every": 10}, id="renewing too late"),
        pytest.param({"renew_every": 0}, id="renewing all the time"),
    ],
)
def test_a_term_that_cannot_be_is_refused(term: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot be: 0 < renew_every < act_for < duration"):
        Term(**term)


# In virtual time


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_safety_never_two_may_act_at_once_and_liveness_soon_one_does(seed: int) -> None:
    with asyncio.Runner(loop_factory=lambda: FreezingLoop(seed)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, FreezingLoop)

        async def history() -> list[str]:
            world = Election(loop, seed)
            try:
                await world.run(600)
                quiet = loop.time() + 120
                while not any(leadership.holds() for _, leadership, _ in world.replicas):
                    assert loop.time() < quiet, "nobody leads though nothing is in the way"
                    await asyncio.sleep(0.5)
            finally:
                await world.close()
            assert not world.wrong
            return world.held

        assert len(runner.run(history())) >= 3


def test_a_leader_that_is_cut_off_says_so_as_soon_as_its_time_is_over() -> None:
    """Not when its request ends: whoever acts is told in time to stop."""
    with asyncio.Runner(loop_factory=lambda: FreezingLoop(1)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, FreezingLoop)

        async def history() -> list[float]:
            world = Election(loop, 1)
            world.start()
            (process, leadership, _) = world.replicas[0]
            times: list[float] = []
            began = asyncio.Event()

            def changed() -> None:
                times.append(process.monotonic())
                began.set()

            leadership._changed = changed
            await began.wait()
            process.is_silent = True
            until = leadership._until
            await asyncio.sleep(30)
            await world.close()
            return [times[0] - until + 10, times[1] - until]

        first, last = runner.run(history())
        assert 0 <= first < 2
        assert 0 <= last < 0.6  # its clocks do not run alike


# Against a real server


@pytest.fixture
def replicas(new_robot: Callable[[str], Robot], tmp_path: Path) -> Iterator[list[Replica]]:
    """Two replicas, of which one leads; the leader comes first. Each is a user by its name."""
    made: list[Replica] = []
    try:
        for name in ("ada", "bob"):
            robot = new_robot(name)
            robot.permit(
                ("coordination.k8s.io", "leases", "get list watch create update"),
                ("-", "configmaps", "create patch"),
            )
            kubeconfig = robot.cluster.kubeconfig(token=robot.token())
            made.append(Replica(kubeconfig, robot.namespace, name, tmp_path / name))
        until = time.monotonic() + DEADLINE_S
        while not (any(one.is_leading() for one in made) and all(one.times("ready") for one in made)):
            assert time.monotonic() < until, [one.said for one in made]
            time.sleep(0.02)
        yield sorted(made, key=lambda one: not one.is_leading())
    finally:
        for one in made:
            one.close()


@asynccontextmanager
async def lateness(admin: Client, namespace: str) -> AsyncIterator[Callable[[], float]]:
    """How many seconds this machine was too busy to answer, meanwhile: three processes each wait their turn as long."""
    late = 0.0

    async def ask() -> None:
        nonlocal late
        while True:
            began = time.monotonic()
            await admin.get(LEASES, LEASE, Lease, namespace)
            await asyncio.sleep(0.05)
            took = time.monotonic() - began
            late += took - 0.05 if took > 0.15 else 0

    task = asyncio.create_task(ask())
    try:
        yield lambda: 3 * late
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def leases_since(cluster: Cluster, namespace: str, since: Lease) -> list[Lease]:
    """Every version of the lease after one."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?watch=1&timeoutSeconds=1"
    answer = cluster.request("GET", f"{path}&resourceVersion={since.metadata.resource_version}")
    return [msgspec.convert(msgspec.json.decode(line)["object"], Lease) for line in answer.text.splitlines()]


@pytest.mark.slow
async def test_a_leader_that_stops_gives_the_lease_back_and_the_other_takes_it_at_once(
    replicas: list[Replica], cluster: Cluster, admin: Client, namespace: str
) -> None:
    leader, follower = replicas
    before = await admin.get(LEASES, LEASE, Lease, namespace)
    async with lateness(admin, namespace) as late:
        stopped = time.time()
        leader.process.send_signal(signal.SIGTERM)
        await eventually(follower.is_leading, "the hand-over")
        assert follower.times("leading")[-1] - stopped <= 1 + late()
    await eventually(lambda: leader.process.poll() is not None, "the end of the old leader")
    assert leader.process.returncode == 0
    assert leader.times("not-leading")[-1] <= follower.times("leading")[-1]
    holders = [lease.spec.holder_identity for lease in leases_since(cluster, namespace, before)]
    assert [who for who, _ in groupby(holders) if who != leader.identity] == ["", follower.identity]


@pytest.mark.slow
async def test_the_lease_of_a_killed_leader_passes_on_when_its_term_ends(
    replicas: list[Replica], cluster: Cluster, admin: Client, namespace: str
) -> None:
    leader, follower = replicas
    async with lateness(admin, namespace) as late:
        killed = time.time()
        leader.process.kill()
        leader.process.wait()
        left = await admin.get(LEASES, LEASE, Lease, namespace)
        assert left.spec.holder_identity == leader.identity
        await eventually(follower.is_leading, "the hand-over")
        led = follower.times("leading")[-1]
        assert led - killed <= TERM.duration + 2 + late()
    assert left.spec.renew_time is not None
    renewed = datetime.fromisoformat(left.spec.renew_time).timestamp()
    assert led - renewed >= TERM.duration - 0.1, "never before its term is over; walls are set now and then"
    taken = leases_since(cluster, namespace, left)[0]
    assert taken.spec.holder_identity == follower.identity
    assert taken.spec.lease_transitions == left.spec.lease_transitions + 1


@pytest.mark.slow
async def test_nothing_that_a_frozen_leader_begins_after_its_thaw_is_accepted(
    replicas: list[Replica], cluster: Cluster, namespace: str
) -> None:
    """It freezes after it asked whether it leads and before it writes, which is the worst moment there is."""
    for one in replicas:
        one.order("freeze")
    await eventually(lambda: any(one.times("frozen") for one in replicas), "the freeze")
    leader, follower = sorted(replicas, key=lambda one: not one.times("frozen"))
    follower.order("go on")
    frozen = leader.times("frozen")[0]

    def writes(by: Replica, after: float = 0, before: float = float("inf")) -> list[float]:
        return [at for at in accepted(cluster, namespace, by.identity) if after < at < before]

    await eventually(lambda: writes(follower, frozen), "the new leader's writes")
    thawed = time.time()
    leader.process.send_signal(signal.SIGCONT)
    await eventually(lambda: leader.times("refused"), "the write that is held back")
    await eventually(lambda: leader.times("not-leading"), "the old leader's insight")

    # The log is written in order: what the new leader wrote now comes after all that the old one may have.
    now = time.time()
    await eventually(lambda: writes(follower, now), "more of the new leader's writes")
    assert writes(leader, before=frozen)
    # On a machine that stalls the new leader may lose its turn too; the old one then leads rightfully.
    again = next((at for at in leader.times("leading") if at > thawed), float("inf"))
    assert writes(leader, thawed, again) == []
    assert max(writes(leader, before=again)) < min(writes(follower, frozen)), "they do not overlap"


def accepted(cluster: Cluster, namespace: str, identity: str) -> list[float]:
    """When the API server received the writes of a replica that it accepted, by its audit log."""
    about = {"namespace": namespace, "resource": "configmaps", "name": "written"}
    return [
        datetime.fromisoformat(one["requestReceivedTimestamp"]).timestamp()
        for one in cluster.audit()
        if about.items() <= one.get("objectRef", {}).items()
        and one["verb"] == "patch"
        and one["user"]["username"].endswith(f":{identity}")
        and one["responseStatus"]["code"] < 300
    ]


class AnotherClock(SystemClock):
    """A clock that runs at a speed of its own and was set by somebody else."""

    def __init__(self, speed: float, ahead: int) -> None:
        self._speed, self._ahead = speed, ahead

    def monotonic(self) -> float:
        return super().monotonic() * self._speed

    def now(self) -> int:
        return round(super().now() * self._speed) + self._ahead


@pytest.mark.slow
@pytest.mark.parametrize("how", ["silence", "refuse"])
async def test_a_leader_cut_off_from_the_server_stops_before_the_other_begins(
    cluster: Cluster, namespace: str, new_client: NewClient, access_of: Callable[..., Access], how: str
) -> None:
    """Though its clock is slow, the other's is fast, and an hour lies between them."""
    term = Term(duration=3, act_for=2, renew_every=0.3)
    held_meanwhile: list[bool] = []
    ended = asyncio.Event()

    def near_changed() -> None:
        if near.holds():
            held_meanwhile.append(far.holds())

    def far_changed() -> None:
        if not far.holds():
            ended.set()

    def join(name: str, url: str, clock: SystemClock, changed: Callable[[], None]) -> Leadership:
        client, log = new_client(access_of(cluster, url)), Log(clock, lambda _: None)
        return Leadership(client, "it", namespace, name, clock, random.Random(name), log, changed, term)

    async with Wire(cluster.url) as wire, asyncio.TaskGroup() as group:
        far = join("far", wire.url, AnotherClock(0.9, -3_600_000), far_changed)
        near = join("near", cluster.url, AnotherClock(1.1, 0), near_changed)
        tasks = [group.create_task(far.run())]
        await eventually(far.holds, "a first leader")
        tasks.append(group.create_task(near.run()))
        await eventually(lambda: near.leader == "far", "a follower that knows the leader")
        getattr(wire, how)()
        await eventually(near.holds, "the hand-over")
        assert held_meanwhile == [False]
        await eventually(ended.is_set, "the word that it ended")
        wire.restore()
        await eventually(lambda: far.leader == "near", "the old leader's insight")
        assert not any(held_meanwhile)
        for task in tasks:
            task.cancel()
