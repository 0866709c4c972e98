"""
Plays CircleCI's agents in the guests of a namespace: a VM that runs registers, claims a task, works and powers off.

Tasks are claimed by agents themselves, whenever there are any, as in real life: nothing is asked of Remuda. An agent
whose VM is told to end claims nothing any more, and ends its task first.
"""

import contextlib
import threading
import time
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from types import TracebackType
from typing import Any, Self

from tests.kubevirt.guests import Guests
from tests.sources.circleci.loopback import Circle, agent


class Agents:
    """Every VM is `<pool>-…`; `classes` tells the class of each pool. Started tasks end when a test says so."""

    def __init__(self, circle: Circle, guests: Guests, classes: dict[str, str]) -> None:
        self.circle, self.guests, self.classes = circle, guests, classes
        #: uid of the instance → (name, class, the agent as CircleCI lists it)
        self.known: dict[str, tuple[str, str, dict[str, Any]]] = {}
        #: no VM registers
        self.is_mute = False
        #: nobody claims a task
        self.is_lazy = False
        #: by how many seconds CircleCI's clock is behind ours
        self.behind_s = 0.0
        #: agents add the boot of their VM to its name; without it names are used again
        self.names_boots = True
        #: VMs whose task ended because they went away
        self.killed: list[str] = []
        #: the most VMs that ran at once
        self.peak = 0
        self._done: set[str] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="agents", daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(30)

    def submit(self, job_class: str, count: int = 1) -> None:
        """Hand in tasks; a negative count cancels some that nobody claimed."""
        with self._lock:
            tasks = self.circle.tasks(job_class)
            tasks.unclaimed = max(0, tasks.unclaimed + count)

    def busy(self, pool: str = "") -> set[str]:
        """VMs with a task, of one pool or of all."""
        with self._lock:
            return {
                name
                for name, job_class, each in self.known.values()
                if each["last_used"] and job_class == self.classes.get(pool, job_class)
            }

    def finish(self, *names: str) -> None:
        """Let tasks end well; their VMs power off."""
        for name in names:
            with self._lock:
                for uid, (known, job_class, each) in list(self.known.items()):
                    if known == name and each["last_used"]:
                        self.circle.tasks(job_class).running -= 1
                        self.known.pop(uid)
                        self._done.add(uid)
            self.guests.power_off(name)

    def _run(self) -> None:
        while not self._end.wait(0.05):
            # The API server may be restarted, also while it answers.
            with contextlib.suppress(OSError, ValueError, KeyError, HTTPException):
                self._step()

    def _step(self) -> None:
        running = {
            one["metadata"]["uid"]: one
            for one in self.guests.instances()
            if one.get("status", {}).get("phase") == "Running"
        }
        self.peak = max(self.peak, len(running))
        with self._lock:
            for uid, one in running.items():
                name = one["metadata"]["name"]
                pool = name.rpartition("-")[0]
                if uid in self.known or uid in self._done or pool not in self.classes or self.is_mute:
                    continue
                job_class = self.classes[pool]
                called = f"{name}.{uid[:8]}" if self.names_boots else name
                listed = agent(called, job_class, hostname=name, first_connected=self._now())
                self.known[uid] = name, job_class, listed
                self.circle.tasks(job_class).agents.append(listed)
            for uid, (name, job_class, listed) in list(self.known.items()):
                tasks = self.circle.tasks(job_class)
                if uid not in running:
                    if listed["last_used"]:
                        tasks.running -= 1
                        self.killed.append(name)
                    self.known.pop(uid)  # CircleCI lists it for hours yet
                elif (
                    tasks.unclaimed
                    and not listed["last_used"]
                    and not self.is_lazy
                    and "deletionTimestamp" not in running[uid]["metadata"]
                ):
                    self.guests.work(uid)
                    tasks.unclaimed -= 1
                    tasks.running += 1
                    listed["last_used"] = self._now()
                if uid in self.known:
                    listed["last_connected"] = self._now()

    def _now(self) -> str:
        """CircleCI's clock; VMs are made a moment before they register."""
        now = datetime.now(UTC) - timedelta(seconds=self.behind_s)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wait_until(look: Any, what: str, deadline_s: float = 120.0) -> None:
    """Return when `look` is true."""
    until = time.monotonic() + deadline_s
    while not look():
        if time.monotonic() > until:
            raise AssertionError(f"not within {deadline_s:g} s: {what}")
        time.sleep(0.05)
