"""What an audit of tiers finds, rule by rule: each in a cluster in which everything else is as it should be."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.tiers.clusters import (
    FINE,
    audited,
    classes,
    container,
    deployment,
    found_in,
    governed,
    named,
    node,
    owned_by,
    pod,
    sizes,
    snapshot,
    tiered,
)

from remuda.model.findings import Finding
from remuda.objects.tiers import DEFAULT_POLICY, TierPolicySpec, policy_of
from remuda.output.findings import describe
from remuda.rules.tiers import TierPolicy, Workload
from remuda.tiers.decide.audit import audit
from remuda.tiers.decide.desired import limit_range, resource_quota

CORE = DEFAULT_POLICY.tiers["0-core"]


def summary(findings: Iterable[Finding]) -> list[tuple[str, str, str]]:
    return [(each.severity, each.rule, each.subject) for each in findings]


def one(tmp_path: Path, *items: dict[str, Any], **rest: Any) -> Finding:
    """The one thing that is found."""
    (found,) = found_in(audited(tmp_path, *items, **rest))
    return found


def of_rule(tmp_path: Path, rule: str, *items: dict[str, Any], **rest: Any) -> list[Finding]:
    return [each for each in found_in(audited(tmp_path, *items, **rest)) if each.rule == rule]


def changed(**fields: Any) -> TierPolicy:
    return replace(DEFAULT_POLICY, **fields)


def test_a_cluster_that_is_as_its_tiers_say_has_no_finding(tmp_path: Path) -> None:
    made = audited(
        tmp_path,
        *governed("shop"),
        tiered("web"),
        deployment("web", pod_spec={"containers": [container("app", FINE)]}),
    )
    assert found_in(made) == []
    (row,) = made.namespaces
    assert (row.name, row.member.tier, row.member.origin, row.pods) == ("shop", "3-edge", "label", 1)
    assert row.qos == {"Burstable": 1}


# namespaces


def test_a_namespace_without_a_tier_is_told_and_one_of_the_system_is_not(tmp_path: Path) -> None:
    found = one(tmp_path, named("Namespace", "plain"), named("Namespace", "kube-system"))
    assert summary([found]) == [("info", "no-tier", "Namespace plain")]
    assert "label it remuda.dev/tier=TIER" in describe(found).fix


@pytest.mark.parametrize(
    ("value", "words"),
    [("3-egde", "did you mean 3-edge?"), ("gold", "Correct the label")],
    ids=["a near miss", "nothing like it"],
)
def test_a_tier_that_is_not_there_is_an_error_with_what_may_be_meant(
    tmp_path: Path, value: str, words: str
) -> None:
    found = one(tmp_path, named("Namespace", "shop", labels={"tier": value}))
    assert summary([found]) == [("error", "unknown-tier", "Namespace shop")]
    assert found.field == "metadata.labels[tier]"
    assert describe(found).fix.startswith(words)
    assert "0-core, 1-cluster" in describe(found).expected


def test_a_label_and_a_name_that_disagree_are_told_and_the_label_counts(tmp_path: Path) -> None:
    made = audited(tmp_path, *governed("0-core-dns", "3-edge"))
    assert summary(found_in(made)) == [("warning", "prefix-disagrees", "Namespace 0-core-dns")]
    assert made.namespaces[0].member.tier == "3-edge"
    assert "begins with 0-core" in describe(made.findings[-1]).found or "0-core" in str(made.findings)


def test_two_labels_that_disagree_are_told(tmp_path: Path) -> None:
    found = one(tmp_path, *governed("shop", labels={"tier": "4-aux"}))
    assert summary([found]) == [("warning", "labels-disagree", "Namespace shop")]


def test_a_namespace_of_two_policies_is_an_error_and_left_alone(tmp_path: Path) -> None:
    other = policy_of("other", TierPolicySpec(namespaces=("shop",)))
    made = audited(
        tmp_path, named("Namespace", "shop", labels={"tier": "4-aux"}), policies=(DEFAULT_POLICY, other)
    )
    found = [each for each in found_in(made) if each.subject.startswith("Namespace")]
    assert summary(found) == [("error", "two-policies", "Namespace shop")]
    assert describe(found[0]).found == "claimed by default, other"


# objects of tiers


def without(items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [item for item in items if item["kind"] != kind]


def test_what_a_namespace_lacks_of_its_tier_is_told(tmp_path: Path) -> None:
    items = [item for item in governed("shop") if item["kind"] == "Namespace"]
    found = found_in(audited(tmp_path, *items, *governed("other")))
    assert summary(found) == [
        ("warning", "limit-range-missing", "LimitRange shop/tier-defaults"),
        ("warning", "quota-missing", "ResourceQuota shop/shop-quota"),
    ]


def test_nothing_is_said_to_be_missing_that_was_not_read(tmp_path: Path) -> None:
    items = [item for item in governed("shop") if item["kind"] == "Namespace"]
    made = audit(snapshot(tmp_path, *items), (DEFAULT_POLICY,), 0)
    assert {each.rule for each in made.findings} == {"not-read"}


def test_who_opted_out_keeps_limits_and_quota_of_its_own(tmp_path: Path) -> None:
    labels = {"remuda.dev/tier": "3-edge", "remuda.dev/own-quota": "true", "remuda.dev/own-limits": "true"}
    assert found_in(audited(tmp_path, named("Namespace", "shop", labels=labels), *governed("other"))) == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"limits": [{"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "250m", "memory": "256Mi"},
                         "max": {"memory": "4Gi"}}]},
            "default.memory is 1Gi, not 4Gi", id="another amount",
        ),
        pytest.param(
            {"limits": [{"type": "Container", "default": {"memory": "4Gi"}, "defaultRequest": {"cpu": "250m", "memory": "256Mi"},
                         "max": {"memory": "4Gi"}, "min": {"memory": "1Mi"}}]},
            "min.memory is 1Mi, not none", id="something more",
        ),
        pytest.param(
            {"limits": [{"type": "Container", "default": {"memory": "4Gi"}, "defaultRequest": {"memory": "256Mi"}, "max": {"memory": "4Gi"}}]},
            "defaultRequest.cpu is none, not 250m", id="something less",
        ),
        pytest.param({"limits": [{"type": "Pod", "max": {"memory": "4Gi"}}]}, "Pod is bounded, nothing about containers", id="pods"),
    ],
)  # fmt: skip
def test_a_limit_range_that_says_something_else_is_told_with_the_difference(
    tmp_path: Path, spec: dict[str, Any], words: str
) -> None:
    items = governed("shop")
    items[1]["spec"] = spec
    found = one(tmp_path, *items)
    assert summary([found]) == [("warning", "limit-range-differs", "LimitRange shop/tier-defaults")]
    assert describe(found).found == words


def test_a_quota_that_says_something_else_is_told_with_the_difference(tmp_path: Path) -> None:
    items = governed("shop")
    items[2]["spec"] = {
        "hard": {"requests.cpu": "8", "requests.memory": "32Gi"},
        "scopes": ["NotTerminating"],
    }
    found = one(tmp_path, *items)
    assert summary([found]) == [("warning", "quota-differs", "ResourceQuota shop/shop-quota")]
    assert describe(found).found == (
        "pods is none, not 30, requests.cpu is 8, not 16, it counts some pods alone: NotTerminating"
    )


@pytest.mark.parametrize("index", [1, 2], ids=["LimitRange", "ResourceQuota"])
def test_an_object_of_that_name_that_somebody_else_made_is_told(tmp_path: Path, index: int) -> None:
    items = governed("shop")
    items[index]["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    found = one(tmp_path, *items)
    assert (found.severity, found.rule, found.subject.split()[0]) == (
        "warning",
        "object-of-another",
        items[index]["kind"],
    )


def test_an_object_of_another_policy_is_anothers(tmp_path: Path) -> None:
    items = governed("shop")
    items[1]["metadata"]["labels"]["remuda.dev/tier-policy"] = "other"
    assert one(tmp_path, *items).rule == "object-of-another"


@pytest.mark.parametrize(
    ("bounds", "field", "severity", "rule"),
    [
        pytest.param({"type": "Container", "default": {"cpu": "2"}}, "default.cpu", "warning", "cpu-limits-injected", id="a default"),
        pytest.param({"type": "Container", "max": {"cpu": "2"}}, "max.cpu", "warning", "cpu-limits-injected", id="a maximum alone"),
        pytest.param(
            {"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2"}}, "max.cpu", "warning", "cpu-limits-injected",
            id="a maximum as the server keeps it",
        ),
        pytest.param({"type": "Pod", "max": {"cpu": "2"}}, "max.cpu", "error", "cpu-limits-demanded", id="a maximum of pods"),
    ],
)  # fmt: skip
def test_a_limit_range_of_anybody_that_brings_cpu_limits_is_told(
    tmp_path: Path, bounds: dict[str, Any], field: str, severity: str, rule: str
) -> None:
    theirs = named(
        "LimitRange", "theirs", "shop", spec={"limits": [{"type": "PersistentVolumeClaim"}, bounds]}
    )
    found = one(tmp_path, *governed("shop"), theirs)
    assert summary([found]) == [(severity, rule, "LimitRange shop/theirs")]
    assert found.field == f"spec.limits[1].{field}"
    assert describe(found).found.startswith("2: ")


def test_a_limit_range_for_claims_brings_no_cpu_limits(tmp_path: Path) -> None:
    theirs = named(
        "LimitRange",
        "theirs",
        "shop",
        spec={"limits": [{"type": "PersistentVolumeClaim", "max": {"cpu": "2"}}]},
    )
    assert found_in(audited(tmp_path, *governed("shop"), theirs)) == []


def test_a_quota_on_cpu_limits_is_an_error(tmp_path: Path) -> None:
    theirs = named(
        "ResourceQuota",
        "theirs",
        "shop",
        spec={"hard": {"limits.cpu": "4"}},
        status={"hard": {"limits.cpu": "4"}},
    )
    found = one(tmp_path, *governed("shop"), theirs)
    assert summary([found]) == [("error", "quota-on-cpu-limits", "ResourceQuota shop/theirs")]


def test_limits_opted_out_while_the_quota_stays_refuses_pods_without_requests(tmp_path: Path) -> None:
    items = without(governed("shop", labels={"remuda.dev/own-limits": "true"}), "LimitRange")
    found = one(tmp_path, *items, *governed("other"))
    assert summary([found]) == [("warning", "quota-without-defaults", "Namespace shop")]
    assert (
        describe(found).found
        == "quota shop-quota wants cpu and memory of every pod, and no LimitRange gives it"
    )
    with_bare = of_rule(
        tmp_path, "quota-without-defaults", *items, *governed("other"), deployment("bare", replicas=0)
    )
    assert with_bare[0].severity == "error"
    assert describe(with_bare[0]).found.endswith(": refused are Deployment shop/bare")


def test_a_limit_range_of_its_own_with_defaults_is_enough_for_the_quota(tmp_path: Path) -> None:
    items = governed("shop", labels={"remuda.dev/own-limits": "true"})
    items[1]["metadata"]["name"] = "theirs"
    assert found_in(audited(tmp_path, *items)) == []


def test_a_pod_that_says_its_requests_as_a_whole_is_not_refused(tmp_path: Path) -> None:
    items = without(governed("shop", labels={"remuda.dev/own-limits": "true"}), "LimitRange")
    whole = {"containers": [container()], "resources": sizes({"cpu": "1", "memory": "1Gi"})}
    (found,) = of_rule(
        tmp_path,
        "quota-without-defaults",
        *items,
        *governed("other"),
        deployment("w", pod_spec=whole, replicas=0),
    )
    assert found.severity == "warning"


def test_a_quota_that_is_exceeded_is_an_error_with_its_numbers(tmp_path: Path) -> None:
    found = one(tmp_path, *governed("shop", used={"requests.cpu": "48320m"}))
    assert summary([found]) == [("error", "quota-exceeded", "ResourceQuota shop/shop-quota")]
    assert (describe(found).found, describe(found).expected) == ("48320m, 302 %", "at most 16")
    assert found.field == "status.used[requests.cpu]"


def test_a_quota_that_allows_nothing_and_is_used_has_no_percentage(tmp_path: Path) -> None:
    theirs = named(
        "ResourceQuota",
        "none",
        "shop",
        spec={"hard": {"pods": "0"}},
        status={"hard": {"pods": "0"}, "used": {"pods": "2"}},
    )
    found = one(tmp_path, *governed("shop"), theirs)
    assert describe(found).found == "2"


def test_a_quota_that_nobody_counted_is_told(tmp_path: Path) -> None:
    items = governed("shop")
    del items[2]["status"]
    found = one(tmp_path, *items)
    assert summary([found]) == [("info", "quota-not-counted", "ResourceQuota shop/shop-quota")]


# PriorityClasses


def test_a_class_that_is_missing_is_an_error_where_a_namespace_has_the_tier(tmp_path: Path) -> None:
    kept = [item for item in classes() if item["metadata"]["name"] not in {"tier-3-edge", "tier-4-aux"}]
    found = audit(snapshot(tmp_path, *kept, node(), *governed("shop")), (DEFAULT_POLICY,), 0).findings
    missing = [each for each in found if each.rule == "priority-class-missing"]
    assert summary(missing) == [
        ("error", "priority-class-missing", "PriorityClass tier-3-edge"),
        ("info", "priority-class-missing", "PriorityClass tier-4-aux"),
    ]
    assert describe(missing[0]).found == "missing, and shop have this tier"
    assert describe(missing[1]).found == "missing"


@pytest.mark.parametrize(
    ("fields", "found"),
    [({"value": 5}, "5, PreemptLowerPriority"), ({"preemptionPolicy": "Never"}, "300000, Never")],
    ids=["another value", "it does not preempt"],
)
def test_a_class_that_is_otherwise_is_told(tmp_path: Path, fields: dict[str, Any], found: str) -> None:
    made = [item | fields if item["metadata"]["name"] == "tier-3-edge" else item for item in classes()]
    (differs,) = [
        each
        for each in audit(snapshot(tmp_path, *made, node(), *governed("shop")), (DEFAULT_POLICY,), 0).findings
        if each.rule != "not-read"
    ]
    assert summary([differs]) == [("warning", "priority-class-differs", "PriorityClass tier-3-edge")]
    assert (describe(differs).found, describe(differs).expected) == (found, "300000, PreemptLowerPriority")


def test_a_tier_that_does_not_preempt_wants_a_class_that_does_not(tmp_path: Path) -> None:
    policy = changed(
        tiers=DEFAULT_POLICY.tiers | {"3-edge": replace(DEFAULT_POLICY.tiers["3-edge"], preempts=False)}
    )
    (found,) = of_rule(tmp_path, "priority-class-differs", *governed("shop"), policies=(policy,))
    assert describe(found).expected == "300000, Never"


def test_a_class_that_somebody_else_made_is_told(tmp_path: Path) -> None:
    made = classes()
    made[0]["metadata"].pop("labels")
    (found,) = [
        each
        for each in audit(snapshot(tmp_path, *made, node(), *governed("shop")), (DEFAULT_POLICY,), 0).findings
        if each.rule != "not-read"
    ]
    assert (found.rule, found.subject) == ("object-of-another", "PriorityClass tier-0-core")


# sizes


@pytest.mark.parametrize(
    ("how", "severity"),
    [("warn", "warning"), ("strip", "warning"), ("deny", "error")],
    ids=["warned", "stripped", "denied"],
)
def test_a_cpu_limit_is_told_with_its_containers(tmp_path: Path, how: Any, severity: str) -> None:
    limited = sizes({"cpu": "50m", "memory": "64Mi"}, {"cpu": "1", "memory": "128Mi"})
    item = tiered("web", containers=[container("app", limited), container("fine", FINE)])
    found = one(tmp_path, *governed("shop"), item, policies=(changed(cpu_limits=how),))
    assert summary([found]) == [(severity, "cpu-limit", "Pod shop/web")]
    assert (describe(found).found, found.field) == ("app", "spec.containers")


def test_a_cpu_limit_of_the_pod_as_a_whole_is_told(tmp_path: Path) -> None:
    whole = {"resources": sizes({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"})}
    found = one(tmp_path, *governed("shop"), tiered("web", spec=whole))
    assert describe(found).found == "spec.resources"


def test_a_cpu_limit_that_a_limit_range_injected_is_not_the_pods_fault(tmp_path: Path) -> None:
    limited = sizes({"cpu": "50m", "memory": "64Mi"}, {"cpu": "1", "memory": "128Mi"})
    note = {"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu limit for container app"}
    assert (
        of_rule(
            tmp_path,
            "cpu-limit",
            *governed("shop"),
            tiered("web", annotations=note, containers=[container("app", limited)]),
        )
        == []
    )


LIMITED: dict[str, Any] = {
    "containers": [container("app", sizes({"cpu": "50m", "memory": "64Mi"}, {"cpu": "1", "memory": "128Mi"}))]
}


def test_a_template_with_a_cpu_limit_is_told_once_with_its_pods(tmp_path: Path) -> None:
    made = deployment("web", pod_spec=LIMITED)
    one_pod = tiered(
        "web-1",
        ownerReferences=owned_by("ReplicaSet", "web-5d"),
        labels={"pod-template-hash": "5d"},
        **LIMITED,
    )
    found = one(tmp_path, *governed("shop"), made, one_pod)
    assert (found.rule, found.subject, found.field) == (
        "cpu-limit",
        "Deployment shop/web",
        "spec.template.spec.containers",
    )


def test_a_template_whose_cpu_limit_admission_strips_is_as_it_should_be(tmp_path: Path) -> None:
    made = deployment("web", pod_spec=LIMITED)
    stripped = tiered(
        "web-1", ownerReferences=owned_by("ReplicaSet", "web-5d"), labels={"pod-template-hash": "5d"}
    )
    assert (
        found_in(
            audited(tmp_path, *governed("shop"), made, stripped, policies=(changed(cpu_limits="strip"),))
        )
        == []
    )


def test_a_cron_job_has_its_containers_further_down(tmp_path: Path) -> None:
    job = named(
        "CronJob", "dump", "shop", "batch/v1", spec={"jobTemplate": {"spec": {"template": {"spec": LIMITED}}}}
    )
    assert one(tmp_path, *governed("shop"), job).field == "spec.jobTemplate.spec.template.spec.containers"


def test_cpu_limits_of_a_workload_that_is_to_be_guaranteed_are_meant(tmp_path: Path) -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    policy = changed(guaranteed=(Workload("shop", "Deployment", "we*"),))
    web = deployment("web", replicas=0, pod_spec={"containers": [container("app", sizes(both, both))]})
    assert found_in(audited(tmp_path, *governed("shop"), web, policies=(policy,))) == []
    found = one(
        tmp_path,
        *governed("shop"),
        deployment("web", replicas=0, pod_spec={"containers": [container("app", FINE)]}),
        policies=(policy,),
    )
    assert (found.severity, found.rule) == ("warning", "not-guaranteed")
    assert describe(found).found == "Burstable: app: no cpu limit, app: memory request is not its limit"


def test_pods_without_requests_are_told_and_first_containers_that_end_are_not(tmp_path: Path) -> None:
    bare = tiered(
        "web",
        containers=[container("app"), container("half", sizes({"cpu": "1"}, {"memory": "1Gi"}))],
        spec={"initContainers": [container("f")]},
    )
    found = one(tmp_path, *governed("shop"), bare)
    assert (found.severity, found.rule) == ("warning", "no-requests")
    assert describe(found).found == "no cpu and memory of app"


def test_the_pod_as_a_whole_may_say_the_requests(tmp_path: Path) -> None:
    whole = tiered(
        "web",
        containers=[container()],
        spec={"resources": sizes({"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"})},
    )
    assert found_in(audited(tmp_path, *governed("shop"), whole)) == []


def test_a_template_without_requests_gets_them_from_the_tier(tmp_path: Path) -> None:
    assert found_in(audited(tmp_path, *governed("shop"), deployment("web", replicas=0))) == []


def test_memory_that_is_uneven_is_told_in_tiers_without_burst_alone(tmp_path: Path) -> None:
    uneven = [
        container("app", sizes({"cpu": "1", "memory": "256Mi"}, {"memory": "512Mi"})),
        container("open", sizes({"cpu": "1", "memory": "1Gi"})),
    ]
    found = one(tmp_path, *governed("dns", "0-core"), tiered("web", "dns", "0-core", containers=uneven))
    assert (found.severity, found.rule) == ("warning", "uneven-memory")
    assert describe(found).found == "app 256Mi of 512Mi, open 1Gi of none"
    assert of_rule(tmp_path, "uneven-memory", *governed("shop"), tiered("web", containers=uneven)) == []
    own = governed("dns", "0-core", labels={"remuda.dev/own-limits": "true"})
    assert of_rule(tmp_path, "uneven-memory", *own, tiered("web", "dns", "0-core", containers=uneven)) == []


def test_a_sidecar_with_sizes_of_its_own_may_be_uneven(tmp_path: Path) -> None:
    helper = container("csi-provisioner", sizes({"cpu": "10m", "memory": "32Mi"}, {"memory": "80Mi"}))
    even = container("app", sizes({"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"}))
    made = audited(
        tmp_path, *governed("dns", "0-core"), tiered("web", "dns", "0-core", containers=[helper, even])
    )
    assert [each.rule for each in found_in(made)] == []


def test_a_template_with_a_request_alone_above_the_default_is_refused(tmp_path: Path) -> None:
    template = {
        "containers": [
            container("app", sizes({"memory": "1Gi"})),
            container("small", sizes({"memory": "512Mi"})),
        ]
    }
    found = [
        each
        for each in found_in(
            audited(tmp_path, *governed("dns", "0-core"), deployment("web", "dns", template, replicas=0))
        )
        if each.severity == "error"
    ]
    assert summary(found) == [("error", "request-above-default-limit", "Deployment dns/web")]
    assert describe(found[0]).found == "app 1Gi, and no limit; the default limit is 512Mi"


def test_a_request_alone_is_fine_where_pods_get_a_limit(tmp_path: Path) -> None:
    template = {"containers": [container("app", sizes({"cpu": "1", "memory": "1Gi"}))]}
    mutated = tiered(
        "web-1", "dns", "0-core", containers=[container("app", sizes({"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"}))],
        ownerReferences=owned_by("ReplicaSet", "web-5d"), labels={"pod-template-hash": "5d"},
    )  # fmt: skip
    made = audited(tmp_path, *governed("dns", "0-core"), deployment("web", "dns", template), mutated)
    assert [each.rule for each in found_in(made)] == ["burstable"]


def test_a_request_above_the_default_is_fine_in_tiers_with_burst(tmp_path: Path) -> None:
    template = {"containers": [container("app", sizes({"memory": "1Gi"}))]}
    assert (
        found_in(audited(tmp_path, *governed("shop"), deployment("web", "shop", template, replicas=0))) == []
    )


@pytest.mark.parametrize(
    ("size", "rule", "words"),
    [
        pytest.param(sizes({"memory": "5Gi"}), "above-max-memory", ("app 5Gi", "at most 4Gi in tier 3-edge"), id="a request"),
        pytest.param(sizes({"memory": "1Gi"}, {"memory": "4097Mi"}), "above-max-memory", ("app 4097Mi", "at most 4Gi in tier 3-edge"), id="a limit"),
        pytest.param(sizes({"cpu": "2001m"}), "above-max-cpu", ("app 2001m", "at most 2 in tier 3-edge"), id="CPU"),
    ],
)  # fmt: skip
def test_what_is_above_the_maximum_of_the_tier_is_refused(
    tmp_path: Path, size: dict[str, Any], rule: str, words: tuple[str, str]
) -> None:
    found = one(
        tmp_path,
        *governed("shop"),
        deployment("web", pod_spec={"containers": [container("app", size)]}, replicas=0),
    )
    assert summary([found]) == [("error", rule, "Deployment shop/web")]
    assert describe(found)[:2] == words
    exactly = sizes({"cpu": "2", "memory": "4Gi"}, {"memory": "4Gi"})
    assert (
        found_in(
            audited(
                tmp_path,
                *governed("shop"),
                deployment("web", pod_spec={"containers": [container("app", exactly)]}, replicas=0),
            )
        )
        == []
    )
    own = governed("shop", labels={"remuda.dev/own-limits": "true"})
    assert (
        of_rule(
            tmp_path,
            rule,
            *own,
            deployment("web", pod_spec={"containers": [container("app", size)]}, replicas=0),
        )
        == []
    )


def test_a_pod_of_nobody_that_is_above_the_maximum_is_told_and_one_above_the_default_runs_already(
    tmp_path: Path,
) -> None:
    large = container("app", sizes({"cpu": "1", "memory": "5Gi"}, {"memory": "5Gi"}))
    assert one(tmp_path, *governed("shop"), tiered("web", containers=[large])).rule == "above-max-memory"
    bare = container("app", sizes({"cpu": "1", "memory": "1Gi"}))
    assert (
        of_rule(
            tmp_path,
            "request-above-default-limit",
            *governed("dns", "0-core"),
            tiered("web", "dns", "0-core", containers=[bare]),
        )
        == []
    )


GIVEN = "LimitRanger plugin set: cpu, memory request for container {0}; memory limit for container {0}"


def defaulted(name: str, helper: str, memory: str = "256Mi", **rest: Any) -> dict[str, Any]:
    note = {"kubernetes.io/limit-ranger": GIVEN.format(helper)}
    return tiered(
        name,
        annotations=note,
        containers=[container(helper, sizes({"cpu": "250m", "memory": memory}, {"memory": "4Gi"}))],
        **rest,
    )


def test_containers_on_defaults_are_told_by_the_servers_own_annotation(tmp_path: Path) -> None:
    found = one(tmp_path, *governed("shop"), defaulted("web", "app"))
    assert (found.severity, found.rule) == ("info", "on-defaults")
    assert describe(found).found == "app (cpu, memory request), app (memory limit), in 1 pod"


def test_sidecars_on_defaults_are_counted_with_what_they_waste(tmp_path: Path) -> None:
    helpers = [defaulted(f"csi-{n}", "csi-attacher" if n % 2 else "node-driver-registrar") for n in range(17)]
    made = audited(tmp_path, *governed("shop"), *helpers)
    (found,) = found_in(made)
    assert summary([found]) == [("warning", "sidecars-on-defaults", "Namespace shop")]
    assert describe(found).found == (
        "17 on 256Mi: node-driver-registrar, csi-attacher; that wastes 17 × 224Mi, 3808Mi in all"
    )
    assert describe(found).expected == "32Mi each"


def test_a_sidecar_that_a_limit_range_gave_no_memory_wastes_none(tmp_path: Path) -> None:
    note = {"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container csi-attacher"}
    own = tiered(
        "a",
        annotations=note,
        containers=[
            container("csi-attacher", sizes({"cpu": "250m", "memory": "256Mi"}, {"memory": "256Mi"}))
        ],
    )
    assert of_rule(tmp_path, "sidecars-on-defaults", *governed("shop"), own) == []
    assert (
        of_rule(tmp_path, "sidecars-on-defaults", *governed("shop"), defaulted("a", "csi-attacher", "32Mi"))
        == []
    )


# priorities


def test_pods_without_the_class_of_their_tier_are_counted(tmp_path: Path) -> None:
    bare = [tiered(f"web-{n}", spec={"priorityClassName": "", "priority": 0}) for n in range(2)]
    found = one(tmp_path, *governed("shop"), *bare, tiered("good"))
    assert summary([found]) == [("warning", "no-priority-class", "Namespace shop")]
    assert describe(found).found == "2 of 3 pods without: Pod shop/web-0, Pod shop/web-1"
    assert describe(found).expected == "tier-3-edge"


def test_what_the_cluster_gives_everybody_is_no_class_of_a_pods_own(tmp_path: Path) -> None:
    default = named("PriorityClass", "normal", api="scheduling.k8s.io/v1", value=1, globalDefault=True)
    found = one(tmp_path, *governed("shop"), default, tiered("web", spec={"priorityClassName": "normal"}))
    assert found.rule == "no-priority-class"


def test_the_class_of_another_tier_is_told_unless_the_workload_says_that_tier(tmp_path: Path) -> None:
    taken = {"priorityClassName": "tier-0-core", "priority": 900_000}
    found = one(tmp_path, *governed("shop"), tiered("web", spec=taken))
    assert summary([found]) == [("warning", "class-of-another-tier", "Pod shop/web")]
    assert (describe(found).found, describe(found).expected) == ("tier-0-core of 1 pod", "tier-3-edge")
    assert (
        found_in(
            audited(
                tmp_path, *governed("shop"), tiered("web", spec=taken, labels={"remuda.dev/tier": "0-core"})
            )
        )
        == []
    )


def test_classes_of_their_own_and_runners_are_told_apart_and_not_blamed(tmp_path: Path) -> None:
    counted = named(
        "PriorityClass",
        "runners-nix",
        api="scheduling.k8s.io/v1",
        value=1,
        labels={"remuda.dev/capacity-policy": "nix"},
    )
    found = one(
        tmp_path,
        *governed("shop"),
        counted,
        tiered("a", spec={"priorityClassName": "runners-nix"}),
        tiered("b", spec={"priorityClassName": "system-node-critical"}),
        tiered("c", spec={"priorityClassName": "batch"}),
        tiered("d", spec={"priorityClassName": ""}, labels={"actions.github.com/scale-set-name": "nix"}),
    )
    assert summary([found]) == [("info", "own-priority-class", "Namespace shop")]
    assert describe(found).found == (
        "1 of class batch, 1 of class runners-nix (counted by CapacityPolicy nix), 1 of class system-node-critical (the system's),"
        " 1 of GitHub's runners"
    )


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        pytest.param({"labels": {"actions-ephemeral-runner": "True"}}, "app (a runner: nothing refuses it)", id="a runner"),
        pytest.param({"spec": {"priorityClassName": "batch"}}, "app (of class batch: nothing refuses it)", id="a class of its own"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_who_is_exempt_is_an_info(
    tmp_path: Path, rest: dict[str, Any], words: str
) -> None:
    (found,) = of_rule(tmp_path, "cpu-limit", *governed("shop"), tiered("web", **LIMITED, **rest))
    assert found.severity == "info"
    assert describe(found).found == words


def test_a_template_of_runners_is_exempt_before_there_is_any(tmp_path: Path) -> None:
    template = {"metadata": {"labels": {"actions.github.com/scale-set-name": "nix"}}, "spec": LIMITED}
    runners = named("ReplicaSet", "r", "shop", "apps/v1", spec={"replicas": 0, "template": template})
    assert of_rule(tmp_path, "cpu-limit", *governed("shop"), runners)[0].severity == "info"
    own = deployment("own", pod_spec=LIMITED | {"priorityClassName": "batch"}, replicas=0)
    assert of_rule(tmp_path, "cpu-limit", *governed("shop"), own)[0].severity == "info"


def test_static_pods_are_nobodys_to_change(tmp_path: Path) -> None:
    static = pod(
        "etcd", annotations={"kubernetes.io/config.mirror": "x"}, ownerReferences=owned_by("Node", "n1")
    )
    assert found_in(audited(tmp_path, *governed("shop"), static)) == []


def test_pods_of_a_tier_without_burst_are_burstable_all_the_same(tmp_path: Path) -> None:
    even = [container("app", sizes({"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"}))]
    found = one(
        tmp_path,
        *governed("dns", "0-core"),
        *(tiered(f"w{n}", "dns", "0-core", containers=even) for n in range(2)),
    )
    assert summary([found]) == [("info", "burstable", "tier 0-core")]
    assert describe(found).found == "2 pods"


# what was not read


def test_namespaces_that_were_not_read_are_an_error(tmp_path: Path) -> None:
    made = audit(snapshot(tmp_path, node()), (DEFAULT_POLICY,), 0)
    found = {each.subject: each.severity for each in made.findings}
    assert found["namespaces"] == "error"
    assert found["pods"] == "info"
    assert "events" not in found


def test_the_gravest_come_first_and_those_of_one_cause_together(tmp_path: Path) -> None:
    made = audited(
        tmp_path,
        *governed("b", used={"pods": "31"}),
        *governed("a", used={"pods": "31"}),
        named("Namespace", "plain"),
        tiered("x", "a", **LIMITED),
    )
    assert summary(found_in(made)) == [
        ("error", "quota-exceeded", "ResourceQuota a/a-quota"),
        ("error", "quota-exceeded", "ResourceQuota b/b-quota"),
        ("warning", "cpu-limit", "Pod a/x"),
        ("info", "no-tier", "Namespace plain"),
    ]


def test_a_namespace_by_its_name_and_one_by_default_have_tiers_too(tmp_path: Path) -> None:
    made = audited(
        tmp_path,
        named("Namespace", "4-aux-tools"),
        named("Namespace", "rest"),
        policies=(changed(default_tier="3-edge"),),
    )
    assert [(each.name, each.member.tier, each.member.origin) for each in made.namespaces] == [
        ("4-aux-tools", "4-aux", "prefix"),
        ("rest", "3-edge", "default"),
    ]


def test_manifests_of_a_tier_are_what_its_audit_wants(tmp_path: Path) -> None:
    for tier in DEFAULT_POLICY.tiers.values():
        items = [
            named("Namespace", "shop", labels={"remuda.dev/tier": tier.name}),
            limit_range(DEFAULT_POLICY, tier, "shop"),
            resource_quota(DEFAULT_POLICY, tier, "shop") | {"status": {"hard": {"pods": "1"}}},
        ]
        assert [
            each.rule
            for each in found_in(audited(tmp_path, *msgspec.json.decode(msgspec.json.encode(items))))
        ] == []
