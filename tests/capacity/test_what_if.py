"""The words of a plan: what is understood, and everything that is wrong with them."""

import pytest

from remuda.capacity.decide.what_if import (
    CeilingChanged,
    Change,
    NodeAdded,
    NodeDrained,
    SetAdded,
    SetChanged,
    read_changes,
)
from remuda.model.pods import Taint

GIB = 2**30


@pytest.mark.parametrize("words", ["vm", "vm.max", "max=3", ".max=3", "=3"])
def test_a_set_wants_a_name_a_field_and_a_value(words: str) -> None:
    _, (problem,) = read_changes({"--set": [words]})
    assert "wants NAME.max=NUMBER, NAME.min=NUMBER or NAME.envelope=NAME" in problem


def test_a_ceiling_has_an_end() -> None:
    _, (problem,) = read_changes({"--ceiling": ["unbounded"]})
    assert "is no whole number" in problem


@pytest.mark.parametrize(
    ("number", "is_read"),
    [("0", True), ("100000", True), ("100001", False), ("9" * 5_000, False), ("-1", False)],
)
def test_a_number_is_from_0_to_100_000(number: str, is_read: bool) -> None:
    _, problems = read_changes({"--ceiling": [number]})
    assert (problems == ()) is is_read


@pytest.mark.parametrize(
    ("option", "words", "change"),
    [
        ("--set", "vm.max=3", SetChanged("--set vm.max=3", "vm", "max", 3)),
        ("--set", "vm.min=0", SetChanged("--set vm.min=0", "vm", "min", 0)),
        ("--set", "vm.max=unbounded", SetChanged("--set vm.max=unbounded", "vm", "max", None)),
        ("--set", "arc/a.b.max=1", SetChanged("--set arc/a.b.max=1", "arc/a.b", "max", 1)),
        ("--set", "vm.envelope=big", SetChanged("--set vm.envelope=big", "vm", "envelope", envelope="big")),
        ("--ceiling", "6", CeilingChanged("--ceiling 6", 6)),
        ("--ceiling", "0", CeilingChanged("--ceiling 0", 0)),
        ("--ceiling", "nix-kvm=6", CeilingChanged("--ceiling nix-kvm=6", 6, "nix-kvm")),
        ("--node-drain", "sting", NodeDrained("--node-drain sting", "sting")),
        (
            "--add", "name=new, envelope=big, max=2",
            SetAdded("--add name=new, envelope=big, max=2", "new", 2, envelope="big"),
        ),
        (
            "--add", "name=n,like=vm,max=unbounded,min=1,namespace=x,label=l",
            SetAdded("--add name=n,like=vm,max=unbounded,min=1,namespace=x,label=l", "n", None, 1, "", "x", "l", "vm"),
        ),
        (
            "--node-add", "name=n2,like=honey",
            NodeAdded("--node-add name=n2,like=honey", "n2", "honey"),
        ),
        (
            "--node-add", "name=n,cpu=1500m,memory=1Gi,ephemeral-storage=2Gi,pods=9,labels=a=b;c/d=,taints=k=v:NoSchedule;x:NoExecute,gpu.example/a=2",
            NodeAdded(
                "--node-add name=n,cpu=1500m,memory=1Gi,ephemeral-storage=2Gi,pods=9,labels=a=b;c/d=,taints=k=v:NoSchedule;x:NoExecute,gpu.example/a=2",
                "n",
                "",
                {"cpu": 1500, "memory": GIB, "ephemeral-storage": 2 * GIB, "pods": 9, "gpu.example/a": 2},
                {"a": "b", "c/d": ""},
                (Taint("k", "v", "NoSchedule"), Taint("x", "", "NoExecute")),
            ),
        ),
        (
            "--node-add", "name=n,like=honey,taints=",
            NodeAdded("--node-add name=n,like=honey,taints=", "n", "honey", taints=()),
        ),
    ],
)  # fmt: skip
def test_words_become_a_change(option: str, words: str, change: Change) -> None:
    assert read_changes({option: [words]}) == ((change,), ())


@pytest.mark.parametrize(
    ("option", "words", "message"),
    [
        ("--set", "vm", "wants NAME.max=NUMBER"),
        ("--set", ".max=1", "wants NAME.max=NUMBER"),
        ("--set", "vm.maximum=1", '"maximum" of a set cannot be tried'),
        ("--set", "vm.mx=1", "did you mean max?"),
        ("--set", "vm.max=-1", '"-1" is no whole number from 0 to 100,000, or unbounded'),
        ("--set", "vm.max=1e3", '"1e3" is no whole number'),
        ("--set", "vm.max=٣", "is no whole number"),
        ("--set", "vm.min=unbounded", '"unbounded" is no whole number from 0 to 100,000'),
        ("--set", "vm.max=100001", "is no whole number"),
        ("--set", "vm.envelope=", "names no envelope"),
        ("--ceiling", "", '"" is no whole number'),
        ("--ceiling", "=3", "wants a number, or LABEL=NUMBER"),
        ("--ceiling", "kvm=x", '"x" is no whole number'),
        ("--node-drain", "", "names no node"),
        ("--add", "", "name is required"),
        ("--add", "name=a,max=1", "envelope is required, or like with the name of a set"),
        ("--add", "name=a,envelope=b", "max is required"),
        ("--add", "name=A b,envelope=b,max=1", 'name: "A b" is no name'),
        ("--add", "name=a,envelop=b,max=1", "did you mean envelope?"),
        ("--add", "name=a,name=b,envelope=b,max=1", "name is given twice"),
        ("--add", "name=a,envelope=b,max", '"max" is no pair'),
        ("--add", "name=a,envelope=b,max=x,min=y", 'min: "y" is no whole number'),
        ("--node-add", "like=b", "name is required"),
        ("--node-add", "name=a,cpu=1", "memory is required, or like with the name of a node"),
        ("--node-add", "name=a,like=b,memory=8GB", "memory: '8GB' is not a quantity: did you mean 8Gi"),
        ("--node-add", "name=a,like=b,cpu=-1", "cpu: '-1' is not a quantity: it cannot be below zero"),
        ("--node-add", "name=a,like=b,labels=x", '"x" is no label'),
        ("--node-add", "name=a,like=b,labels=x=a b", "is no label value"),
        ("--node-add", "name=a,like=b,taints=x:Never", '"x:Never" is no taint'),
    ],
)
def test_what_is_wrong_is_reported(option: str, words: str, message: str) -> None:
    changes, problems = read_changes({option: [words]})
    assert changes == ()
    assert any(message in problem for problem in problems), problems
    assert all(problem.startswith(f'{option} "{words}": ') for problem in problems)


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    _, problems = read_changes(
        {
            "--set": ["a.max=x", "b.mix=1"],
            "--add": ["max=z"],
            "--node-add": ["name=_,cpu=1Q"],
            "--ceiling": ["x"],
        }
    )
    assert len(problems) == 10, problems


def test_two_words_about_one_thing_contradict() -> None:
    for option, words in (
        ("--set", ["a.max=1", "a.max=2"]),
        ("--ceiling", ["1", "2"]),
        ("--node-drain", ["a", "a"]),
        ("--add", ["name=a,envelope=e,max=1", "name=a,envelope=f,max=1"]),
    ):
        _, problems = read_changes({option: words})
        assert problems == (f'{option} "{words[1]}": {option} {words[0]} says something about it already',)
    changes, problems = read_changes({"--set": ["a.max=1", "a.min=1", "b.max=1"]})
    assert (len(changes), problems) == (3, ())
