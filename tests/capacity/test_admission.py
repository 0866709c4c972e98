"""What LimitRanges, RuntimeClasses and PriorityClasses make of runners; the live tests ask a real API server the same."""

from typing import Any

import msgspec
import pytest

from remuda.capacity import manifests
from remuda.capacity.decide.admission import Admission, Admitted, admit
from remuda.model.manifests import LimitRange


def pod(*containers: dict[str, Any], **spec: Any) -> manifests.PlacedSpec:
    named = [{"name": f"c{number}", "resources": each} for number, each in enumerate(containers)]
    return msgspec.convert({"containers": named, **spec}, manifests.PlacedSpec)


def limit_range(name: str = "lr", type_: str = "Container", **item: Any) -> LimitRange:
    made = {"metadata": {"name": name, "namespace": "ci"}, "spec": {"limits": [{"type": type_, **item}]}}
    return msgspec.convert(made, LimitRange)


def runtime(overhead: dict[str, str] | None = None, **scheduling: Any) -> manifests.RuntimeClass:
    made = {"metadata": {"name": "kata"}, "overhead": {"podFixed": overhead or {}}, "scheduling": scheduling}
    return msgspec.convert(made, manifests.RuntimeClass)


def admitted(spec: manifests.PlacedSpec, *ranges: LimitRange, **rules: Any) -> Admitted:
    known = {"runtime_classes": {}, "priority_classes": frozenset[str]()} | rules
    return admit("ci", spec, Admission({"ci": ranges}, **known))


SMALL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}


def test_what_is_limited_without_a_request_is_requested_as_much() -> None:
    (container,) = admitted(pod({"limits": {"memory": "1Gi"}})).spec.containers
    assert container.resources.requests == {"memory": "1Gi"}


def test_a_limit_range_gives_containers_what_they_do_not_ask_for() -> None:
    """A default request before a default limit, that before a maximum, and a minimum last."""
    given = limit_range(
        default={"cpu": "3"},
        defaultRequest={"cpu": "1"},
        max={"memory": "4Gi", "cpu": "5"},
        min={"pids": "7"},
    )
    made = admitted(pod({}, initContainers=[{"name": "first"}]), given)
    for container in (*made.spec.containers, *made.spec.init_containers):
        assert container.resources.requests == {"cpu": "1", "memory": "4Gi", "pids": "7"}
        assert container.resources.limits == {"cpu": "3", "memory": "4Gi"}
    assert made.refused == made.unsure == ()
    assert admitted(pod(SMALL), limit_range(default={"cpu": "3"})).spec == admitted(pod(SMALL)).spec


def test_a_limit_range_of_claims_is_for_no_pod() -> None:
    claims = limit_range(type_="PersistentVolumeClaim", max={"storage": "1Gi"}, min={"storage": "1Gi"})
    assert admitted(pod(SMALL), claims) == admitted(pod(SMALL))


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"min": {"cpu": "2"}}, ["wants at least 2 CPU of container c0, which has 1 CPU"]),
        ({"min": {"cpu": "1"}}, []),
        ({"max": {"memory": "1Gi"}}, ["allows container c0 1Gi memory, and it has 2Gi memory"]),
        ({"max": {"memory": "2Gi"}}, []),
        ({"maxLimitRequestRatio": {"cpu": "1500m"}}, ["allows container c0 a limit of 1500m times its request of cpu, and it has 2 CPU for 1 CPU"]),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, []),
        ({"maxLimitRequestRatio": {"pids": "2"}}, ["wants a request and a limit of pids of container c0"]),
        ({"type_": "Pod", "min": {"pids": "2"}}, ["wants at least 2 pids of the pod, which requests none"]),
        ({"type_": "Pod", "max": {"pids": "2"}}, ["allows the pod 2 pids, and it has no limit"]),
        ({"type_": "Pod", "max": {"cpu": "1"}}, ["allows the pod 1 CPU, and it has 2 CPU"]),
        ({"type_": "Pod", "max": {"cpu": "2"}}, []),
    ],
)  # fmt: skip
def test_a_limit_range_refuses_what_is_outside_of_it(item: dict[str, Any], words: list[str]) -> None:
    made = admitted(pod(SMALL), limit_range(**item))
    assert made.refused == tuple(f"LimitRange lr {each}" for each in words)


def test_a_ratio_wants_both_a_request_and_a_limit() -> None:
    made = admitted(pod({"requests": {"cpu": "1"}}), limit_range(maxLimitRequestRatio={"cpu": "2"}))
    assert made.refused == ("LimitRange lr wants a request and a limit of cpu of container c0",)


def test_a_container_without_a_name_is_refused_all_the_same() -> None:
    spec = msgspec.convert({"containers": [{"resources": SMALL}]}, manifests.PlacedSpec)
    assert admitted(spec, limit_range(min={"cpu": "2"})).refused == (
        "LimitRange lr wants at least 2 CPU of a container, which has 1 CPU",
    )


def test_limit_ranges_that_disagree_leave_it_open_which_counts() -> None:
    one, same, other = (
        limit_range(name, default={"cpu": cpu}) for name, cpu in (("a", "1"), ("b", "1000m"), ("c", "2"))
    )
    pods = limit_range("d", "Pod", max={"cpu": "9"})
    assert admitted(pod(SMALL), one, same, pods).unsure == ()
    assert admitted(pod(SMALL), one, other).unsure == (
        "LimitRanges give containers several defaults for the request of cpu",
        "LimitRanges give containers several defaults for the limit of cpu",
    )


def test_what_was_not_read_is_said_where_it_matters() -> None:
    unread = Admission()
    assert admit("ci", pod(SMALL), unread).unsure == ()
    assert admit("ci", pod(SMALL, {}), unread).unsure == admit("ci", pod({}), unread).unsure
    assert admit("ci", pod({}), unread).unsure == (
        "LimitRanges were not read, which may give containers what they do not ask for",
    )
    assert admit("ci", pod(SMALL, runtimeClassName="kata"), unread).unsure == (
        "RuntimeClass kata was not read: what its runtime takes is not counted",
    )
    assert admit("ci", pod(SMALL, priorityClassName="ci"), unread) == Admitted(
        admit("ci", pod(SMALL, priorityClassName="ci"), unread).spec
    )


def test_resources_of_the_pod_beside_a_limit_range_are_not_judged() -> None:
    made = admitted(pod(SMALL, resources={"requests": {"cpu": "1"}}), limit_range(default={"cpu": "1"}))
    assert made.unsure == ("it has resources of the pod as a whole, and there is a LimitRange",)


def test_a_runtime_class_adds_its_overhead_and_where_it_runs() -> None:
    known = {"kata": runtime({"memory": "1Gi"}, nodeSelector={"kata": "yes"}, tolerations=[{"key": "kata"}])}
    made = admitted(pod(SMALL, runtimeClassName="kata", nodeSelector={"a": "b"}), runtime_classes=known)
    assert made.spec.overhead == {"memory": "1Gi"}
    assert made.spec.node_selector == {"kata": "yes", "a": "b"}
    assert [each.key for each in made.spec.tolerations] == ["kata"]
    assert made.refused == ()


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"runtimeClassName": "gone"}, "there is no RuntimeClass gone"),
        ({"runtimeClassName": "kata", "overhead": {"memory": "2Gi"}}, "its overhead is not that of RuntimeClass kata"),
        ({"runtimeClassName": "kata", "nodeSelector": {"kata": "no"}}, "it selects kata=no, and RuntimeClass kata kata=yes"),
        ({"priorityClassName": "gone"}, "there is no PriorityClass gone"),
    ],
)  # fmt: skip
def test_what_contradicts_a_class_or_is_of_none_is_refused(spec: dict[str, Any], refused: str) -> None:
    known = {"kata": runtime({"memory": "1Gi"}, nodeSelector={"kata": "yes"})}
    assert admitted(pod(SMALL, **spec), runtime_classes=known).refused == (refused,)


def test_overhead_that_is_written_as_the_class_has_it_is_taken() -> None:
    known = {"kata": runtime({"memory": "1Gi"})}
    spec = pod(SMALL, runtimeClassName="kata", overhead={"memory": "1024Mi"})
    assert admitted(spec, runtime_classes=known).refused == ()


@pytest.mark.parametrize("name", ["known", "system-node-critical", "system-cluster-critical"])
def test_a_priority_class_that_is_there_or_of_the_system_is_taken(name: str) -> None:
    assert admitted(pod(SMALL, priorityClassName=name), priority_classes=frozenset({"known"})).refused == ()
