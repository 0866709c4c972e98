"""What a store has of a fleet, for pages: read once, gone on with, and never taken for that of another store."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.conftest import Run, run
from tests.fleet.builders import NOW, need
from tests.fleet.counting import check
from tests.fleet.test_shard import Process

from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound, RemudaError, Unavailable
from remuda.fleet import states
from remuda.fleet.answers import Chosen, Moment, NothingRecorded
from remuda.fleet.history.latest import Situations, find_cycle
from remuda.fleet.history.packing import pack_record, unpack_record
from remuda.fleet.history.replay import cycle_at
from remuda.fleet.routes import VIEWS, fleet_view, need_view, plan_number, plans_view
from remuda.fleet.show.overview import overview
from remuda.jobs import JOBS
from remuda.ledger.documents import keep
from remuda.ledger.place import reading
from remuda.ledger.schema import is_behind
from remuda.ledger.store import FILE, InlineStore
from remuda.model.times import SECOND

__all__ = ["run"]
JOBS.teach()
FILES = ("--inventory", "examples/fleet-inventory.yaml", "--demand", "examples/fleet-demand.yaml")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, need("web", 1), need("db", 3))
    yield made
    made.store.close()


def seen(process: Process, at: int = 2**62, **chosen: str) -> Any:
    query = {**chosen, "at": str(at)} if at < 2**62 else chosen
    return process.store.read(lambda db: fleet_view(db, Call({}, query)))


async def change(process: Process, cycle: int) -> None:
    """Something that shows: a machine more, or one that failed."""
    process.provider.machines[f"m{cycle + 10}"] = states.IDLE if cycle % 2 else states.FAILED
    await process.cycle()


async def test_each_cycle_is_counted_as_it_was_recorded_and_goes_on_from_the_one_before(
    process: Process,
) -> None:
    followed = Situations()
    await process.cycle()
    for cycle in range(5):
        await change(process, cycle)
        with reading(process.store.path) as db:
            found = find_cycle(db)
            assert found is not None
            recorded = cycle_at(db, process.clock.at)
            assert recorded is not None
            for known in (followed, Situations()):
                shown = overview(known.of(db, found), Chosen(), Moment(0, 0))
                check(shown, recorded.fleet, recorded.demand, recorded.plan, Chosen())


async def test_a_cycle_that_lasts_is_not_counted_again(process: Process) -> None:
    known = Situations()
    for _ in range(3):
        await process.cycle()
    counted = set()
    for _ in range(3):
        await process.cycle()
        found = process.store.read(find_cycle)
        assert found is not None
        counted.add(id(process.store.read(lambda db, found=found: known.of(db, found))))  # type: ignore[misc]
    assert len(counted) == 1
    assert seen(process).moment.cycles > 1


async def test_another_time_is_shown_without_losing_the_newest(process: Process) -> None:
    await process.cycle()
    for cycle in range(4):
        await change(process, cycle)
    now = seen(process)
    then = seen(process, NOW + 15 * SECOND)
    assert (then.machines, now.machines) == (3, 6)
    assert then.moment.at <= NOW + 15 * SECOND < now.moment.at
    assert seen(process) == now
    assert now.moment.since == NOW


async def test_two_stores_with_cycles_of_the_same_number_and_time_are_told_apart(tmp_path: Path) -> None:
    shown = []
    for name, count in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        made = Process(tmp_path / name, need("web", count))
        await made.cycle()
        shown.append(seen(made).moment.at)
        assert sum(seen(made).actions.values()) == count
        made.store.close()
    assert shown[0] == shown[1]


async def test_a_checkpoint_that_is_gone_says_so(process: Process) -> None:
    await process.cycle()
    await change(process, 1)
    await process.store.write(
        lambda db: db.execute("DELETE FROM cycles WHERE id = (SELECT min(id) FROM cycles)")
    )
    with pytest.raises(NotFound, match="its checkpoint is no longer kept; ask for a later time"):
        seen(process)


@pytest.mark.parametrize("column", ["snapshot", "plan"])
async def test_a_damaged_record_is_named_and_a_whole_one_is_shown_again(
    process: Process, column: str
) -> None:
    await process.cycle()
    await process.store.write(
        lambda db: db.execute(f"UPDATE cycles SET {column} = substr({column}, 1, length({column}) / 3)")
    )
    with pytest.raises(BadInput, match=rf"the {column} of cycle 1 cannot be read"):
        seen(process)
    with pytest.raises(BadInput, match=rf"the {column} of cycle 1 cannot be read"):
        process.store.read(lambda db: need_view(db, Call({"need": "c/web"}, {})))


async def test_a_record_whose_columns_do_not_fit_each_other_is_damaged(process: Process) -> None:
    await process.cycle()

    def spoil(db: Any) -> None:
        (data,) = db.execute("SELECT snapshot FROM cycles").fetchone()
        record = unpack_record(data, "it")
        short = msgspec.structs.replace(record, columns={**record.columns, "kind": b"\0\0\0\0"})
        db.execute("UPDATE cycles SET snapshot = ?", (pack_record(short),))

    await process.store.write(spoil)
    with pytest.raises(
        BadInput, match="the snapshot of cycle 1 cannot be read: 1 values of kind for 2 machines"
    ):
        seen(process)


def test_where_nothing_is_recorded_it_says_what_to_do() -> None:
    store = InlineStore()
    for view in (fleet_view, need_view):
        with pytest.raises(NothingRecorded, match=r"nothing is recorded of a fleet.*fleet plan --keep"):
            store.read(lambda db, view=view: view(db, Call({"need": "a/b"}, {})))  # type: ignore[misc]
    assert store.read(lambda db: plans_view(db, Call({}, {}))) == []


async def test_why_need_says_the_same_on_the_page_and_in_the_terminal(tmp_path: Path, run: Run) -> None:
    made = Process(tmp_path, need("web", 1), need("db", 3))
    await made.cycle()
    answer = made.store.read(lambda db: need_view(db, Call({"need": "c/db"}, {})))
    again = made.store.read(lambda db: need_view(db, Call({"need": "c/db"}, {})))
    assert again is answer, "a page that is watched asks again and again, and deciding anew takes long"
    with pytest.raises(NotFound, match=r'nobody asks for "c/bd".*did you mean c/db\?'):
        made.store.read(lambda db: need_view(db, Call({"need": "c/bd"}, {})))
    made.store.close()
    ran = await asyncio.to_thread(run, "why", "need", "c/db", "--data-dir", tmp_path, "-o", "json")
    printed = msgspec.json.decode(ran.out)
    assert printed["headline"] == answer.headline
    assert printed["steps"] == list(msgspec.to_builtins(answer.steps))


def test_a_plan_that_is_kept_is_shown_explained_and_known_by_name(tmp_path: Path, run: Run) -> None:
    plan = run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path, "-o", "json")
    assert plan.code == 1, plan.err
    told = msgspec.json.decode(plan.out)
    with reading(tmp_path / FILE) as db:
        (item,) = plans_view(db, Call({}, {}))
        assert item.kind == "fleet-plan/examples/fleet-inventory.yaml, examples/fleet-demand.yaml"
        shown = fleet_view(db, Call({}, {}))
        assert shown == fleet_view(db, Call({}, {"plan": str(item.id)}))
    assert (shown.machines, shown.moment.plan, shown.moment.at) == (told["machines"], item.id, told["at"])
    assert (shown.spending.now, shown.spending.after) == (told["cost_before"], told["cost_after"])
    assert shown.actions == told["counts"]
    assert [f"{each['cluster']}/{each['need']}" for each in told["shortfalls"]] == [
        each.name for each in shown.unmet_needs
    ]
    from_files = run("why", "need", "ci/nightly", *FILES, "-o", "json")
    from_plan = run("why", "need", "ci/nightly", "--data-dir", tmp_path, "-o", "json")
    assert msgspec.json.decode(from_plan.out)["steps"] == msgspec.json.decode(from_files.out)["steps"]
    assert run("why", "ci/nightly", "--data-dir", tmp_path).out.startswith("ci/nightly misses 4 of 8 units")


def test_what_is_not_kept_is_not_there(tmp_path: Path, run: Run) -> None:
    run("fleet", "plan", *FILES, "--data-dir", tmp_path)
    assert not (tmp_path / FILE).exists()
    ran = run("why", "need", "a/b", "--data-dir", tmp_path)
    assert (ran.code, "no plan is kept" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"plan": "x"}, BadInput, "plan wants the number of a plan that is kept, found 'x'"),
        ({"plan": "99"}, NotFound, "no plan 99 is kept.*there is: 1"),
        ({"at": "soon"}, BadInput, "at wants milliseconds since 1970"),
        ({"at": "5"}, NotFound, "nothing by then is recorded of a fleet"),
        ({"zone": "eu-1c"}, NotFound, "did you mean eu-1[ab]?"),
    ],
)
def test_a_wrong_question_is_answered_with_a_right_one(
    tmp_path: Path, run: Run, query: dict[str, str], error: type[RemudaError], message: str
) -> None:
    run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    with reading(tmp_path / FILE) as db, pytest.raises(error, match=message):
        fleet_view(db, Call({}, query))


def test_a_kept_plan_of_a_newer_version_or_a_damaged_one_says_so(tmp_path: Path, run: Run) -> None:
    run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    newer = {"schema": "remuda.dev/fleet-plan/v9", "at": 5, "snapshot": b"", "plan": b"", "policy": b""}
    keep(tmp_path, "fleet-plan/newer", 2**40 * 3, newer)
    keep(tmp_path, "fleet-plan/broken", 2**40 * 2, {**newer, "schema": "remuda.dev/fleet-plan/v1"})
    with reading(tmp_path / FILE) as db:
        numbers = {item.kind.partition("/")[2]: str(item.id) for item in plans_view(db, Call({}, {}))}
        for view in (fleet_view, need_view):
            with pytest.raises(
                Unavailable, match=r"fleet-plan/v9, and this remuda reads .*/v1: keep it again"
            ):
                view(db, Call({"need": "a/b"}, {"plan": numbers["newer"]}))
            with pytest.raises(
                BadInput, match=r"what was kept of fleet-plan/broken cannot be read.*keep it again"
            ):
                view(db, Call({"need": "a/b"}, {"plan": numbers["broken"]}))
    with closing(sqlite3.connect(tmp_path / FILE)) as raw, raw:
        raw.execute("UPDATE documents SET data = x'00' WHERE kind LIKE '%inventory%'")
    with reading(tmp_path / FILE) as db, pytest.raises(BadInput, match="cannot be read"):
        number = min(item.id for item in plans_view(db, Call({}, {})))
        fleet_view(db, Call({}, {"plan": str(number)}))


def test_a_plan_that_cannot_be_read_does_not_hide_the_one_before_it(tmp_path: Path, run: Run) -> None:
    run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    newer = {"schema": "remuda.dev/fleet-plan/v9", "at": 5, "snapshot": b"", "plan": b"", "policy": b""}
    keep(tmp_path, "fleet-plan/newer", 2**40 * 3, newer)
    with reading(tmp_path / FILE) as db:
        seen = fleet_view(db, Call({}, {}))
        assert seen.moment.plan == min(item.id for item in plans_view(db, Call({}, {})))
        assert "fleet-plan/newer is remuda.dev/fleet-plan/v9" in seen.moment.unread
        with pytest.raises(NotFound):
            need_view(db, Call({"need": "no/such"}, {}))
    with closing(sqlite3.connect(tmp_path / FILE)) as raw, raw:
        raw.execute("DELETE FROM documents WHERE kind NOT LIKE '%newer'")
    with reading(tmp_path / FILE) as db, pytest.raises(Unavailable, match="fleet-plan/v9"):
        fleet_view(db, Call({}, {}))


def test_every_route_reads_the_store_alone() -> None:
    assert all(route.view is not None and route.method == "GET" for route in VIEWS)
    assert plan_number({}) == 0


def test_what_a_simulated_shard_recorded_is_a_store_that_is_shown_explained_and_replayed(
    tmp_path: Path, run: Run
) -> None:
    lived = tmp_path / "lived"
    words = ("simulate", "fleet", "--machines", 60, "--clusters", 2, "--hours", "0.05", "--faults", "none")
    ran = run(*words, "--record", lived)
    assert ran.code == 0, ran.err
    assert (lived / FILE).stat().st_mode & 0o777 == 0o600
    with reading(lived / FILE) as db:
        shown = fleet_view(db, Call({}, {}))
    assert (shown.all_machines, shown.moment.plan) == (60, 0)
    with closing(sqlite3.connect(lived / FILE)) as raw:
        assert not is_behind(raw, JOBS.tables()), "it is read where it lies"
    replayed = run("replay", "--data-dir", lived, "--since", "2026-01-01T00:00:00Z")
    assert (replayed.code, "0 decided differently" in replayed.out) == (0, True), replayed.err
    again = run(*words, "--record", lived)
    assert (again.code, "holds a history already" in again.err) == (2, True)
    several = run(*words, "--seeds", 2, "--record", tmp_path / "two")
    assert (several.code, "--record keeps one history" in several.err) == (2, True)
    (tmp_path / "file").write_text("")
    blocked = run(*words, "--record", tmp_path / "file" / "below")
    assert (blocked.code, "cannot be written" in blocked.err) == (2, True)
