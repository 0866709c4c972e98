"""What a review begins with, from files: which workloads, and which of the samples count."""

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.rightsize.observe.clusters import NOW, container, template, workload, written

from remuda.errors import BadInput, NotFound, Unavailable
from remuda.model.workloads import WorkloadId
from remuda.rightsize.observe.sources import Observed, observe
from remuda.rightsize.selection import Selection, chosen
from remuda.rightsize.snapshot import Snapshot, Unknown, Workload

HOUR, DAY = 3600, 86_400
AT = NOW // 1000
MIB = 2**20
WEB = WorkloadId("shop", "Deployment", "web")
APP = (WEB, "app")
FLOOR = 250 * MIB


def instance(times: Iterable[int], memory: float = 10.0 * MIB, kills: Iterable[int] = ()) -> dict[str, Any]:
    at = list(times)
    return {
        "cpu": [{"t": each, "cores": 0.1} for each in at],
        "memory": [{"t": each, "bytes": memory} for each in at],
        "oom": [{"t": each, "requested_bytes": 64 * MIB} for each in kills],
    }


def usage(directory: Path, *instances: dict[str, Any], name: str = "usage.json", of: str = "web") -> str:
    file = directory / name
    pod = {"app": {"instances": list(instances)}}
    entry = {"namespace": "shop", "kind": "Deployment", "name": of, "containers": pod}
    file.write_text(json.dumps({"workloads": [entry]}))
    return str(file)


def cluster(directory: Path, *items: dict[str, Any], name: str = "cluster.json") -> str:
    file = directory / name
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))
    return str(file)


@pytest.fixture
def web(tmp_path: Path) -> str:
    return cluster(tmp_path, workload())


def seen(*files: str, use: Iterable[str] = (), history_s: int = DAY, **wanted: Any) -> Observed:
    asked = Selection(files=files, usage=tuple(use), history_s=history_s, **wanted)
    return observe(asked, NOW, lambda _: None)


def test_only_samples_within_the_history_count(web: str, tmp_path: Path) -> None:
    # far above all others, and a minute too old
    old = instance(range(AT - 2 * DAY, AT - DAY, 600), 900.0 * MIB, kills=[AT - 2 * DAY])
    new = instance(range(AT - DAY, AT + 1, 600), kills=[AT - HOUR])
    found = seen(web, use=[usage(tmp_path, old, new)])
    evidence = found.evidence[APP]
    assert (evidence.cpu_samples, evidence.memory_samples, evidence.replicas) == (145, 145, 1)
    assert (evidence.first, evidence.last) == (AT - DAY, AT)
    assert evidence.memory_peak == 10 * MIB
    assert [kill.at for kill in evidence.kills] == [AT - HOUR]
    # what is only old is nothing odd, and still told
    assert evidence.anomalies == ()
    assert any("usage.json: 289 samples before 2025-12-31T00:00:00Z" in note for note in found.notes)


def test_samples_of_the_future_are_left_out_and_reported_with_their_container(
    web: str, tmp_path: Path
) -> None:
    times = range(AT - HOUR, AT + HOUR, 60)
    found = seen(web, use=[usage(tmp_path, instance(times, kills=[AT + 1]))])
    evidence = found.evidence[APP]
    assert evidence.last == AT
    assert evidence.kills == ()
    assert evidence.anomalies == (
        "samples of CPU that were left out: 59 in the future",
        "samples of memory that were left out: 59 in the future",
        "kills that were left out: 1 in the future",
    )


@pytest.mark.parametrize(("shift", "is_reported"), [(-9 * DAY, False), (DAY, True)])
def test_samples_that_are_all_outside_are_none(
    shift: int, web: str, tmp_path: Path, *, is_reported: bool
) -> None:
    times = range(AT - HOUR + shift, AT + shift, 60)
    found = seen(web, use=[usage(tmp_path, instance(times))])
    assert (found.evidence[APP].cpu_samples, found.evidence[APP].first) == (0, None)
    parts = [each.part for each in found.snapshot.unknown]
    assert ("use of app of Deployment shop/web" in parts) is is_reported


@pytest.mark.parametrize(("names", "floor"), [(["app"], FLOOR), (["app", "b"], FLOOR // 2)])
def test_containers_without_samples_have_their_share_of_the_floor(
    names: list[str], floor: int, tmp_path: Path
) -> None:
    files = cluster(tmp_path, workload(template=template(*map(container, names))))
    use = usage(tmp_path, instance(range(AT - DAY, AT, 60), 1.0 * MIB))
    assert seen(files, use=[use]).evidence[APP].estimate.target.memory_bytes == floor


def test_samples_come_from_standard_input(web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(usage(tmp_path, instance([AT]))).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    found = seen(web, use=["-"])
    assert found.usage == "samples standard input"
    assert found.evidence[APP].cpu_samples == 1


def test_a_file_that_is_given_twice_is_read_once(web: str, tmp_path: Path) -> None:
    one = usage(tmp_path, instance([AT]))
    (tmp_path / "sub").mkdir()
    found = seen(web, use=[one, one, str(tmp_path / "sub" / ".." / "usage.json")])
    assert found.usage == f"samples {one}"
    assert found.evidence[APP].cpu_samples == 1


def test_files_keep_their_order_and_do_not_share_a_workload(web: str, tmp_path: Path) -> None:
    one, two = usage(tmp_path, instance([AT])), usage(tmp_path, instance([AT]), name="b.json", of="db")
    assert seen(web, use=[two, one]).usage == f"samples {two}, {one}"
    three = usage(tmp_path, instance([AT]), name="c.json")
    with pytest.raises(BadInput, match=r"c.json: Deployment shop/web is in .*usage.json already"):
        seen(web, use=[one, three])


@pytest.mark.parametrize(
    ("namespaces", "message"),
    [
        pytest.param(["sho"], "no namespace is called sho: did you mean shop?", id="a slip"),
        pytest.param(["shop", "x"], "no namespace is called x: there is shop", id="one of two"),
        pytest.param(["z*"], "no namespace matches z*: there is shop", id="a pattern"),
    ],
)
def test_a_namespace_that_is_not_there_is_reported(
    namespaces: list[str], message: str, web: str, tmp_path: Path
) -> None:
    with pytest.raises(NotFound) as raised:
        seen(web, use=[usage(tmp_path, instance([AT]))], namespaces=tuple(namespaces))
    assert str(raised.value) == message


def test_a_namespace_without_workloads_is_there(tmp_path: Path) -> None:
    empty = written("v1", "Namespace", "empty", meta={"namespace": ""})
    files = cluster(tmp_path, workload(), empty)
    use = usage(tmp_path, instance([AT]))
    assert seen(files, use=[use], namespaces=("empty",)).snapshot.workloads == ()
    assert len(seen(files, use=[use], namespaces=("e*", "sh?p")).snapshot.workloads) == 1


def test_files_that_hold_no_workload_are_bad_input(tmp_path: Path) -> None:
    files = cluster(tmp_path, written("v1", "LimitRange", "any", spec={"limits": []}))
    with pytest.raises(
        BadInput, match="workloads cannot be reviewed: no file holds any: add what `kubectl get"
    ):
        seen(files, use=[usage(tmp_path, instance([AT]))])


FORBIDDEN = Unknown("deployments", "may not list deployments.apps")


def test_a_cluster_whose_workloads_cannot_be_read_is_not_an_empty_one() -> None:
    with pytest.raises(Unavailable, match="deployments cannot be reviewed: may not list"):
        chosen(Snapshot(NOW, "here", unknown=(FORBIDDEN,)), Selection(names=("shop/web",)))
    with pytest.raises(Unavailable, match="Deployment shop/web cannot be reviewed: odd"):
        chosen(Snapshot(NOW, "here", unknown=(Unknown("Deployment shop/web", "odd"),)), Selection())


def test_a_cluster_without_workloads_is_fine() -> None:
    snapshot = Snapshot(NOW, "here", unknown=(Unknown("resourcequotas", "may not"),))
    assert chosen(snapshot, Selection()).workloads == ()


def test_who_reads_some_workloads_goes_on() -> None:
    one = Workload(WEB, ())
    snapshot = Snapshot(NOW, "here", (one,), unknown=(FORBIDDEN,))
    assert chosen(snapshot, Selection()).workloads == (one,)


def test_who_may_not_look_up_a_namespace_is_not_told_that_it_is_not_there() -> None:
    snapshot = Snapshot(NOW, "here", unknown=(Unknown("namespaces", "may not get namespaces shop"),))
    assert chosen(snapshot, Selection(namespaces=("shop",))).workloads == ()
