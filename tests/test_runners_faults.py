"""Runners when something is wrong: guests that do not come up, a CircleCI that errs, things that are missing."""

import json
from pathlib import Path

import pytest
from tests.kubevirt.fixtures import NewKubevirt
from tests.kubevirt.guests import Boot, Script
from tests.kubevirt.rig import CI, CLASSES, NIX, RUNNER_TOKEN, Rig, rigged_alone
from tests.servers.fixtures import NewCluster
from tests.sources.circleci.loopback import TOKEN, UNCLAIMED, Circle, Fault, html, limited, status
from tests.test_cluster import API, Replica, conditions, define, pool, until

pytestmark = pytest.mark.slow


def test_vms_that_never_register_are_replaced_ever_more_slowly_and_it_is_said_why(rig: Rig) -> None:
    rig.agents.is_mute = True
    rig.pool(min=2, max=2)
    rig.up()
    rig.wait_running(2)
    before = rig.uids()
    rig.pool(min=2, max=2, bootTimeout="3s")  # only now, since a busy host boots slowly
    rig.wait_gone(*before.values())
    rig.wait(lambda: rig.status()["ready"] == 0 and "fail" in rig.status()["why"], "the failures are told")
    answer = rig.cli("why", "machine", min(before), "--history")
    assert "it is up, and its source has not listed it" in answer
    rig.pool(min=2, max=2)
    rig.agents.is_mute = False
    rig.wait_ready(2)
    rig.wait_running(2)


def test_vms_that_do_not_come_up_are_replaced_with_kubevirts_reason(rig: Rig) -> None:
    rig.guests.script("ci-*", Script(Boot.ERR_IMAGE_PULL))
    rig.guests.script("nix-*", Script(Boot.UNSCHEDULABLE))
    rig.guests.script("mac-*", Script(Boot.CRASHES))
    for name in CLASSES:
        rig.pool(name, min=1, max=1, bootTimeout="4s")
    rig.up()
    rig.wait_reported("ci-0: ErrImagePull", "ci")
    rig.wait_reported("nix-0: ErrorUnschedulable: 0/1 nodes are available: 1 Insufficient memory", "nix")
    rig.wait_reported("; trying again at", "mac")
    first = rig.uids()
    rig.wait_gone(first["ci-0"], first["nix-0"])
    answer = {name: rig.cli("why", "machine", f"{name}-0", "--history") for name in CLASSES}
    assert "not ready after 4s: ErrImagePull: " in answer["ci"]
    assert "not ready after 4s: ErrorUnschedulable: 0/1 nodes are available" in answer["nix"]
    assert "could not start: Failed" in answer["mac"]
    rig.guests.script("*", Script())
    for name in CLASSES:
        rig.pool(name, min=1, max=1)
    for name in CLASSES:
        rig.wait_ready(1, name)


def test_a_circleci_that_errs_never_shrinks_a_pool(rig: Rig) -> None:
    rig.agents.is_lazy = True
    rig.pool(min=0, max=3)
    rig.agents.submit(CI, 3)
    one = rig.up()
    rig.wait_ready(3)
    assert rig.condition("Stale")["status"] == "False"
    before = rig.uids()
    faults: list[Fault] = [status(500), html(), status(401), limited("1")]
    rig.circle.fault = faults[0]
    rig.agents.submit(CI, -3)
    rig.wait_condition("Stale", "True")
    for rig.circle.fault in faults:
        rig.wait_asked(UNCLAIMED)
        ready = json.loads(one.page("ready"))
        assert ready["ok"]
        assert any(CI in answer for answer in ready["details"]["trouble"])
    assert rig.uids() == before
    assert rig.condition("Stale")["status"] == "True"
    assert "no good answer since" in rig.condition("Stale")["message"]
    rig.wait(lambda: "429" in rig.condition("Stale")["message"], "what CircleCI said last in the condition")
    assert {line["class"] for line in rig.lines("failed to get unclaimed tasks")} == {CI}
    assert {line["class"] for line in rig.lines("failed to get running tasks")} == {CI}
    rig.circle.fault = None
    rig.wait_condition("Stale", "False")
    rig.wait_running(0)
    assert "trouble" not in json.loads(one.page("ready"))["details"]


@pytest.mark.parametrize(
    "names_boots",
    [
        pytest.param(True, id="agents say which boot they are"),
        pytest.param(False, id="agents are known by a name that is used again"),
    ],
)
def test_busy_vms_outlive_the_boot_timeout_though_circlecis_clock_is_a_minute_behind(
    rig: Rig, names_boots: bool
) -> None:
    rig.agents.behind_s, rig.agents.names_boots = 60.0, names_boots
    rig.pool(min=3, max=6, scaleIn="natural")
    rig.agents.submit(CI, 6)
    rig.up()
    rig.wait_busy(6)
    before = rig.uids()
    rig.pool(min=3, max=6, scaleIn="natural", bootTimeout="5s")  # only now, since a busy host boots slowly
    assert len(before) == 6
    for _ in range(15):  # about a second each
        rig.wait_asked(UNCLAIMED)
    assert rig.uids() == before
    assert rig.running() == set(before)
    assert rig.replicas_of("ci") == 6
    assert "Halted" not in {one["spec"].get("runStrategy") for one in rig.vms()}
    assert rig.agents.killed == []


def test_a_class_that_circleci_does_not_know_keeps_no_other_from_its_vms(rig: Rig) -> None:
    del rig.circle.classes[NIX]
    rig.pool(min=1, max=2)
    rig.pool("nix", min=0, max=2)
    one = rig.up()
    rig.wait_ready(1)
    rig.wait_reported("waits for the first answer of its source", "nix")
    rig.wait_condition("Stale", "True", "nix")
    assert "404" in rig.condition("Stale", "nix")["message"]
    trouble = json.loads(one.page("ready"))["details"]["trouble"]
    assert any(NIX in answer and "404" in answer for answer in trouble), trouble
    assert not any(CI in answer for answer in trouble)
    rig.circle.tasks(NIX)
    rig.agents.submit(NIX)
    rig.wait_busy(1, "nix")
    assert rig.agents.killed == []


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(404, {"message": "resource class not found"}), id="the class is deleted"),
        pytest.param(status(401), id="the token is revoked"),
    ],
)
def test_vms_that_must_go_are_powered_off_when_nobody_says_whether_they_work(rig: Rig, fault: Fault) -> None:
    rig.pool(min=2, max=2, bootTimeout="20s")
    rig.up()
    rig.wait_ready(2)
    before = rig.uids()
    rig.circle.fault = fault
    rig.wait_condition("Stale", "True")
    rig.agents.submit(CI)
    rig.wait_busy(1)
    (busy,) = rig.agents.busy()
    (idle,) = set(before) - {busy}
    rig.cli("pools", "drain", "ci")
    rig.wait_reported("2 machines are left; nobody says whether 2 of them work: from ")
    rig.wait_gone(before[idle])
    (left,) = rig.vms()
    assert (left["metadata"]["uid"], left["spec"]["runStrategy"]) == (before[busy], "Halted")
    assert left["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 5 * 3600
    assert rig.running() == {busy}, "it ends its task first"
    rig.agents.finish(busy)
    rig.wait_gone(before[busy])
    rig.wait_reported("is drained")
    assert rig.agents.killed == []
    assert "is powered off: it must go, and nobody has said since" in rig.cli(
        "why", "machine", busy, "--history"
    )


def test_a_pool_that_is_deleted_goes_and_its_class_is_not_asked_about_any_more(rig: Rig) -> None:
    for name in ("ci", "nix"):
        rig.pool(name, min=1, max=1)
    one = rig.up()
    for name in ("ci", "nix"):
        rig.wait_ready(1, name)
    rig.agents.submit(NIX)
    rig.wait_busy(1, "nix")
    rig.kubectl("delete", "runnerpool", "nix")
    rig.wait_asked(UNCLAIMED)
    rig.agents.finish(*rig.agents.busy("nix"))
    rig.wait_running(0, "nix")
    del rig.circle.classes[NIX]
    before = rig.circle.count(UNCLAIMED, NIX)
    for _ in range(4):
        rig.wait_asked(UNCLAIMED)
    assert rig.circle.count(UNCLAIMED, NIX) <= before + 1, "one that was under way"
    assert "trouble" not in json.loads(one.page("ready"))["details"]


def test_a_missing_secret_stops_its_pool_alone_until_it_is_there(rig: Rig) -> None:
    rig.pool(min=1, max=1)
    later = {key: {"token": {"secret": "later", "key": key}} for key in ("api", "token")}
    rig.pool("nix", min=1, max=1, circleci=later["api"], kubevirt=later["token"])
    rig.up()
    rig.wait_condition("Accepted", "False", "nix")
    assert rig.condition("Accepted", "nix")["message"].count("there is no Secret later") == 1
    rig.wait_ready(1)
    events = rig.cluster.request("GET", f"/api/v1/namespaces/{rig.namespace}/events").json()["items"]
    assert {one["involvedObject"]["name"] for one in events if one["reason"] == "NotAccepted"} == {"nix"}
    assert not rig.running("nix")
    assert "--from-file=api=FILE --from-file=token=FILE" in rig.condition("Accepted", "nix")["message"]
    rig.secret("later", api=TOKEN, token="its-own")
    rig.wait_ready(1, "nix")
    assert rig.condition("Accepted", "nix")["status"] == "True"
    # The token of CircleCI's API is followed as well.
    rig.circle.token = "rotated"
    rig.wait_condition("Stale", "True")
    rig.secret(api="rotated", token=RUNNER_TOKEN)
    rig.wait_condition("Stale", "False")


def test_without_the_pool_api_vms_are_made_one_by_one(
    new_kubevirt: NewKubevirt, circle: Circle, tmp_path: Path
) -> None:
    installed = new_kubevirt(pools="none")
    with rigged_alone(installed, circle, tmp_path) as rig:
        rig.pool(min=1, max=3)
        rig.up()
        rig.wait_running(1)
        rig.agents.submit(CI, 2)
        rig.wait_busy(2)
        busy = rig.agents.busy()
        rig.agents.submit(CI, 1)
        rig.wait_busy(3)
        rig.agents.finish(*busy)
        rig.wait_busy(1)
        rig.kubectl("delete", "vm", "--all", "--wait=false")
        rig.agents.finish(*rig.agents.busy())
        rig.wait_running(1)
        assert not busy & set(rig.uids()), "no name is used twice"
        assert rig.agents.killed == []


def test_a_cluster_without_kubevirt_is_reported_and_other_pools_run_on(
    new_cluster: NewCluster, circle: Circle, tmp_path: Path
) -> None:
    server = new_cluster()
    define(server)
    source = {"circleci": {"url": circle.url, "token": {"secret": "runner", "key": "api"}}}
    machine = {"kubevirt": {"spec": {"domain": {}}, "token": {"secret": "runner", "key": "token"}}}
    made = pool("ci", source=source, provider=machine, **{"class": CI})
    for body in (made, pool("shell")):
        assert server.request("POST", f"{API}/default/runnerpools", body).status == 201
    server.request(
        "POST", "/api/v1/namespaces/default/secrets",
        {"metadata": {"name": "runner"}, "stringData": {"api": TOKEN, "token": "t"}},
    )  # fmt: skip
    one = Replica(server, "default", tmp_path, "one")
    try:
        until(
            lambda: conditions(server, "default", "shell").get("Ready", {}).get("status") == "True", "shell"
        )
        answer = until(lambda: conditions(server, "default", "ci").get("Ready"), "what is told of ci")
        assert answer["status"] == "False"
        assert "KubeVirt is not installed in this cluster" in answer["message"]
        assert "KubeVirt is not installed in this cluster" in one.page("ready")
        assert one.process.poll() is None
    finally:
        one.end()
