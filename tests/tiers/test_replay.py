"""Recorded cycles of tiers through today's rules, or through other policies."""

import asyncio

from tests.builders import NOW
from tests.tiers.loop_worlds import ONE, limits, namespace, quota, world

from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.model.times import HOUR
from remuda.objects.load import Objects, load_text
from remuda.objects.tiers import TIER_POLICY
from remuda.tiers.controller import LOOP, TIER_KINDS
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.model import Memory, Policies
from remuda.tiers.policies import policies_of
from remuda.tiers.replay import TiersReplay, last_reason

OTHER = """
apiVersion: remuda.dev/v1alpha1
kind: TierPolicy
metadata: {name: default}
spec:
  tiers: [{name: 4-aux, quota: {pods: 5}}]
"""


def recorded(policies: Policies = ONE) -> InlineStore:
    store = InlineStore()
    ledger = Ledger(store, LOOP, TIER_KINDS)
    seen = world(namespace(), limits(), quota(), namespace("new"))
    plan, after = decide(seen, Memory(), policies, NOW)
    asyncio.run(ledger.record(seen, Memory(), policies, NOW, plan, after, ()))
    return store


def objects(text: str) -> Objects:
    loaded = load_text(text, "other.yaml", (TIER_POLICY,))
    assert not loaded.problems
    return loaded.objects


def test_what_was_decided_is_decided_again() -> None:
    replay = TiersReplay(None, NOW)
    (step,) = recorded().read(lambda db: list(replay.steps(db, NOW - HOUR, NOW + HOUR, print)))
    assert (step.cycles, step.differences) == (1, ())
    assert replay.known() == {"TierPolicy": {"default"}}
    assert list(replay.used()) == []


def test_another_policy_shows_whom_it_would_have_changed() -> None:
    replay = TiersReplay(objects(OTHER), NOW)
    (step,) = recorded().read(lambda db: list(replay.steps(db, NOW - HOUR, NOW + HOUR, print)))
    found = {item.data["subject"]: item for item in step.differences}
    web = found["namespace/web"]
    assert web.data["then"] == "web has the limits and the quota of tier 4-aux, by policy default"
    assert web.data["now"] == "web is of tier 4-aux: ResourceQuota web/web-quota is written"
    assert web.lines[0].endswith("namespace/web   (1 cycles, 0s)")
    assert "namespace/new" not in found


def test_a_subject_that_is_not_judged_any_more_is_a_difference() -> None:
    gone = OTHER.replace("spec:", "spec:\n  excluded: [web]")
    (step,) = recorded().read(
        lambda db: list(TiersReplay(objects(gone), NOW).steps(db, NOW - HOUR, NOW + HOUR, print))
    )
    web = next(item for item in step.differences if item.data["subject"] == "namespace/web")
    assert web.data["now"] == "web has no tier any more: ResourceQuota web/web-quota is removed"
    assert not [item for item in step.differences if item.data["subject"] == "namespace/none"]


def test_a_policy_that_was_not_there_changes_nothing() -> None:
    other = TiersReplay(objects(OTHER.replace("name: default", "name: other")), NOW)
    (step,) = recorded().read(lambda db: list(other.steps(db, NOW - HOUR, NOW + HOUR, print)))
    assert step.differences == ()


def test_the_last_word_on_a_namespace_can_be_asked_for() -> None:
    store = recorded()
    reason = store.read(lambda db: last_reason(db, "namespace/web"))
    assert reason is not None
    assert reason.code == "tier.settled"
    assert store.read(lambda db: last_reason(db, "namespace/none")) is None
    assert InlineStore().read(lambda db: last_reason(db, "namespace/web")) is None


def test_policies_are_taken_by_name_and_broken_ones_are_named() -> None:
    two = objects(
        OTHER.replace("name: default", "name: z") + "---" + OTHER.replace("name: default", "name: a")
    )
    found = policies_of(two, frozenset({("TierPolicy", "broken"), ("RunnerPool", "shell")}))
    assert [policy.name for policy in found.policies] == ["a", "z"]
    assert found.broken == ("broken",)
    assert found.policies[0].tiers["4-aux"].quota["pods"] == 5
