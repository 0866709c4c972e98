"""The composition root: what it holds, lets go of, and refuses, without a process of its own."""

import asyncio
import json
import random
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.processes import pool

from remuda.app import App, Options
from remuda.assembly import read_objects
from remuda.datadir import DataDir
from remuda.dryrun import dry_run
from remuda.errors import BadInput
from remuda.jobs import JOBS
from remuda.ledger.store import FILE
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.pools.policy import EXACT_SOURCES, compile_objects


class Rig:
    """An app whose pool wants no machine, so that nothing is started."""

    def __init__(self, home: Path, **options: Any) -> None:
        self.file = home / "pools.yaml"
        self.data = home / "d"
        self.lines: list[str] = []
        if not self.file.exists():
            self.file.write_text(json.dumps(pool(min=0, max=1)))
        self.options = Options(
            files=(str(self.file),), data_dir=self.data, **{"health_port": 0, "live_port": 0, **options}
        )

    def app(self) -> App:
        clock = SystemClock()
        return App(self.options, clock, random.Random(1), Log(clock, self.lines.append))

    def logged(self, message: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.lines) if line["msg"] == message]


async def stopped_soon(app: App) -> None:
    """Run the app until it is ready, then stop it."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(app.run(stop))
        async with asyncio.timeout(60):
            while not app.readiness().ok and not task.done():  # noqa: ASYNC110 - as a probe does
                await asyncio.sleep(0.01)
        stop.set()


async def test_it_runs_stops_and_lets_go_of_everything(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    for _ in range(2):
        await stopped_soon(rig.app())
    assert (
        len(rig.logged("remuda is up"))
        == len(rig.logged("remuda is down; machines that run wait for the next start"))
        == 2
    )
    assert not (rig.data / "control.sock").exists()
    assert not (rig.data / "ports.json").exists()
    DataDir(rig.data).release()


def test_files_with_problems_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.file.write_text(json.dumps(pool(min=2, max=1)))
    with pytest.raises(BadInput, match="min 2 is more than max 1"):
        rig.app()
    assert not rig.data.exists()


def test_a_broken_store_lets_go_of_the_data_directory(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.data.mkdir()
    (rig.data / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(BadInput, match="is damaged"):
        rig.app()
    DataDir(rig.data).release()


async def test_a_port_in_use_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        rig = Rig(tmp_path, live_port=taken.getsockname()[1])
        with pytest.raises(BadInput, match="cannot be used"):
            await rig.app().run(asyncio.Event())
    assert not (rig.data / "control.sock").exists()
    assert not (rig.data / "machines").exists()
    DataDir(rig.data).release()


async def test_a_reload_is_all_or_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    app = rig.app()
    before = app.loops[0].policy
    rig.file.write_text(json.dumps(pool(min=0, max=5)) + "\n---\n" + json.dumps(pool("other", mni=1)))
    assert await app.reload() is False
    assert app.loops[0].policy == before
    assert "did you mean min?" in app.readiness().details["refused_reload"]
    assert rig.logged("reload refused; the old configuration stays")[0]["problems"]

    rig.file.write_text(json.dumps(pool(min=0, max=5)))
    assert await app.reload() is True
    assert app.loops[0].policy.pools["shell"].bounds.max == 5
    assert "refused_reload" not in app.readiness().details
    app.close()


async def test_a_dry_run_makes_a_plan_and_nothing_else(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.file.write_text(json.dumps(pool(min=2, max=2)))
    clock = SystemClock()
    plan, problems = await dry_run(rig.options, JOBS, clock, random.Random(1), Log(clock, rig.lines.append))
    assert problems == ()
    assert [action.reason.code for action in plan.actions] == ["machine.wanted"] * 2
    assert not rig.data.exists()


def test_pools_of_vms_are_not_run_from_files(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.file.write_text((Path(__file__).parents[1] / "examples" / "circleci.yaml").read_text())
    with pytest.raises(BadInput, match="linux, nix; kubectl apply them and start `remuda up --cluster`"):
        rig.app()
    DataDir(rig.data).release()


def test_all_problems_of_all_files_come_as_lines_of_one_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(pool(mni=1, max="x")))
    with pytest.raises(BadInput) as refused:
        read_objects(JOBS, (str(tmp_path), str(tmp_path / "nope.yaml")))
    assert len(str(refused.value).splitlines()) == 3


def test_the_example_is_right() -> None:
    objects = read_objects(JOBS, (str(Path(__file__).parents[1] / "examples" / "laptop.yaml"),))
    setup = compile_objects(objects, EXACT_SOURCES)
    assert setup.policy.ceilings == {"laptop": 8}
    assert sorted(setup.pools) == ["quick", "shell"]
