"""Whether a node lets a pod in."""

import pytest

from remuda.model.pods import Match, Taint, Term, Toleration
from remuda.rules.placing import holds, pressing, untolerated

DOWN = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
FULL = Taint("node.kubernetes.io/disk-pressure", "", "NoSchedule")
OURS = Taint("ci", "yes", "NoExecute")
SOFT = Taint("ci", "yes", "PreferNoSchedule")


def test_hard_taints_that_nothing_covers_keep_pods_away_but_for_those_of_the_nodes_state() -> None:
    assert list(untolerated((DOWN, FULL, OURS, SOFT), ())) == [OURS]
    assert list(untolerated((OURS,), (Toleration("ci", "Equal", "yes"),))) == []


def test_only_what_nothing_else_says_of_a_node_presses() -> None:
    assert list(pressing((DOWN, FULL, OURS, SOFT))) == [FULL]


@pytest.mark.parametrize(
    ("term", "is_met"),
    [
        (Term(), False),
        (Term((Match("a", "In", ("1",)),)), True),
        (Term((Match("a", "In", ("1",)), Match("b", "Exists"))), False),
        (Term(match_fields=(Match("metadata.name", "In", ("n",)),)), True),
        (Term((Match("a", "Like", ("1",)),)), False),
        (Term((Match("a", "Gt", ("x",)),)), False),
    ],
)
def test_a_term_holds_when_all_of_it_does_and_what_nobody_understands_never(term: Term, is_met: bool) -> None:
    assert holds(term, "n", {"a": "1"}) == is_met
