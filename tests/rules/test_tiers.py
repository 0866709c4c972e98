"""Which tier a namespace has: exactly one answer, and who gave it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.rules.tiers import (
    PLAIN_LABEL,
    Membership,
    Sidecar,
    Tier,
    TierPolicy,
    sidecar_of,
    tier_of,
    tier_of_name,
    tier_of_workload,
)

LABEL = "remuda.dev/tier"


def tier(name: str, **fields: bool) -> Tier:
    return Tier(name, 100, 256, 1_000, 4_096, {"pods": 5}, 7, **fields)


def policy(*names: str, name: str = "home", **fields: Any) -> TierPolicy:
    tiers = {each: tier(each) for each in names or ("0-core", "4-aux")}
    return replace(TierPolicy(name, tiers, LABEL), **fields)


@pytest.mark.parametrize(
    ("namespace", "labels", "fields", "expected"),
    [
        pytest.param("shop", {}, {}, Membership("home"), id="nothing says one: it has none"),
        pytest.param("shop", {LABEL: "4-aux"}, {}, Membership("home", "4-aux", "label", label=LABEL, value="4-aux"), id="the label of the policy"),
        pytest.param("shop", {"team": "4-aux"}, {"label": "team"}, Membership("home", "4-aux", "label", label="team", value="4-aux"), id="another label, where the policy names it"),
        pytest.param("shop", {"tier": "4-aux"}, {}, Membership("home", "4-aux", "label", label="tier", value="4-aux"), id="the plain label"),
        pytest.param("shop", {"tier": "4-aux"}, {"label": "tier"}, Membership("home", "4-aux", "label", label="tier", value="4-aux"), id="the plain label as that of the policy"),
        pytest.param("0-core-dns", {}, {}, Membership("home", "0-core", "prefix"), id="the prefix"),
        pytest.param("0-core", {}, {}, Membership("home", "0-core", "prefix"), id="the name itself"),
        pytest.param("0-corexx", {}, {}, Membership("home"), id="a prefix ends with a hyphen"),
        pytest.param("shop", {}, {"default_tier": "4-aux"}, Membership("home", "4-aux", "default"), id="the default"),
        pytest.param("0-core-dns", {}, {"default_tier": "4-aux"}, Membership("home", "0-core", "prefix"), id="a prefix before the default"),
        pytest.param(
            "0-core-dns", {LABEL: "4-aux"}, {},
            Membership("home", "4-aux", "label", "prefix-disagrees", LABEL, "4-aux", "0-core"),
            id="a label before the prefix, which is said",
        ),
        pytest.param(
            "0-core-dns", {LABEL: "0-core"}, {}, Membership("home", "0-core", "label", label=LABEL, value="0-core"), id="both, agreeing"
        ),
        pytest.param(
            "shop", {LABEL: "4-aux", "tier": "0-core"}, {},
            Membership("home", "4-aux", "label", "labels-disagree", LABEL, "4-aux", "0-core"),
            id="the policy's label before the plain one, which is said",
        ),
        pytest.param(
            "shop", {LABEL: "4-aux", "tier": "4-aux"}, {}, Membership("home", "4-aux", "label", label=LABEL, value="4-aux"), id="two labels, agreeing"
        ),
        pytest.param(
            "shop", {LABEL: "gold"}, {"default_tier": "4-aux"}, Membership("home", problem="unknown-tier", label=LABEL, value="gold"),
            id="a tier that does not exist is none, not the default",
        ),
        pytest.param("kube-system", {LABEL: "0-core"}, {"excluded": ("kube-*",)}, Membership(), id="excluded"),
        pytest.param("shop", {LABEL: "0-core"}, {"namespaces": ("team-?",)}, Membership(), id="not among those it is for"),
        pytest.param("team-a", {LABEL: "0-core"}, {"namespaces": ("team-?",)}, Membership("home", "0-core", "label", label=LABEL, value="0-core"), id="among those it is for"),
    ],
)  # fmt: skip
def test_the_tier_of_a_namespace(
    namespace: str, labels: dict[str, str], fields: dict[str, Any], expected: Membership
) -> None:
    assert tier_of(namespace, labels, [policy(**fields)]) == expected


def test_a_namespace_that_two_policies_claim_has_no_tier() -> None:
    both = [policy(name="b"), policy(name="a")]
    assert tier_of("0-core-dns", {}, both) == Membership(problem="two-policies", other="a, b")
    narrowed = [policy(name="b", excluded=("0-*",)), policy(name="a")]
    assert tier_of("0-core-dns", {}, narrowed) == Membership("a", "0-core", "prefix")


def test_without_a_policy_there_is_no_tier() -> None:
    assert tier_of("0-core-dns", {LABEL: "0-core"}, []) == Membership()


def test_the_longest_prefix_is_meant() -> None:
    assert tier_of_name("0-core-db-main", policy("0-core", "0-core-db", "0")) == "0-core-db"
    assert tier_of_name("0-core-web", policy("0-core", "0-core-db", "0")) == "0-core"
    assert tier_of_name("1-web", policy("0-core", "0")) == ""


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, "4-aux"),
        ({LABEL: "0-core"}, "0-core"),
        ({PLAIN_LABEL: "0-core"}, "0-core"),
        ({LABEL: "4-aux", PLAIN_LABEL: "0-core"}, "4-aux"),
        ({LABEL: "gold", PLAIN_LABEL: "0-core"}, "0-core"),
        ({PLAIN_LABEL: "frontend"}, "4-aux"),
    ],
)
def test_a_workloads_own_label_says_its_tier_where_there_is_such_a_tier(
    labels: dict[str, str], expected: str
) -> None:
    assert tier_of_workload(labels, "4-aux", policy()) == expected


def test_a_sidecar_is_known_by_the_first_pattern_that_its_name_matches() -> None:
    csi, any_of = Sidecar(("csi-*", "*registrar"), 10, 32, 80), Sidecar(("c*",), 20, 64, 64)
    known = policy(sidecars=(csi, any_of))
    found = {
        name: sidecar_of(name, known) for name in ("csi-attacher", "node-registrar", "cache", "web", "CSI-x")
    }
    assert found == {
        "csi-attacher": csi,
        "node-registrar": csi,
        "cache": any_of,
        "web": None,
        "CSI-x": None,
    }


def test_what_a_container_gets_that_says_nothing() -> None:
    assert tier("a").default_limit == 256
    assert tier("a", burst=True).default_limit == 4_096
    assert tier("4-aux").priority_class == "tier-4-aux"


NAMES = st.sampled_from(["0-core", "4-aux", "0-core-db", "gold", "shop", "kube-x", "0-core-db-1", ""])
LABELS = st.dictionaries(st.sampled_from([LABEL, PLAIN_LABEL, "team"]), NAMES)
PATTERNS = st.lists(st.sampled_from(["*", "0-*", "kube-?", "shop", "gold*"]), max_size=3).map(tuple)
POLICIES = st.lists(
    st.builds(
        policy,
        st.just("0-core"),
        st.just("4-aux"),
        st.sampled_from(["0-core-db", "gold"]),
        name=st.sampled_from("abc"),
        label=st.sampled_from([LABEL, "team", PLAIN_LABEL]),
        namespaces=PATTERNS,
        excluded=PATTERNS,
        default_tier=st.sampled_from([None, "4-aux"]),
    ),
    max_size=3,
    unique_by=lambda each: each.name,
)


@given(NAMES, LABELS, POLICIES)
def test_safety_every_namespace_has_one_answer_whatever_the_order_of_policies(
    name: str, labels: dict[str, str], policies: list[TierPolicy]
) -> None:
    found = tier_of(name, labels, policies)
    assert found == tier_of(name, labels, policies[::-1])
    claiming = {each.name: each for each in policies if each.governs(name)}
    assert (found.problem == "two-policies") == (len(claiming) > 1)
    assert (found.policy in claiming) == (len(claiming) == 1)
    assert bool(found.tier) == bool(found.origin)
    if found.tier:
        assert found.tier in claiming[found.policy].tiers
    if found.problem in {"two-policies", "unknown-tier"}:
        assert not found.tier


@given(NAMES, LABELS, POLICIES)
def test_safety_a_label_beats_a_prefix_and_a_prefix_the_default(
    name: str, labels: dict[str, str], policies: list[TierPolicy]
) -> None:
    found = tier_of(name, labels, policies)
    one = next((each for each in policies if each.name == found.policy), None)
    if one is None:
        return
    said = [labels[key] for key in (one.label, PLAIN_LABEL) if key in labels]
    prefix = tier_of_name(name, one)
    if said:
        assert found.tier == (said[0] if said[0] in one.tiers else "")
    else:
        assert found.tier == (prefix or one.default_tier or "")
    assert (found.problem == "prefix-disagrees") <= (found.other == prefix != found.tier)


@given(st.lists(st.sampled_from("abc*?"), max_size=6).map("".join), st.text("abc", max_size=6))
def test_safety_what_is_excluded_is_never_governed(pattern: str, name: str) -> None:
    one = policy(namespaces=(pattern,))
    assert policy(namespaces=(name,)).governs(name)
    assert not replace(one, excluded=(pattern,)).governs(name)
    assert one.governs(name) >= (pattern in {"*", name})
