"""
Plays what runs on the nodes of a KubeVirt cluster: scheduler and kubelet for launcher pods, virt-handler for guests.

By default every guest boots at once, and shuts down at once when its instance or its launcher is deleted. A test
scripts what should go otherwise, by name and also while guests are there. Each step looks at pod, instance and script
alone, so the API server may be restarted and objects may vanish at any time.
"""

import asyncio
import contextlib
import fnmatch
import json
import selectors
import ssl
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Self

import aiohttp
from tests.kubevirt.installation import NODE
from tests.servers.cluster import Cluster

START_S = 60.0
AGAIN_S = 0.1  # after a conflict or a request that got no answer
CONNECTIONS = 32
CLOSE_S = 5.0
GRACE_S = 30.0  # of an instance that does not say, as virt-handler has it
STATUS_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"
FINAL = ("Succeeded", "Failed")
#: somebody was faster, or the server is being restarted: look again
PASSING = (404, 409, 429, 500, 503)

Object = dict[str, Any]


class Boot(Enum):
    """How far a guest comes."""

    RUNS = "Running"
    UNSCHEDULABLE = "no node takes its launcher"
    ERR_IMAGE_PULL = "ErrImagePull"
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
    HANGS = "Scheduled for ever"
    CRASHES = "Failed before it ran"


@dataclass(frozen=True, slots=True)
class Script:
    """What guests do, and how many seconds they take for it."""

    boot: Boot = Boot.RUNS
    pull_s: float = 0.0
    boot_s: float = 0.0
    #: From its deletion to its end; None is a guest that is busy: it ends by `power_off`, or is killed after its grace.
    shutdown_s: float | None = 0.0


class Guests:
    """
    The guests of one namespace, played by a thread from `__enter__` to `__exit__`.

    Leaving raises what went wrong in the thread. All methods may be called from any thread.
    """

    def __init__(self, cluster: Cluster, namespace: str, default: Script | None = None) -> None:
        self._cluster = cluster
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._vmis_path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances"
        self._scripts: list[tuple[str, Script]] = [("*", default or Script())]
        #: the phase in which an instance shall end, by its uid
        self._ends: dict[str, str] = {}
        #: uids of instances that are at work
        self._at_work: set[str] = set()
        self._pods: dict[str, Object] = {}
        self._vmis: dict[str, Object] = {}
        #: when a stage of a uid was first seen, for the seconds of a script
        self._since: dict[tuple[str, str], float] = {}
        #: what was last said of a pod, by its uid
        self._said: dict[str, str] = {}
        self._playing: set[str] = set()
        self._again: set[str] = set()
        self._lists = threading.Semaphore(0)
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run_loop, name="guests", daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + START_S
        for _ in range(2):  # pods and instances
            while not self._lists.acquire(timeout=0.1):
                if not self._thread.is_alive() or time.monotonic() > deadline:
                    self._stop()
                    raise TimeoutError("guests cannot list pods and instances") from self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if self._failure is not None:
            raise self._failure

    def instances(self) -> list[Object]:
        """Every instance as it was last heard of."""
        return list(self._vmis.values())

    def script(self, pattern: str, script: Script) -> None:
        """Let guests whose names match the shell pattern do this from now on; the last script that matches holds."""
        self._scripts.append((pattern, script))
        self._loop.call_soon_threadsafe(self._wake_all)

    def work(self, uid: str) -> None:
        """Let an instance end by `power_off` alone from now on, or be killed after its grace, whatever its script says."""
        self._at_work.add(uid)

    def power_off(self, name: str) -> None:
        """Let a guest end well (Succeeded), from inside, deleted or not; one that does not run yet runs first."""
        self._end(name, "Succeeded")

    def crash(self, name: str) -> None:
        """Let a guest end badly (Failed), whether it runs or is about to."""
        self._end(name, "Failed")

    def _end(self, name: str, phase: str) -> None:
        answer = self._cluster.request("GET", f"{self._vmis_path}/{name}")
        if answer.status != 200:
            raise LookupError(f"there is no guest {name}: {answer.text}")
        self._ends[answer.json()["metadata"]["uid"]] = phase
        self._loop.call_soon_threadsafe(self._wake, name)

    def _stop(self) -> None:
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it ended by itself meanwhile
                self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(self._selector)) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.create_task(self._play_all())
        try:
            await self._main
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - told in the test's thread
            self._failure = error
        await self._close()

    async def _close(self) -> None:
        """Wait until nothing but the loop's own socket is open: TLS says goodbye after a session was closed."""
        deadline = self._loop.time() + CLOSE_S
        while len(self._selector.get_map()) > 1 and self._loop.time() < deadline:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)

    async def _play_all(self) -> None:
        trust = ssl.create_default_context(cafile=str(self._cluster.ca))
        headers = {"Authorization": f"Bearer {self._cluster.token()}"}
        connector = aiohttp.TCPConnector(ssl=trust, limit=CONNECTIONS)
        async with (
            aiohttp.ClientSession(self._cluster.url, headers=headers, connector=connector) as session,
            asyncio.TaskGroup() as tasks,
        ):
            self._session, self._tasks = session, tasks
            launchers = {"labelSelector": "kubevirt.io=virt-launcher"}
            tasks.create_task(self._follow(self._pods_path, launchers, self._pods))
            tasks.create_task(self._follow(self._vmis_path, {}, self._vmis))

    # What is there

    async def _follow(self, path: str, query: dict[str, str], kept: dict[str, Object]) -> None:
        is_first = True
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
                async with self._session.get(path, params=query) as answer:
                    answer.raise_for_status()
                    listed = await answer.json()
                found = {one["metadata"]["name"]: one for one in listed["items"] or ()}
                for gone in kept.keys() - found.keys():  # never empty in between: another thread may look
                    del kept[gone]
                kept.update(found)
                self._wake_all()
                if is_first:
                    self._lists.release()
                    is_first = False
                version = listed["metadata"]["resourceVersion"]
                async with self._session.get(
                    path,
                    params={**query, "watch": "1", "resourceVersion": version},
                    timeout=aiohttp.ClientTimeout(total=None),
                ) as answer:
                    answer.raise_for_status()
                    async for event in _events(answer):
                        if event["type"] == "ERROR":
                            break
                        self._keep(kept, event["object"], is_gone=event["type"] == "DELETED")
            await asyncio.sleep(AGAIN_S)

    def _keep(self, kept: dict[str, Object], one: Object, *, is_gone: bool = False) -> None:
        meta = one["metadata"]
        known = kept.get(meta["name"])
        if known is not None and int(known["metadata"]["resourceVersion"]) > int(meta["resourceVersion"]):
            return  # an answer overtook the watch
        if is_gone:
            kept.pop(meta["name"], None)
        else:
            kept[meta["name"]] = one
        self._wake(_guest_of(one))

    def _script_of(self, name: str) -> Script:
        return next(script for pattern, script in reversed(self._scripts) if fnmatch.fnmatch(name, pattern))

    # What happens next

    def _wake_all(self) -> None:
        for name in {*self._vmis, *(_guest_of(pod) for pod in self._pods.values())}:
            self._wake(name)

    def _wake(self, name: str) -> None:
        if self._main.cancelling():
            return
        if name in self._playing:
            self._again.add(name)
        else:
            self._playing.add(name)
            self._tasks.create_task(self._play(name))

    async def _play(self, name: str) -> None:
        """Do one step after another for a guest until there is none, and come back when one is due."""
        while True:
            self._again.discard(name)
            try:
                pause = await self._step(name)
            except aiohttp.ClientResponseError as error:
                if error.status not in PASSING:
                    raise
                pause = AGAIN_S
            except (aiohttp.ClientError, TimeoutError):
                pause = AGAIN_S
            if pause is not None and pause > 0:
                self._loop.call_later(pause, self._wake, name)
            if pause != 0 and name not in self._again:
                break
        self._playing.discard(name)

    async def _step(self, name: str) -> float | None:
        """Do what is next for a guest. Returns when to look again: 0 at once, None when something changes."""
        vmi = self._vmis.get(name)
        uid = vmi["metadata"]["uid"] if vmi else ""
        pods = [pod for pod in self._pods.values() if _guest_of(pod) == name]
        own = next((pod for pod in pods if _launched_for(pod) == uid), None)
        for pod in pods:
            if pod is not own and _is_deleted(pod):
                return await self._remove(pod)
        if own is None or vmi is None:
            return None
        phase = vmi.get("status", {}).get("phase", "")
        if phase in ("Scheduled", "Running"):
            return await self._live(name, vmi, is_told_to_end=_is_deleted(vmi) or _is_deleted(own))
        if phase in FINAL and own["status"]["phase"] not in FINAL:
            return await self._say(own, phase, _ended(own, phase))
        if _is_deleted(own):
            return await self._remove(own)
        if phase in FINAL:
            return None
        return await self._launch(name, own)

    async def _launch(self, name: str, pod: Object) -> float | None:
        """Schedule a launcher, pull its images, start its containers; virt-controller then says Scheduled."""
        script = self._script_of(name)
        if "nodeName" not in pod["spec"]:
            if script.boot is not Boot.UNSCHEDULABLE:
                return await self._bind(pod)
            return await self._say(pod, "Unschedulable", _unschedulable())
        if pod["status"].get("phase") != "Pending":
            return None
        if script.boot in (Boot.ERR_IMAGE_PULL, Boot.IMAGE_PULL_BACK_OFF):
            return await self._say(pod, script.boot.value, _not_pulled(pod, script.boot.value))
        left = self._left(pod["metadata"]["uid"], "pull", script.pull_s)
        return left or await self._say(pod, "Running", _started(pod))

    async def _live(self, name: str, vmi: Object, *, is_told_to_end: bool) -> float | None:
        """What virt-handler does for an instance that is its own: Scheduled or Running."""
        script, uid, phase = self._script_of(name), vmi["metadata"]["uid"], vmi["status"]["phase"]
        end = self._ends.get(uid)
        if phase == "Running":
            if end is not None or not is_told_to_end:
                return await self._patch_phase(vmi, end) if end else None
            grace = float(vmi["spec"].get("terminationGracePeriodSeconds", GRACE_S))
            shutdown_s = None if uid in self._at_work else script.shutdown_s
            takes = grace if shutdown_s is None else shutdown_s
            left = self._left(uid, "shutdown", min(takes, grace))
            is_killed = shutdown_s is None or takes > grace
            return left or await self._patch_phase(vmi, "Failed" if is_killed else "Succeeded")
        if is_told_to_end or end == "Failed" or script.boot is Boot.CRASHES:
            return await self._patch_phase(vmi, "Failed")
        if end is None and script.boot is not Boot.RUNS:
            return None
        left = None if end else self._left(uid, "boot", script.boot_s)
        return left or await self._patch_phase(vmi, "Running")

    def _left(self, uid: str, stage: str, seconds: float) -> float | None:
        """How long a stage that takes so many seconds still lasts; None when it is over."""
        now = self._loop.time()
        left = self._since.setdefault((uid, stage), now) + seconds - now
        return left if left > 0 else None

    # Requests; each that changed something returns 0, to look again at once

    async def _bind(self, pod: Object) -> float | None:
        body = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": NODE}}
        await self._ask("POST", f"{self._pods_path}/{pod['metadata']['name']}/binding", body)
        return None  # the pod comes by the watch

    async def _say(self, pod: Object, what: str, status: Object) -> float | None:
        uid, path = pod["metadata"]["uid"], f"{self._pods_path}/{pod['metadata']['name']}/status"
        if self._said.get(uid) == what:
            return None
        body = {"metadata": {"uid": uid}, "status": status}
        self._keep(self._pods, await self._ask("PATCH", path, body, STATUS_PATCH))
        self._said[uid] = what
        return 0.0

    async def _patch_phase(self, vmi: Object, phase: str) -> float | None:
        status, meta = vmi["status"], vmi["metadata"]
        passed = [*status.get("phaseTransitionTimestamps", ()), _moment(phase)]
        body = {
            "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
            "status": {"phase": phase, "phaseTransitionTimestamps": passed},
        }
        self._keep(
            self._vmis, await self._ask("PATCH", f"{self._vmis_path}/{meta['name']}", body, MERGE_PATCH)
        )
        return 0.0

    async def _remove(self, pod: Object) -> float | None:
        """What a kubelet does in the end with a pod that was deleted."""
        meta = pod["metadata"]
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        await self._ask("DELETE", f"{self._pods_path}/{meta['name']}", body)
        return None

    async def _ask(self, method: str, path: str, body: Object, content: str = "application/json") -> Object:
        headers = {"Content-Type": content}
        async with self._session.request(method, path, data=json.dumps(body), headers=headers) as answer:
            if answer.status >= 400 and answer.status not in PASSING:
                raise AssertionError(f"{method} {path}: {answer.status} {await answer.text()}")
            answer.raise_for_status()
            answered: Object = await answer.json()
            return answered


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[Object]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _guest_of(one: Object) -> str:
    """The guest's name, of an instance or its launcher."""
    meta = one["metadata"]
    if _launched_for(one) is None:
        return str(meta["name"])
    return str(next(owner["name"] for owner in meta["ownerReferences"] if owner.get("controller")))


def _launched_for(one: Object) -> str | None:
    uid: str | None = one["metadata"].get("labels", {}).get("kubevirt.io/created-by")
    return uid


def _is_deleted(one: Object) -> bool:
    return "deletionTimestamp" in one["metadata"]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _moment(phase: str) -> Object:
    return {"phase": phase, "phaseTransitionTimestamp": _now()}


def _unschedulable() -> Object:
    words = {"reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient memory."}
    return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", **words}]}


def _not_pulled(pod: Object, reason: str) -> Object:
    waiting = {"reason": reason, "message": "the registry says no"}
    return {"phase": "Pending", "containerStatuses": _containers(pod, "waiting", waiting)}


def _started(pod: Object) -> Object:
    is_so = [{"type": name, "status": "True"} for name in ("Initialized", "ContainersReady", "Ready")]
    containers = _containers(pod, "running", {"startedAt": _now()})
    return {"phase": "Running", "conditions": is_so, "containerStatuses": containers}


def _ended(pod: Object, phase: str) -> Object:
    conditions = [{"type": name, "status": "False"} for name in ("ContainersReady", "Ready")]
    terminated = {"exitCode": int(phase == "Failed"), "finishedAt": _now()}
    return {
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": _containers(pod, "terminated", terminated),
    }


def _containers(pod: Object, state: str, words: Object) -> list[Object]:
    is_up = state == "running"
    none = {other: None for other in ("waiting", "running", "terminated") if other != state}
    return [
        {
            "name": one["name"],
            "image": one["image"],
            "imageID": "",
            "ready": is_up,
            "started": is_up,
            "restartCount": 0,
            "state": {state: words, **none},
        }
        for one in pod["spec"]["containers"]
    ]
