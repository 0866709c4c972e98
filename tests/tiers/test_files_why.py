"""What is read for the sake of why: who brought an event about, and why pods of a workload cannot be made."""

from pathlib import Path

import pytest
from tests.tiers.clusters import deployment, named, owned_by, snapshot

REFUSED = 'pods "web-1" is forbidden: exceeded quota: q'
CONDITIONS = [
    {"type": "Available", "status": "False", "message": "no"},
    {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": REFUSED},
]


@pytest.mark.parametrize(("conditions", "words"), [(CONDITIONS, REFUSED), (CONDITIONS[:1], ""), ([], "")])
def test_a_workload_says_why_its_pods_are_refused(
    tmp_path: Path, conditions: list[object], words: str
) -> None:
    template: dict[str, object] = {"template": {"spec": {"containers": []}}}
    found = snapshot(
        tmp_path,
        deployment("web") | {"status": {"conditions": conditions}},
        named("ReplicaSet", "alone", "shop", "apps/v1", spec=template, status={"conditions": conditions}),
    )
    assert [(each.id.name, each.refused) for each in found.workloads] == [("web", words), ("alone", words)]


def test_an_event_of_a_replica_set_is_told_of_its_deployment_with_who_brought_it_about(
    tmp_path: Path,
) -> None:
    found = snapshot(
        tmp_path,
        deployment("web"),
        named("ReplicaSet", "web-1", "shop", "apps/v1", ownerReferences=owned_by("Deployment", "web")),
        named("Event", "a", "shop", involvedObject={"kind": "ReplicaSet", "namespace": "shop", "name": "web-1"},
              reason="FailedCreate", message=REFUSED),
        named("Event", "b", "shop", involvedObject={"kind": "Pod", "namespace": "shop", "name": "low"},
              related={"kind": "Pod", "namespace": "core", "name": "high"}, reason="Preempted"),
    )  # fmt: skip
    first, second = found.events
    assert (first.kind, first.name, first.by) == ("Deployment", "web", ("", ""))
    assert (second.kind, second.name, second.by) == ("Pod", "low", ("core", "high"))
