"""What is told of a simulated fleet: its numbers, its page, and how a broken rule is shown again."""

import json
from html.parser import HTMLParser
from pathlib import Path

import click
import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - a fixture

from remuda.control.command import Session
from remuda.errors import InvariantError
from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.job import Jobs
from remuda.model.machines import State
from remuda.model.shapes import ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import HOUR, MINUTE
from remuda.model.units import FleetNeed, Spread
from remuda.sim.commands import live_through_fleets
from remuda.sim.fleet_faults import Faults
from remuda.sim.fleet_history import FleetHistory, simulate
from remuda.sim.fleet_machines import SimulatedMachines
from remuda.sim.fleet_meter import Meter
from remuda.sim.fleet_page import page
from remuda.sim.fleet_queue import Queue
from remuda.sim.fleet_rest import Rest
from remuda.sim.fleet_scenario import Request, scenario
from remuda.sim.fleet_watch import FleetWatch

NOW = 1_000 * HOUR


class Ground:
    """A meter over a world that only the test changes."""

    def __init__(self) -> None:
        made = scenario(Request(1, faults="none"))
        self.queue = Queue()
        self.world = SimulatedMachines(made, self.queue, Faults(1, made.rates), FleetWatch(self.queue, 1))
        self.meter = Meter(self.queue, self.world, HOUR)

    def wait(self, length: int) -> None:
        self.queue.run(self.queue.now + length)
        self.meter.measure(0)

    def configure(self, machine: int, need: int) -> None:
        self.world.state[machine] = states.CONFIGURED
        self.world.need[machine] = need
        self.meter.joined(machine)


def test_latency_is_from_asking_to_the_node_and_shortfalls_are_what_is_missing_meanwhile() -> None:
    ground = Ground()
    machine = int(np.flatnonzero(ground.world.state == states.IDLE)[0])
    fits = ground.world.shapes[ground.world.shape[machine]].allocatable["cpu"] // 1_000
    need = FleetNeed("c", "n", {"cpu": 1_000}, fits + 2, priority=7)
    ground.meter.asks("c", (need,))
    ground.wait(2 * MINUTE)
    ground.configure(machine, ground.world.number_of_need("c", "n"))
    assert ground.meter.binds == []
    ground.meter.asks("c", (FleetNeed("c", "n", {"cpu": 1_000}, fits, priority=7),))
    assert ground.meter.binds == [(2 * MINUTE, fits)]
    assert ground.meter.short[7] == 2 * MINUTE * (fits + 2)
    ground.wait(MINUTE)
    assert ground.meter.short[7] == 2 * MINUTE * (fits + 2)
    assert ground.meter.bind(50) == ground.meter.bind(99) == 2 * MINUTE


def test_what_is_adopted_counts_for_who_adopted_it() -> None:
    ground = Ground()
    machine = int(np.flatnonzero(ground.world.state == states.IDLE)[0])
    old, new = (FleetNeed("c", name, {"cpu": 1_000}, 1) for name in ("old", "new"))
    ground.meter.asks("c", (old, new))
    ground.configure(machine, ground.world.number_of_need("c", "old"))
    ground.wait(MINUTE)
    ground.meter.adopted(machine, ground.world.number_of_need("c", "new"))
    assert ground.meter.binds == [(0, 1), (MINUTE, 1)]
    ground.meter.left(machine)
    ground.wait(MINUTE)
    assert ground.meter.short[0] == MINUTE + 2 * MINUTE


def test_the_bound_is_never_above_the_cost() -> None:
    ground = Ground()
    need = FleetNeed("c", "n", {"cpu": 1_000}, 10_000)
    ground.meter.asks("c", (need,))
    for machine in range(50):
        ground.configure(machine, ground.world.number_of_need("c", "n"))
    ground.wait(MINUTE)
    cost, bound = ground.meter.per_hour()
    assert 0 < bound <= cost


def shape(zone: str = "a", **more: object) -> Shape:
    offered = {"zone": zone, "provider": "p", "allocatable": {"cpu": 4_000}, "price": 5}
    return Shape("t4", **{**offered, **more})  # type: ignore[arg-type]


SPOT = shape(capacity_type=CapacityType.SPOT)
PLAIN = FleetNeed("c", "n", {"cpu": 1_000}, 4, priority=9)


def at_rest(
    *machines: FleetMachine, needs: tuple[FleetNeed, ...] = (PLAIN,), rails: Rails | None = None
) -> list[str]:
    fleet = Fleet(Names())
    fleet.upsert(machines)
    rest = Rest(fleet, Policy(rails=rails or Rails()), NOW, needs)
    return [rule for rule, _ in rest.flaws()]


def machine(
    name: str, state: State, of: Shape | None = None, need: str = "", priority: int = 0
) -> FleetMachine:
    return FleetMachine(name, state, of or shape(), "c" if need else "", need, priority, NOW - HOUR)


MET = "every need is met when supply for it exists"


@pytest.mark.parametrize(
    ("machines", "needs", "rails", "flaws"),
    [
        ([machine("m", State.CONFIGURED, need="n")], (PLAIN,), None, []),
        ([machine("m", State.FAILED)], (PLAIN,), None, []),
        ([machine("m", State.IDLE)], (PLAIN,), None, [MET]),
        ([machine("m", State.SPECULATIVE)], (PLAIN,), None, [MET]),
        ([machine("m", State.SPECULATIVE)], (PLAIN,), Rails(quotas=(Quota("p", 0),)), []),
        ([machine("m", State.SPECULATIVE)], (PLAIN,), Rails(spending={"p": 4}), []),
        ([machine("m", State.SPECULATIVE)], (PLAIN,), Rails(spending={"p": 5}), [MET]),
        (
            [machine("m", State.CONFIGURED, need="low", priority=8)],
            (PLAIN, FleetNeed("c", "low", {"cpu": 1_000}, 1, priority=8)),
            None,
            [MET],
        ),
        (
            [machine("m", State.CONFIGURED, need="same", priority=9)],
            (PLAIN, FleetNeed("c", "same", {"cpu": 1_000}, 1, priority=9)),
            None,
            [],
        ),
        (
            [machine("a", State.IDLE), machine("b", State.IDLE, shape("b"))],
            (FleetNeed("c", "gang", {"cpu": 1_000}, 8, same=ZONE),),
            None,
            [],
        ),
        (
            [machine("a", State.IDLE), machine("b", State.IDLE)],
            (FleetNeed("c", "gang", {"cpu": 1_000}, 8, same=ZONE),),
            None,
            [MET],
        ),
        (
            [machine("a", State.CONFIGURED, need="gang")],
            (FleetNeed("c", "gang", {"cpu": 1_000}, 8, same=ZONE),),
            None,
            ["a gang is whole or not at all"],
        ),
        (
            [machine("a", State.CONFIGURED, need="s"), machine("a2", State.IDLE), machine("b", State.FAILED, shape("b"))],
            (FleetNeed("c", "s", {"cpu": 1_000}, 8, spread=Spread(ZONE)),),
            None,
            [MET],
        ),
        (
            [
                machine("a", State.CONFIGURED, need="s"),
                machine("a2", State.IDLE),
                machine("b", State.CONFIGURED, shape("b"), need="other"),
            ],
            (
                FleetNeed("c", "s", {"cpu": 1_000}, 8, spread=Spread(ZONE)),
                FleetNeed("c", "other", {"cpu": 1_000}, 4),
            ),
            None,
            [],
        ),
        ([machine("m", State.CONFIGURED, need="gone")], (), None, ["what no need claims is reclaimed in the end"]),
        ([machine("m", State.IDLE, SPOT)], (), None, ["what nobody needs is released in the end"]),
        ([machine("m", State.IDLE)], (), None, []),
    ],
)  # fmt: skip
def test_what_must_hold_at_rest(
    machines: list[FleetMachine], needs: tuple[FleetNeed, ...], rails: Rails | None, flaws: list[str]
) -> None:
    assert at_rest(*machines, needs=needs, rails=rails) == flaws


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]


@pytest.mark.slow
def test_the_page_draws_four_charts_and_loads_nothing() -> None:
    with FleetHistory(Request(3, hours=0.1, faults="none")) as history:
        summary = history.live()
    drawn = page(summary, history.meter.points)
    reader = Reader()
    reader.feed(drawn)
    assert drawn.count("data-chart=") == 4
    assert (reader.tags.count("script"), reader.tags.count("style")) == (1, 1)
    assert reader.links == ["#main"]
    assert "default-src 'none'" in drawn.replace("&#39;", "'")
    assert summary.digest in drawn
    assert all(f"<h2>{word}</h2>" in drawn for word in ("Supply", "Demand", "Cost", "Churn"))
    assert "remuda simulate fleet --seed 3 --machines 200 --clusters 4 --hours 0.1 --faults none" in drawn
    assert "speculative ones are not drawn" in drawn
    assert f"p50 {summary.bind_p50_s:,.1f} s, p99 {summary.bind_p99_s:,.1f} s" in drawn
    assert page(summary, history.meter.points) == drawn
    empty = page(summary, [])
    assert (empty.startswith("<!doctype html>"), empty.count("Nothing was measured.")) == (True, 4)


@pytest.mark.slow
def test_the_tables_of_the_page_have_what_was_measured() -> None:
    with FleetHistory(Request(3, hours=0.1, faults="none")) as history:
        summary = history.live()
    point = history.meter.points[-1]
    rows = page(summary, [point]).replace("\n", "")
    for count, unit in ((point.configured, "machines"), (point.asked, "units"), (point.actions, "actions")):
        assert f'<td class="n">{count:,} {unit}</td>' in rows
    assert f'<td class="n">${point.cost // 10_000 / 100:,.2f}'.rstrip("0").rstrip(".") in rows


@pytest.mark.slow
def test_a_history_is_shown_as_one_object_and_several_as_a_list(run: Run, tmp_path: Path) -> None:
    words = ("simulate", "fleet", "--hours", "0.1", "--machines", "60", "--clusters", "2", "--faults", "some")
    answer = run(*words, "--seed", "4", "--html", tmp_path / "page.html", "-o", "json")
    assert (answer.code, answer.err) == (0, "")
    summary = json.loads(answer.out)
    assert len(summary["digest"]) == 64
    assert {"bind_p50_s", "bind_p99_s", "cost_per_hour", "churn", "shortfall_minutes", "faults"} <= set(
        summary
    )
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("data-chart=") == 4
    both = json.loads(run(*words, "--seed", "3", "--seeds", "2", "-o", "json").out)
    assert [one["seed"] for one in both] == [3, 4]
    assert both[1]["digest"] == summary["digest"]
    assert run("simulate", "fleet", "--machines", "3").code == 2


def gives_everything_back(
    fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int
) -> tuple[Plan, Memory]:
    del demand, policy, now
    rows = np.flatnonzero(fleet.state == states.IDLE)
    nobody = np.full(len(rows), -1, np.int32)
    block = Block(Op.RELEASE, "fleet.released", rows, nobody, nobody, {}, np.zeros(len(rows), np.int64))
    return Plan((block,)), memory


def test_a_broken_rule_ends_with_one_and_the_command_that_shows_it_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Session(Jobs(()))
    request = Request(5, 60, 2, 0.1, "none")
    with pytest.raises(click.exceptions.Exit) as ended:
        live_through_fleets(session, [request], None, gives_everything_back)
    assert ended.value.exit_code == 1
    answer = capsys.readouterr().err
    assert "seed 5, step " in answer
    assert (
        "to see it again: remuda simulate fleet --seed 5 --machines 60 --clusters 2 --hours 0.1 --faults none"
        in answer
    )


def test_an_engine_that_fails_is_reported_like_a_broken_rule() -> None:
    def fails(*_: object) -> tuple[Plan, Memory]:
        raise ZeroDivisionError("the engine is wrong")

    with pytest.raises(
        InvariantError, match=r"^seed 5, step \d+ at 0s: nothing fails: ZeroDivisionError: the engine"
    ):
        simulate(Request(5, 60, 2, 0.1, "none"), fails)
