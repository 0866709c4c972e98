"""What a `TierPolicy` may say, what it means, and what policies get wrong together."""

from pathlib import Path

import pytest
from tests.catalog import load_any

from remuda.model.amount_texts import quantity
from remuda.objects.load import load_text
from remuda.objects.tiers import BUILT_IN, DEFAULT_POLICY, TIER_POLICY, policy_of
from remuda.rules.tiers import Tier, TierPolicy, Workload

GI, MI = 2**30, 2**20
GOLD = (
    "{name: gold, defaultCpu: 1, maxCpu: 2, defaultMemory: 1Gi, maxMemory: 2Gi, quota: {cpu: 4, memory: 8Gi, pods: 9},"
    " priority: 5}"
)


def written(spec: str, name: str = "home") -> str:
    return (
        f"{{apiVersion: remuda.dev/v1alpha1, kind: TierPolicy, metadata: {{name: {name}}},\nspec: {spec}}}\n"
    )


def read(spec: str) -> TierPolicy:
    loaded = load_text(written(spec), "f.yaml", (TIER_POLICY,))
    assert loaded.problems == ()
    return policy_of(loaded.objects[0].name, loaded.objects[0].spec)


def problems(spec: str) -> list[str]:
    return [str(each) for each in load_text(written(spec), "f.yaml", (TIER_POLICY,)).problems]


def together(tmp_path: Path, *specs: str) -> list[str]:
    file = tmp_path / "policies.yaml"
    file.write_text("---\n".join(written(spec, "abc"[n]) for n, spec in enumerate(specs)))
    return [str(each).removeprefix(str(file) + ":") for each in load_any([file]).problems]


@pytest.mark.parametrize(
    ("name", "memory", "most", "cpu", "most_cpu", "quota", "priority", "burst"),
    [
        ("0-core", "512Mi", "8Gi", "500m", "4", ("32", "64Gi", 100), 900_000, False),
        ("1-cluster", "512Mi", "4Gi", "500m", "2", ("16", "32Gi", 30), 700_000, False),
        ("2-gpu", "2Gi", "16Gi", "1", "8", ("48", "96Gi", 40), 500_000, False),
        ("3-edge", "256Mi", "4Gi", "250m", "2", ("16", "32Gi", 30), 300_000, True),
        ("4-aux", "256Mi", "4Gi", "250m", "2", ("8", "16Gi", 20), 200_000, True),
    ],
)
def test_the_built_in_tiers(
    name: str,
    memory: str,
    most: str,
    cpu: str,
    most_cpu: str,
    quota: tuple[str, str, int],
    priority: int,
    burst: bool,
) -> None:
    tier = DEFAULT_POLICY.tiers[name]
    assert [quantity("memory", each) for each in (tier.default_memory, tier.max_memory)] == [memory, most]
    assert [quantity("cpu", each) for each in (tier.default_cpu, tier.max_cpu)] == [cpu, most_cpu]
    of = tier.quota
    assert (
        quantity("cpu", of["requests.cpu"]),
        quantity("memory", of["requests.memory"]),
        of["pods"],
    ) == quota
    assert (tier.priority, tier.burst, tier.preempts) == (priority, burst, True)
    assert (tier.min_cpu, tier.min_memory) == (None, None)


def test_tiers_come_in_the_order_of_their_priority() -> None:
    assert list(DEFAULT_POLICY.tiers) == list(BUILT_IN)
    assert list(read(f"{{tiers: [{GOLD}, {{name: 4-aux, priority: 950000}}]}}").tiers) == [
        "4-aux", "0-core", "1-cluster", "2-gpu", "3-edge", "gold",
    ]  # fmt: skip


def test_a_policy_that_says_nothing_is_the_built_in_one() -> None:
    made = read("{}")
    assert (made.label, made.namespaces, made.default_tier, made.cpu_limits) == (
        "remuda.dev/tier", ("*",), None, "warn",
    )  # fmt: skip
    assert (made.quota_opt_out, made.limits_opt_out) == ("remuda.dev/own-quota", "remuda.dev/own-limits")
    assert [made.governs(name) for name in ("shop", "kube-system", "calico-apiserver", "kyverno")] == [
        True, False, False, False,
    ]  # fmt: skip
    [csi] = made.sidecars
    assert (csi.cpu, csi.memory, csi.memory_limit) == (10, 32 * MI, 80 * MI)
    assert made.gpu is not None
    assert made.gpu.taint == ("nvidia.com/gpu", "true", "PreferNoSchedule")
    assert (made.gpu.device_label, made.gpu.device_value) == (
        "feature.node.kubernetes.io/pci-10de.present", "true",
    )  # fmt: skip


def test_a_tier_takes_what_it_leaves_out_from_the_built_in_one_of_its_name() -> None:
    spec = "{tiers: [{name: 4-aux, maxMemory: 2Gi, quota: {pods: 7}, burst: false, preempts: false, minCpu: 20m}]}"
    made = read(spec).tiers["4-aux"]
    whole = {"requests.cpu": 8_000, "requests.memory": 16 * GI, "pods": 7}
    assert made == Tier(
        "4-aux", 250, 256 * MI, 2_000, 2 * GI, whole, 200_000, preempts=False, burst=False, min_cpu=20
    )


def test_a_tier_of_ones_own_says_it_all() -> None:
    whole = {"requests.cpu": 4_000, "requests.memory": 8 * GI, "pods": 9}
    assert read(f"{{tiers: [{GOLD}]}}").tiers["gold"] == Tier("gold", 1_000, GI, 2_000, 2 * GI, whole, 5)


def test_what_is_left_to_a_policy_is_read() -> None:
    made = read(
        "{gpu: null, sidecars: [{names: [istio-proxy]}], defaultTier: 4-aux, cpuLimits: strip, excluded: [x],"
        " guaranteed: [{namespace: db, name: 'pg-*'}], namespaces: ['a-*']}"
    )
    assert (made.gpu, made.default_tier, made.cpu_limits, made.excluded) == (None, "4-aux", "strip", ("x",))
    assert made.sidecars[0].names == ("istio-proxy",)
    assert made.guaranteed == (Workload("db", "*", "pg-*"),)
    assert (made.governs("a-1"), made.governs("b-1")) == (True, False)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            "{defaultTier: gold}",
            "2:21: spec.defaultTier: there is no tier gold: there are 0-core, 1-cluster, 2-gpu, 3-edge, 4-aux",
            id="a default that does not exist",
        ),
        pytest.param(
            "{tiers: [{name: gold, maxCpu: 1, quota: {pods: 2}}]}",
            "2:16: spec.tiers[0]: tier gold is not built in and must say defaultCpu, defaultMemory, maxMemory, priority,"
            " quota.cpu, quota.memory",
            id="a new tier that leaves something out",
        ),
        pytest.param("{tiers: [{name: 4-aux}, {name: 4-aux}]}", "2:38: spec.tiers[1].name: tier 4-aux is there twice", id="a tier twice"),
        pytest.param("{tiers: [{name: 4-aux, maxMemory: 128Mi}]}", "2:16: spec.tiers[0].defaultMemory: is 256Mi, above maxMemory 128Mi", id="a maximum of memory under the default"),
        pytest.param("{tiers: [{name: 4-aux, maxCpu: 100m}]}", "2:16: spec.tiers[0].defaultCpu: is 250m, above maxCpu 100m", id="a maximum of CPU under the default"),
        pytest.param("{tiers: [{name: 4-aux, minMemory: 5Gi}]}", "2:41: spec.tiers[0].minMemory: is 5Gi, above maxMemory 4Gi", id="a minimum of memory above the maximum"),
        pytest.param("{tiers: [{name: 4-aux, minCpu: 3}]}", "2:38: spec.tiers[0].minCpu: is 3, above maxCpu 2", id="a minimum of CPU above the maximum"),
        pytest.param(
            "{tiers: [{name: 4-aux, quota: {memory: 200Mi}}]}",
            "2:46: spec.tiers[0].quota.memory: is 200Mi, below defaultMemory 256Mi: not one pod without resources could start",
            id="a quota of memory under one pod's default",
        ),
        pytest.param(
            "{tiers: [{name: 4-aux, quota: {cpu: 200m}}]}",
            "2:43: spec.tiers[0].quota.cpu: is 200m, below defaultCpu 250m: not one pod without resources could start",
            id="a quota of CPU under one pod's default",
        ),
        pytest.param("{tiers: [{name: 4-aux, quota: {pods: 0}}]}", "2:44: spec.tiers[0].quota.pods: is 0: not one pod could start", id="a quota of no pods"),
        pytest.param("{tiers: [{name: 4-aux, defaultMemory: 0}]}", "2:45: spec.tiers[0].defaultMemory: is 0: a container without resources would get nothing", id="no default memory"),
        pytest.param("{tiers: [{name: 4-aux, defaultCpu: 0}]}", "2:42: spec.tiers[0].defaultCpu: is 0: a container without resources would get nothing", id="no default CPU"),
        pytest.param("{sidecars: [{names: [a], memory: 90Mi}]}", "2:40: spec.sidecars[0].memory: is 90Mi, above memoryLimit 80Mi", id="a sidecar's request above its limit"),
        pytest.param("{sidecars: [{names: []}]}", "2:27: spec.sidecars[0].names: wants at least 1 and at most 100 items, found 0", id="sidecars of no name"),
        pytest.param("{cpuLimits: maybe}", '2:19: spec.cpuLimits: wants one of deny, strip, warn, found the text "maybe"', id="something else for CPU limits"),
        pytest.param("{tierLabel: 'a b'}", "2:19: spec.tierLabel: 'a b' is no label key", id="a label that is none"),
        pytest.param("{gpu: {taintEffect: NoExecute}}", '2:27: spec.gpu.taintEffect: wants one of NoSchedule, PreferNoSchedule, found the text "NoExecute"', id="a taint that would evict"),
        pytest.param("{tiers: [{name: 4-aux, priority: 2000000000}]}", "2:40: spec.tiers[0].priority: wants at least -1000000000 and at most 1000000000, found 2000000000", id="the cluster's own priorities"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_hold_is_a_problem_with_line_and_field(spec: str, problem: str) -> None:
    [found] = problems(spec)
    assert found.startswith(f"f.yaml:{problem}")


@pytest.mark.parametrize("amount", ["12parsecs", "-1", "1e400", "''", "[]", "1GiB"])
def test_a_quantity_that_makes_no_sense_is_a_problem_and_nothing_else_is_said_of_it(amount: str) -> None:
    [found] = problems(f"{{tiers: [{{name: 4-aux, defaultMemory: {amount}}}]}}")
    assert found.startswith("f.yaml:2:45: spec.tiers[0].defaultMemory: ")


def test_everything_is_reported_at_once(tmp_path: Path) -> None:
    spec = "{defaultTier: x, tiers: [{name: 4-aux, maxMemory: 1Mi, maxCpu: much}, {name: 4-aux, quota: {pods: 0}}]}"
    assert [each.split(": ")[1] for each in problems(spec)] == [
        "spec.defaultTier",
        "spec.tiers[0].defaultMemory",
        "spec.tiers[0].maxCpu",
        "spec.tiers[1].name",
        "spec.tiers[1].quota.pods",
    ]


def test_two_policies_may_not_claim_namespaces_in_the_same_words(tmp_path: Path) -> None:
    assert together(tmp_path, "{namespaces: [a, 'b-*']}", "{namespaces: [c, 'b-*']}") == [
        "5:24: spec.namespaces[1]: TierPolicy a claims b-*, too: a namespace of two policies has no tier"
    ]
    assert together(tmp_path, "{}", "{}") == [
        "5:1: spec.namespaces[0]: TierPolicy a claims *, too: a namespace of two policies has no tier"
    ]


@pytest.mark.parametrize(
    "specs",
    [
        ("{namespaces: [a]}", "{namespaces: [b]}"),
        ("{namespaces: ['*'], excluded: ['b-*']}", "{namespaces: ['b-*']}"),
        ("{namespaces: [a, b], excluded: [b]}", "{namespaces: [b]}"),
    ],
)
def test_policies_of_different_namespaces_are_fine(tmp_path: Path, specs: tuple[str, str]) -> None:
    assert together(tmp_path, *specs) == []


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        pytest.param(
            "{name: 4-aux, priority: 5}", "{name: 4-aux, priority: 6}",
            "5:57: spec.tiers[0].priority: is 6 in tier 4-aux, but 5 in TierPolicy a",
            id="two values",
        ),
        pytest.param(
            "{name: 3-edge}", "{name: 4-aux, priority: 6}",
            "5:57: spec.tiers[0].priority: is 6 in tier 4-aux, but 200000 in TierPolicy a",
            id="a value that is not the built-in one",
        ),
        pytest.param(
            "{name: 4-aux, priority: 6}", "{name: 3-edge}",
            "5:25: spec.tiers: is 200000 in tier 4-aux, but 6 in TierPolicy a",
            id="the built-in value that is not said",
        ),
        pytest.param(
            "{name: 4-aux, preempts: false}", "{name: 4-aux}",
            "5:33: spec.tiers[0].preempts: is true in tier 4-aux, but false in TierPolicy a",
            id="one preempts and one does not",
        ),
    ],
)  # fmt: skip
def test_a_priority_class_is_one_for_all_policies(
    tmp_path: Path, first: str, second: str, problem: str
) -> None:
    found = together(
        tmp_path, f"{{namespaces: [a], tiers: [{first}]}}", f"{{namespaces: [b], tiers: [{second}]}}"
    )
    assert found == [f"{problem}: PriorityClass tier-4-aux is one for all"]


def test_tiers_that_agree_may_stand_in_many_policies_and_what_is_not_whole_is_reported_once(
    tmp_path: Path,
) -> None:
    gold = f"{{namespaces: [NAME], tiers: [{GOLD}]}}"
    assert together(tmp_path, *(gold.replace("NAME", name) for name in "abc")) == []
    [found] = together(tmp_path, gold.replace("NAME", "a"), "{namespaces: [b], tiers: [{name: gold}]}")
    assert "must say" in found
