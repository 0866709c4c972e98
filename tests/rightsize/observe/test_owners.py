"""Whose pods are: by references of those that live, by the names of those that are gone."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remuda.model.workloads import WorkloadId
from remuda.rightsize.observe.owners import Owning
from remuda.rightsize.snapshot import Snapshot, Workload

LONG = "a-very-long-name-that-nobody-would-give-to-anything-he-had-to-type"


def snapshot(*named: str, living: dict[str, str] | None = None) -> Snapshot:
    """Workloads as in `Deployment web`, all in one namespace; living pods with their owners."""
    owners = {("shop", pod): who(owner) for pod, owner in (living or {}).items()}
    return Snapshot(0, "test", tuple(Workload(who(each), ()) for each in named), owners=owners)


def who(named: str, namespace: str = "shop") -> WorkloadId:
    kind, name = named.split()
    return WorkloadId(namespace, kind, name)


def owner(pod: str, found: Snapshot, namespace: str = "shop") -> str | None:
    made = Owning(found).of(namespace, pod)
    return None if made is None else f"{made.kind} {made.name}"


@pytest.mark.parametrize(
    ("named", "pod"),
    [
        ("Deployment web", "web-5d4f8c7b9d-x2x4z"),
        ("Deployment web", "web-7-bcdfg"),
        ("Deployment web-1.example", "web-1.example-5d4f8c7b9d-x2x4z"),
        ("StatefulSet db", "db-0"),
        ("StatefulSet db", "db-120"),
        (f"StatefulSet {LONG}", f"{LONG}-0"),
        ("DaemonSet agent", "agent-x2x4z"),
        ("ReplicaSet bare", "bare-x2x4z"),
        ("Job once", "once-x2x4z"),
        ("Job once", "once-3-x2x4z"),
        ("CronJob nightly", "nightly-29384756-x2x4z"),
        ("CronJob nightly", "nightly-29384756-0-x2x4z"),
    ],
)
def test_a_pod_that_is_gone_is_known_by_its_name(named: str, pod: str) -> None:
    assert owner(pod, snapshot(named, "Deployment other", "StatefulSet other")) == named


@pytest.mark.parametrize(
    ("named", "pod"),
    [
        ("Deployment web", "web-x2x4z"),
        ("Deployment web", "web-5d4f8c7b9d-x2x4za"),
        ("Deployment web", "web-5d4f8c7b9d-x2x4a"),
        ("Deployment web", "web-5d4f8c7b9dd-x2x4z"),
        ("Deployment web", "web-5a4f8c7b9d-x2x4z"),
        ("Deployment web", "web5d4f8c7b9d-x2x4z"),
        ("Deployment web", "web-cache-5d4f8c7b9d-x2x4z"),
        ("Deployment web", "web-5d4f8c7b9d-x2x4z\n"),
        ("Deployment web", "web-5D4F8C7B9D-x2x4z"),
        ("StatefulSet db", "db-01"),
        ("StatefulSet db", "db--1"),
        ("StatefulSet db", "db-١"),
        ("StatefulSet db", "db"),
        ("DaemonSet agent", "agent-x2x4"),
        ("CronJob nightly", "nightly-now-x2x4z"),
        ("GameServer web", "web-5d4f8c7b9d-x2x4z"),
        ("DeploymentConfig web", "web-5d4f8c7b9d-x2x4z"),
        ("Deployment web", ""),
        ("Deployment web", "-"),
        ("Deployment web", "--"),
    ],
)
def test_what_no_controller_would_have_made_is_nobodys(named: str, pod: str) -> None:
    assert owner(pod, snapshot(named)) is None


def test_a_pod_of_another_namespace_is_nobodys() -> None:
    assert owner("db-0", snapshot("StatefulSet db"), "elsewhere") is None


@pytest.mark.parametrize(
    ("named", "pod", "expected"),
    [
        (["Deployment web", "DaemonSet web-5d4f8"], "web-5d4f8-x2x4z", "DaemonSet web-5d4f8"),
        (["StatefulSet db", "StatefulSet db-1"], "db-1-0", "StatefulSet db-1"),
        (["StatefulSet db", "StatefulSet db-1"], "db-1", "StatefulSet db"),
        (["CronJob tidy", "Job tidy-24567894"], "tidy-24567894-x2x4z", "Job tidy-24567894"),
        (["Deployment web", "StatefulSet web", "DaemonSet web"], "web-5d4f8-x2x4z", "Deployment web"),
    ],
)
def test_the_longest_name_wins(named: list[str], pod: str, expected: str) -> None:
    assert owner(pod, snapshot(*named)) == expected


@pytest.mark.parametrize(
    ("named", "pod"),
    [
        (["DaemonSet web", "Job web"], "web-x2x4z"),
        (["DaemonSet web", "StatefulSet web"], "web-24567"),
        (["Deployment tidy", "CronJob tidy"], "tidy-24567894-x2x4z"),
        ([f"Deployment {LONG}-a", f"Deployment {LONG}-bcd"], f"{LONG[:58]}x2x4z"),
    ],
)
def test_where_two_are_as_likely_nobody_is_chosen(named: list[str], pod: str) -> None:
    assert owner(pod, snapshot(*named)) is None
    assert owner(pod, snapshot(named[0])) == named[0]


def test_a_living_pod_is_whose_it_says_whatever_its_name() -> None:
    living = {
        "db-0": "Deployment web",
        "web-x2x4z": "Rollout web",
        "agent-x2x4z": "Pod agent-x2x4z",
    }
    found = snapshot("Deployment web", "StatefulSet db", "DaemonSet web", "DaemonSet agent", living=living)
    assert owner("db-0", found) == "Deployment web"
    assert owner("web-x2x4z", found) is None
    assert owner("agent-x2x4z", found) is None
    assert owner("web-z4z4z", found) == "DaemonSet web"


# As Kubernetes makes them

LETTERS = "bcdfghjklmnpqrstvwxz2456789"
PARTS = st.sampled_from(["web", "a", "0", "12", "29384756", "bcdfg", "b2", "24567", "x" * 20, LONG])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("-".join)
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
WORKLOADS = st.tuples(st.sampled_from(KINDS), NAMES).map(" ".join)


def random(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=least, max_size=most)


@st.composite
def made(draw: st.DrawFn) -> tuple[str, str]:
    """A workload, and a pod as its controller names it."""
    named = draw(WORKLOADS)
    kind, name = named.split()
    if kind == "StatefulSet":
        return named, f"{name}-{draw(st.integers(0, 2**31 - 1))}"
    if kind == "Deployment":
        name += f"-{draw(random(1, 10))}"
    if kind == "CronJob":
        name = f"{name[:52]}-{draw(st.integers(10**7, 10**8 - 1))}"
        named = f"CronJob {named.split()[1][:52]}"
    return named, f"{name}-"[:58] + draw(random(5, 5))


@given(made())
def test_whatever_a_controller_makes_is_its_own(given_: tuple[str, str]) -> None:
    named, pod = given_
    assert owner(pod, snapshot(named)) == named


@given(made(), st.lists(WORKLOADS, max_size=6))
def test_with_others_about_it_is_its_own_or_one_with_a_longer_name_or_nobodys(
    given_: tuple[str, str], others: list[str]
) -> None:
    named, pod = given_
    found = owner(pod, snapshot(named, *others))
    assert found in {named, None} or len(found.split()[1]) > len(named.split()[1])
    assert found in {None, named, *others}


@given(
    st.lists(WORKLOADS, max_size=6), st.one_of(st.text(max_size=80), NAMES, made().map(lambda each: each[1]))
)
@example([], "")
def test_an_owner_is_a_workload_that_is_there_and_whose_name_the_pod_begins_with(
    named: list[str], pod: str
) -> None:
    found = Owning(snapshot(*named)).of("shop", pod)
    if found is not None:
        assert f"{found.kind} {found.name}" in named
        assert pod.startswith(found.name[:58])
        assert len(pod) > len(found.name[:58])
