"""How checks put things: short enough, counted, and with what to do where something was refused."""

import pytest
from tests.diagnose.snapshots import healthy

from remuda.diagnose.decide.verdicts import Seen, counted, cut, listed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\n  b\tc", "a b c", id="on one line"),
        pytest.param("x" * 400, "x" * 400, id="as long as may be"),
        pytest.param("x" * 401, "x" * 399 + "…", id="longer"),
    ],
)
def test_what_others_wrote_is_cut(text: str, shown: str) -> None:
    assert cut(text) == shown


def test_five_names_are_shown_and_the_others_counted() -> None:
    assert [listed("abcdefg"[:count]) for count in (0, 5, 6, 7)] == [
        "",
        "a, b, c, d, e",
        "a, b, c, d, e and 1 more",
        "a, b, c, d, e and 2 more",
    ]
    assert listed("abc", 2) == "a, b and 1 more"
    assert [counted(number, "VM") for number in (0, 1, 2)] == ["0 VMs", "1 VM", "2 VMs"]


@pytest.mark.parametrize(
    ("lines", "is_granted"),
    [(("pods: 403 Forbidden", "nodes: timeout"), True), (("nodes: timeout",), False), ((), False)],
)
def test_where_something_was_refused_the_permissions_are_named(
    lines: tuple[str, ...], is_granted: bool
) -> None:
    found = Seen("pods").unread(healthy(), lines)
    assert (found.verdict, found.evidence) == ("unknown", lines)
    assert any("remuda rbac diagnose --namespace ci" in each for each in found.fix) is is_granted
