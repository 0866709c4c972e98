"""Host ports and required anti-affinity: what is counted is what trying every placement says, and the rest is not claimed."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import (
    CAPABILITY,
    LABEL,
    NOW,
    sized,
    written_node,
    written_pod,
    written_set,
)

from remuda.capacity import manifests
from remuda.capacity.decide.audit import Audit, audit
from remuda.capacity.decide.neighbours import WHOLE_NODE, port_claims
from remuda.capacity.observe.gather import Gathering
from remuda.capacity.observe.pods import pods_of
from remuda.capacity.snapshot import JOB_PODS
from remuda.model.findings import Place
from remuda.output.findings import describe

HOST, ZONE = "kubernetes.io/hostname", "zone"
KINDS: dict[str, tuple[type[msgspec.Struct], Any]] = {
    "AutoscalingRunnerSet": (manifests.ScaleSet, Gathering.add_scale_set),
    "Node": (manifests.Node, Gathering.add_node),
    "Pod": (manifests.Pod, Gathering.add_pod),
}


def audited(*items: dict[str, Any]) -> Audit:
    gathering = Gathering()
    for item in items:
        kind, add = KINDS[item["kind"]]
        add(gathering, msgspec.convert(item, kind), Place())
    return audit(gathering.snapshot("", NOW), (LABEL,), {}, NOW)


def term(labels: dict[str, str] | None, key: str = HOST, **more: Any) -> dict[str, Any]:
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": key, **selector, **more}


def apart(*terms: dict[str, Any], kind: str = "podAntiAffinity") -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def runner(
    name: str = "a",
    most: int = 3,
    labels: dict[str, str] | None = None,
    ports: tuple[int, ...] = (),
    **pod: Any,
) -> dict[str, Any]:
    made = written_set(
        name, requests=sized("1", "1Gi"), limits=sized("1", "1Gi"), pod={"nodeSelector": CAPABILITY, **pod},
        maxRunners=most, minRunners=0, runnerScaleSetName=LABEL,
    )  # fmt: skip
    template = made["spec"]["template"]
    template["metadata"] = {"labels": labels or {}}
    template["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": port} for port in ports]
    return made


def host(name: str, zone: str = "z") -> dict[str, Any]:
    made = written_node(name, {"cpu": "4", "memory": "4Gi", "pods": "9"})
    made["metadata"]["labels"] |= {HOST: name, ZONE: zone}
    return made


SELF = {"actions.github.com/scale-set-name": "a"}


@pytest.mark.parametrize(
    ("set_", "others", "placement"),
    [
        (runner(), [], "fits"),
        (runner(ports=(8080,)), [], "cannot fit"),
        (runner(hostNetwork=True), [], "cannot fit"),
        (runner(most=1, ports=(8080,)), [], "fits"),
        (runner(most=1, ports=(8080,)), [written_pod(on="one", hostNetwork=True, requests={})], "fits"),
        (runner(**apart(term(SELF))), [], "cannot fit"),
        (runner(most=1, **apart(term(SELF))), [], "fits"),
        (runner(**apart(term({"app": "db"}))), [], "fits"),
        (runner(**apart(term({"app": "db"}))), [written_pod(labels={"app": "db"}, on="one")], "cannot fit"),
        (runner(**apart(term({"app": "db"}))), [written_pod(labels={"app": "db"}, on="one", namespace="other")], "fits"),
        (runner(**apart(term({"app": "db"}, ZONE))), [written_pod(labels={"app": "db"}, on="one")], "cannot fit"),
        (runner(labels={"app": "ci"}), [written_pod(on="one", **apart(term({"app": "ci"})))], "cannot fit"),
        (runner(labels={"app": "ci"}), [written_pod(on="one", **apart(term({"app": "x"})))], "fits"),
        # what cannot be counted is not claimed
        (runner(**apart(term(SELF, ZONE))), [], "cannot tell"),
        (runner(**apart(term({"app.kubernetes.io/version": "1"}))), [], "cannot tell"),
        (runner(**apart(term(SELF, namespaceSelector={}))), [], "cannot tell"),
        (runner(**apart(term(SELF, matchLabelKeys=["x"]))), [], "cannot tell"),
        (runner(**apart(term(SELF), kind="podAffinity")), [], "cannot tell"),
        (runner(topologySpreadConstraints=[{"topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}]), [], "cannot tell"),
        (runner(topologySpreadConstraints=[{"topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}]), [], "fits"),
        (runner(schedulerName="volcano"), [], "cannot tell"),
        (runner(schedulingGates=[{"name": "kueue"}]), [], "cannot tell"),
        (runner(resourceClaims=[{"name": "gpu"}]), [], "cannot tell"),
        (runner(volumes=[{"name": "work", "ephemeral": {"volumeClaimTemplate": {}}}]), [], "cannot tell"),
        (runner(volumes=[{"name": "work", "persistentVolumeClaim": {"claimName": "x"}}]), [], "cannot tell"),
        (runner(volumes=[{"name": "work", "emptyDir": {}}]), [], "fits"),
        # what resources refute is refuted, whatever else is not known
        (runner(most=9, schedulerName="volcano"), [], "cannot fit"),
        (runner(nodeName="one"), [], "fits"),
        (runner(nodeName="two"), [], "cannot fit"),
    ],
)  # fmt: skip
def test_three_runners_on_one_node(
    set_: dict[str, Any], others: list[dict[str, Any]], placement: str
) -> None:
    if set_["spec"]["template"]["spec"].get("hostNetwork"):
        set_["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    (label,) = audited(set_, host("one"), *others).labels
    assert label.placement == placement


@pytest.mark.parametrize(
    ("key", "zone", "placement"),
    [
        pytest.param(ZONE, "z", "cannot fit", id="both nodes are in the zone of who is there"),
        pytest.param(ZONE, "y", "fits", id="another zone"),
        pytest.param(HOST, "z", "fits", id="another host"),
    ],
)
def test_who_is_to_be_apart_keeps_off_all_nodes_that_the_key_says_are_one(
    key: str, zone: str, placement: str
) -> None:
    there = written_pod(labels={"app": "db"}, on="one")
    one = runner(most=1, **apart(term({"app": "db"}, key)))
    (label,) = audited(one, host("one"), host("two", zone), there).labels
    assert label.placement == placement


@pytest.mark.parametrize(
    ("port", "on_host", "claimed"),
    [
        pytest.param({"containerPort": 80, "hostPort": 8080}, False, [8080], id="a port of the host"),
        pytest.param({"containerPort": 80}, False, [], id="one of the pod alone"),
        pytest.param({"containerPort": 80}, True, [80], id="one of the pod, on the network of the host"),
        pytest.param({}, True, [], id="none"),
    ],
)
def test_a_pod_takes_the_ports_of_the_host_that_it_listens_on(
    port: dict[str, int], on_host: bool, claimed: list[int]
) -> None:
    spec = {"hostNetwork": on_host, "containers": [{"name": "a", "ports": [port]}]}
    found = port_claims(msgspec.convert(spec, manifests.PodSpec))
    assert found == {f"host port TCP {number}": WHOLE_NODE for number in claimed}


def test_what_is_unknown_is_named_and_a_pool_of_vms_shows_itself_what_it_takes() -> None:
    found = audited(runner(schedulerName="volcano"), host("one"))
    (message,) = [item for item in found.findings if item.rule == "placement-uncertain"]
    assert (message.severity, describe(message).found) == ("warning", "scheduler volcano places its runners")


def test_a_node_under_disk_pressure_takes_nothing() -> None:
    pressed = host("one")
    pressed["spec"] = {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]}
    found = audited(runner(tolerations=[{"operator": "Exists"}]), pressed)
    assert found.labels[0].placement == "cannot fit"
    assert found.contexts[0].roles[0].reason == "has the taint node.kubernetes.io/disk-pressure:NoSchedule"


# Every placement, tried one by one by the words of the manifests alone

LABELS = st.sampled_from([{"app": "x"}, {"app": "y"}, {}])
TERMS = st.lists(st.builds(term, st.sampled_from([{"app": "x"}, {"app": "y"}, {"app": "q"}])), max_size=1)
PORTS = st.sampled_from([(), (80,), (80, 81), (81,)])
SETS = st.tuples(st.integers(0, 3), LABELS, PORTS, TERMS)
RESIDENTS = st.tuples(st.sampled_from(["one", "two"]), LABELS, PORTS, TERMS)


def clashes(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two pods may not be on one node."""
    if set(one["ports"]) & set(other["ports"]):
        return True
    return any(
        all(beside["labels"].get(key) == value for key, value in each["labelSelector"]["matchLabels"].items())
        for pod, beside in ((one, other), (other, one))
        for each in pod["terms"]
    )


def placements(runners: list[dict[str, Any]], nodes: list[str]) -> Iterator[tuple[str, ...]]:
    return product(nodes, repeat=len(runners))


def is_possible(runners: list[dict[str, Any]], residents: list[dict[str, Any]], nodes: list[str]) -> bool:
    for chosen in placements(runners, nodes):
        pods = [*residents, *({**each, "node": node} for each, node in zip(runners, chosen, strict=True))]
        is_small = all(sum(name == node for name in chosen) <= 4 for node in nodes)
        # those that are there stay, whether or not they get on with each other
        new = range(len(residents), len(pods))
        if is_small and not any(
            pods[at]["node"] == pods[beside]["node"] and clashes(pods[at], pods[beside])
            for at in new
            for beside in range(at)
        ):
            return True
    return False


@pytest.mark.slow
@given(st.lists(SETS, min_size=1, max_size=2), st.lists(RESIDENTS, max_size=2))
def test_safety_what_fits_is_what_some_placement_shows(sets: list[Any], residents: list[Any]) -> None:
    names = ["one", "two"]
    pods = [
        {"node": on, "labels": labels, "ports": ports, "terms": terms}
        for on, labels, ports, terms in residents
    ]
    items = [host(name) for name in names]
    runners = []
    for at, (most, labels, ports, terms) in enumerate(sets):
        items.append(runner(f"set-{at}", most, labels, ports, **(apart(*terms) if terms else {})))
        runners += [{"labels": labels, "ports": ports, "terms": terms}] * most
    for at, pod in enumerate(pods):
        words: dict[str, Any] = apart(*pod["terms"]) if pod["terms"] else {}
        made = written_pod(f"pod-{at}", pod["node"], labels=pod["labels"], **words)
        made["spec"]["containers"][0]["ports"] = [
            {"containerPort": 9, "hostPort": each} for each in pod["ports"]
        ]
        items.append(made)
    (label,) = audited(*items).labels
    possible = is_possible(runners, pods, names)
    if label.placement == "fits":
        assert possible
    if label.placement == "cannot fit":
        assert not possible
    if not any(each.unsure for each in label.scale_sets):
        assert label.placement == ("fits" if possible else "cannot fit")


def test_the_quick_way_to_read_pods_sees_ports_and_anti_affinity() -> None:
    pod = written_pod(on="one", **apart(term({"app": "ci"})))
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 9, "hostPort": 80}]
    whole = {"apiVersion": "v1", "items": [pod], "kind": "List"}
    (quick,) = pods_of(memoryview(msgspec.json.encode(whole)))
    one, other = Gathering(), Gathering()
    slow = other.taken_by(msgspec.convert(pod, manifests.Pod))
    assert one.taken_by(quick) == slow
    assert slow is not None
    assert (slow.requests["host port TCP 80"] > 0, len(slow.apart)) == (True, 1)


def unsure(*items: dict[str, Any]) -> set[str]:
    return {words for each in audited(*items).scale_sets for words in each.unsure}


def resident(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    meta = {"namespace": "arc", "name": "beside", "labels": labels or {}}
    pod = {"nodeName": "n", "containers": [{}], **spec}
    return {"kind": "Pod", "metadata": meta, "spec": pod, "status": {"phase": "Running"}}


def test_runners_that_are_kept_from_those_of_another_set_cannot_be_judged() -> None:
    """Said of both sets, and once of each."""
    kept = runner("a", **apart(term({"who": "b"}), term({"who": "b"})))
    found = audited(kept, runner("b", labels={"who": "b"}), host("n"))
    words = "required pod anti-affinity keeps arc/a apart from runners of other sets"
    assert [each.unsure.count(words) for each in found.scale_sets] == [1, 1]


@pytest.mark.parametrize(
    "more", [{"namespaceSelector": {}}, {"matchLabelKeys": ["x"]}, {"mismatchLabelKeys": ["x"]}]
)
def test_pods_that_are_to_be_apart_by_what_is_not_known_leave_it_open(more: dict[str, Any]) -> None:
    there = resident(**apart(term({"who": "a"}, **more)))
    words = "pods that are there are to be apart from others by what is not known"
    assert words in unsure(runner("a", labels={"who": "a"}), host("n"), there)


def test_a_selector_that_nobody_understands_leaves_it_open() -> None:
    odd = {"topologyKey": HOST, "labelSelector": {"matchExpressions": [{"key": "who", "operator": "Like"}]}}
    assert "its required pod anti-affinity goes by labels that the controller adds" in unsure(
        runner("a", labels={"who": "a"}, **apart(odd)), host("n")
    )


def test_a_port_of_one_address_and_jobs_in_pods_of_their_own_leave_it_open() -> None:
    made = runner("a", ports=(80,))
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"hostPort": 80, "hostIP": "10.0.0.1"}, {"containerPort": 8080}]
    container["env"] = [{"name": "ACTIONS_RUNNER_CONTAINER_HOOKS"}]
    assert unsure(made, host("n")) == {"it takes a host port of one address alone", JOB_PODS}


def test_who_must_be_alone_is_apart_from_those_of_another_set_like_it() -> None:
    alone = runner("a", 1, labels={"who": "x"}, **apart(term({"who": "x"})))
    other = runner("b", 1, labels={"who": "x"})
    assert audited(alone, other, host("n")).labels[0].placement == "cannot fit"
    assert audited(alone, other, host("n"), host("m")).labels[0].placement == "fits"


@pytest.mark.parametrize(
    ("labels", "placement"),
    [
        pytest.param({}, "fits", id="beside one that is not meant"),
        pytest.param({"app": "ci"}, "cannot fit", id="beside one that is"),
    ],
)
def test_a_set_that_is_to_be_alone_keeps_off_those_it_means_and_no_others(
    labels: dict[str, str], placement: str
) -> None:
    alone = runner("a", 1, {"app": "ci"}, **apart(term({"app": "ci"})))
    (label,) = audited(alone, runner("b", 1, labels), host("one")).labels
    assert label.placement == placement
