"""The tier of a namespace as the API server works it out, beside what is worked out here."""

import random
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.tiers.live import World, apply, namespace

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.rules.tiers import Tier, TierPolicy, tier_of
from remuda.tiers.decide.cel import tier_variables

pytestmark = pytest.mark.slow

PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
NAMES = ["a", "a-b", "a-b-c", "b", "b-b", "0-core", "c"]
LABELS = ["remuda.dev/tier", "tier", "example.org/class"]
PATTERNS = ["*", "a*", "*-b", "?", "a-b", "[ab]*", "[!a]*", "*[0-9]*", "b-?-*", "[z-a]", "a[b", "*.*", "c*e"]


def some_policy(dice: random.Random, name: str) -> TierPolicy:
    tiers = {each: _tier(each) for each in dice.sample(NAMES, dice.randint(1, len(NAMES)))}
    return replace(
        DEFAULT_POLICY,
        name=name,
        tiers=tiers,
        label=dice.choice(LABELS),
        namespaces=tuple(dice.sample(PATTERNS, dice.randint(0, 4))) if dice.random() < 0.6 else ("*",),
        excluded=tuple(dice.sample(PATTERNS[1:], dice.randint(0, 3))),
        default_tier=dice.choice([None, *tiers]),
    )


def _tier(name: str) -> Tier:
    return replace(DEFAULT_POLICY.tiers["0-core"], name=name)


def some_namespace(dice: random.Random) -> tuple[str, dict[str, str]]:
    parts = [
        dice.choice([*NAMES, "x", "7"]),
        *(dice.choice([*NAMES, "e", "9"]) for _ in range(dice.randint(0, 2))),
    ]
    labels = {key: dice.choice([*NAMES, "", "odd"]) for key in LABELS if dice.random() < 0.3}
    return dice.choice(["-".join(parts), "".join(parts)]), labels


@contextmanager
def telling(cluster: Cluster, policy: TierPolicy, others: list[TierPolicy], probe: str) -> Iterator[None]:
    """A rule that warns of every pod, and says in the warning which tier it is of."""
    name = f"tells-{policy.name}"
    meta = {"name": name}
    rule: dict[str, Any] = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": meta,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"probe": probe}},
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
            },
            "variables": [each.written() for each in tier_variables(policy, others)],
            "validations": [{"expression": "false", "messageExpression": "'<' + variables.tier + '>'"}],
        },
    }
    bound = {
        "apiVersion": rule["apiVersion"],
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": meta,
        "spec": {"policyName": name, "validationActions": ["Warn"]},
    }
    apply(cluster, rule, bound)
    try:
        yield
    finally:
        cluster.request("DELETE", f"{PATH}ybindings/{name}")
        cluster.request("DELETE", f"{PATH}ies/{name}")


def test_safety_the_server_finds_the_tier_that_is_found_here(cluster: Cluster) -> None:
    dice = random.Random(16)
    probe = secrets.token_hex(4)
    places = dict(some_namespace(dice) for _ in range(120))
    policies = [some_policy(dice, f"p{at}-{probe}") for at in range(12)]
    # each beside one of the others
    rivals = {policy.name: [policies[at - 1]] if at % 3 == 0 else [] for at, policy in enumerate(policies)}
    world = World(cluster, None)
    with ExitStack() as stack:
        for policy in policies:
            stack.enter_context(telling(cluster, policy, rivals[policy.name], probe))
        for name, labels in places.items():
            apply(cluster, *namespace(name, {**labels, "probe": probe}))
            stack.callback(cluster.erase_namespace, name)
        first = next(iter(places))
        eventually(lambda: len(world.create_all([first])[0].warnings) == len(policies), "all the rules")
        answers = world.create_all(places)
    seen = set()
    for (name, labels), answer in zip(places.items(), answers, strict=True):
        assert answer.status == 201, answer.text
        found = dict(re.findall(r"binding 'tells-(p\d+-\w+)': <(.*?)>", "\n".join(answer.warnings)))
        expected = {policy.name: tier_of(name, labels, [policy, *rivals[policy.name]]) for policy in policies}
        # what another policy says of a namespace, a rule of this one does not
        mine = {by: each.tier if each.policy == by else "" for by, each in expected.items()}
        assert found == mine, (name, labels)
        seen |= {each.origin for each in expected.values()} | {each.problem for each in expected.values()}
    assert seen >= {"", "label", "prefix", "default", "two-policies", "unknown-tier", "labels-disagree"}
