"""Several tokens and hosts as one source, in virtual time: what a host is asked for with all tokens together."""

import asyncio
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client import CollectorRegistry
from tests.sources.circleci.fake import FakeApi

from remuda.errors import Unavailable
from remuda.loop.logs import Log
from remuda.model.needs import Worker
from remuda.sim.clock import SimClock
from remuda.sim.loop import run
from remuda.sources.circleci.accounts import Account, Accounts
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import RATE, Host
from remuda.sources.circleci.source import CircleCI

CLOUD, SERVER = "https://runner.circleci.com/", "https://circleci.example/"
ONE, TWO = Account(CLOUD, "one", "token"), Account(CLOUD, "two", "token")
Pools = dict[str, tuple[Account, str]]


class Rig:
    """Accounts that poll, with a CircleCI for each that counts."""

    def __init__(self) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.apis: dict[Account, FakeApi] = {}
        self.hosts: dict[Account, Host] = {}
        self._meters = CircleMeters(CollectorRegistry())
        self.accounts = Accounts(self._open)

    def _open(self, account: Account, host: Host) -> CircleCI:
        self.apis[account], self.hosts[account] = FakeApi(self.clock), host
        log = Log(self.clock, lambda _: None)
        rng = random.Random(len(self.apis))
        return CircleCI(self.apis[account], self.clock, rng, log, lambda: None, self._meters, host)

    @asynccontextmanager
    async def polling(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.accounts.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def attend(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.accounts.read()
            await asyncio.sleep(1)

    def asked(self, since: float = 0.0) -> Counter[str]:
        """How often each class was asked for its waiting tasks."""
        return Counter(
            job_class
            for api in self.apis.values()
            for at, call, job_class in api.asked
            if call == "unclaimed" and at >= since
        )

    def busiest_second(self, *accounts: Account) -> int:
        times = sorted(at for account in accounts for at, _, _ in self.apis[account].asked)
        return max(bisect_left(times, at + 1) - first for first, at in enumerate(times))


def pools_of(account: Account, count: int) -> Pools:
    return {f"{account.secret}-{i}": (account, f"{account.secret}/{i}") for i in range(count)}


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(20, 20), (30, 2), (1, 15)])
def test_two_tokens_on_one_host_share_its_rate_evenly(counts: tuple[int, int]) -> None:
    async def story() -> Rig:
        rig = Rig()
        rig.accounts.serve(pools_of(ONE, counts[0]) | pools_of(TWO, counts[1]))
        async with rig.polling():
            await rig.attend(120)
        return rig

    rig = run(story())
    assert rig.hosts[ONE] is rig.hosts[TWO]
    assert rig.busiest_second(ONE, TWO) <= RATE + 3
    asked = rig.asked(60.0)
    assert len(asked) == sum(counts)
    assert min(asked.values()) >= 0.8 * max(asked.values()), asked
    # What there is room for is used.
    assert sum(asked.values()) >= 0.8 * 60 * min(sum(counts), RATE / 2.1)


@pytest.mark.slow
def test_other_hosts_are_asked_as_if_nobody_else_was() -> None:
    other = Account(SERVER, "other", "token")

    async def story() -> Rig:
        rig = Rig()
        rig.accounts.serve(pools_of(ONE, 40) | pools_of(other, 3))
        async with rig.polling():
            await rig.attend(60)
        return rig

    rig = run(story())
    assert rig.hosts[ONE] is not rig.hosts[other]
    asked = rig.asked()
    assert all(asked[f"other/{i}"] >= 55 for i in range(3))
    assert all(asked[f"one/{i}"] <= 30 for i in range(40))


@pytest.mark.slow
def test_an_account_that_is_gone_leaves_its_share_to_the_others() -> None:
    async def story() -> Rig:
        rig = Rig()
        rig.accounts.serve(pools_of(ONE, 30) | pools_of(TWO, 5))
        async with rig.polling():
            await rig.attend(60)
            rig.accounts.serve(pools_of(TWO, 5))
            await rig.attend(60)
        return rig

    rig = run(story())
    asked = rig.asked(rig.clock.monotonic() - 50)
    assert set(asked) == {f"two/{i}" for i in range(5)}
    assert min(asked.values()) >= 45


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://runner.circleci.com", True),
        ("https://RUNNER.circleci.com:443/", True),
        ("https://runner.circleci.com:8443/", False),
        ("http://runner.circleci.com/", False),
        (SERVER, False),
    ],
)
def test_a_host_is_known_however_it_is_spelt(url: str, same: bool) -> None:
    assert (Account(url).host == ONE.host) is same


def test_a_machine_of_a_pool_that_nobody_remembers_is_asked_about_where_its_class_is_served() -> None:
    async def story() -> None:
        rig = Rig()
        rig.accounts.serve({"mine": (ONE, "org/a"), "other": (TWO, "org/b")})
        rig.apis[TWO].workers["org/b"] = {"past-1": Worker(7, "task", connected_at=7)}
        async with rig.polling():
            assert not await rig.accounts.close("past-1", 0, "org/b")
            assert await rig.accounts.close("past-2", 0, "org/b")
            await rig.accounts.forget("past-2")
            with pytest.raises(Unavailable, match="past-1 is of no pool that CircleCI serves"):
                await rig.accounts.close("past-1", 0, "org/gone")
        assert rig.apis[ONE].asked == []

    run(story())
