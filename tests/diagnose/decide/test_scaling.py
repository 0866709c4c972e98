"""Pools that are not accepted, have no VMs, or follow neither their queue nor their configuration."""

from typing import Any

import pytest
from msgspec import structs
from tests.diagnose.snapshots import at, condition, healthy, pool, vm, vm_pool, vmi

from remuda.diagnose.decide.scaling import _HELD, configuration, demand, rollout, scaling
from remuda.diagnose.snapshot import Asked, Pool, SecretKeys, Snapshot
from remuda.pools.codes import CODES


def pool_with(reason: str, message: str = "as it says", stale: str = "False", **status: Any) -> Pool:
    conditions = [condition("Ready", "False", reason, message), condition("Stale", stale)]
    return pool(ceiling="all", status={"waiting": 4, "wanted": 10, "conditions": conditions, **status})


@pytest.mark.parametrize(
    ("snapshot", "evidence", "fix"),
    [
        pytest.param(
            healthy(served={"runnerpools.remuda.dev": ()}),
            "the cluster knows no runnerpools.remuda.dev",
            "remuda crds | kubectl apply --server-side -f -",
            id="the kinds are not installed",
        ),
        pytest.param(
            healthy(pools=()),
            "namespace ci has no RunnerPool",
            "kubectl apply -n ci -f FILE",
            id="there is no pool",
        ),
        pytest.param(
            healthy(
                pools=(
                    pool(
                        status={"conditions": [condition("Accepted", "False", "Invalid", "spec.min: is 9")]}
                    ),
                )
            ),
            "pool linux: spec.min: is 9",
            "kubectl edit runnerpool linux -n ci",
            id="a pool is not accepted",
        ),
        pytest.param(
            healthy(
                pools=(
                    pool(status={"conditions": [condition("Accepted", "False", "Incomplete", "no key")]}),
                ),
                secrets={},
            ),
            "pool linux: no key",
            "see the check secrets",
            id="a Secret of a pool is not whole",
        ),
        pytest.param(
            healthy(
                pools=(
                    pool(
                        status={
                            "conditions": [
                                condition(
                                    "Accepted",
                                    "False",
                                    "Incomplete",
                                    "Secret mine, key config.yaml: is not YAML",
                                )
                            ]
                        },
                        provider={"kubevirt": {"provisioner": {"secret": "mine", "key": "config.yaml"}}},
                    ),
                ),
                secrets={"circle": SecretKeys(("circle-token",)), "mine": SecretKeys(("config.yaml",))},
            ),
            "pool linux: Secret mine, key config.yaml: is not YAML",
            "correct what the message says in key config.yaml of Secret mine (kubectl get secret mine -n ci -o ",
            id="what is in a Secret is wrong, which the check of Secrets cannot see",
        ),
        pytest.param(
            healthy(pools=(pool(status={"observedGeneration": 0, "conditions": []}),)),
            "pool linux: nobody has looked at generation 1 (last seen: none)",
            "see the check controller",
            id="nobody looks at a pool",
        ),
    ],
)
def test_what_is_wrong_with_what_was_written_is_reported(snapshot: Snapshot, evidence: str, fix: str) -> None:
    found = configuration(snapshot)
    assert found.verdict == "problem"
    assert evidence in found.evidence
    assert fix in "\n".join(found.fix)


@pytest.mark.parametrize(
    ("given", "evidence"),
    [
        pytest.param(pool(max=0), "max 0, which lets no VM run", id="max is 0"),
        pytest.param(
            pool(status={"wanted": 2, "why": "linux wants 2 machines"}),
            "wants 2 VMs and has none",
            id="it wants some",
        ),
        pytest.param(
            pool(min=0, status={"wanted": 0, "waiting": 3}),
            "has no VM with min 0 and 3 waiting",
            id="tasks wait",
        ),
    ],
)
def test_a_pool_that_should_have_vms_is_a_problem(given: Pool, evidence: str) -> None:
    found = demand(healthy(pools=(given,), vms=()))
    assert found.verdict == "problem"
    assert evidence in found.evidence[0]


def test_what_follows_from_a_pool_that_is_not_accepted_leads_to_why_it_is_not() -> None:
    refused = condition("Accepted", "False", "Incomplete", "there is no Secret circle")
    failing = condition("Ready", "False", "Failing", "there is no Secret circle")
    never = pool(status={"wanted": 0, "conditions": [refused]})
    tried = pool(status={"wanted": 1, "conditions": [refused]})
    for given, evidence in ((never, "pool linux has no VM: it is not accepted"), (tried, "wants 1 VM")):
        found = demand(healthy(pools=(given,), vms=()))
        assert (found.verdict, found.fix) == ("problem", ("see the checks configuration and secrets",))
        assert evidence in found.evidence[0]
    found = scaling(healthy(pools=(pool(status={"conditions": [refused, failing]}),)))
    assert (found.verdict, found.fix) == ("problem", ("see the checks configuration and secrets",))


def test_no_demand_and_no_minimum_is_no_problem_but_reported() -> None:
    found = demand(healthy(pools=(pool(min=0, status={"wanted": 0}),), vms=()))
    assert (found.verdict, found.evidence) == (
        "ok",
        ("pool linux has no VM: min is 0 and no task waits; min: 1 keeps one warm",),
    )


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("HeldByMax", "raise max of pool linux, if the cluster has room"),
        ("HeldByCeiling", "raise the Ceiling all, or what it guarantees pool linux"),
        ("HeldByConcurrency", "raise planConcurrency, if the organisation's plan allows more"),
        ("Paused", "remuda pools resume linux"),
        ("BackingOff", "see what the machines die of: the checks placement, images and guests"),
    ],
)
def test_what_holds_a_pool_is_reported(reason: str, fix: str) -> None:
    found = scaling(healthy(pools=(pool_with(reason),)))
    assert (found.verdict, found.evidence, found.fix) == ("problem", ("pool linux: as it says",), (fix,))


def test_being_at_max_is_no_problem_while_nothing_waits() -> None:
    assert scaling(healthy(pools=(pool_with("HeldByMax", waiting=0),))).verdict == "ok"


def test_a_source_that_is_silent_is_reported_with_since_when() -> None:
    found = scaling(healthy(pools=(pool_with("Steady", stale="True"),)))
    assert found.verdict == "problem"
    assert found.evidence == (
        "pool linux: its source does not answer since 2026-01-31T13:50:00Z; the pool keeps its size",
    )


@pytest.mark.parametrize(
    ("outcome", "fix"),
    [
        pytest.param("unauthorized", "personal API token", id="a wrong token"),
        pytest.param("missing", "correct class acme/linux of pool linux", id="a wrong class"),
        pytest.param("nonsense", "correct source.circleci.url of pool linux", id="a wrong address"),
    ],
)
def test_what_circleci_says_itself_counts(outcome: str, fix: str) -> None:
    found = scaling(healthy(asked={"linux": Asked(outcome, "it says no")}))
    assert (found.verdict, found.evidence) == ("problem", ("pool linux, asked from here: it says no",))
    assert fix in found.fix[0]


def test_circleci_out_of_reach_from_here_is_a_problem_only_if_the_controller_fails_too() -> None:
    silent = {"linux": Asked("unreachable", "no route")}
    assert scaling(healthy(asked=silent)).verdict == "unknown"
    assert scaling(healthy(asked=silent, pools=(pool_with("Steady", stale="True"),))).verdict == "problem"


def test_the_queue_is_reported_as_both_see_it() -> None:
    found = scaling(healthy(asked={"linux": Asked("answered", unclaimed=2, running=1)}))
    assert found.evidence == (
        "pool linux: 0 waiting, 0 busy, 1 ready of 1 wanted; CircleCI says 2 wait, 1 run",
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(
            healthy(vms=(vm("linux-0", "old"), vm("linux-1", "t1")), vmis=(vmi(), vmi("linux-1"))),
            id="by the template of its VirtualMachinePool",
        ),
        pytest.param(
            healthy(vms=(vm("linux-0", "old", age=900), vm("linux-1", "new", age=60)), vm_pools=()),
            id="by the newest VM, where there are no pools",
        ),
        pytest.param(
            healthy(pools=(pool(status={"old": 1}),), vm_pools=(vm_pool(),)),
            id="by what Remuda tells of all of them",
        ),
    ],
)
def test_old_vms_are_named_with_both_ways_to_roll(snapshot: Snapshot) -> None:
    found = rollout(snapshot)
    assert found.verdict == "problem"
    assert found.evidence == ("pool linux: made from an older configuration: linux-0",)
    assert found.fix[0].startswith("gracefully: ")
    assert found.fix[1] == "at once: remuda pools rollout linux --immediate, which ends the jobs on them"


@pytest.mark.parametrize(("scale_in", "is_said"), [("active", True), ("natural", False)])
def test_idle_vms_of_an_older_configuration_go_by_themselves_unless_the_pool_is_natural(
    scale_in: str, is_said: bool
) -> None:
    found = rollout(healthy(pools=(pool(scaleIn=scale_in, status={"old": 1}),), vm_pools=(vm_pool(),)))
    assert ("ends or idles" in found.fix[0]) is is_said


#: reasons that hold no pool back, or for a moment only
FINE = {
    "Steady", "Growing", "Shrinking", "Rolling", "HeldBySurge", "HeldByDelay", "SurplusBusy", "SurplusNatural",
    "SurplusUnconfirmed",
    "SurplusUndrainable", "SurplusBooting", "OverCeiling", "Removed", "WaitingForRoom",
}  # fmt: skip


def test_every_reason_there_is_was_thought_of() -> None:
    reasons = {
        "".join(part.capitalize() for part in code.removeprefix("pool.").split("-"))
        for code in CODES
        if code.startswith("pool.")
    }
    assert reasons == FINE | _HELD.keys()


def test_vms_of_an_older_configuration_are_counted_over_all_pools() -> None:
    pools = (pool(status={"old": 1}), pool("arm", status={"old": 2}))
    assert rollout(healthy(pools=pools)).message == "3 VMs do not have the newest configuration"


@pytest.mark.parametrize(("age", "verdict"), [(60, "unknown"), (61, "problem")])
def test_a_pool_that_is_new_is_given_a_minute_before_it_is_overlooked(age: int, verdict: str) -> None:
    made = pool(status={"observedGeneration": 0, "conditions": []})
    young = structs.replace(made, metadata=structs.replace(made.metadata, creation_timestamp=at(age)))
    assert configuration(healthy(pools=(young,))).verdict == verdict
