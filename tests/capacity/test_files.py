"""Files of kubectl, read into a world."""

import gzip
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.capacity.builders import (
    CAPABILITY,
    GIB,
    LABEL,
    NOW,
    listed,
    measured,
    sized,
    write,
    written_node,
    written_pod,
    written_policy,
    written_pool,
    written_runner,
    written_set,
    written_summary,
)

from remuda.capacity.observe.files import read_files
from remuda.capacity.snapshot import NODES, PODS, SCALE_SETS, SUMMARIES, Filesystem, ScaleSet, Snapshot
from remuda.model.findings import Place
from remuda.model.pods import Match, Taint, Term, Toleration
from remuda.objects.dumps import FilesRead


def read(folder: Path, *items: object) -> Snapshot:
    """The world of one file of these objects, which must be right."""
    found = read_files([write(folder, *items)], NOW)
    assert found.problems == ()
    return found.snapshot


def notes_of(found: FilesRead[Snapshot]) -> list[str]:
    return [str(problem) for problem in found.problems]


# What is read


def test_a_scale_set_becomes_a_scale_set(tmp_path: Path) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    item = written_set(
        requests=sized("4", "32Gi", "24Gi"),
        limits=sized("8", "64Gi", "40Gi"),
        runnerScaleSetName=LABEL,
        minRunners=1,
        maxRunners=2,
        pod={
            "nodeSelector": CAPABILITY,
            "tolerations": [{"key": "overflow", "operator": "Exists", "tolerationSeconds": 5}],
            "priorityClassName": "kvm",
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}],
                }
            },
        },
    ) | {"status": {"phase": "Running", "currentRunners": 1}}
    zone = Term((Match("zone", "In", ("a",)),))
    assert read(tmp_path, item).scale_sets == (
        ScaleSet(
            "AutoscalingRunnerSet",
            "arc",
            "vm-test",
            (LABEL,),
            scope="https://github.com/acme",
            min=1,
            max=2,
            requests=measured("4", "32Gi", "24Gi"),
            limits=measured("8", "64Gi", "40Gi"),
            written=(sized("4", "32Gi", "24Gi"), sized("8", "64Gi", "40Gi")),
            node_selector=CAPABILITY,
            required=(zone,),
            preferred=(zone,),
            tolerations=(Toleration("overflow", "Exists", seconds=5),),
            priority_class="kvm",
            phase="Running",
            place=Place(str(tmp_path / "all.json"), 1),
        ),
    )


@pytest.mark.parametrize(
    ("spec", "labels", "given"),
    [
        pytest.param({}, ("vm-test",), (), id="its own name"),
        pytest.param({"runnerScaleSetName": "kvm"}, ("kvm",), (), id="the name it is given"),
        pytest.param({"runnerScaleSetName": ""}, ("vm-test",), (), id="an empty name is none"),
        pytest.param(
            {"runnerScaleSetLabels": ["kvm", "x64"]}, ("vm-test", "kvm", "x64"), ("kvm", "x64"), id="labels"
        ),
        pytest.param(
            {"runnerScaleSetName": "kvm", "runnerScaleSetLabels": ["x64", "kvm"]},
            ("kvm", "x64"),
            ("x64", "kvm"),
            id="a label that is the name",
        ),
        pytest.param({"runnerScaleSetLabels": []}, ("vm-test",), (), id="no labels"),
    ],
)
def test_a_workflow_targets_the_name_and_the_labels(
    tmp_path: Path, spec: dict[str, Any], labels: tuple[str, ...], given: tuple[str, ...]
) -> None:
    scale_set = read(tmp_path, written_set(**spec)).scale_sets[0]
    assert (scale_set.labels, scale_set.own_labels) == (labels, given)


def test_a_set_without_bounds_has_no_minimum_and_no_maximum(tmp_path: Path) -> None:
    scale_set = read(tmp_path, written_set()).scale_sets[0]
    assert (scale_set.min, scale_set.max, scale_set.requests, scale_set.limits, scale_set.phase) == (
        0,
        None,
        {},
        {},
        "",
    )


def test_older_controllers_say_state(tmp_path: Path) -> None:
    assert read(tmp_path, written_set() | {"status": {"state": "Pending"}}).scale_sets[0].phase == "Pending"


def test_what_is_null_was_not_given(tmp_path: Path) -> None:
    item = written_set(
        maxRunners=None, runnerScaleSetLabels=None, pod={"tolerations": None, "affinity": None}
    )
    item["spec"]["template"]["spec"]["containers"][0]["resources"] = None
    item["status"] = None
    assert read(tmp_path, item).scale_sets[0].max is None


def test_a_pool_becomes_a_scale_set_by_its_class(tmp_path: Path) -> None:
    vm = {
        "domain": {"cpu": {"cores": 2, "threads": 2}, "memory": {"guest": "4Gi"}, "devices": {}},
        "nodeSelector": CAPABILITY,
        "tolerations": [{"operator": "Exists"}],
    }
    snapshot = read(
        tmp_path,
        written_pool("vms", min=1, max=4, provider={"kubevirt": {"spec": vm}}),
        written_pool("shell", "a/b"),
        written_pool("under", "a/c", ceiling="roof"),
    )
    shell, under, vms = snapshot.scale_sets
    assert (vms.labels, vms.min, vms.max) == ((LABEL,), 1, 4)
    assert vms.requests == {"cpu": 400, "memory": 4 * GIB}
    assert (vms.node_selector, vms.tolerations) == (CAPABILITY, (Toleration(operator="Exists"),))
    assert [(each.labels, each.min, each.max) for each in (shell, under)] == [
        (("a/b",), 3, 10),
        (("a/c",), 0, 10),
    ]


def test_a_pool_that_says_no_minimum_keeps_no_more_than_its_maximum(tmp_path: Path) -> None:
    pool = written_pool()
    pool["spec"] |= {"max": 2}
    pool["spec"].pop("min", None)
    pool["spec"].pop("ceiling", None)
    assert [(each.min, each.max) for each in read(tmp_path, pool).scale_sets] == [(2, 2)]


def test_a_vm_asks_for_what_it_says_before_what_its_guest_has(tmp_path: Path) -> None:
    domain = {
        "cpu": {"cores": 2},
        "memory": {"guest": "4Gi"},
        "resources": {"requests": sized("1"), "limits": sized("", "8Gi")},
    }
    scale_set = read(tmp_path, written_pool(provider={"kubevirt": {"spec": {"domain": domain}}})).scale_sets[
        0
    ]
    assert (scale_set.requests, scale_set.limits) == ({"cpu": 1000, "memory": 8 * GIB}, {"memory": 8 * GIB})


def test_a_vm_with_dedicated_processors_asks_for_all_of_them(tmp_path: Path) -> None:
    domain = {"cpu": {"cores": 2, "sockets": 2, "dedicatedCpuPlacement": True}}
    pool = written_pool(provider={"kubevirt": {"spec": {"domain": domain}}})
    assert read(tmp_path, pool).scale_sets[0].requests["cpu"] == 4000


def test_a_node_is_read_with_what_it_has(tmp_path: Path) -> None:
    node = read(
        tmp_path,
        written_node(
            allocatable={**sized("31850m", "57334038Ki", "66Gi"), "pods": "110", "example.com/kvm": "4"},
            unschedulable=True,
            taints=[{"key": "overflow", "value": "yes", "effect": "NoSchedule", "timeAdded": None}],
            podCIDR="10.0.0.0/24",
        ),
    ).nodes[0]
    assert (node.name, node.labels, node.cordoned, node.ready) == ("honey", CAPABILITY, True, True)
    assert node.taints == (Taint("overflow", "yes", "NoSchedule"),)
    assert node.allocatable == {
        "cpu": 31850, "memory": 57334038 * 1024, "ephemeral-storage": 66 * GIB, "pods": 110, "example.com/kvm": 4
    }  # fmt: skip
    assert node.images == ("ghcr.io/actions/actions-runner:latest",)


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_node_that_is_not_ready_is_reported(tmp_path: Path, ready: str) -> None:
    assert not read(tmp_path, written_node(ready=ready)).nodes[0].ready


def test_a_node_that_says_only_its_capacity_can_give_all_of_it(tmp_path: Path) -> None:
    node = written_node()
    node["status"] = {"capacity": sized("8")}
    made = read(tmp_path, node).nodes[0]
    assert (made.allocatable, made.ready) == ({"cpu": 8000}, True)


def test_pods_take_what_they_request_until_they_are_over(tmp_path: Path) -> None:
    snapshot = read(
        tmp_path,
        written_pod("a", requests=sized("1", "1Gi"), limits=sized("", "2Gi")),
        written_pod("b", requests=sized("2")),
        written_pod("c", requests=sized("4"), phase="Succeeded"),
        written_pod("d", requests=sized("4"), phase="Failed"),
        written_pod("e", on="sting", requests=sized("", "", "8Gi")),
        written_pod("f", on=None, phase="Pending"),
        written_runner("r-1"),
        written_runner("r-2"),
        written_runner("r-3", on=None, phase="Pending"),
    )
    honey = snapshot.usage["honey"]
    assert honey.requested == {"pods": 4, "cpu": 7000, "memory": 17 * GIB}
    assert honey.limits == {"memory": 2 * GIB}
    assert honey.runners == {"arc/vm-test": 2}
    assert honey.runner_requests == {"arc/vm-test": {"pods": 2, "cpu": 4000, "memory": 16 * GIB}}
    assert snapshot.usage["sting"].requested == {"pods": 1, "ephemeral-storage": 8 * GIB}
    assert snapshot.pending == {"arc/vm-test": 1}


def test_a_terminating_pod_takes_its_share_until_it_has_ended(tmp_path: Path) -> None:
    pod = written_pod(requests=sized("1"))
    pod["metadata"]["deletionTimestamp"] = "2026-11-16T12:00:00Z"
    assert read(tmp_path, pod).usage["honey"].requested["cpu"] == 1000


def test_a_listener_is_no_runner(tmp_path: Path) -> None:
    runner = written_runner()
    runner["metadata"]["labels"]["app.kubernetes.io/component"] = "runner-scale-set-listener"
    usage = read(tmp_path, runner).usage["honey"]
    assert (usage.runners, usage.requested["pods"]) == ({}, 1)


def test_a_machine_of_a_pool_is_its_runner(tmp_path: Path) -> None:
    pod = written_pod(labels={"remuda.dev/pool": "linux", "kubevirt.io": "virt-launcher"})
    assert read(tmp_path, pod).usage["honey"].runners == {"arc/linux": 1}


def test_a_pod_of_several_parts_comes_to_the_same_in_a_list_of_pods_and_among_others(tmp_path: Path) -> None:
    one = {"resources": {"requests": sized("2", "1Gi"), "limits": sized("4")}}
    pods = [
        written_pod("a", containers=[one, one, {}]),
        written_pod("b", initContainers=[one | {"restartPolicy": "Always"}, one], overhead=sized("250m")),
        written_pod("c", containers=[one], resources={"requests": sized("8")}),
        written_pod("d", containers=[one], overhead=sized("8")),
        written_pod("e", containers=[], initContainers=None),
    ]
    alone, mixed = read(tmp_path, *pods), read(tmp_path, *pods, written_node())
    assert alone.usage == mixed.usage
    assert alone.usage["honey"].requested == {
        "pods": 5,
        "cpu": 4_000 + 4_250 + 8_000 + 10_000,
        "memory": 6 * GIB,
    }


def test_a_kubelet_reports_its_filesystems(tmp_path: Path) -> None:
    item = written_summary(fs={"availableBytes": 5}, image_fs={"capacityBytes": 7, "availableBytes": 6})
    item["node"]["fs"]["time"] = "2026-11-16T09:00:00Z"
    item["node"]["runtime"]["imageFs"]["time"] = "2026-11-16T08:59:50Z"
    summary = read(tmp_path, item).summaries["honey"]
    assert summary.root == Filesystem(500 * GIB, 5, 10, 9)
    assert summary.images == Filesystem(7, 6, 10, 9)
    assert summary.read_at == NOW - (3 * 3600 + 10) * 1000


def test_a_summary_without_a_time_is_as_old_as_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, written_summary())
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert read_files([path], NOW).snapshot.summaries["honey"].read_at == 1_700_000_000_000


# How it is written


SETS = [written_set("a", maxRunners=1), written_set("b", maxRunners=2)]
EVERYTHING = [*SETS, written_node(), written_pod(requests=sized("1")), written_runner(), written_pool()]


def world_of(found: FilesRead[Snapshot]) -> Snapshot:
    """What was read, wherever it stood."""
    assert notes_of(found) == []
    made = found.snapshot
    return msgspec.structs.replace(
        made,
        scale_sets=tuple(msgspec.structs.replace(scale_set, place=Place()) for scale_set in made.scale_sets),
        nodes=tuple(msgspec.structs.replace(node, place=Place()) for node in made.nodes),
        summaries={name: msgspec.structs.replace(each, read_at=0) for name, each in made.summaries.items()},
        source="",
    )


def untyped(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}


FORMS = {
    "a List": json.dumps(listed(*EVERYTHING, written_summary())),
    "indented": json.dumps(listed(*EVERYTHING, written_summary()), indent=4),
    "lists in a List": json.dumps(listed(listed(*SETS), listed(*EVERYTHING[2:], written_summary()))),
    "an array": json.dumps([*EVERYTHING, written_summary()]),
    "one after another": "\n".join(json.dumps(item) for item in [*EVERYTHING, written_summary()]),
    "typed lists": "\n".join(
        [
            json.dumps(
                listed(*map(untyped, SETS), kind="AutoscalingRunnerSetList", version=SETS[0]["apiVersion"])
            ),
            json.dumps(listed(untyped(EVERYTHING[2]), kind="NodeList")),
            json.dumps(listed(*map(untyped, EVERYTHING[3:5]), kind="PodList")),
            json.dumps(listed(untyped(EVERYTHING[5]), kind="RunnerPoolList", version="remuda.dev/v1alpha1")),
            json.dumps(written_summary()),
        ]
    ),
    "YAML documents": yaml.safe_dump_all([*EVERYTHING, written_summary()]),
    "a YAML List": yaml.safe_dump(listed(*EVERYTHING, written_summary())),
    "a YAML typed list": yaml.safe_dump_all(
        [listed(*map(untyped, EVERYTHING[3:5]), kind="PodList"), *EVERYTHING[:3], EVERYTHING[5], written_summary()]
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_same_is_read_in_whatever_form_it_comes(tmp_path: Path, form: str) -> None:
    expected = world_of(read_files([write(tmp_path, *EVERYTHING, written_summary())], NOW))
    assert len(expected.scale_sets) == 3
    assert expected.usage["honey"].runners == {"arc/vm-test": 1}
    path = tmp_path / "form.txt"
    path.write_text(FORMS[form], encoding="utf-8")
    assert world_of(read_files([path], NOW)) == expected


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_writes_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "sets.json"
    path.write_text(json.dumps(listed(*SETS)), encoding=encoding)
    assert [scale_set.name for scale_set in read_files([path], NOW).snapshot.scale_sets] == ["a", "b"]


def test_files_directories_and_standard_input_go_together(tmp_path: Path) -> None:
    inside = tmp_path / "dump"
    inside.mkdir()
    write(inside, written_node(), name="nodes.json")
    write(inside, written_node("hidden"), name=".hidden.json")
    (inside / "README.md").write_text("not this")
    path = write(tmp_path, *SETS)
    found = read_files([path, inside, "-", path], NOW, io.BytesIO(json.dumps(written_pod()).encode()))
    assert (notes_of(found), found.notes) == ([], ())
    assert [node.name for node in found.snapshot.nodes] == ["honey"]
    assert found.snapshot.usage["honey"].requested == {"pods": 1}
    assert found.snapshot.source == f"{path}, {inside}, -"


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As the shell makes one of <(kubectl get …)."""
    out, into = os.pipe()
    data = json.dumps(listed(*SETS, written_node())).encode() + b" " * 200_000

    def feed() -> None:
        with os.fdopen(into, "wb") as file:
            file.write(data)

    feeding = threading.Thread(target=feed)
    feeding.start()
    found = read_files([f"/dev/fd/{out}"], NOW)
    feeding.join()
    os.close(out)
    assert (notes_of(found), len(found.snapshot.scale_sets)) == ([], 2)


def test_a_scale_set_knows_its_line(tmp_path: Path) -> None:
    text = json.dumps(listed(written_node(), *SETS), indent=4)
    path = tmp_path / "all.json"
    path.write_text(text)
    lines = text.splitlines()
    for scale_set in read_files([path], NOW).snapshot.scale_sets:
        assert lines[scale_set.place.line - 1] == "        {"
        assert "AutoscalingRunnerSet" in lines[scale_set.place.line + 1]


# What is told beside


def test_kinds_that_are_not_read_are_counted_and_reported(tmp_path: Path) -> None:
    foreign = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": 5}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "spec": "odd"},
        written_policy(),
    ]
    found = read_files([write(tmp_path, *foreign, written_node())], NOW)
    assert (notes_of(found), len(found.snapshot.nodes)) == ([], 1)
    (note,) = found.notes
    passed = "1 CapacityPolicy.remuda.dev, 2 ConfigMap, 1 Deployment.apps, 1 Node.longhorn.io"
    assert note == f"passed over, since an audit does not read them: {passed}"


def test_of_an_object_that_comes_twice_the_last_counts_and_it_is_reported(tmp_path: Path) -> None:
    first = write(tmp_path, written_set(maxRunners=1), written_pod(requests=sized("1")), name="1.json")
    second = write(tmp_path, written_set(maxRunners=5), written_pod(requests=sized("2")), name="2.json")
    found = read_files([first, second], NOW)
    assert found.snapshot.scale_sets[0].max == 5
    assert found.snapshot.usage["honey"].requested == {"pods": 1, "cpu": 2000}
    assert found.notes == (
        "1 AutoscalingRunnerSet more than once: the last counts, of arc/vm-test",
        "1 Pod more than once: the last counts, of arc/web",
    )


def test_a_pod_that_was_over_the_second_time_takes_nothing(tmp_path: Path) -> None:
    pods = [written_pod(requests=sized("1")), written_pod(phase="Succeeded")]
    assert read_files([write(tmp_path, *pods)], NOW).snapshot.usage == {}


@pytest.mark.parametrize(
    ("items", "unknown"),
    [
        ([written_set()], {NODES, PODS, SUMMARIES}),
        ([written_pool()], {NODES, PODS, SUMMARIES}),
        ([written_node(), written_summary()], {SCALE_SETS, PODS}),
        ([listed(kind="PodList"), listed(kind="NodeList")], {SCALE_SETS, SUMMARIES}),
    ],
)
def test_what_no_file_speaks_of_is_unknown(
    tmp_path: Path, items: list[dict[str, Any]], unknown: set[str]
) -> None:
    assert {each.part for each in read(tmp_path, *items).unknown if not each.is_quiet} == unknown


# What is wrong


def problems(folder: Path, text: str | bytes) -> list[str]:
    path = folder / "f.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [each.removeprefix(f"{folder}/") for each in notes_of(read_files([path], NOW))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "f.json: is empty: kubectl writes nothing when it fails, so look at what it said", id="empty"),
        pytest.param(" \n\t", "f.json: is empty: kubectl writes nothing when it fails, so look at what it said", id="blank"),
        pytest.param("---\n", "f.json: holds no object", id="an empty document"),
        pytest.param('{"kind": "List",\n "items": [}', "f.json:2:12: is not JSON: Expecting value", id="malformed"),
        pytest.param('{"kind": "List", "items": [', "f.json:1:28: is cut off: the JSON ends before it is complete", id="cut off"),
        pytest.param('{"kind": "List", "items": []} x', "f.json:1:31: is not JSON: Expecting value", id="words behind"),
        pytest.param("[" * 100_000, "f.json: is nested too deep", id="deep"),
        pytest.param('{"items": [' * 400 + "]}" * 400, "f.json: is nested too deep", id="deep lists"),
        pytest.param('{"apiVersion": "v1", "kind": "Pod", "a": ' + "[" * 800 + "]" * 800 + "}", "f.json: is nested too deep", id="a deep pod"),
        pytest.param('{"items": [{"kind": 5, "items": []}]}', "f.json:1:12: kind: wants text, found the number 5: an audit reads AutoscalingRunnerSet, RunnerDeployment, RunnerSet, HorizontalRunnerAutoscaler, RunnerPool, Node, Pod, LimitRange, RuntimeClass, PriorityClass, ResourceQuota", id="a list of an odd kind"),
        pytest.param("a: b: c", "f.json:1:5: is not YAML: mapping values are not allowed in this context", id="malformed YAML"),
        pytest.param("No resources found", 'f.json:1:1: an object is a mapping with apiVersion, kind and metadata, found the text "No resources found"', id="words"),
        pytest.param('{"a": 1}', "f.json:1:1: kind: is required: an audit reads AutoscalingRunnerSet, RunnerDeployment, RunnerSet, HorizontalRunnerAutoscaler, RunnerPool, Node, Pod, LimitRange, RuntimeClass, PriorityClass, ResourceQuota", id="no kind"),
        pytest.param('{"kind": "Pod"}', "f.json:1:1: apiVersion: is required: an audit reads AutoscalingRunnerSet, RunnerDeployment, RunnerSet, HorizontalRunnerAutoscaler, RunnerPool, Node, Pod, LimitRange, RuntimeClass, PriorityClass, ResourceQuota", id="no version"),
        pytest.param("[5]", "f.json:1:2: an object is a mapping with apiVersion, kind and metadata, found the number 5", id="a number"),
        pytest.param('{"kind": "PodList", "items": {}}', "f.json:1:1: items: wants a list, found a mapping", id="no list"),
        pytest.param('{"apiVersion": "v1", "kind": "Pod"}', "f.json:1:1: Pod: metadata: is required", id="no metadata"),
        pytest.param('{"apiVersion": "v1", "kind": "Pod", "metadata": {}}', "f.json:1:1: Pod: metadata.name: is required: the name of the object", id="no name"),
        pytest.param('{"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "a"}}', 'f.json:1:1: Pod a: apiVersion: wants v1, found "v2", which this version of Remuda cannot read', id="a version we do not know"),
        pytest.param(
            '{"apiVersion": "actions.github.com/v1", "kind": "AutoscalingRunnerSet", "metadata": {"name": "a", "namespace": "b"}}',
            'f.json:1:1: AutoscalingRunnerSet b/a: apiVersion: wants actions.github.com/v1alpha1, found "actions.github.com/v1", which this version of Remuda cannot read',
            id="a version of ARC we do not know",
        ),
        pytest.param(b'\xff\xfe"', "f.json: is neither UTF-8 nor UTF-16 text", id="half a letter"),
        pytest.param(b"a: \xff", "f.json:1:4: is not UTF-8 text", id="no UTF-8"),
        pytest.param('{"node": {"fs": {}}}', "f.json:1:1: summary: node.nodeName: is required: the name of the object", id="a summary of nobody"),
    ],
)  # fmt: skip
def test_what_is_no_output_of_kubectl_is_reported_at_its_place(
    tmp_path: Path, text: str | bytes, expected: str
) -> None:
    assert problems(tmp_path, text) == [expected]


def bad_set(**words: Any) -> dict[str, Any]:
    return written_set(**words)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            bad_set(requests={"memory": "8GB ", "cpu": "8e3Mi"}, limits={"memory": "-1"}),
            [
                "AutoscalingRunnerSet arc/vm-test: spec.template.spec.containers[0].resources.limits.memory: '-1' is not a quantity: it cannot be below zero",
                "AutoscalingRunnerSet arc/vm-test: spec.template.spec.containers[0].resources.requests.cpu: '8e3Mi' is not a quantity: write a number with or without a suffix, like 512Mi, 2 or 500m",
                "AutoscalingRunnerSet arc/vm-test: spec.template.spec.containers[0].resources.requests.memory: '8GB ' is not a quantity: did you mean 8Gi or 8G?",
            ],
            id="quantities of a scale set",
        ),
        pytest.param(
            bad_set(minRunners=-1, maxRunners="many", runnerScaleSetLabels="kvm", pod={"nodeSelector": {"a": True}}),
            [
                'AutoscalingRunnerSet arc/vm-test: spec.maxRunners: wants a whole number, found the text "many"',
                "AutoscalingRunnerSet arc/vm-test: spec.minRunners: wants at least 0, found -1",
                'AutoscalingRunnerSet arc/vm-test: spec.runnerScaleSetLabels: wants a list, found the text "kvm"',
                "AutoscalingRunnerSet arc/vm-test: spec.template.spec.nodeSelector.a: wants text, found true: put it in quotes",
            ],
            id="types of a scale set",
        ),
        pytest.param(
            written_pod(requests={"cpu": 0.5}, overhead={"memory": "x"}, containers=5),
            [
                "Pod arc/web: spec.containers: wants a list, found the number 5",
                "Pod arc/web: spec.overhead.memory: 'x' is not a quantity: write a number with or without a suffix, like 512Mi, 2 or 500m",
            ],
            id="a pod",
        ),
        pytest.param(
            written_pod(requests={"cpu": 0.5, "memory": None}),
            [
                'Pod arc/web: spec.containers[0].resources.requests.cpu: 0.5 is not a quantity: put it in quotes, "0.5", or write a whole number with a suffix, like 500m',
                "Pod arc/web: spec.containers[0].resources.requests.memory: None is not a quantity: write a number with or without a suffix, like 512Mi, 2 or 500m",
            ],
            id="numbers in a pod",
        ),
        pytest.param(
            written_node(allocatable={"cpu": "4 cores"}, taints={}),
            [
                "Node honey: spec.taints: wants a list, found a mapping",
                "Node honey: status.allocatable.cpu: '4 cores' is not a quantity: write a number with or without a suffix, like 512Mi, 2 or 500m",
            ],
            id="a node",
        ),
        pytest.param(
            written_pool(provider={"kubevirt": {"spec": {"domain": {"memory": {"guest": "4GB"}}}}}),
            ["RunnerPool arc/linux: spec.provider.kubevirt.spec.domain.memory.guest: '4GB' is not a quantity: did you mean 4Gi or 4G?"],
            id="a pool",
        ),
        pytest.param(
            written_summary(fs={"availableBytes": -5, "inodes": "few"}),
            [
                "summary honey: node.fs.availableBytes: wants at least 0, found -5",
                'summary honey: node.fs.inodes: wants a whole number, found the text "few"',
            ],
            id="a summary",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["alone", "among others", "YAML"])
def test_everything_wrong_with_an_object_is_reported_with_its_name_and_field(
    tmp_path: Path, item: dict[str, Any], expected: list[str], form: str
) -> None:
    texts = {
        "alone": json.dumps(item),
        "among others": json.dumps(listed(written_pod("fine"), item, written_node("fine"))),
        "YAML": yaml.safe_dump(item),
    }
    found = [each.split(": ", 1)[1] for each in problems(tmp_path, texts[form])]
    assert sorted(found) == sorted(expected)


def test_problems_of_all_files_are_reported_at_once_and_what_is_right_is_read(tmp_path: Path) -> None:
    first = tmp_path / "a.json"
    first.write_text(json.dumps(listed(written_set("a", maxRunners=-1), written_set("b")), indent=2))
    second = tmp_path / "b.yaml"
    second.write_text(yaml.safe_dump(written_node(allocatable={"cpu": "x"})))
    found = read_files([first, second, tmp_path / "c.json"], NOW)
    where = [str(problem).split(": ")[0].removeprefix(f"{tmp_path}/") for problem in found.problems]
    assert where == ["a.json:8:5", "b.yaml:10:10", "c.json"]
    assert [scale_set.name for scale_set in found.snapshot.scale_sets] == ["b"]


def test_a_broken_pod_does_not_count_twice_those_before_it(tmp_path: Path) -> None:
    pods = [written_pod("a"), written_pod("b", requests={"cpu": "x"}), written_pod("c")]
    found = read_files([write(tmp_path, *pods)], NOW)
    assert len(found.problems) == 1
    assert (found.snapshot.usage["honey"].requested, found.notes) == ({"pods": 2}, ())


@pytest.mark.slow
def test_at_most_a_thousand_problems_are_reported(tmp_path: Path) -> None:
    pods = [written_pod(f"p-{index}", requests={"cpu": "x"}) for index in range(1_200)]
    found = read_files([write(tmp_path, *pods)], NOW)
    assert len(found.problems) == 1_001
    assert any(each.message.startswith("these are the first 1,000 problems") for each in found.problems)


@pytest.mark.slow
def test_large_yaml_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.write(b"a: b\n")
        file.truncate(64 * 1024 * 1024 + 1)
    assert "is too large for YAML" in notes_of(read_files([path], NOW))[0]
    assert "-o json" in notes_of(read_files([path], NOW))[0]


@pytest.mark.slow
def test_yaml_may_be_larger_than_our_own_objects(tmp_path: Path) -> None:
    path = tmp_path / "sets.yaml"
    note = f"metadata:\n  annotations:\n    note: {'n' * 5_000_000}"
    path.write_text(yaml.safe_dump(written_set()).replace("metadata:", note, 1))
    found = read_files([path], NOW)
    assert (notes_of(found), len(found.snapshot.scale_sets)) == ([], 1)


def test_what_is_no_file_is_reported(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    found = notes_of(read_files([tmp_path / "none.json", empty, "/dev/null", "a\0b"], NOW))
    assert sorted(each.rpartition(": ")[2] for each in found) == [
        "embedded null byte", "holds no file that ends in .json, .yaml, .yml", "is neither a file nor a pipe", "there is no such file"
    ]  # fmt: skip


CRDS = Path(__file__).parents[3] / "shared" / "data" / "crds"


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.9.3", "0.13.1", "0.14.2"])
def test_the_fields_we_read_are_those_of_the_controller(version: str) -> None:
    path = CRDS / f"arc-autoscalingrunnersets-v{version}.yaml.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name}")
    crd = yaml.load(gzip.decompress(path.read_bytes()), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    kept = crd["spec"]["versions"][0]
    fields = kept["schema"]["openAPIV3Schema"]["properties"]
    known = set(fields["spec"]["properties"])
    assert kept["name"] == "v1alpha1"
    wanted = {"githubConfigUrl", "runnerScaleSetName", "minRunners", "maxRunners", "template"}
    assert wanted <= known
    assert ("runnerScaleSetLabels" in known) == (version == "0.14.2")
    assert ("phase" if version == "0.14.2" else "state") in fields["status"]["properties"]


@pytest.mark.slow
def test_a_large_file_is_read_where_it_is_with_the_same_places(tmp_path: Path) -> None:
    pod = written_pod("bad", requests={"cpu": "x"})
    text = json.dumps(listed(written_set(), written_node(), pod), indent=4)
    for name, padding in (("small.json", ""), ("large.json", "\n" * (17 * 1024 * 1024))):
        (tmp_path / name).write_text(text + padding)
    small, large = (read_files([tmp_path / name], NOW) for name in ("small.json", "large.json"))
    assert [(each.line, each.column) for each in small.problems] == [
        (each.line, each.column) for each in large.problems
    ]
    assert (len(large.problems), large.snapshot.scale_sets[0].place) == (
        1,
        Place(str(tmp_path / "large.json"), 8),
    )
    (tmp_path / "cut.json").write_text("[" + "\n" * (17 * 1024 * 1024))
    assert notes_of(read_files([tmp_path / "cut.json"], NOW)) == [
        f"{tmp_path / 'cut.json'}:{17 * 1024 * 1024 + 1}:1: is cut off: the JSON ends before it is complete"
    ]
