"""Guests that run and are no runners, by what they say, and how long it took them."""

import pytest
from tests.diagnose.snapshots import GUEST_LOG, NOON, healthy, launcher, own_pod, vm, vmi

from remuda.diagnose.decide.guests import cold_start, guests
from remuda.diagnose.snapshot import Asked, Snapshot


def saying(text: str, age: float = 600) -> Snapshot:
    return healthy(
        vms=(vm(age=age),),
        vmis=(vmi(age=age),),
        pods=(own_pod(), launcher(age=age)),
        consoles={"linux-0": text},
    )


@pytest.mark.parametrize(
    ("snapshot", "evidence", "fix"),
    [
        pytest.param(
            saying(
                "remuda-guest: FAILED step=install reason=adding the package repository failed 5 times: no such host"
            ),
            "VM linux-0: failed at install: adding the package repository failed 5 times: no such host",
            "bake circleci-runner into the image",
            id="it cannot install",
        ),
        pytest.param(
            saying("remuda-guest: FAILED step=detect reason=the distribution 'arch' is neither"),
            "VM linux-0: failed at detect: the distribution 'arch' is neither",
            "an image of the Debian or RHEL family",
            id="the distribution is unknown",
        ),
        pytest.param(
            saying("cloud-init[900]: Datasource DataSourceNone\nubuntu login:"),
            "VM linux-0 runs for 9 min, and cloud-init did not do what it was given (no remuda-guest: line): "
            "last it said: ubuntu login:",
            "cloud-init that reads NoCloud",
            id="cloud-init was skipped",
        ),
        pytest.param(
            saying(GUEST_LOG + 'level=error msg="claim failed" error="401 Unauthorized"\n'),
            'VM linux-0: CircleCI does not take its runner: level=error msg="claim failed" error="401 Unauthorized"',
            "resource class token of this very class",
            id="the token or the class is wrong",
        ),
        pytest.param(
            saying(GUEST_LOG + "level=error msg=dial tcp: lookup circle.example: no such host\n"),
            "VM linux-0: its runner does not reach CircleCI: level=error msg=dial tcp: lookup circle.example: no such host",
            "let guests reach source.circleci.url",
            id="the server is out of reach",
        ),
    ],
)
def test_a_guest_that_is_no_runner_is_told_why(snapshot: Snapshot, evidence: str, fix: str) -> None:
    found = guests(snapshot)
    assert found.verdict == "problem"
    assert evidence in found.evidence
    assert fix in "\n".join(found.fix)


def test_a_guest_that_circleci_does_not_list_is_a_problem() -> None:
    made = NOON - 600_000
    answered = Asked("answered", agents={"linux-0": made + 60_000})
    assert guests(healthy(asked={"linux": answered})).verdict == "ok"
    namesake = Asked("answered", agents={"linux-0": made - 60_000})
    found = guests(healthy(asked={"linux": namesake}))
    assert found.evidence == (
        "VM linux-0 started its runner, and CircleCI lists no agent of that name in class acme/linux",
    )


#: of the guest linux-0, which has run since 15 s after it was made
BOOTED = "linux-0.vmi-linu"


def test_an_agent_that_tells_its_boot_is_the_guests_whatever_the_clocks_say() -> None:
    assert (
        guests(healthy(asked={"linux": Asked("answered", agents={BOOTED: NOON - 590_000})})).verdict == "ok"
    )
    other = Asked("answered", agents={"linux-0.0a1b2c3d": NOON})
    assert guests(healthy(asked={"linux": other})).verdict == "problem"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param(
            Asked("answered", agents={BOOTED: NOON - 1_185_000}),
            "pool linux: an agent called 600 s before its guest ran, by CircleCI's clock",
            id="behind",
        ),
        pytest.param(
            Asked("answered", agents={BOOTED: NOON}, called_at=NOON + 90_000),
            "pool linux: an agent called 90 s from now, by CircleCI's clock",
            id="ahead",
        ),
        pytest.param(Asked("answered", agents={BOOTED: NOON}, called_at=NOON + 29_000), None, id="a little"),
    ],
)
def test_clocks_that_differ_are_named(asked: Asked, message: str | None) -> None:
    found = guests(healthy(asked={"linux": asked}))
    assert (found.verdict, *found.evidence) == (("problem", message) if message else ("ok",))


def test_a_guest_that_just_booted_is_given_time() -> None:
    assert guests(saying("booting", age=60)).verdict == "ok"
    snapshot = saying(GUEST_LOG, age=60)
    assert (
        guests(healthy(vms=snapshot.vms, vmis=snapshot.vmis, asked={"linux": Asked("answered")})).verdict
        == "ok"
    )


def test_a_guest_that_cannot_be_heard_is_unknown() -> None:
    unread = {"console of linux-0": "500 kubelet is gone"}
    assert guests(healthy(consoles={}, unread=unread)).evidence == (
        "console of linux-0: 500 kubelet is gone",
    )
    assert guests(saying(" ")).verdict == "unknown"


def test_words_before_the_runner_started_are_not_the_runners() -> None:
    assert guests(saying("curl: connection refused\n" + GUEST_LOG)).verdict == "ok"


def test_what_a_runner_got_over_is_no_problem() -> None:
    later = "".join(f"level=info msg=polling n={n}\n" for n in range(20))
    assert guests(saying(GUEST_LOG + "dial tcp: connection refused\n" + later)).verdict == "ok"


def test_a_guest_that_failed_is_no_measure() -> None:
    failed = GUEST_LOG.partition("remuda-guest: step=install")[0]
    assert cold_start(saying(failed)).verdict == "unknown"


def test_a_cold_start_is_reported_part_by_part() -> None:
    called = NOON - 600_000 + 15_000 + 31_500 + 3_000
    found = cold_start(healthy(asked={"linux": Asked("answered", agents={"linux-0": called})}))
    assert found.verdict == "ok"
    assert found.evidence == (
        "pool linux, mean of 1 VM: 50 s = schedule 2 + pull 8 + boot 26 + install 11 + register 3",
        "pool linux: boot takes longest: use an image that starts less, and more warm VMs (min or headroom)",
    )


@pytest.mark.parametrize(
    ("snapshot", "longest", "remedy"),
    [
        pytest.param(
            saying(GUEST_LOG.replace("install seconds=9.4", "install seconds=180.0")),
            "install",
            "bake circleci-runner into the image, or give a bundle disk",
            id="installing",
        ),
        pytest.param(
            saying(GUEST_LOG.replace("boot seconds=20.5", "boot seconds=300")),
            "boot",
            "more warm VMs",
            id="booting",
        ),
    ],
)
def test_the_longest_part_gets_a_remedy(snapshot: Snapshot, longest: str, remedy: str) -> None:
    found = cold_start(snapshot)
    assert found.verdict == "problem"
    assert found.fix[0].startswith(f"pool linux: {longest} takes longest: ")
    assert remedy in found.fix[0]


def test_a_slow_pull_is_seen_by_when_the_pod_was_placed() -> None:
    late = vmi(age=600)
    snapshot = healthy(vms=(vm(age=900),), vmis=(late,), pods=(launcher(age=800),))
    found = cold_start(snapshot)
    assert "schedule 102 + pull 208" in found.evidence[0]
    assert "pre-pull the container disk" in found.fix[0]
