"""What the diagnosis says of kept audits: errors with their fixes, age, and what cannot be read; nothing where none is kept."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.capacity.builders import NOW, policy
from tests.capacity.kept_audits import Home, busy

from remuda.capacity.answers import AuditRow
from remuda.capacity.checkup import check_capacity
from remuda.control.command import Session
from remuda.jobs import JOBS
from remuda.ledger import documents
from remuda.model.checks import CheckResult
from remuda.model.times import DAY
from remuda.output.audits import OLD, judge_audits


def session(home: Path) -> Session:
    made = Session(JOBS)
    made.data_dir = home
    return made


def checked(home: Path) -> list[CheckResult]:
    return list(check_capacity(session(home), lambda _: None))


def row(**fields: object) -> AuditRow:
    return replace(AuditRow(1, "cluster", NOW, NOW, 0, 2, ("nix-kvm",)), **fields)


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_said_where_no_audit_is_kept(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        documents.keep(tmp_path, "rightsize/x", NOW, {})
    assert checked(tmp_path) == []


def test_errors_of_the_newest_audit_are_problems_with_their_fixes(tmp_path: Path) -> None:
    Home(tmp_path).keep(busy(5), kvm=policy(evidence={"date": "2026-11-10", "fitted": 4}))
    rows = Home(tmp_path).ask("/v1/capacity/audits")
    pictures = {1: Home(tmp_path).ask("/v1/capacity/audits/1").causes}
    found = judge_audits("capacity", rows, pictures, NOW + DAY)
    assert (found.check, found.verdict) == ("capacity", "problem")
    assert found.evidence[0].startswith("cluster, audited 1d ago: ")
    assert any("running-above-ceiling: CapacityPolicy kvm: 5 running" in each for each in found.evidence)
    assert "let runners end, and lower the maxima that allow so many" in found.fix


def test_an_audit_without_errors_is_in_order_and_says_how_old_it_is() -> None:
    found = judge_audits("capacity", [row(), row(source="other", warnings=1, at=NOW - DAY)], {}, NOW + DAY)
    assert found.verdict == "ok"
    assert found.evidence == ("cluster, audited 1d ago: 2 warnings", "other, audited 2d ago: 1 warning")


def test_an_old_audit_is_to_be_made_again_and_its_errors_count_no_more() -> None:
    for errors in (0, 3):
        found = judge_audits("capacity", [row(errors=errors)], {}, NOW + OLD + 1)
        assert (found.verdict, found.message) == ("unknown", "the last audit of capacity is 30d old")
        assert found.fix == ("audit again: remuda capacity audit",)
    assert judge_audits("capacity", [row()], {}, NOW + OLD).verdict == "ok"


def test_one_that_was_audited_once_long_ago_does_not_matter_beside_a_fresh_one() -> None:
    found = judge_audits("capacity", [row(), row(source="old", at=NOW - OLD - 1, errors=3)], {}, NOW)
    assert found.verdict == "ok"
    assert found.evidence == ("cluster, audited 0s ago: 2 warnings",)


def test_what_cannot_be_read_is_said() -> None:
    broken = row(problem="what was kept is v9: audit again")
    assert judge_audits("capacity", [broken], {}, NOW).verdict == "unknown"
    assert (
        judge_audits("capacity", [broken, row(id=2)], {}, NOW).evidence[-1]
        == "what was kept is v9: audit again"
    )


def test_an_error_is_found_by_the_checkup_itself(tmp_path: Path) -> None:
    Home(tmp_path).keep(busy(5), at=session(tmp_path).now())
    (found,) = checked(tmp_path)
    assert found.verdict == "problem"
