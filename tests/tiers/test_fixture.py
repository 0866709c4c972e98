"""A small cluster in which every rule of an audit is broken once, read as a person has it: from a file, by the command."""

from pathlib import Path

import pytest
from tests.tiers.clusters import NOW

from remuda.objects.load import load_files
from remuda.objects.tier_checks import check_policies
from remuda.objects.tiers import TIER_POLICY, policy_of
from remuda.output.findings import describe
from remuda.rules.tiers import TierPolicy
from remuda.tiers.audit_codes import FINDINGS
from remuda.tiers.decide.audit import Audit, audit
from remuda.tiers.observe.files import read_files

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def policies() -> tuple[TierPolicy, ...]:
    loaded = load_files([DATA / "tiers-policy.yaml"], (TIER_POLICY,), (check_policies,))
    assert loaded.problems == ()
    return tuple(policy_of(item.name, item.spec) for item in loaded.objects)


@pytest.fixture(scope="module")
def made(policies: tuple[TierPolicy, ...]) -> Audit:
    read = read_files([DATA / "tiers-cluster.yaml"], NOW)
    assert read.problems == ()
    return audit(read.snapshot, policies, NOW)


def test_every_rule_is_broken_in_it(made: Audit) -> None:
    found = {each.code for each in made.findings}
    # everything was read
    assert sorted(FINDINGS.keys() - found) == ["tiers.not-read"]


def test_every_sentence_has_its_terms(made: Audit) -> None:
    for finding in made.findings:
        said = describe(finding)
        assert all(said), finding
        assert " - " not in " ".join(said), finding
        assert "{" not in " ".join(said), finding
        assert not any(text.startswith(("-", " ")) or "  " in text for text in said), said


def test_each_finding_is_said_once(made: Audit) -> None:
    said = [(each.code, each.subject, each.field, str(each.terms)) for each in made.findings]
    assert len(said) == len(set(said))
