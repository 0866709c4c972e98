"""A policy that contradicts itself is told so, all at once."""

import json
from typing import Any

import pytest
from tests.capacity.builders import decision, policy, sized, written_policy
from tests.catalog import CHECKS, KINDS

from remuda.objects.load import load_text

BIG = {"name": "big", "requests": sized("4", "32Gi", "24Gi"), "limits": sized("8", "64Gi", "40Gi")}
SMALL = {"name": "small", "requests": sized("2", "8Gi")}


def overflow(node: str = "sting", **words: Any) -> dict[str, Any]:
    return {"node": node, "envelopes": ["big"], "admitted": decision()} | words


def nodes(*overflows: dict[str, Any]) -> dict[str, Any]:
    return {"primary": {"capability.example/kvm": "true"}, "overflow": list(overflows)}


WHOLE: dict[str, Any] = {
    "envelopes": [BIG, SMALL],
    "sets": [
        {"name": "arc/vm-test", "max": 2, "envelope": "big"},
        {
            "name": "lint",
            "max": 4,
            "envelope": "small",
            "warmPool": decision(until="2026-12-31T09:00:00Z"),
        },
    ],
    "owners": [
        {"name": "one", "guaranteed": 3, "weight": 2, "lanes": ["arc/vm-test"]},
        {"name": "two", "guaranteed": 1, "priority": 5, "lanes": ["lint"]},
    ],
    "nodes": nodes(
        overflow(
            requested=sized("", "24Gi"),
            limited=sized("", "40Gi"),
            prewarm={"record": decision(until="2026-12-01")},
            rollbacks=[{"lane": "lint", "patch": {"spec": {"template": {"spec": {"tolerations": None}}}}}],
        )
    ),
    "forbiddenLabels": ["^acme-", "honey|sting"],
    "evidence": {"date": "2026-11-16", "fitted": 4, "maxAge": "30d"},
    "require": {"ephemeralStorage": True},
    "priorityClass": "kvm",
}


def problems(**spec: Any) -> list[str]:
    loaded = load_text(json.dumps(written_policy(**spec)), "p", KINDS, CHECKS)
    return [f"{problem.path.removeprefix('spec.')}: {problem.message}" for problem in loaded.problems]


def test_a_whole_policy_is_right() -> None:
    assert problems(**WHOLE) == []


def test_a_small_policy_means_what_is_usual() -> None:
    read = policy()
    assert (read.newcomer_max, read.require.requests, read.require.limits) == (1, True, True)
    assert not read.require.ephemeral_storage


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"ceiling": 4, "sets": [{"name": "a", "max": 50}]}, "sets[0].max: 50 is above the ceiling of 4"),
        ({"ceiling": 4, "newcomerMax": 5}, "newcomerMax: 5 is above the ceiling of 4"),
    ],
)
def test_nobody_alone_may_have_more_than_the_ceiling(spec: dict[str, Any], message: str) -> None:
    (problem,) = problems(**spec)
    assert problem.startswith(message)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"envelopes": [{"name": "a", "requests": sized(memory="1m")}]}, "envelopes[0].requests.memory: 1 bytes is too little"),
        ({"envelopes": [{"name": "a", "requests": sized(cpu="1e9")}]}, "envelopes[0].requests.cpu: 1,000,000,000 CPU is more than"),
        ({"sets": [{"name": "a", "max": 1, "jobPod": {"requests": sized(memory="1m")}}]}, "sets[0].jobPod.requests.memory: 1 bytes is too little"),
        ({"waivers": [decision(rule="unbound-set", until="2026-12-01")]}, "waivers[0].rule: there is no rule unbound-set; did you mean"),
        ({"waivers": [decision(rule="unbounded-set", until="2026-10-01")]}, "waivers[0].until: 2026-10-01 is before"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(spec: dict[str, Any], message: str) -> None:
    (problem,) = problems(**spec)
    assert problem.startswith(message)


def test_a_label_may_be_closed() -> None:
    assert problems(ceiling=0) == []


def test_shares_may_come_to_more_than_the_ceiling() -> None:
    assert problems(ceiling=9, sets=[{"name": "a", "max": 9}, {"name": "b", "max": 9}]) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"envelopes": [BIG, SMALL, BIG]},
            "envelopes[2].name: big is listed already, as envelopes[0]",
            id="an envelope twice",
        ),
        pytest.param(
            {"sets": [{"name": "a", "max": 1}, {"name": "a", "max": 2}]},
            "sets[1].name: a is listed already, as sets[0]",
            id="a set twice",
        ),
        pytest.param(
            {"owners": [{"name": "a"}, {"name": "a"}]},
            "owners[1].name: a is listed already, as owners[0]",
            id="an owner twice",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(), overflow())},
            "nodes.overflow[1].node: sting is listed already, as nodes.overflow[0]",
            id="an overflow node twice",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(envelopes=["big", "big"]))},
            "nodes.overflow[0].envelopes[1]: big is listed already",
            id="an envelope admitted twice",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(rollbacks=[{"lane": "a"}, {"lane": "a"}]))},
            "nodes.overflow[0].rollbacks[1].lane: a is listed already, as nodes.overflow[0].rollbacks[0]",
            id="a rollback twice",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(envelopes=[]))},
            "nodes.overflow[0].envelopes: is empty: sting admits nothing; name an envelope or take it out",
            id="an overflow node for nothing",
        ),
        pytest.param(
            {"envelopes": [BIG], "sets": [{"name": "a", "max": 1, "envelope": "bigg"}]},
            "sets[0].envelope: there is no envelope bigg; did you mean big?",
            id="a set of an envelope that is not",
        ),
        pytest.param(
            {"nodes": nodes(overflow())},
            "nodes.overflow[0].envelopes[0]: there is no envelope big; there is: none",
            id="an overflow node of an envelope that is not",
        ),
        pytest.param(
            {"owners": [{"name": "a", "guaranteed": 3}, {"name": "b", "guaranteed": 2}]},
            "ceiling: is 4, but its owners are guaranteed 5 together: raise it to 5 or lower their guarantees",
            id="guarantees above the ceiling",
        ),
        pytest.param(
            {"owners": [{"name": "a", "lanes": ["x", "z"]}, {"name": "b", "lanes": ["z"]}]},
            "owners[1].lanes[0]: z is a scale set of a already: a scale set has one owner",
            id="a scale set of two owners",
        ),
        pytest.param(
            {"owners": [{"name": "a", "lanes": ["x", "x"]}]},
            "owners[0].lanes[1]: x is listed already",
            id="a scale set of an owner twice",
        ),
        pytest.param(
            {"forbiddenLabels": ["a", "nix-("]},
            'forbiddenLabels[1]: "nix-(" is no regular expression: missing ), unterminated subpattern at position 4',
            id="a pattern that does not compile",
        ),
        pytest.param(
            {"forbiddenLabels": ["kvm$"]},
            'forbiddenLabels[0]: "kvm$" forbids nix-kvm, the label this policy is for',
            id="a pattern that forbids the label",
        ),
        pytest.param(
            {"sets": [{"name": "a", "max": 1, "warmPool": decision()}]},
            "sets[0].warmPool.until: is required: the day it ends",
            id="a warm pool without end",
        ),
        pytest.param(
            {"sets": [{"name": "a", "max": 1, "warmPool": decision(until="2026-10-31")}]},
            "sets[0].warmPool.until: 2026-10-31 is before 2026-11-01, when it was decided",
            id="a decision that ended before it was made",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(admitted=decision(when="2026-02-30")))},
            'nodes.overflow[0].admitted.when: "2026-02-30" is no day: write one like 2026-11-16, or a time like '
            "2026-11-16T09:00:00Z",
            id="a day that is none",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(prewarm={"record": decision(until="2026-13-01")}))},
            'nodes.overflow[0].prewarm.record.until: "2026-13-01" is no day: write one like 2026-11-16, or a time like '
            "2026-11-16T09:00:00Z",
            id="a record that ends on no day",
        ),
        pytest.param(
            {"evidence": {"date": "2026-11-16T25:00:00Z", "fitted": 1}},
            'evidence.date: "2026-11-16T25:00:00Z" is no day: write one like 2026-11-16, or a time like 2026-11-16T09:00:00Z',
            id="evidence of no time",
        ),
        pytest.param(
            {"envelopes": [{"name": "big", "requests": sized("1", "2Gi"), "limits": sized("1", "1Gi")}]},
            "envelopes[0].requests.memory: 2Gi is above its limit, 1Gi",
            id="a request above its limit",
        ),
        pytest.param(
            {"envelopes": [BIG], "nodes": nodes(overflow(requested=sized("4"), limited=sized("2")))},
            "nodes.overflow[0].requested.cpu: 4 is above its limit, 2",
            id="a guardrail above the other",
        ),
        pytest.param(
            {"envelopes": [SMALL], "nodes": nodes(overflow(envelopes=["small"]))},
            "envelopes[0].requests.ephemeral-storage: is missing: sting takes this envelope as overflow, where it is "
            "required",
            id="overflow without ephemeral storage",
        ),
        pytest.param(
            {"nodes": {"primary": {}}},
            "nodes.primary: selects every node: give the labels that primary nodes have",
            id="every node is primary",
        ),
    ],
)
def test_a_contradiction_is_reported_with_its_field(spec: dict[str, Any], expected: str) -> None:
    assert problems(**spec) == [expected]


def test_contradictions_are_reported_all_at_once() -> None:
    found = problems(
        ceiling=1,
        nodes={"primary": {}},
        owners=[{"name": "a", "guaranteed": 2}, {"name": "a"}],
        forbiddenLabels=["("],
        envelopes=[{"name": "big", "requests": {"memory": "8GB "}}],
    )
    assert len(found) == 5


def test_what_could_not_be_read_is_blamed_once() -> None:
    found = problems(envelopes=[BIG | {"name": "No Name"}], sets=[{"name": "a", "max": 1, "envelope": "big"}])
    assert [each.partition(":")[0] for each in found] == ["envelopes[0].name"]
