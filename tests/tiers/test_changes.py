"""What one cycle plans: limits before quotas, nothing that is not ours, nothing twice and nothing by halves."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import NOW
from tests.tiers.loop_worlds import (
    ONE,
    POLICY,
    judged,
    limits,
    namespace,
    quota,
    reason_of,
    shared,
    targets,
    world,
)

from remuda.model.plans import Operation, Outcome, Plan
from remuda.model.times import HOUR, MINUTE
from remuda.output.words import sentence
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.desk import MOST_CHANGES
from remuda.tiers.decide.model import ABSENT, Failure, Memory, NodeSeen, Policies, Snapshot, Write

LIMITS, QUOTA = "LimitRange web/tier-defaults", "ResourceQuota web/web-quota"
OTHER = replace(POLICY, name="other")
EDITED = {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}
FEWER = {"spec": {"hard": {"requests.cpu": "8", "requests.memory": "16Gi", "pods": "3"}}}
GONE = Memory(("default",))
MARKED = NodeSeen("gpu", taints=("a=b:NoSchedule",), owned=("a=b:NoSchedule",))

#: id → (what is there, what is done, the code of the reason)
CASES: dict[str, tuple[tuple[Any, ...], list[str], str]] = {
    "nothing is there": ((namespace(),), [f"write {LIMITS}"], "applying"),
    "the limits are there": ((namespace(), limits()), [f"write {QUOTA}"], "applying"),
    "all is there": ((namespace(), limits(), quota()), [], "settled"),
    "limits were edited": ((namespace(), limits(body=EDITED), quota()), [f"write {LIMITS}"], "applying"),
    "limits were edited and the quota is missing": (
        (namespace(), limits(body=EDITED)), [f"write {LIMITS}"], "applying",
    ),
    "limits are gone and the quota is there": ((namespace(), quota()), [f"write {LIMITS}"], "applying"),
    "the quota was edited": ((namespace(), limits(), quota(body=FEWER)), [f"write {QUOTA}"], "applying"),
    "the quota has lost its spec": ((namespace(), limits(), quota(body={})), [f"write {QUOTA}"], "applying"),
    "the limits have lost their spec": ((namespace(), limits(body={})), [f"write {LIMITS}"], "applying"),
    "its tier changed": (
        (namespace(), limits(tier="0-core"), quota(tier="0-core")), [f"write {LIMITS}"], "applying",
    ),
    "its tier changed and the limits have": (
        (namespace(), limits(), quota(tier="0-core")), [f"write {QUOTA}"], "applying",
    ),
    "it is of another policy by now": ((namespace(), limits(policy=OTHER)), [f"write {LIMITS}"], "applying"),
    "limits of somebody else": ((namespace(), limits(owner=None)), [], "foreign"),
    "limits of somebody else and a quota of ours": ((namespace(), limits(owner=None), quota(body=FEWER)), [], "foreign"),
    "a quota of somebody else": ((namespace(), limits(), quota(owner=None, body=FEWER)), [], "foreign"),
    "its own quota": ((namespace(own_quota="true"), limits()), [], "own"),
    "its own quota, made by somebody": ((namespace(own_quota="true"), limits(), quota(owner=None)), [], "own"),
    "its own quota from now on": (
        (namespace(own_quota="true"), limits(), quota()), [f"remove {QUOTA}"], "opting-out",
    ),
    "its own limits": ((namespace(own_limits="true"), quota()), [], "own"),
    "its own limits and no quota yet": ((namespace(own_limits="true"),), [f"write {QUOTA}"], "applying"),
    "its own limits from now on": (
        (namespace(own_limits="true"), limits(), quota()), [f"remove {LIMITS}"], "opting-out",
    ),
    "an opt-out that says no": ((namespace(own_quota="false"), limits()), [f"write {QUOTA}"], "applying"),
    "its own limits and quota": ((namespace(own_limits="true", own_quota="true"),), [], "own"),
    "a tier that does not exist": ((namespace(tier="9-none"),), [], "unknown"),
    "a tier that does not exist any more": ((namespace(tier="9-none"), limits(body=EDITED), quota()), [], "unknown"),
    "no tier": ((namespace(tier=""),), [], "none"),
    "no tier and somebody's quota": ((namespace(tier=""), quota(owner=None)), [], "none"),
    "no tier and what another Remuda made": ((namespace(tier=""), quota(owner="theirs")), [], "none"),
    "no tier any more": ((namespace(tier=""), limits(), quota()), [f"remove {QUOTA}"], "removing"),
    "no tier any more and the quota is gone": ((namespace(tier=""), limits()), [f"remove {LIMITS}"], "removing"),
    "it is being deleted": (
        (replace(namespace(), is_terminating=True), limits(body=EDITED)), [], "terminating",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("there", "done", "code"), CASES.values(), ids=CASES)
def test_a_namespace_gets_limits_before_its_quota_and_loses_them_after_it(
    there: tuple[Any, ...], done: list[str], code: str
) -> None:
    plan = judged(world(*there))
    assert targets(plan) == done
    reason = reason_of(plan, "namespace/web")
    assert reason.code == f"tier.{code}"
    assert sentence(reason).startswith("web ")
    assert " - " not in sentence(reason)


def test_a_namespace_that_is_being_deleted_and_has_no_tier_is_nobody_s() -> None:
    ending = replace(namespace(tier=""), is_terminating=True)
    assert [reason.subject for reason in judged(world(ending, limits())).reasons] == ["tierpolicy/default"]


def test_what_makes_and_changes_expects_what_was_seen() -> None:
    fresh, changed = (judged(world(namespace(), *there)).actions[0] for there in ((), (limits(body=EDITED),)))
    again = judged(world(namespace(), limits(body=FEWER))).actions[0]
    assert isinstance(fresh, Write)
    assert (fresh.expects, fresh.namespace_uid) == (ABSENT, "uid-web")
    assert ABSENT != changed.expects != again.expects


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"requests.cpu": "8000m", "requests.memory": "16384Mi", "pods": 20}, id="written otherwise"),
        pytest.param(
            {"requests.cpu": 8, "requests.memory": "16Gi", "pods": "20", "requests.storage": "1Ti"},
            id="with a key of somebody else",
        ),
    ],
)  # fmt: skip
def test_a_quota_is_compared_by_what_it_means_and_others_keep_what_they_add(body: dict[str, Any]) -> None:
    assert not judged(world(namespace(), limits(), quota(body={"spec": {"hard": body}}))).actions


@pytest.mark.parametrize("wrong", ["-3", "three", None, 1.5])
def test_an_amount_that_is_none_is_not_what_is_wanted(wrong: Any) -> None:
    hard = {"requests.cpu": "8", "requests.memory": "16Gi", "pods": wrong}
    assert targets(judged(world(namespace(), limits(), quota(body={"spec": {"hard": hard}})))) == [
        f"write {QUOTA}"
    ]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param("none", id="no list"),
        pytest.param(["x"], id="no items"),
        pytest.param([], id="no item"),
        pytest.param([{"type": "Container", "max": {"memory": "lots"}}], id="no quantity"),
    ],
)
def test_limits_that_make_no_sense_are_written_anew(found: Any) -> None:
    plan = judged(world(namespace(), limits(body={"spec": {"limits": found}})))
    assert targets(plan) == [f"write {LIMITS}"]


def test_limits_that_are_written_otherwise_are_the_same() -> None:
    item = {
        "type": "Container",
        "default": {"memory": "4096Mi"},
        "defaultRequest": {"cpu": "0.25", "memory": "262144Ki"},
        "max": {"memory": "4294967296"},
    }
    assert not judged(world(namespace(), limits(body={"spec": {"limits": [item]}}), quota())).actions


def test_a_namespace_of_two_policies_is_left_alone() -> None:
    plan = judged(
        world(namespace(), limits(body=EDITED), shared=shared(POLICY, OTHER)), Policies((POLICY, OTHER))
    )
    assert not plan.actions
    assert sentence(reason_of(plan, "namespace/web")) == (
        "web is left alone because several policies are for it: default, other"
    )


def test_nothing_that_was_made_for_a_policy_that_cannot_be_read_is_touched() -> None:
    there = (namespace(), limits(body=EDITED), namespace("old", tier=""), limits("old"), quota("old"))
    seen = world(*there, shared=shared()[:1], nodes=(MARKED,))
    for policies in (Policies((), ("default",)), Policies((OTHER,), ("default",))):
        plan, after = decide(seen, GONE, policies, NOW)
        assert {action.target for action in plan.actions} & {
            LIMITS, "LimitRange old/tier-defaults", "ResourceQuota old/old-quota", "PriorityClass tier-0-core", "Node gpu",
        } == set()  # fmt: skip
        assert reason_of(plan, "namespace/web").code == "tier.unread"
        assert "default" in after.policies


def test_a_policy_that_goes_takes_what_it_gave_with_it_and_is_forgotten_then() -> None:
    seen = world(namespace(), limits(), quota())
    plan, after = decide(seen, GONE, Policies(), NOW)
    assert QUOTA in {action.target for action in plan.actions}
    assert LIMITS not in {action.target for action in plan.actions}
    assert after == Memory(("default",))
    empty = Snapshot((namespace(),))
    assert decide(empty, after, Policies(), NOW)[1] == replace(after, traceless={"default": NOW})
    late = decide(empty, replace(after, traceless={"default": NOW}), Policies(), NOW + 10 * MINUTE - 1)[1]
    assert late == replace(after, traceless={"default": NOW})
    assert decide(empty, late, Policies(), NOW + 10 * MINUTE)[1] == Memory()
    assert decide(seen, late, Policies(), NOW + HOUR)[1] == Memory(("default",))


def test_a_policy_that_is_gone_is_remembered_while_a_write_for_it_is_on_its_way() -> None:
    action = judged(world(namespace())).actions[0]
    seen = Snapshot((namespace(),), operations=(Operation(1, action),))
    long_ago = Memory(("default",), traceless={"default": NOW - HOUR})
    assert decide(seen, long_ago, Policies(), NOW)[1] == GONE


def test_what_an_unknown_policy_left_is_not_ours_to_remove() -> None:
    assert not judged(world(namespace(), limits(), quota()), Policies()).actions
    rules = [item for item in shared(replace(POLICY, name="before")) if item.kind != "PriorityClass"]
    old = world(namespace(tier=""), limits(owner="before"), shared=[*shared(), *rules])
    assert not judged(old).actions


def test_a_policy_that_is_gone_is_remembered_while_its_traces_cannot_be_read() -> None:
    unread = Snapshot(unread={"Node": "forbidden"})
    assert decide(unread, GONE, Policies(), NOW)[1] == GONE
    assert decide(Snapshot(nodes=(MARKED,)), GONE, Policies(), NOW)[1] == GONE


@pytest.mark.parametrize("kind", ["Namespace", "LimitRange", "ResourceQuota"])
def test_namespaces_are_not_judged_by_what_cannot_be_read(kind: str) -> None:
    plan = judged(world(namespace(), unread={kind: "forbidden: list"}))
    assert not plan.actions
    assert sentence(reason_of(plan, f"kind/{kind}")) == (
        f"{kind} objects cannot be read, and nothing that depends on them is touched: forbidden: list"
    )


def test_nodes_are_not_judged_when_they_cannot_be_read_and_namespaces_are() -> None:
    plan = judged(
        world(namespace(), unread={"Node": "no"}, nodes=(NodeSeen("gpu", owned=("a=b:NoSchedule",)),))
    )
    assert targets(plan) == [f"write {LIMITS}"]


def test_what_is_under_way_is_not_begun_again() -> None:
    action = judged(world(namespace())).actions[0]
    plan = judged(world(namespace(), operations=(Operation(1, action),)))
    assert not plan.actions
    assert reason_of(plan, "namespace/web").code == "tier.applying"


@pytest.mark.parametrize("status", ["failed", "refused"])
def test_what_did_not_work_waits_longer_each_time_and_holds_up_nobody_else(status: str) -> None:
    action = judged(world(namespace())).actions[0]
    memory = Memory(("default",))
    waits = []
    for _ in range(12):
        ended = Operation(1, action, Outcome(status, NOW, "may not create limitranges"))
        seen = world(namespace(), namespace("api"), operations=(ended,))
        plan, memory = decide(seen, memory, ONE, NOW)
        assert targets(plan) == ["write LimitRange api/tier-defaults"]
        waits.append(memory.failures[LIMITS].retry_at - NOW)
    assert waits[:4] == [1_000, 2_000, 4_000, 8_000]
    assert waits[-1] == 300_000
    said = sentence(reason_of(plan, "namespace/web"))
    assert said.startswith(f"web is of tier 4-aux: {LIMITS} could not be changed: may not create limitranges")
    later, _ = decide(world(namespace()), memory, ONE, NOW + 300_000)
    assert targets(later) == [f"write {LIMITS}"]


def test_a_failure_is_forgotten_when_it_worked_or_is_not_wanted_any_more() -> None:
    action = judged(world(namespace())).actions[0]
    memory = Memory(("default",), {LIMITS: Failure(3, NOW + 9, "no")})
    done = world(namespace(), limits(), quota(), operations=(Operation(1, action, Outcome("done", NOW)),))
    for seen in (done, world(namespace(), limits(), quota())):
        assert decide(seen, memory, ONE, NOW)[1] == Memory(("default",))
    assert decide(world(namespace()), memory, ONE, NOW)[1] == memory


def test_not_everything_is_changed_at_once() -> None:
    many = [namespace(f"n-{number:03}") for number in range(MOST_CHANGES + 5)]
    first = judged(world(*many)).actions
    assert len(first) == MOST_CHANGES
    under_way = tuple(Operation(number, action) for number, action in enumerate(first[:-3]))
    plan = judged(world(*many, operations=under_way))
    assert len(plan.actions) == 3
    waiting = reason_of(plan, f"namespace/n-{MOST_CHANGES + 4:03}")
    assert waiting.code == "tier.waiting"
    summary = reason_of(plan, "tierpolicy/default")
    assert summary.terms == {"namespaces": len(many), "settled": 0, "blocked": 0}


def test_a_policy_says_how_many_of_its_namespaces_are_settled_and_how_many_wait_for_somebody() -> None:
    there = (
        namespace("a"), limits("a"), quota("a"), namespace("b"), namespace("c"), limits("c", owner=None),
        namespace("d", tier="9-none"), namespace("e", tier=""), namespace("kube-system"),
    )  # fmt: skip
    plan = judged(world(*there))
    assert sentence(reason_of(plan, "tierpolicy/default")) == (
        "default has 3 namespaces; 1 is as their tier says; 2 wait for somebody"
    )


@pytest.mark.parametrize("broken", [(), ("default",)])
def test_without_policies_that_were_ever_followed_nothing_is_said(broken: tuple[str, ...]) -> None:
    there = world(namespace(tier=""), limits(), quota())
    assert decide(there, Memory(), Policies((), broken), NOW) == (Plan(), Memory())
