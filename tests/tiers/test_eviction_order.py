"""The order of eviction, held to the kubelet's own code: a program built around it ranks the same pods."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.servers.fixtures import Programs

from remuda.tiers import manifests
from remuda.tiers.decide.eviction import Rank, is_critical, memory_request, ranked
from remuda.tiers.observe.pods import Templates, pod_of
from remuda.tiers.snapshot import Pod, PodMemory

MIB = 1024**2
ASKED = st.sampled_from(["0", "1Mi", "2Mi", "3Mi", "4Mi"])
RESOURCES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"requests": st.fixed_dictionaries({"memory": ASKED})}),
    st.fixed_dictionaries({"requests": st.fixed_dictionaries({"cpu": ASKED})}),
)
CONTAINER = st.fixed_dictionaries({"name": st.just("c"), "resources": RESOURCES})
FIRST = st.fixed_dictionaries(
    {"name": st.just("f"), "resources": RESOURCES}, optional={"restartPolicy": st.just("Always")}
)
#: as the API server stores them: a limit of the pod as a whole comes with its request
WHOLE: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"requests": st.fixed_dictionaries({"memory": ASKED})}),
    st.fixed_dictionaries({"requests": st.fixed_dictionaries({"cpu": ASKED})}),
    st.fixed_dictionaries({"limits": st.fixed_dictionaries({"cpu": ASKED})}),
    st.fixed_dictionaries({"requests": st.fixed_dictionaries({"hugepages-2Mi": ASKED, "memory": ASKED})}),
)
SPEC = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINER, min_size=1, max_size=3)},
    optional={
        "initContainers": st.lists(FIRST, max_size=3),
        "resources": WHOLE,
        "overhead": st.fixed_dictionaries({"memory": ASKED}),
        "priority": st.integers(-3, 3) | st.just(900_000),
    },
)
#: few values, so that many are equal in some respect
USED = st.none() | st.integers(0, 6).map(lambda mib: mib * MIB)
NODES = st.lists(st.tuples(SPEC, USED), min_size=2, max_size=12)


class Kubelet:
    """The kubelet's ranking, as a process that answers a line with a line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def order(self, pods: list[tuple[dict[str, Any], int | None]]) -> list[int]:
        """Places of pods, the first to go first."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = [
            {"pod": {"metadata": {"name": f"p{n}"}, "spec": spec}, "workingSetBytes": used}
            for n, (spec, used) in enumerate(pods)
        ]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found: list[int] = json.loads(self._process.stdout.readline())
        return found


@pytest.fixture(scope="module")
def kubelet(programs: Programs) -> Iterator[Kubelet]:
    program: Path = programs("eviction-order")["eviction-order"]
    with subprocess.Popen(
        [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Kubelet(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0


def read(specs: list[dict[str, Any]]) -> list[Pod]:
    templates = Templates()
    written = [
        {
            "metadata": {"name": f"p{n}", "namespace": "shop"},
            "spec": {"nodeName": "n1", **spec},
            "status": {"phase": "Running"},
        }
        for n, spec in enumerate(specs)
    ]
    return [pod_of(msgspec.convert(each, manifests.Pod), templates) for each in written]


def ours(pods: list[tuple[dict[str, Any], int | None]]) -> list[Rank]:
    used = {("shop", f"p{n}"): PodMemory(bytes_) for n, (_, bytes_) in enumerate(pods) if bytes_ is not None}
    return ranked(read([spec for spec, _ in pods]), used)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NODES)
def test_safety_pods_go_in_the_order_that_the_kubelets_own_code_ranks_them(
    kubelet: Kubelet, pods: list[tuple[dict[str, Any], int | None]]
) -> None:
    mine = ours(pods)
    by_name = {rank.pod.name: rank for rank in mine}
    theirs = [by_name[f"p{place}"] for place in kubelet.order(pods)]
    # the kubelet sorts without keeping equal ones in their order, so what it compares must be the same at every place
    assert [rank.order for rank in theirs] == [rank.order for rank in mine]


def spec(memory: str = "2Mi", priority: int | None = None, **rest: Any) -> dict[str, Any]:
    made = {"containers": [{"name": "c", "resources": {"requests": {"memory": memory}}}], **rest}
    return made if priority is None else made | {"priority": priority}


#: what is first to go: why, and the pods in that order
ORDERS = {
    "what was not measured goes before all else": [(spec(priority=9), None), (spec(priority=0), 9 * MIB)],
    "of those that were not measured the lowest priority": [(spec(priority=1), None), (spec(priority=2), None)],
    "use above the request goes before use within, whatever the priority": [
        (spec(priority=900_000), 3 * MIB), (spec(priority=0), 2 * MIB)
    ],
    "above the request the lowest priority": [(spec(priority=1), 3 * MIB), (spec(priority=2), 9 * MIB)],
    "no priority is zero": [(spec(priority=-1), 3 * MIB), (spec(), 9 * MIB), (spec(priority=1), 9 * MIB)],
    "of equal priority what uses most above its request": [
        (spec("1Mi", 1), 5 * MIB), (spec("4Mi", 1), 7 * MIB), (spec("4Mi", 1), 6 * MIB)
    ],
    "a pod that requests nothing is above its request with any use": [
        (spec("0", 1), 1), (spec("2Mi", 0), 2 * MIB)
    ],
    "neither quality of service nor limits count": [
        (
            {
                "containers": [
                    {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "2Mi"}, "limits": {"cpu": "1", "memory": "2Mi"}}}
                ],
                "priority": 1,
            },
            3 * MIB,
        ),
        (spec(priority=2), 3 * MIB),
    ],
    "the pod as a whole says its request before its containers do": [
        (spec("4Mi", 1, resources={"requests": {"memory": "1Mi"}}), 2 * MIB), (spec("4Mi", 0), 3 * MIB)
    ],
    "overhead is beside a request, and nothing alone": [
        (spec("0", 1, overhead={"memory": "4Mi"}), 1 * MIB), (spec("1Mi", 0, overhead={"memory": "4Mi"}), 4 * MIB)
    ],
}  # fmt: skip


@pytest.mark.parametrize("pods", ORDERS.values(), ids=list(ORDERS))
def test_who_goes_first(pods: list[tuple[dict[str, Any], int | None]]) -> None:
    expected = [f"p{n}" for n in range(len(pods))]
    assert [rank.pod.name for rank in ours(pods)] == expected
    turned = ours(pods[::-1])
    assert [rank.pod.name for rank in turned] == expected[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("pods", ORDERS.values(), ids=list(ORDERS))
def test_the_kubelet_says_the_same_of_each_of_these(
    kubelet: Kubelet, pods: list[tuple[dict[str, Any], int | None]]
) -> None:
    assert kubelet.order(pods) == list(range(len(pods)))
    assert kubelet.order(pods[::-1]) == list(range(len(pods)))[::-1]


def test_pods_that_are_alike_are_in_the_order_of_their_names() -> None:
    assert [rank.pod.name for rank in ours([(spec(), None), (spec(), None)])] == ["p0", "p1"]


def test_what_is_over_has_no_node_or_is_never_evicted_is_not_among_them() -> None:
    waiting, over, static, system, plain = read(
        [spec()] * 3 + [spec(priority=2_000_000_000), spec(priority=1_999_999_999)]
    )
    found = ranked(
        [
            msgspec.structs.replace(waiting, node=""),
            msgspec.structs.replace(over, phase="Failed"),
            msgspec.structs.replace(static, is_static=True),
            system,
            plain,
        ],
        {},
    )
    assert [rank.pod.name for rank in found] == ["p4"]
    assert [is_critical(each) for each in (system, plain)] == [True, False]


def test_how_far_above_its_request_a_pod_is() -> None:
    (rank,) = ours([(spec("2Mi"), 5 * MIB)])
    assert (rank.request, rank.used, rank.above) == (2 * MIB, 5 * MIB, 3 * MIB)
    (unmeasured,) = ours([(spec("2Mi"), None)])
    assert (unmeasured.used, unmeasured.above) == (None, None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(spec("2Mi"), 2, id="its containers"),
        pytest.param(spec("2Mi", overhead={"memory": "1Mi"}), 3, id="with overhead"),
        pytest.param({"containers": [{"name": "c"}], "overhead": {"memory": "1Mi"}}, 0, id="overhead of nothing"),
        pytest.param(spec("2Mi", resources={"requests": {"memory": "5Mi"}}), 5, id="the pod as a whole"),
        pytest.param(spec("2Mi", resources={"limits": {"cpu": "1"}}), 0, id="a pod that as a whole says CPU alone"),
        pytest.param(spec("2Mi", resources={"requests": {"hugepages-2Mi": "2Mi"}}), 0, id="or huge pages alone"),
        pytest.param(spec("2Mi", resources={}), 2, id="a pod that says nothing as a whole"),
        pytest.param(
            spec("2Mi", initContainers=[{"name": "f", "resources": {"requests": {"memory": "6Mi"}}}]), 6,
            id="a first container that is larger",
        ),
    ],
)  # fmt: skip
def test_what_a_kubelet_takes_for_the_request(written: dict[str, Any], expected: int) -> None:
    (pod,) = read([written])
    assert memory_request(pod.spec.containers) == expected * MIB
