"""Files of kubectl, read into a world."""

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.observe.clusters import (
    NOW,
    advisor,
    autoscaler,
    by_resource,
    container,
    cron_job,
    job,
    limit_range,
    look,
    owned,
    pod,
    quota,
    read,
    recommendation,
    template,
    workload,
    written,
)

from remuda.objects.problems import Problem
from remuda.rightsize.observe.files import FORMS, read_files
from remuda.rightsize.snapshot import Workload

EVERYTHING: list[Any] = [
    workload(),
    workload("StatefulSet", "db"),
    workload("DaemonSet", "agent", status={"desiredNumberScheduled": 3}),
    workload("ReplicaSet", "bare"),
    job("once"),
    cron_job("nightly"),
    pod("db-0", ("StatefulSet", "db")),
    written("v1", "Namespace", "shop", meta={"namespace": ""}),
    limit_range(max={"memory": "4Gi"}),
    quota(spec={"hard": {"pods": "9"}}),
    autoscaler(by_resource("cpu")),
    advisor(recommendation=recommendation()),
    workload("Deployment", "roll") | {"kind": "Rollout", "apiVersion": "argoproj.io/v1alpha1"},
    workload("Deployment", "config") | {"kind": "DeploymentConfig", "apiVersion": "apps.openshift.io/v1"},
    workload("ReplicaSet", "config-1", meta=owned("DeploymentConfig", "config"))
    | {"kind": "ReplicationController", "apiVersion": "v1"},
    written(
        "core.strimzi.io/v1beta2", "StrimziPodSet", "events-kafka", spec={"pods": [template(container())]}
    ),
]


def listed(items: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def bare(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}


def by_kind() -> list[Any]:
    """A list of its own for each kind, whose items do not say what they are."""
    return [
        {"apiVersion": item["apiVersion"], "kind": f"{item['kind']}List", "items": [bare(item)]}
        for item in EVERYTHING
    ]


def test_there_is_one_of_every_kind() -> None:
    assert {item["kind"] for item in EVERYTHING} == FORMS.keys()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(listed(EVERYTHING), indent=4), id="a List"),
        pytest.param("".join(json.dumps(each) for each in EVERYTHING), id="one after another"),
        pytest.param(json.dumps(EVERYTHING), id="an array"),
        pytest.param("\n".join(json.dumps(each) for each in by_kind()), id="typed lists"),
        pytest.param(json.dumps(listed([listed(EVERYTHING[:5]), listed(EVERYTHING[5:])])), id="Lists in a List"),
        pytest.param(yaml.safe_dump(listed(EVERYTHING)), id="a List in YAML"),
        pytest.param(yaml.safe_dump_all(EVERYTHING), id="documents"),
        pytest.param(yaml.safe_dump_all(by_kind()), id="typed lists in YAML"),
    ],
)  # fmt: skip
def test_the_same_is_read_in_whatever_form_it_comes(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    found = read_files([tmp_path / "a"], NOW)
    assert (found.problems, found.notes, found.snapshot.unknown) == ((), (), ())
    assert found.snapshot.source == str(tmp_path / "a")
    expected = read(tmp_path, *EVERYTHING)
    assert found.snapshot.workloads == expected.workloads
    for part in ("namespaces", "limit_ranges", "quotas", "autoscalers", "advisors", "owners"):
        assert getattr(found.snapshot, part) == getattr(expected, part)
        assert getattr(found.snapshot, part)


def test_files_directories_and_standard_input_go_together(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.yaml").write_text(yaml.safe_dump(workload()))
    (tmp_path / "folder" / "two.json").write_text(json.dumps(workload("StatefulSet", "db")))
    (tmp_path / "folder" / "notes.txt").write_text("not read")
    (tmp_path / "three").write_text(json.dumps(job("once")))
    stdin = io.BytesIO(json.dumps(cron_job("nightly")).encode())
    found = read_files([tmp_path / "folder", tmp_path / "three", "-"], NOW, stdin)
    assert found.problems == ()
    assert [each.id.kind for each in found.snapshot.workloads] == [
        "CronJob",
        "Deployment",
        "Job",
        "StatefulSet",
    ]
    assert found.snapshot.at == NOW


def test_what_no_file_speaks_of_is_unknown(tmp_path: Path) -> None:
    found = {each.part: each.why for each in read(tmp_path, written("v1", "Secret", "s")).unknown}
    assert found == {
        "workloads": "no file holds any: add what `kubectl get deployments,statefulsets,daemonsets,cronjobs -A -o json` "
        "prints",
        **{
            part: f"no file holds any: if there are some, add what `kubectl get {what} -o json` prints"
            for part, what in (
                ("pods", "pods -A"),
                ("namespaces", "namespaces"),
                ("limitranges", "limitranges -A"),
                ("resourcequotas", "resourcequotas -A"),
                ("horizontalpodautoscalers", "horizontalpodautoscalers -A"),
            )
        },
    }


def test_an_empty_list_says_that_there_are_none(tmp_path: Path) -> None:
    empty = [
        {"apiVersion": "v1", "kind": "LimitRangeList", "items": []},
        {"apiVersion": "v1", "kind": "ResourceQuotaList", "items": None},
    ]
    (tmp_path / "a").write_text("".join(map(json.dumps, empty)))
    found = read_files([tmp_path / "a"], NOW)
    assert found.problems == ()
    assert not {"limitranges", "resourcequotas"} & {each.part for each in found.snapshot.unknown}


def test_what_is_not_read_is_reported_and_so_is_what_comes_twice(tmp_path: Path) -> None:
    found = look(
        tmp_path, written("v1", "Secret", "s"), written("example.org/v1", "Deployment", "odd"), workload(), workload(replicas=4)
    )  # fmt: skip
    assert found.problems == ()
    assert found.notes == (
        "passed over, since right-sizing does not read them: 1 Deployment.example.org, 1 Secret",
        "1 Deployment more than once: the last counts, of shop/web",
    )
    assert [each.replicas for each in found.snapshot.workloads] == [4]


def test_a_replica_set_that_was_taken_by_a_deployment_is_no_workload_any_more(tmp_path: Path) -> None:
    meta = {"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}
    taken = workload("ReplicaSet", "web-1", meta=meta)
    assert read(tmp_path, workload("ReplicaSet", "web-1"), taken).workloads == ()
    assert look(tmp_path, taken, taken).notes == (
        "1 ReplicaSet more than once: the last counts, of shop/web-1",
    )
    pods = pod("odd", ("ReplicaSet", "web-1"))
    found = read(tmp_path, taken, workload("ReplicaSet", "web-1"), pods)
    assert [each.id.kind for each in found.workloads] == ["ReplicaSet"]
    assert found.owners == {("shop", "odd"): found.workloads[0].id}


def test_a_version_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    item = advisor(version="v1beta1")
    [problem] = look(tmp_path, item).problems
    assert problem.path == "VerticalPodAutoscaler shop/web: apiVersion"
    assert problem.message == (
        'wants autoscaling.k8s.io/v1 or autoscaling.k8s.io/v1beta2, found "autoscaling.k8s.io/v1beta1", which this '
        "version of Remuda cannot read"
    )  # fmt: skip


def test_problems_of_yaml_stand_at_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: q\n  namespace: shop\nspec:\n  hard:\n    pods: many\n"
    )
    [problem] = read_files([tmp_path / "a.yaml"], NOW).problems
    assert (problem.line, problem.column, problem.path) == (8, 11, "ResourceQuota shop/q: spec.hard.pods")


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "3", "{}", "\x00", "kind: [", '{"kind": 3}', '{"items": 3}']
)
def test_what_is_no_output_of_kubectl_is_a_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    assert read_files([tmp_path / "a"], NOW).problems


JUNK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.sampled_from(["", "x", "25%", "-1Gi"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["cpu", "x"]), inner, max_size=2)),
    max_leaves=4,
)  # fmt: skip


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every place below a node, as what holds it and its key."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [each for key in keys for each in ((node, key), *places(node[key]))]


@pytest.mark.slow
@given(st.integers(0, len(EVERYTHING) - 1), st.data())
def test_no_junk_in_any_field_breaks_the_reading_of_the_rest(
    tmp_path_factory: pytest.TempPathFactory, which: int, data: st.DataObject
) -> None:
    items = json.loads(json.dumps(EVERYTHING))
    holder, key = data.draw(st.sampled_from(places(items[which])), label="place")
    holder[key] = data.draw(JUNK, label="junk")
    folder = tmp_path_factory.getbasetemp()
    quick = look(folder, *items)
    (folder / "objects.yaml").write_text(yaml.safe_dump(listed(items), sort_keys=False))
    slow = read_files([folder / "objects.yaml"], NOW)
    # Whoever belongs to another is not sized: its amounts are not looked at where that would cost time.
    if items[which].get("kind") not in ("Pod", "ReplicationController"):
        assert _told(quick.problems) == _told(slow.problems)
    assert _told(quick.problems) <= _told(slow.problems)
    if not quick.problems:
        # A pod whose amounts are junk is left out by the slow path alone, and with it what it tells of CPU limits.
        of_templates = _templates if slow.problems else tuple
        assert of_templates(quick.snapshot.workloads) == of_templates(slow.snapshot.workloads)
    kinds = {
        each.id for each in read(folder, *(each for n, each in enumerate(EVERYTHING) if n != which)).workloads
    }
    assert kinds <= {each.id for each in quick.snapshot.workloads}


def _templates(workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    replace = msgspec.structs.replace
    return tuple(
        replace(each, containers=tuple(replace(part, unlimited_at=None) for part in each.containers))
        for each in workloads
    )


def _told(problems: tuple[Problem, ...]) -> set[tuple[str, str]]:
    return {(problem.path, problem.message) for problem in problems}
