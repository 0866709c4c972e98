"""From the words of a file to the numbers of a decision, and what is refused on the way."""

from typing import Any

import msgspec
import pytest
import yaml
from tests.catalog import CHECKS, KINDS

from remuda.model.times import MINUTE, SECOND
from remuda.objects.load import Loaded, load_text
from remuda.pools.decide.model import Bounds, Hours, Policy, PoolPolicy
from remuda.pools.policy import INEXACT_WINDOW, PoolSetup, Setup, compile_objects
from remuda.rules.windows import Window

EXACT = frozenset({"queue"})
OFFICE = {"start": "0 8 * * MON-FRI", "end": "0 18 * * MON-FRI"}


def pool(name: str = "shell", /, **spec: object) -> dict[str, Any]:
    words = {"class": f"local/{name}", "source": {"queue": {}}, "provider": {"process": {}}, **spec}
    return _object("RunnerPool", name, words)


def ceiling(machines: int, *members: dict[str, object], name: str = "roof") -> dict[str, Any]:
    return _object("Ceiling", name, {"machines": machines, "members": list(members)})


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "remuda.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def loaded(*objects: dict[str, Any]) -> Loaded:
    return load_text(yaml.safe_dump_all(objects), "test.yaml", KINDS, CHECKS)


def compiled(*objects: dict[str, Any], exact: frozenset[str] = EXACT) -> Setup:
    found = loaded(*objects)
    assert not found.problems
    return compile_objects(found.objects, exact)


def problems(*objects: dict[str, Any]) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in loaded(*objects).problems]


def test_a_pool_that_says_little_gets_the_defaults() -> None:
    setup = compiled(pool())
    template = setup.pools["shell"].template
    assert setup == Setup(
        Policy(
            {
                "shell": PoolPolicy(
                    "shell", "local/shell", template, Bounds(3, 10), boot_timeout=10 * MINUTE, source="queue"
                )
            }
        ),
        {
            "shell": PoolSetup(
                name="shell",
                job_class="local/shell",
                source="queue",
                provider="process",
                template=template,
                settings={"limits": {}, "env": {}},
                idle_timeout=None,
                max_uses=1,
                job_timeout=6 * 60 * MINUTE,
            )
        },
    )


def test_a_pool_that_says_everything_is_heard() -> None:
    setup = compiled(
        pool(
            min=1,
            max=8,
            headroom="50%",
            maxSurge=2,
            scaleDownDelay="90s",
            schedules=[
                {**OFFICE, "timezone": "Europe/Berlin", "max": 20},
                {**OFFICE, "min": 2, "headroom": 3},
            ],
            scaleIn="natural",
            idleWindow="5s",
            idleTimeout="10m",
            singleTask=False,
            maxUses=7,
            bootTimeout="30s",
            jobTimeout="1h",
            ceiling="roof",
        ),
        ceiling(30, {"name": "shell", "guaranteed": 4, "priority": -3, "weight": 5}),
    )
    assert setup.policy == Policy(
        {
            "shell": PoolPolicy(
                name="shell",
                job_class="local/shell",
                template=setup.pools["shell"].template,
                bounds=Bounds(1, 8, 0, 50),
                hours=(
                    Hours(
                        Window("0 8 * * MON-FRI", "0 18 * * MON-FRI", "Europe/Berlin"), Bounds(1, 20, 0, 50)
                    ),
                    Hours(Window("0 8 * * MON-FRI", "0 18 * * MON-FRI", "UTC"), Bounds(2, 8, 3)),
                ),
                max_surge=2,
                scale_down_delay=90 * SECOND,
                natural=True,
                idle_window=5 * SECOND,
                boot_timeout=30 * SECOND,
                ceiling="roof",
                guaranteed=4,
                priority=-3,
                weight=5,
                source="queue",
                reused=True,
            )
        },
        {"roof": 30},
    )
    mine = setup.pools["shell"]
    assert (mine.idle_timeout, mine.max_uses, mine.job_timeout) == (10 * MINUTE, 7, 60 * MINUTE)


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [
        pytest.param({}, Bounds(3, 10), id="3 to 10 by default"),
        pytest.param({"max": 2}, Bounds(2, 2), id="the default minimum stays under the maximum"),
        pytest.param({"ceiling": "roof"}, Bounds(0, 10), id="no minimum by default under a ceiling"),
        pytest.param({"ceiling": "roof", "min": 2}, Bounds(2, 10), id="but one that is written holds"),
        pytest.param({"headroom": 2}, Bounds(3, 10, 2), id="headroom as a count"),
        pytest.param({"headroom": "20%"}, Bounds(3, 10, 0, 20), id="headroom as a part of the load"),
    ],
)
def test_bounds_have_defaults(spec: dict[str, object], bounds: Bounds) -> None:
    assert compiled(pool(**spec), ceiling(9)).policy.pools["shell"].bounds == bounds


@pytest.mark.parametrize(
    ("spec", "exact", "window"),
    [
        pytest.param({}, EXACT, 0, id="an exact source needs no second reading"),
        pytest.param({}, frozenset(), INEXACT_WINDOW, id="any other needs two a minute apart"),
        pytest.param({"idleWindow": "5s"}, frozenset(), 5 * SECOND, id="unless the pool says otherwise"),
        pytest.param({"idleWindow": "5s"}, EXACT, 5 * SECOND, id="also for an exact one"),
    ],
)
def test_the_idle_window_depends_on_the_source(
    spec: dict[str, object], exact: frozenset[str], window: int
) -> None:
    assert compiled(pool(**spec), exact=exact).policy.pools["shell"].idle_window == window


@pytest.mark.parametrize(
    ("spec", "uses"),
    [
        pytest.param({}, 1, id="once by default"),
        pytest.param({"singleTask": False}, None, id="for ever when reused"),
        pytest.param({"singleTask": False, "maxUses": 5}, 5, id="so many times when it says so"),
    ],
)
def test_machines_are_used_once_unless_the_pool_says_so(spec: dict[str, object], uses: int | None) -> None:
    assert compiled(pool(**spec)).pools["shell"].max_uses == uses


@pytest.mark.parametrize(
    ("spec", "is_same"),
    [
        pytest.param({"min": 1, "max": 4, "headroom": 2}, True, id="bounds are no part of it"),
        pytest.param(
            {"provider": {"process": {"limits": {}}}}, True, id="nor is a default that is written out"
        ),
        pytest.param({"provider": {"process": {"limits": {"memory": "1Gi"}}}}, False, id="limits are"),
        pytest.param({"provider": {"process": {"env": {"A": "b"}}}}, False, id="the environment is"),
        pytest.param({"idleTimeout": "1h"}, False, id="so is what the machine itself must know"),
    ],
)
def test_a_template_changes_only_with_what_is_in_a_machine(spec: dict[str, object], is_same: bool) -> None:
    before, after = (compiled(each).pools["shell"].template for each in (pool(), pool(**spec)))
    assert (before == after) == is_same


def test_a_template_does_not_depend_on_the_order_of_keys() -> None:
    one = pool(provider={"process": {"env": {"A": "1", "B": "2"}, "limits": {"cpu": "1", "memory": "1Gi"}}})
    other = pool(provider={"process": {"limits": {"memory": "1Gi", "cpu": "1"}, "env": {"B": "2", "A": "1"}}})
    assert compiled(one).pools["shell"].template == compiled(other).pools["shell"].template


def test_a_policy_can_be_stored_and_read_again() -> None:
    written = compiled(pool(schedules=[{**OFFICE, "min": 2}], ceiling="roof"), ceiling(9)).policy
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(written), type=Policy) == written


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"min": 5, "max": 4}, "spec.min: min 5 is more than max 4", id="min above max"),
        pytest.param({"source": {}}, "spec.source: wants exactly one of: queue, circleci", id="no source"),
        pytest.param(
            {"provider": {}}, "spec.provider: wants exactly one of: process, kubevirt", id="no provider"
        ),
        pytest.param(
            {"schedules": [{**OFFICE, "max": 2}]},
            "spec.schedules[0].max: while this window is open, min 3 is more than max 2",
            id="a window whose maximum is under the pool's minimum",
        ),
        pytest.param(
            {"schedules": [{**OFFICE, "min": 11}]},
            "spec.schedules[0].min: while this window is open, min 11 is more than max 10",
            id="a window whose minimum is above the pool's maximum",
        ),
        pytest.param(
            {"schedules": [OFFICE]},
            "spec.schedules[0]: changes nothing: give it min, max or headroom",
            id="a window without purpose",
        ),
        pytest.param(
            {"maxUses": 2},
            "spec.maxUses: is for reused machines only: set singleTask to false",
            id="uses of a machine that is used once",
        ),
        pytest.param(
            {"maxSurge": 0},
            "spec.maxSurge: wants at least 1 and at most 100000, found 0",
            id="no surge at all",
        ),
        pytest.param(
            {"idleTimeout": "1m", "scaleDownDelay": "2m"},
            "spec.idleTimeout: must be at least scaleDownDelay, or machines end while they are still wanted",
            id="machines that end before they may go",
        ),
        pytest.param({"bootTimeout": "999ms"}, "spec.bootTimeout: must be at least 1s", id="no time to boot"),
        pytest.param({"jobTimeout": "0"}, "spec.jobTimeout: must be at least 1s", id="no time to work"),
    ],
)
def test_a_pool_that_cannot_be_meant_is_refused(spec: dict[str, object], problem: str) -> None:
    assert problems(pool(**spec)) == [problem]


VM = {"domain": {"devices": {"disks": [{"name": "disk"}]}}, "volumes": [{"name": "disk"}]}
TOKEN = {"secret": "runner", "key": "token"}


def runner(name: str = "ci", kubevirt: object = None, /, **spec: object) -> dict[str, Any]:
    words = {
        "class": "my-org/ci",
        "source": {"circleci": {}},
        "provider": {"kubevirt": kubevirt or {"spec": VM, "token": TOKEN}},
    }
    return pool(name, **{**words, **spec})


def with_disk(*mounts: dict[str, str]) -> dict[str, Any]:
    spec = {
        "domain": {"devices": {"disks": [{"name": "disk", "serial": "d"}]}},
        "volumes": [{"name": "disk", "emptyDisk": {"capacity": "1Gi"}}],
    }
    return {"spec": spec, "token": TOKEN, "grantSudo": True, "emptyDiskMounts": list(mounts)}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param(runner(), None, id="as it should be"),
        pytest.param(
            runner("ci", {"provisioner": {"secret": "p", "key": "config.yaml"}}),
            None,
            id="a provisioner's Secret",
        ),
        pytest.param(
            runner(**{"class": "ci"}),
            "spec.class: CircleCI's classes have two parts, like my-org/ci",
            id="a class without a slash",
        ),
        pytest.param(
            runner(provider={"process": {}}),
            "spec.provider: circleci and kubevirt go together: tasks of CircleCI are served by VMs that claim them",
            id="processes for CircleCI",
        ),
        pytest.param(
            runner(singleTask=False),
            "spec.singleTask: a CircleCI runner takes one task: leave it out",
            id="machines that are used again",
        ),
        pytest.param(
            runner("x" * 51),
            "metadata.name: has 51 characters: VMs are named after their pool, which leaves it 50",
            id="a name too long for its VMs",
        ),
        pytest.param(
            runner("ci", {"token": TOKEN}),
            "spec.provider.kubevirt: wants exactly one of: spec, provisioner",
            id="no VM to make",
        ),
        pytest.param(
            runner("ci", {"spec": VM}),
            "spec.provider.kubevirt.token: is missing: say which Secret holds the resource class token",
            id="no token",
        ),
        pytest.param(
            runner("ci", {"spec": {"volumes": []}, "token": TOKEN}),
            "spec.provider.kubevirt.spec.domain: is missing: a VirtualMachineInstanceSpec has one",
            id="no domain",
        ),
        pytest.param(
            runner(
                "ci", {"spec": {**VM, "volumes": [{"name": "c", "cloudInitNoCloud": {}}]}, "token": TOKEN}
            ),
            "spec.provider.kubevirt.spec.volumes[0].cloudInitNoCloud: Remuda adds its own user data, and a VM has"
            " only one",
            id="user data of its own",
        ),
        pytest.param(
            runner("ci", {"spec": {**VM, "hostname": "x"}, "token": TOKEN}),
            "spec.provider.kubevirt.spec.hostname: leave it out: a runner is known by the name of its VM, which is then"
            " its host name",
            id="a host name of its own",
        ),
        pytest.param(
            runner("ci", {"spec": {**VM, "volumes": "x"}, "token": TOKEN}),
            "spec.provider.kubevirt.spec.volumes: wants a list of mappings",
            id="volumes that are none",
        ),
        pytest.param(runner("ci", with_disk({"serial": "d", "path": "/data"})), None, id="an empty disk"),
        pytest.param(
            runner("ci", with_disk({"serial": "x", "path": "/data"})),
            "spec.provider.kubevirt.emptyDiskMounts[0].serial: no disk of the spec with the serial x has an emptyDisk volume",
            id="an empty disk that is not there",
        ),
        pytest.param(
            runner("ci", with_disk({"serial": "d", "path": "/etc"})),
            "spec.provider.kubevirt.emptyDiskMounts[0]: /etc belongs to the system: mount below it, like /var/lib/docker",
            id="an empty disk where the system is",
        ),
        pytest.param(
            runner("ci", with_disk({"serial": "d", "path": "/a"}, {"serial": "d", "path": "/b"})),
            "spec.provider.kubevirt.emptyDiskMounts[1]: is said twice: a disk has one path, and a path one disk",
            id="an empty disk at two paths",
        ),
        pytest.param(
            runner("ci", {"provisioner": TOKEN, "emptyDiskMounts": [{"serial": "d", "path": "/a"}]}),
            None,
            id="an empty disk of a spec that a Secret holds",
        ),
    ],
)
def test_a_pool_of_runners_is_checked(written: dict[str, Any], problem: str | None) -> None:
    assert problems(written) == ([problem] if problem else [])


def test_all_problems_of_a_pool_are_reported_at_once() -> None:
    assert len(problems(pool(min=5, max=4, maxSurge=0, bootTimeout="1ms", maxUses=3))) == 4


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            (pool("a"), pool("b", **{"class": "local/a"})),
            ["spec.class: class local/a is already served by pool a"],
            id="a class served twice",
        ),
        pytest.param(
            (pool("a", ceiling="sky"), ceiling(9)),
            ["spec.ceiling: there is no Ceiling sky; there is: roof"],
            id="a ceiling nobody defined",
        ),
        pytest.param(
            (pool("a", ceiling="sky"),),
            ["spec.ceiling: there is no Ceiling sky; there is: none"],
            id="a ceiling where there is none",
        ),
        pytest.param(
            (pool("a"), ceiling(9, {"name": "a"})),
            ["spec.members[0].name: pool a is not under this ceiling: set its spec.ceiling"],
            id="a member that does not know of it",
        ),
        pytest.param(
            (ceiling(9, {"name": "a"}),),
            ["spec.members[0].name: there is no RunnerPool a"],
            id="a member that does not exist",
        ),
        pytest.param(
            (
                pool("a", ceiling="roof", min=3),
                pool("b", ceiling="roof", min=1),
                ceiling(5, {"name": "b", "guaranteed": 3}),
            ),
            [
                "spec.machines: guarantees and minima add up to 6 (a 3 + b 3): more than the ceiling of 5",
            ],
            id="promises that do not fit",
        ),
        pytest.param(
            (pool("a", ceiling="roof", schedules=[{**OFFICE, "min": 6}]), ceiling(5)),
            ["spec.machines: guarantees and minima add up to 6 (a 6): more than the ceiling of 5"],
            id="a minimum that a window promises counts too",
        ),
        pytest.param(
            (
                pool("a", ceiling="roof", min=3),
                pool("b", ceiling="roof"),
                ceiling(5, {"name": "b", "guaranteed": 2}),
            ),
            [],
            id="promises that just fit",
        ),
        pytest.param((pool("a", ceiling="roof"), ceiling(0)), [], id="a ceiling of nothing promises nothing"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    objects: tuple[dict[str, Any], ...], expected: list[str]
) -> None:
    assert problems(*objects) == expected
