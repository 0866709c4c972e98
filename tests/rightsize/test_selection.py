"""Names of workloads as people write them."""

import pytest

from remuda.errors import NotFound
from remuda.model.workloads import WorkloadId
from remuda.rightsize.selection import Selection, chosen, select_named
from remuda.rightsize.snapshot import Snapshot, Workload

FRONT = WorkloadId("web", "Deployment", "front")
STATE = WorkloadId("web", "StatefulSet", "front")
CART = WorkloadId("shop", "StatefulSet", "cart")
ALL = (FRONT, STATE, CART)


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        pytest.param(["web/front"], [FRONT, STATE], id="both kinds"),
        pytest.param(["web/statefulset/front"], [STATE], id="one kind, however it is written"),
        pytest.param(["*/c?rt"], [CART], id="patterns"),
        pytest.param(["*/statefulset/*", "web/deployment/*"], [FRONT, STATE, CART], id="several"),
    ],
)
def test_a_name_means(names: list[str], meant: list[WorkloadId]) -> None:
    assert select_named(ALL, names) == meant


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("web/frnt", r"no workload is called web/frnt: did you mean web/front\?"),
        ("front", "no workload is called front: did you mean|write NAMESPACE/NAME"),
        ("web/job/front", "no workload is called web/job/front"),
        ("x\n\x1b[31m", "no workload is called x �"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: str, message: str) -> None:
    with pytest.raises(NotFound, match=message):
        select_named(ALL, ["web/front", name])


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        pytest.param(Selection(), {"web/front", "shop/debug", "kafka/broker"}, id="all"),
        pytest.param(
            Selection(namespaces=("shop", "web")), {"web/front", "shop/debug"}, id="of these namespaces"
        ),
        pytest.param(Selection(names=("web/front",)), {"web/front"}, id="of these workloads alone"),
    ],
)
def test_pods_of_what_was_not_asked_for_are_left_out(selection: Selection, named: set[str]) -> None:
    owners = {
        ("web", "front-1"): FRONT,
        ("shop", "debug"): WorkloadId("shop", "Pod", "debug"),
        ("kafka", "broker-0"): WorkloadId("kafka", "StrimziPodSet", "broker"),
    }
    there = Snapshot(0, "here", (Workload(FRONT, ()), Workload(CART, ())), owners=owners)
    found = chosen(there, selection).owners.values()
    assert {f"{each.namespace}/{each.name}" for each in found} == named
