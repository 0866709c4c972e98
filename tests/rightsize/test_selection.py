"""Names of workloads as people write them."""

import pytest

from remuda.errors import NotFound
from remuda.rightsize.selection import select_named
from remuda.rightsize.snapshot import WorkloadId

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
