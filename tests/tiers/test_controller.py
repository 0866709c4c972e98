"""Acting on a cluster: only what the plan saw is changed, and what differs is refused."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from tests.tiers.loop_worlds import ONE, TIER

from remuda.model.plans import Operation, Outcome
from remuda.sim.clock import SimClock
from remuda.sim.faults import Faults
from remuda.sim.loop import run
from remuda.sim.tier_cluster import SimCluster
from remuda.sim.tiers import DEVICE, drift, foreign
from remuda.tiers.controller import TiersController
from remuda.tiers.decide.model import Memory, Policies, TierAction, Write

T = TypeVar("T")
LIMITS = ("LimitRange", "web", "tier-defaults")


class Scene:
    """A cluster that is seen at once, and the controller."""

    def __init__(self) -> None:
        self.cluster = SimCluster(Faults(1, {}), random.Random(1))
        self.controller = TiersController(self.cluster, SimClock(asyncio.get_running_loop()))
        self.controller.follow(ONE)

    async def plan(self, policies: Policies = ONE) -> tuple[TierAction, ...]:
        await asyncio.sleep(10)
        seen = await self.controller.observe(())
        return self.controller.decide(seen, Memory(), policies, 0)[0].actions

    async def planned(self, target: str) -> TierAction:
        (found,) = [action for action in await self.plan() if action.target.endswith(target)]
        return found

    async def act(self, action: TierAction) -> Outcome:
        return await self.controller.act(Operation(1, action))

    async def settle(self) -> None:
        while actions := await self.plan():
            for action in actions:
                assert (await self.act(action)).status == "done"


def in_scene(work: Callable[[Scene], Awaitable[T]]) -> T:
    async def main() -> T:
        return await work(Scene())

    return run(main())


async def settled(scene: Scene) -> None:
    scene.cluster.label("web", {TIER: "4-aux"})
    scene.cluster.put_node("gpu", {DEVICE: "true"}, ("spot:NoSchedule",))
    await scene.settle()


def test_a_cluster_is_brought_to_what_its_policy_says_and_then_nothing_is_planned() -> None:
    async def work(scene: Scene) -> None:
        await settled(scene)
        assert set(scene.cluster.objects) >= {LIMITS, ("ResourceQuota", "web", "web-quota")}
        assert scene.cluster.nodes["gpu"].taints == (
            "spot:NoSchedule",
            "nvidia.com/gpu=true:PreferNoSchedule",
        )
        before = scene.cluster.writes
        assert await scene.plan() == ()
        assert scene.cluster.writes == before

    in_scene(work)


Edit = Callable[[SimCluster], None]


@pytest.mark.parametrize(
    ("edit", "detail"),
    [
        pytest.param(lambda c: c.put(foreign(LIMITS)), "it was made meanwhile", id="made by somebody else"),
        pytest.param(lambda c: c.end_namespace("web"), "not the one that was seen", id="namespace ends"),
        pytest.param(
            lambda c: (c.end_namespace("web"), c._emptied("web"), c.label("web", {})),
            "not the one that was seen",
            id="namespace made again",
        ),
    ],
)
def test_what_is_to_be_made_is_refused_where_the_world_went_on(edit: Edit, detail: str) -> None:
    async def work(scene: Scene) -> Outcome:
        scene.cluster.label("web", {TIER: "4-aux"})
        action = await scene.planned("web/tier-defaults")
        edit(scene.cluster)
        await asyncio.sleep(0 if "made by" in detail else 4)
        return await scene.act(action)

    outcome = in_scene(work)
    assert outcome.status == "refused"
    assert detail in outcome.detail


def change(cluster: SimCluster) -> None:
    item = cluster.objects[LIMITS]
    cluster.put({**item.manifest, "spec": {"limits": []}})


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [(lambda _: None, "done"), (change, "refused"), (lambda c: c.remove(LIMITS), "refused")],
    ids=["as it was seen", "edited once more", "deleted"],
)
def test_drift_is_reverted_as_it_was_seen_and_not_otherwise(meanwhile: Edit, status: str) -> None:
    async def work(scene: Scene) -> str:
        await settled(scene)
        drift(scene.cluster, LIMITS)
        action = await scene.planned("web/tier-defaults")
        meanwhile(scene.cluster)
        return (await scene.act(action)).status

    assert in_scene(work) == status


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [(lambda _: None, "done"), (lambda c: c.remove(LIMITS), "done"), (change, "refused")],
    ids=["as it was seen", "gone already", "edited"],
)
def test_what_is_to_go_goes_as_it_was_seen_and_may_be_gone(meanwhile: Edit, status: str) -> None:
    async def work(scene: Scene) -> tuple[str, bool]:
        await settled(scene)
        scene.cluster.label("web", {TIER: "4-aux", "remuda.dev/own-limits": "true"})
        action = await scene.planned("web/tier-defaults")
        meanwhile(scene.cluster)
        outcome = await scene.act(action)
        return outcome.status, LIMITS in scene.cluster.objects

    assert in_scene(work) == (status, status == "refused")


def test_a_class_whose_value_was_wrong_is_made_again() -> None:
    async def work(scene: Scene) -> Any:
        await settled(scene)
        key = ("PriorityClass", "", "tier-4-aux")
        before = scene.cluster.objects[key].uid
        drift(scene.cluster, key)
        action = await scene.planned("tier-4-aux")
        assert isinstance(action, Write)
        assert (await scene.act(action)).detail == "made again"
        return before, scene.cluster.objects[key]

    before, item = in_scene(work)
    assert item.uid != before
    assert item.manifest["value"] == 200_000


@pytest.mark.parametrize("meanwhile", ["changed", "gone"])
def test_a_node_is_not_patched_when_it_is_not_as_it_was_seen(meanwhile: str) -> None:
    async def work(scene: Scene) -> Outcome:
        scene.cluster.put_node("gpu", {DEVICE: "true"})
        action = await scene.planned("Node gpu")
        if meanwhile == "gone":
            scene.cluster._drop("node", "gpu")
        else:
            scene.cluster.put_node("gpu", {DEVICE: "true"}, ("spot:NoSchedule",))
        return await scene.act(action)

    assert in_scene(work).status == "refused"


@pytest.mark.parametrize("edit", [change, lambda c: c.remove(LIMITS)], ids=["changed", "deleted"])
def test_a_change_between_the_last_look_and_the_write_is_refused_by_the_server(edit: Edit) -> None:
    class Late(SimCluster):
        async def apply(self, manifest: Any, version: str) -> None:
            edit(self)
            await super().apply(manifest, version)

    async def work(scene: Scene) -> Outcome:
        await settled(scene)
        drift(scene.cluster, LIMITS)
        action = await scene.planned("web/tier-defaults")
        scene.cluster.__class__ = Late
        return await scene.act(action)

    assert in_scene(work).status == "refused"


def test_what_is_settled_is_judged_once() -> None:
    async def work(scene: Scene) -> None:
        await settled(scene)
        heard: list[str] = []
        scene.controller.remembers = lambda: heard.append("remembers")
        seen = await scene.controller.observe(())
        first = scene.controller.decide(seen, Memory(), ONE, 0)
        again = scene.controller.decide(seen, first[1], ONE, 99)
        assert again == first
        assert scene.controller.decide(seen, first[1], ONE, 99)[0] is again[0]
        assert scene.controller.decide(seen, first[1], Policies(ONE.policies), 99)[0] is not again[0]
        assert heard == ["remembers"] * 3

    in_scene(work)


def test_a_report_names_what_is_not_as_it_should_be_and_a_replica_that_stands_by_says_nothing() -> None:
    async def work(scene: Scene) -> list[Any]:
        heard: list[Any] = []
        scene.controller.decided = lambda reasons, actions: heard.append((len(reasons), len(actions)))
        scene.cluster.label("web", {TIER: "9-none"})
        await asyncio.sleep(10)
        seen = await scene.controller.observe(())
        plan, _ = scene.controller.decide(seen, Memory(), ONE, 0)
        assert scene.controller.report(seen, plan) == {
            "namespaces": 1,
            "unsettled": ["tier.unknown", "tiers.after", "tiers.applying"],
        }
        scene.controller.stand_by()
        return heard

    (first, last) = in_scene(work)
    assert first > last == (0, 0)
