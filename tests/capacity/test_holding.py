"""What a label has and what keeps it from more, in the order in which that is asked; and the sentences of it."""

from typing import Any

import pytest
from tests.capacity.builders import NOW, node, policy, scale_set, snapshot
from tests.capacity.kept_audits import busy

from remuda.capacity.decide.audit import audit
from remuda.capacity.decide.holding import holding
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import PODS, SCALE_SETS, Snapshot, Unknown, Usage
from remuda.output.words import sentence


def told(world: Snapshot, rules: CapacityPolicySpec | None = None, label: str = "nix-kvm") -> tuple[str, str]:
    made = audit(world, (label,), {} if rules is None else {"kvm": rules}, NOW)
    reason = holding(made.labels[0])
    return reason.code, sentence(reason)


def unread(part: str) -> dict[str, Any]:
    return {"unknown": (Unknown(part, "forbidden"),)}


@pytest.mark.parametrize(
    ("world", "ceiling", "code", "says"),
    [
        pytest.param(
            busy(1), 5, "label.has-room", "nix-kvm runs 1 of at most 5: 4 more may start", id="room below the ceiling"
        ),
        pytest.param(
            busy(1), 9, "label.has-room", "nix-kvm runs 1 of at most 9: 5 more may start", id="maxima come first"
        ),
        pytest.param(
            busy(4), 4, "label.held-by-ceiling", "nix-kvm runs 4 of at most 4: held by the ceiling of kvm", id="full"
        ),
        pytest.param(
            busy(5), 4, "label.above-ceiling", "nix-kvm runs 5, 1 above the ceiling of 4 of kvm", id="too many"
        ),
        pytest.param(
            busy(6), 9, "label.held-by-maxima",
            "nix-kvm runs 6 of at most 9: held by the maxima of its sets, 6 together", id="all that sets may have",
        ),
        pytest.param(
            snapshot(scale_set(max=None), node()), 4, "label.has-room", "nix-kvm runs 0 of at most 4: 4 more may start",
            id="an unbounded set",
        ),
        pytest.param(
            busy(**unread(PODS)), 4, "label.unknown", "nix-kvm is not known: pods were not read", id="no pods"
        ),
        pytest.param(
            busy(**unread(SCALE_SETS)), 4, "label.unknown", "nix-kvm is not known: scale sets were not read",
            id="no scale sets",
        ),
        pytest.param(
            snapshot(node()), 4, "label.without-sets", "nix-kvm has no set, and policy kvm waits for one",
            id="nobody carries it",
        ),
        pytest.param(
            snapshot(scale_set(max=3), node(memory="10Gi")), 4, "label.held-by-nodes",
            "nix-kvm runs 0 of at most 4: held by its nodes, of 3 runners of arc/vm-test at most 1 fit at a time: not enough memory",
            id="too small",
        ),
        pytest.param(
            snapshot(scale_set(max=3), node(memory="17Gi")), 3, "label.held-by-nodes",
            "nix-kvm runs 0 of at most 3: held by its nodes, of 3 runners of arc/vm-test at most 2 fit at a time: not enough memory",
            id="too small for all that the ceiling allows",
        ),
        pytest.param(
            snapshot(scale_set(max=3), node(memory="17Gi")), 2, "label.has-room", "nix-kvm runs 0 of at most 2: 2 more may start",
            id="maxima that the ceiling forbids need no room",
        ),
    ],
)  # fmt: skip
def test_the_first_that_holds_is_said(world: Snapshot, ceiling: int, code: str, says: str) -> None:
    assert told(world, policy(ceiling=ceiling)) == (code, says)


@pytest.mark.parametrize(("most", "together"), [(None, "any number"), (3, "3"), (0, "0")])
def test_without_a_policy_nothing_holds_it(most: int | None, together: str) -> None:
    says = f"nix-kvm runs 0 runners, and no policy holds it: its sets may have {together} together"
    assert told(snapshot(scale_set(max=most), node())) == ("label.without-ceiling", says)


def test_what_runs_on_nodes_that_nobody_placed_it_on_counts() -> None:
    world = snapshot(scale_set(max=4), node(), usage={"gone": Usage(runners={"arc/vm-test": 4})})
    assert told(world, policy())[0] == "label.held-by-ceiling"
