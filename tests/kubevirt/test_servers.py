import pytest
from tests.kubevirt.fixtures import NewKubevirt
from tests.kubevirt.guests import Boot, Guests, Script
from tests.kubevirt.installation import NEEDED, POOL, Installation, definitions, served
from tests.kubevirt.machines import LABEL, POOL_FINALIZER, Machines, eventually
from tests.servers.cluster import ALWAYS
from tests.servers.fixtures import Programs, new_namespace
from tests.servers.test_kept import is_running

pytestmark = pytest.mark.slow

LONG_S = 1000.0


@pytest.fixture
def machines(kubevirt: Installation, vm_namespace: str, guests: Guests) -> Machines:
    """The machines of `vm_namespace`, with `guests` playing."""
    return Machines(kubevirt, vm_namespace)


def all_running(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "Running")


def test_a_pool_of_three_gets_three_machines_that_run(machines: Machines) -> None:
    machines.create_pool("p", 3)
    eventually(machines.statuses, all_running("p-0", "p-1", "p-2"))
    assert machines.phases() == all_running("p-0", "p-1", "p-2")


def test_a_guest_that_powers_off_under_once_is_stopped_and_fills_its_place(
    machines: Machines, guests: Guests
) -> None:
    machines.create_pool("p", 2)
    eventually(machines.statuses, all_running("p-0", "p-1"))
    guests.power_off("p-1")
    eventually(machines.statuses, {"p-0": "Running", "p-1": "Stopped"})
    assert machines.phases()["p-1"] == "Succeeded"
    machines.scale("p", 3)
    eventually(machines.statuses, {"p-0": "Running", "p-1": "Stopped", "p-2": "Running"})


def test_a_deleted_pool_machine_stays_until_the_pools_finalizer_is_taken_off(
    kubevirt: Installation, machines: Machines, vm_namespace: str
) -> None:
    machines.create_pool("p", 2)
    eventually(machines.statuses, all_running("p-0", "p-1"))
    kubevirt.cluster.kubectl("delete", "vm", "p-1", "--wait=false", "-n", vm_namespace)
    eventually(lambda: machines.meta("p-1").get("finalizers"), [POOL_FINALIZER])
    assert "p-1" not in machines.phases()
    machines.scale("p", 3)  # the pool's controller looks at it again, and leaves it as it is
    eventually(machines.statuses, {"p-0": "Running", "p-1": "Terminating", "p-2": "Running"})
    assert machines.meta("p-1")["finalizers"] == [POOL_FINALIZER]
    before = machines.meta("p-1")["uid"]
    machines.patch("p-1", {"metadata": {"finalizers": None}})
    eventually(lambda: machines.meta("p-1").get("uid") not in (None, before))
    eventually(machines.statuses, all_running("p-0", "p-1", "p-2"))


def test_one_patch_takes_a_machine_out_of_its_pool_which_fills_up_again(machines: Machines) -> None:
    machines.create_pool("p", 2)
    eventually(machines.statuses, all_running("p-0", "p-1"))
    before = machines.meta("p-0")
    finalizers = [one for one in before["finalizers"] if one != POOL_FINALIZER]
    assert len(finalizers) == len(before["finalizers"]) - 1
    out = {"ownerReferences": None, "finalizers": finalizers, "labels": {LABEL: "out"}}
    machines.patch("p-0", {"metadata": out})
    eventually(machines.statuses, all_running("p-0", "p-1", "p-2"))
    assert machines.meta("p-0")["uid"] == before["uid"]
    machines.delete("p-0")
    eventually(machines.statuses, all_running("p-1", "p-2"))


#: what virt-controller says of a machine whose guest comes so far
STATUSES = {
    Boot.RUNS: "Running",
    Boot.UNSCHEDULABLE: "ErrorUnschedulable",
    Boot.ERR_IMAGE_PULL: "ErrImagePull",
    Boot.IMAGE_PULL_BACK_OFF: "ImagePullBackOff",
    Boot.HANGS: "Starting",
    Boot.CRASHES: "CrashLoopBackOff",
}


def test_guests_come_as_far_as_their_scripts_say_and_can_be_deleted_there(
    machines: Machines, guests: Guests
) -> None:
    names = {f"m-{number}": boot for number, boot in enumerate(Boot)}
    for name, boot in names.items():
        guests.script(name, Script(boot=boot))
        machines.create(name)
    eventually(machines.statuses, {name: STATUSES[boot] for name, boot in names.items()})
    for name in names:
        machines.delete(name)
    eventually(machines.statuses, {})


@pytest.mark.parametrize(
    "boot",
    [Boot.UNSCHEDULABLE, Boot.ERR_IMAGE_PULL, Boot.IMAGE_PULL_BACK_OFF, Boot.HANGS],
    ids=lambda boot: boot.name,
)
def test_a_guest_that_could_not_boot_runs_when_its_script_lets_it(
    machines: Machines, guests: Guests, boot: Boot
) -> None:
    guests.script("m", Script(boot=boot))
    machines.create("m")
    eventually(machines.statuses, {"m": STATUSES[boot]})
    guests.script("m", Script())
    eventually(machines.statuses, all_running("m"))


def test_a_guest_that_crashes_is_a_crash_loop_before_it_ran_and_stopped_after(
    machines: Machines, guests: Guests
) -> None:
    guests.script("early", Script(boot=Boot.CRASHES))
    machines.create("early")
    machines.create("late")
    eventually(machines.statuses, {"early": "CrashLoopBackOff", "late": "Running"})
    guests.crash("late")
    eventually(machines.statuses, {"early": "CrashLoopBackOff", "late": "Stopped"})
    assert machines.phases()["late"] == "Failed"


def test_a_busy_guest_ends_when_it_is_done_though_it_was_deleted(machines: Machines, guests: Guests) -> None:
    guests.script("*", Script(shutdown_s=None))
    machines.create("m")
    eventually(machines.statuses, all_running("m"))
    machines.delete("m")
    eventually(machines.is_ending, {"m": True})
    assert machines.phases() == all_running("m")
    guests.power_off("m")
    eventually(machines.statuses, {})


def test_a_busy_guest_is_killed_after_its_grace(machines: Machines, guests: Guests) -> None:
    guests.script("*", Script(shutdown_s=None))
    machines.create("m", grace_s=1)
    eventually(machines.statuses, all_running("m"))
    machines.delete("m")
    eventually(machines.statuses, {})


def test_a_guest_ends_with_its_launcher(
    kubevirt: Installation, machines: Machines, vm_namespace: str
) -> None:
    machines.create("m")
    eventually(machines.statuses, all_running("m"))
    kubevirt.cluster.kubectl("delete", "pods", "--all", "--wait=false", "-n", vm_namespace)
    eventually(machines.statuses, {"m": "Stopped"})
    eventually(lambda: kubevirt.cluster.kubectl("get", "pods", "-o", "name", "-n", vm_namespace), "")


def test_guests_take_their_time(machines: Machines, guests: Guests) -> None:
    guests.script("m", Script(pull_s=LONG_S))
    machines.create("m")
    eventually(machines.phases, {"m": "Scheduling"})
    guests.script("m", Script(boot_s=LONG_S))
    eventually(machines.phases, {"m": "Scheduled"})
    guests.script("m", Script(boot_s=0.1, shutdown_s=LONG_S))
    eventually(machines.phases, {"m": "Running"})
    machines.delete("m")
    eventually(machines.is_ending, {"m": True})
    guests.script("m", Script(shutdown_s=0.1))
    eventually(machines.statuses, {})


def test_there_is_no_guest_to_end_where_there_is_none(guests: Guests) -> None:
    with pytest.raises(LookupError, match="there is no guest m: "):
        guests.power_off("m")


def test_without_pools_machines_run_through_restarts_and_nothing_is_left(programs: Programs) -> None:
    with Installation(programs(*ALWAYS, "kubectl", *NEEDED), pools="none") as kubevirt:
        pids = [process.pid for process in kubevirt.cluster.processes.values()]
        with new_namespace(kubevirt.cluster) as namespace, Guests(kubevirt.cluster, namespace):
            machines = Machines(kubevirt, namespace)
            machines.create("before")
            eventually(machines.statuses, all_running("before"))
            assert kubevirt.cluster.request("GET", "/apis/pool.kubevirt.io").status == 404
            kubevirt.cluster.restart_apiserver()
            kubevirt.kill_controller()
            assert not kubevirt.is_controlled
            kubevirt.start_controller()
            machines.create("after")
            eventually(machines.statuses, all_running("before", "after"))
            assert kubevirt.is_controlled
        pids += [process.pid for process in kubevirt.cluster.processes.values()]
    assert not [pid for pid in pids if is_running(pid)]
    assert not kubevirt.cluster.directory.exists()


def test_pools_of_v1alpha1_alone_are_had_on_request(new_kubevirt: NewKubevirt) -> None:
    kubevirt = new_kubevirt(pools="v1alpha1")
    group = kubevirt.cluster.request("GET", "/apis/pool.kubevirt.io").json()
    assert [one["version"] for one in group["versions"]] == ["v1alpha1"]


def test_the_definitions_are_those_of_the_version_with_the_pools_asked_for(programs: Programs) -> None:
    every = definitions(programs("kubevirt-crds")["kubevirt-crds"])
    versions = {
        pools: {
            one["metadata"]["name"]: {(each["name"], each["storage"]) for each in one["spec"]["versions"]}
            for one in served(every, pools)
        }
        for pools in ("all", "v1alpha1", "none")
    }
    assert {pools: len(found) for pools, found in versions.items()} == {"all": 19, "v1alpha1": 19, "none": 18}
    assert versions["all"][POOL] == {("v1alpha1", False), ("v1beta1", True)}
    assert versions["v1alpha1"][POOL] == {("v1alpha1", True)}
