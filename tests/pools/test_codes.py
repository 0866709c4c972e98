"""Sentences: every code has one, and each is made of real numbers."""

import ast
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.pools.reason_worlds import ENDS, NOW, world

from remuda.model.plans import Reason
from remuda.output.words import number, sentence
from remuda.pools.arithmetic import demand, pool_lines
from remuda.pools.codes import CODES
from remuda.pools.decide import decide

SOURCE = Path(__file__).parents[2] / "src" / "remuda"
POOL_CODES = [code for code in CODES if code.startswith(("pool.", "machine."))]
_CODE = re.compile(r"(pool|machine)\.[a-z]+(-[a-z]+)*")
#: a dash in the place of a term
_DASH = re.compile(r"(?<![^\s(])-(?![^\s,:;)])")


@pytest.fixture(autouse=True)
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@cache
def reasons_by_code() -> dict[str, list[Reason]]:
    """Reasons that `decide` gave, by code."""
    found: dict[str, list[Reason]] = defaultdict(list)
    for seed in range(1_500):
        plan, _ = decide(*world(seed), NOW)
        for reason in (*plan.reasons, *(action.reason for action in plan.actions)):
            found[reason.code].append(reason)
    return found


def test_every_code_that_decide_gives_has_a_sentence_and_every_sentence_is_given() -> None:
    assert sorted(reasons_by_code()) == sorted(POOL_CODES)


def test_every_code_written_in_the_source_is_in_the_list() -> None:
    written = {
        node.value
        for path in (SOURCE / "pools" / "decide").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value)
    }
    assert len(written) > 20
    assert written <= set(CODES)


def test_every_end_of_a_machine_has_a_sentence() -> None:
    assert {f"machine.{end}" for end in ENDS} <= set(CODES)


@pytest.mark.parametrize("code", POOL_CODES)
def test_a_sentence_names_its_subject_and_has_a_number_wherever_one_belongs(code: str) -> None:
    for reason in reasons_by_code()[code]:
        text = sentence(reason)
        assert text.startswith(reason.subject.partition("/")[2] + " ")
        if not (reason.terms.get("detail") == "" or ("job" in reason.terms and reason.terms["job"] is None)):
            assert not _DASH.search(text), text
        assert "{" not in text
        assert "None" not in text


def test_the_arithmetic_of_every_pool_adds_up() -> None:
    for reasons in reasons_by_code().values():
        for reason in reasons:
            if not reason.code.startswith("pool."):
                continue
            lines = {label: text for label, text, _ in pool_lines(reason)}
            terms = reason.terms
            parts = ("unclaimed", "running", "headroom")
            total = sum(number(terms, name) for name in parts) - number(terms, "beyond")
            assert lines["demand"].startswith(f"{total} = ")
            assert lines["bounds"].startswith(f"{number(terms, 'bounded')} = ")
            assert ("ceiling" in lines) == (terms["ceiling"] is not None)
            assert ("surge" in lines) == (terms["max_surge"] is not None)
            assert lines["action"]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        pytest.param(
            Reason("pool.steady", "pool/a", {"target": 1}), "a has the 1 machine it wants", id="one"
        ),
        pytest.param(
            Reason("pool.steady", "pool/a", {"target": 3}), "a has the 3 machines it wants", id="some"
        ),
        pytest.param(
            Reason("pool.steady", "pool/a", {"target": 0}), "a has the 0 machines it wants", id="none"
        ),
        pytest.param(
            Reason("pool.held-by-max", "pool/a", {"unclaimed": 5, "running": 4, "headroom": 1, "max": 8}),
            "a wants 10 machines and may have 8: held by max",
            id="demand is the sum",
        ),
        pytest.param(
            Reason("machine.boot-timeout", "machine/a-1", {"timeout": 90_000}),
            "a-1 is removed: it was not ready after 1m30s",
            id="durations are written out",
        ),
        pytest.param(
            Reason("pool.backing-off", "pool/a", {"target": 2, "live": 1, "failures": 3, "retry_at": NOW}),
            "a wants 2 machines and has 1: 3 failed; trying again at 09:00:00",
            id="instants are written out, in local time",
        ),
        pytest.param(
            Reason(
                "pool.failing",
                "pool/a",
                {"target": 2, "live": 0, "failures": 7, "failure": "no {disk}", "retry_at": NOW},
            ),
            "a wants 2 machines and has 0: 7 failed in a row: no {disk}; one more is tried at 09:00:00",
            id="the last failure is told",
        ),
        pytest.param(
            Reason("pool.shrinking", "pool/a", {"target": 1, "live": 2, "closed": 1}),
            "a wants 1 machine and has 2: letting 1 idle machine go",
            id="one goes",
        ),
        pytest.param(
            Reason("pool.rolling", "pool/a", {"target": 2, "old": 1}),
            "a has the 2 machines it wants; 1 still has an old template",
            id="one is old",
        ),
        pytest.param(
            Reason("pool.rolling", "pool/a", {"target": 2, "old": 2}),
            "a has the 2 machines it wants; 2 still have an old template",
            id="two are old",
        ),
        pytest.param(
            Reason("pool.draining", "pool/a", {"live": 1}), "a drains: 1 machine is left", id="one is left"
        ),
        pytest.param(
            Reason("pool.over-ceiling", "pool/a", {"busy": 4, "ceiling": "roof", "limit": 2, "others": 0}),
            "a has 4 busy under ceiling roof of 2: it shrinks as they finish",
            id="alone under its ceiling",
        ),
        pytest.param(
            Reason("pool.over-ceiling", "pool/a", {"busy": 4, "ceiling": "roof", "limit": 5, "others": 2}),
            "a has 4 busy under ceiling roof of 5, where others hold 2: it shrinks as they finish",
            id="with others under its ceiling",
        ),
        pytest.param(
            Reason("machine.rollout-now", "machine/a-1", {"job": None}),
            "a-1 is removed at once by an ordered rollout",
            id="no job dies",
        ),
        pytest.param(
            Reason("pool.dreaming", "pool/a", {"sheep": 3, "awake": None}),
            "a: pool.dreaming (sheep 3)",
            id="a code of a newer remuda is told with its terms",
        ),
        pytest.param(Reason("pool.dreaming", "pool/a"), "a: pool.dreaming", id="or without"),
        pytest.param(
            Reason("machine.crashed", "machine/a-1", {"detail": "{live} %s {0}"}),
            "a-1 is removed: it crashed: {live} %s {0}",
            id="a detail is never a format",
        ),
        pytest.param(
            Reason("pool.growing", "pool/a"), "a wants - machines and has -: making -", id="no terms"
        ),
    ],
)
def test_a_reason_becomes_a_sentence(reason: Reason, text: str) -> None:
    assert sentence(reason) == text


def test_missing_numbers_are_0_in_arithmetic() -> None:
    assert number({"a": None, "b": "x"}, "a") == 0
    assert number({"b": "x"}, "b") == 0
    assert demand({}) == 0


@pytest.mark.parametrize(
    ("terms", "label", "text", "remark"),
    [
        pytest.param({"unclaimed": 9, "max": 8, "bounded": 8}, "bounds", "8 = min(9, max 8)", None, id="max"),
        pytest.param({"min": 2, "max": 8, "bounded": 2}, "bounds", "2 = max(0, min 2)", None, id="min"),
        pytest.param(
            {"unclaimed": 3, "min": 1, "max": 8, "bounded": 3}, "bounds", "3 = 1 ≤ 3 ≤ 8", None, id="between"
        ),
        pytest.param(
            {"bounds_from": "window 2"}, "bounds", "0 = 0 ≤ 0 ≤ 0", "schedule window 2 is open", id="window"
        ),
        pytest.param({"bounds_from": "override"}, "bounds", "0 = 0 ≤ 0 ≤ 0", "set by hand", id="override"),
        pytest.param({"held_by": "delay", "wanted": 5}, "delay", "5 kept", None, id="delay"),
        pytest.param(
            {"held_by": "stale", "wanted": 5, "stale_since": NOW},
            "stale",
            "5 kept",
            "the source has not answered since 2026-01-05 09:00:00",
            id="stale",
        ),
        pytest.param(
            {"held_by": "surge", "wanted": 7, "idle": 3, "busy": 1, "max_surge": 3},
            "surge",
            "7 = 4 ready + 3",
            "more once machines have booted",
            id="held by surge",
        ),
        pytest.param(
            {"wanted": 5, "idle": 3, "busy": 1, "max_surge": 3},
            "surge",
            "5 ≤ 4 ready + 3",
            "not in the way",
            id="surge",
        ),
        pytest.param(
            {"ceiling": "laptop", "limit": 6, "others": 2, "grant": 4, "wanted": 8},
            "ceiling",
            "4 of 6 of laptop; others hold 2",
            "4 less than wanted",
            id="ceiling",
        ),
        pytest.param({"created": 2, "deleted": 1}, "action", "make 2, delete 1", None, id="actions"),
        pytest.param(
            {"live": 4, "busy": 4, "target": 2},
            "action",
            "none: 4 of 4 are busy; a busy machine is never removed",
            None,
            id="busy",
        ),
        pytest.param({"creating": 2}, "action", "none: 2 are booting", None, id="booting"),
        pytest.param({"creating": 1}, "action", "none: 1 is booting", None, id="one boots"),
        pytest.param({}, "action", "none", None, id="nothing"),
    ],
)
def test_each_line_of_the_arithmetic(
    terms: dict[str, int | str | None], label: str, text: str, remark: str | None
) -> None:
    lines = {line[0]: line[1:] for line in pool_lines(Reason("pool.x", "pool/a", terms))}
    assert lines[label][0] == text
    if remark is not None:
        assert lines[label][1] == remark
