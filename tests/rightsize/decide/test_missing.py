"""What is not there: samples, containers, workloads, parts of the world; and sizes that make no sense."""

import msgspec
import pytest
from tests.rightsize.decide.builders import (
    NOW,
    WEB,
    advice,
    container,
    evidence,
    found,
    judge,
    rules,
    steps_of,
    the,
    the_workload,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN

from remuda.model.workloads import WorkloadId
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.patches import make
from remuda.rightsize.snapshot import Ask, Container, Kill, Size, Unknown

EMPTY = evidence(cpu_samples=0, memory_samples=0, first=None, last=None)


@pytest.mark.parametrize("known", [{}, {(WEB, "main"): EMPTY}], ids=["nothing", "a floor without samples"])
def test_without_evidence_everything_is_left_as_it_is(known: dict[tuple[WorkloadId, str], Evidence]) -> None:
    made = judge(known=known)
    one = the(made)
    assert (one.verdict, one.recommended, one.risk, one.evidence) == ("leave", one.now, "", None)
    finding = found(made, "no-evidence")
    assert (finding.severity, finding.field) == ("warning", "spec.template.spec.containers[main]")


@pytest.mark.parametrize(
    ("replicas", "severity", "fix"),
    [(0, "info", "review it when it runs"), (1, "warning", "see remuda diagnose")],
)
def test_without_evidence_what_does_not_run_is_to_be_reviewed_when_it_does(
    replicas: int, severity: str, fix: str
) -> None:
    one = found(judge(workload(replicas=replicas), known={}), "no-evidence")
    assert (one.severity, one.is_.endswith(", and no pods now")) == (severity, not replicas)
    assert one.fix.startswith(fix)


def test_without_evidence_a_kill_is_still_a_risk() -> None:
    made = judge(known={}, kills=(Kill(WEB, "main", "web-0", NOW - 60),))
    assert (the(made).risk, the(made).verdict) == ("will-oom", "leave")
    assert found(made, "killed").severity == "error"


def test_a_container_without_evidence_among_others_that_have_it_is_new() -> None:
    made = judge(workload(container(), container("new")), known={(WEB, "main"): evidence()})
    assert the(made, part="main").verdict == "lower"
    assert (the(made, part="new").verdict, the(made, part="new").rules) == ("leave", ("new-container",))
    assert found(made, "new-container").field == "spec.template.spec.containers[new]"


def test_samples_of_a_container_that_is_gone_are_ignored_and_reported() -> None:
    made = judge(known={(WEB, "main"): evidence(), (WEB, "old"): evidence()})
    assert [each.name for each in the_workload(made).containers] == ["main"]
    one = found(made, "container-gone")
    assert (one.severity, one.field) == ("info", "spec.template.spec.containers[old]")


def test_samples_of_an_init_container_that_ends_are_not_reported() -> None:
    one = msgspec.structs.replace(workload(), init_containers=("migrate",))
    assert rules(judge(one, known={(WEB, "main"): evidence(), (WEB, "migrate"): evidence()})) == set()


def test_samples_of_workloads_that_are_gone_are_ignored_and_reported_once() -> None:
    gone = [WorkloadId("shop", "Deployment", f"gone-{n}") for n in range(7)]
    made = judge(known={(WEB, "main"): evidence()} | {(each, "main"): evidence() for each in gone})
    one = found(made, "workload-gone")
    assert one.is_.startswith("samples of 7 workloads that are not there: Deployment shop/gone-0,")
    assert one.is_.endswith("and 2 more")


def test_what_could_not_be_read_is_reported_and_makes_the_review_partial() -> None:
    made = judge(unknown=(Unknown("resourcequotas", "403 Forbidden"),))
    assert made.is_partial
    one = found(made, "not-read")
    assert (one.severity, one.object, one.is_) == ("warning", "resourcequotas", "403 Forbidden")


def test_where_use_as_a_whole_is_in_doubt_nothing_is_lowered() -> None:
    mixed = Unknown("use", "samples of several clusters, which cannot be told apart")
    large = workload(container(cpu=900, memory=4096, memory_limit=4096))
    made = judge(large, unknown=(mixed,))
    assert (the(made).verdict, the(made).recommended) == ("keep", the(made).now)
    assert "partial-evidence" in the(made).rules
    assert the(judge(large, unknown=(Unknown("quotas", "403"),))).verdict == "lower"


def test_a_whole_review_is_not_partial() -> None:
    assert not judge().is_partial


def test_what_is_scaled_to_zero_is_sized_and_wastes_nothing() -> None:
    made = judge(workload(replicas=0))
    assert the(made).verdict == "lower"
    assert (made.waste.cpu_millicores, made.waste.memory_bytes) == (0, 0)
    assert found(made, "scaled-to-zero").severity == "info"
    assert found(judge(workload(replicas=0), known={}), "no-evidence").severity == "info"


@pytest.mark.parametrize(
    ("kind", "part", "field"),
    [
        ("Deployment", container("proxy", is_sidecar=True), "spec.template.spec.initContainers[proxy]"),
        ("CronJob", container("job"), "spec.jobTemplate.spec.template.spec.containers[job]"),
        ("Pod", container("main"), "spec.containers[main]"),
    ],
)
def test_a_finding_names_the_field_of_its_kind(kind: str, part: Container, field: str) -> None:
    one = workload(part, id=WorkloadId("shop", kind, "web"))
    assert found(judge(one, known={}), "no-evidence").field == field


def test_a_sidecar_is_sized_as_the_others_are() -> None:
    made = judge(workload(container(), container("proxy", is_sidecar=True)))
    assert the(made, part="proxy").is_sidecar
    assert the(made, part="proxy").recommended == the(made, part="main").recommended


@pytest.mark.parametrize(
    ("part", "rule", "field", "is_"),
    [
        (container(memory=600, memory_limit=500), "limit-below-request", "limits.memory", "500Mi, below the request 600Mi"),
        (container(cpu=600, cpu_limit=500), "limit-below-request", "limits.cpu", "500m, below the request 600m"),
        (container(cpu=2_000_000), "odd-size", "requests.cpu", "2000000m"),
        (container(memory_limit=2**30), "odd-size", "limits.memory", "1Pi"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("known", [{}, None], ids=["without evidence", "with it"])
def test_sizes_that_make_no_sense_are_reported(
    part: Container, rule: str, field: str, is_: str, known: dict[tuple[WorkloadId, str], Evidence] | None
) -> None:
    one = found(judge(workload(part), known=known), rule)
    assert one.field.endswith(f"[main].resources.{field}")
    assert one.is_ == is_


def test_the_largest_and_smallest_sizes_that_make_sense_are_fine() -> None:
    largest, mib = 100 * 2**40, 2**20
    fine = (Size(Ask(1_000_000, largest), Ask(1_000_000, largest)), Size(Ask(1, mib), Ask(1, mib)))
    odd = (
        Size(Ask(1_000_001), Ask(1_000_001)),
        Size(Ask(None, mib - 1), Ask(None, mib - 1)),
        Size(Ask(None, largest + 1), Ask(None, largest + 1)),
    )
    for size in fine:
        assert "odd-size" not in rules(judge(workload(Container("main", size)), known={}))
    for size in odd:
        made = judge(workload(Container("main", size)), known={})
        assert [each.rule for each in made.findings].count("odd-size") == 2


def test_half_a_byte_of_memory_is_reported() -> None:
    made = judge(workload(Container("main", Size(Ask(100, 1), Ask(None, 1)))), known={})
    assert {each.field.rsplit(".", 2)[1] for each in made.findings if each.rule == "odd-size"} == {
        "requests",
        "limits",
    }


def test_a_size_that_makes_no_sense_is_corrected_by_the_recommendation() -> None:
    one = the(judge(workload(container(memory=600, memory_limit=500))))
    assert (one.recommended.requests.memory_bytes or 0) <= (one.recommended.limits.memory_bytes or 0)


@pytest.mark.parametrize(
    ("strategy", "known"), [("krr", evidence(krr=None)), ("krr", advice()), ("mine", evidence())]
)
def test_a_strategy_that_gives_no_answer_leaves_and_says_so(strategy: str, known: Evidence) -> None:
    made = judge(known=known, strategy=strategy)
    one = the(made)
    assert (one.verdict, one.recommended, one.rules) == ("leave", one.now, ("too-few-for-strategy",))
    assert steps_of(one, "strategy") == [(f"{strategy} gives no answer", "it is left as it is")]
    assert "--strategy vpa" in found(made, "too-few-for-strategy").fix
    needed = {"krr": "100 samples over 3 hours"}.get(made.strategy, f"samples enough for {made.strategy}")
    assert found(made, "too-few-for-strategy").should == needed


def test_samples_begin_and_end_where_the_first_step_says() -> None:
    one = the(judge(known=evidence(first=BEGIN + 60)))
    assert steps_of(one, "samples") == [
        (
            "11520 of CPU and 11520 of memory by 1 replica",
            "2026-01-01T00:01:00Z to 2026-01-09T00:00:00Z, samples use.json",
        )
    ]
    assert "no-evidence" not in rules(judge(known=evidence(first=BEGIN + 60)))


def test_pods_that_no_workload_makes_are_named() -> None:
    rollout, bare = WorkloadId("shop", "GameServer", "web"), WorkloadId("shop", "Pod", "debug")
    owners = {
        ("shop", "web-1"): rollout,
        ("shop", "web-2"): rollout,
        ("shop", "debug"): bare,
        ("shop", "proxy-node"): WorkloadId("shop", "Node", "node"),
        ("shop", "web-3"): WEB,
        # in a namespace that has nothing else
        ("kafka", "broker-0"): WorkloadId("kafka", "Broker", "broker"),
    }
    unsized = {each.object: each.is_ for each in judge(owners=owners).findings if each.rule == "not-sized"}
    assert unsized == {
        "GameServer": "2 pods of GameServer shop/web",
        "Pod": "1 pod of Pod shop/debug",
        "Broker": "1 pod of Broker kafka/broker",
    }


def test_what_an_operator_makes_is_advised_on_with_the_place_of_its_size_and_not_patched() -> None:
    who = WorkloadId("shop", "StrimziPodSet", "events-kafka")
    place = "spec.kafka.resources of Kafka shop/events"
    kept = msgspec.structs.replace(
        workload(container(memory=4096, memory_limit=4096), id=who), sized_by=place
    )
    made = judge(kept, known={(who, "main"): evidence()})
    [found] = [each for each in made.findings if each.rule == "sized-by-operator"]
    assert (found.severity, found.object) == ("info", str(who))
    assert place in found.fix
    assert made.workloads[0].containers[0].verdict == "lower"
    for form in ("json", "kustomize"):
        patches = make(made, form)
        assert patches.files == ()
        assert patches.left == (f"{who}: {found.fix}",)


@pytest.mark.parametrize("replicas", [0, 1])
def test_old_samples_of_what_has_no_pods_are_no_reason_to_look_further(replicas: int) -> None:
    made = judge(workload(replicas=replicas), known=evidence(last=NOW - 2 * 86_400))
    one = found(made, "old-evidence")
    assert (one.severity == "info", one.fix.startswith("nothing: it has no pods now")) == (not replicas,) * 2
    assert one.is_ == "the last sample is of 2026-01-07T00:00:00Z, 2d ago"


def test_without_evidence_the_only_step_says_so() -> None:
    assert steps_of(the(judge(known={})), "samples") == [("none", "it is left as it is")]


def test_pods_that_nothing_keeps_are_distinguished_from_those_of_other_kinds() -> None:
    owners = {
        ("shop", "a"): WorkloadId("shop", "Pod", "a"),
        ("shop", "b-0"): WorkloadId("shop", "GameServer", "b"),
    }
    made = judge(owners=owners)
    kept, alone = (each for each in made.findings if each.rule == "not-sized")
    assert (kept.object, alone.object) == ("GameServer", "Pod")
    assert kept.fix == "size its template by hand: what GameServer makes of it is not known here"
    assert alone.fix.startswith("size it by hand: no template")
