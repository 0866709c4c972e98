"""
Plays CircleCI's agents in the guests of a namespace: a VM that runs registers, claims a task, works and powers off.

Tasks are claimed by agents themselves, whenever there are any, as in real life: nothing is asked of Remuda.
"""

import contextlib
import threading
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from tests.kubevirt.guests import Guests
from tests.kubevirt.machines import Machines
from tests.sources.circleci.loopback import Circle, agent


class Agents:
    """Every VM is `<pool>-…`; `classes` tells the class of each pool. Started tasks end when a test says so."""

    def __init__(self, circle: Circle, guests: Guests, machines: Machines, classes: dict[str, str]) -> None:
        self.circle, self.guests, self.machines, self.classes = circle, guests, machines, classes
        #: uid of the instance → (name, class, the agent as CircleCI lists it)
        self.known: dict[str, tuple[str, str, dict[str, Any]]] = {}
        #: VMs that never register
        self.mute: set[str] = set()
        #: jobs that were running in a VM that went away without powering off
        self.killed: list[str] = []
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
        """Hand in tasks."""
        with self._lock:
            self.circle.tasks(job_class).unclaimed += count

    def busy(self) -> set[str]:
        """VMs with a task."""
        with self._lock:
            return {name for name, _, each in self.known.values() if each["last_used"]}

    def finish(self, *names: str) -> None:
        """Let tasks end well; their VMs power off."""
        for name in names:
            with self._lock:
                for uid, (known, job_class, each) in list(self.known.items()):
                    if known == name and each["last_used"]:
                        self.circle.tasks(job_class).running -= 1
                        self.known.pop(uid)
            self.guests.power_off(name)

    def _run(self) -> None:
        while not self._end.wait(0.05):
            with contextlib.suppress(OSError):
                self._step()

    def _step(self) -> None:
        running = {
            one["metadata"]["uid"]: one["metadata"]["name"]
            for one in self.machines.instances()
            if one.get("status", {}).get("phase") == "Running"
        }
        with self._lock:
            for uid, name in running.items():
                pool = name.rpartition("-")[0]
                if uid not in self.known and pool in self.classes and name not in self.mute:
                    job_class = self.classes[pool]
                    # CircleCI's clock; VMs are made a moment before they register.
                    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                    listed = agent(name, job_class, first_connected=now)
                    self.known[uid] = name, job_class, listed
                    self.circle.tasks(job_class).agents.append(listed)
            for uid, (name, job_class, listed) in list(self.known.items()):
                tasks = self.circle.tasks(job_class)
                if uid not in running:
                    if listed["last_used"]:
                        tasks.running -= 1
                        self.killed.append(name)
                    self.known.pop(uid)  # CircleCI lists it for hours yet
                elif tasks.unclaimed and not listed["last_used"]:
                    tasks.unclaimed -= 1
                    tasks.running += 1
                    listed["last_used"] = datetime.now(UTC).isoformat(timespec="milliseconds")


def wait_until(look: Any, what: str, deadline_s: float = 120.0) -> None:
    """Return when `look` is true."""
    until = time.monotonic() + deadline_s
    while not look():
        if time.monotonic() > until:
            raise AssertionError(f"not within {deadline_s:g} s: {what}")
        time.sleep(0.05)
