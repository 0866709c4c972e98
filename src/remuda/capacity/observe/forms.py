"""The kinds that an audit reads: of which version, into which projection, and who takes them."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from remuda.capacity import manifests
from remuda.capacity.observe.gather import Gathering
from remuda.capacity.observe.pods import QuickPod
from remuda.model.findings import Place
from remuda.model.manifests import LimitRange
from remuda.objects.dumps import Form


def _form(
    kind: str,
    api_version: str,
    type_: type[Struct],
    add: Callable[[Gathering, Any, Place], bool],
    *,
    quick: type[Struct] | None = None,
    has_line: bool = False,
) -> Form[Gathering]:
    return Form(
        kind,
        (api_version,),
        type_,
        lambda into, item, place, _: add(into, item, place),
        msgspec.json.Decoder(quick or type_).decode,
        has_line,
    )


_OLDER_ARC = "actions.summerwind.dev/v1alpha1"
_ARC, _REMUDA = "actions.github.com/v1alpha1", "remuda.dev/v1alpha1"
POD = _form("Pod", "v1", manifests.Pod, Gathering.add_pod, quick=QuickPod)
FORMS: Final = {
    form.kind: form
    for form in (
        _form("AutoscalingRunnerSet", _ARC, manifests.ScaleSet, Gathering.add_scale_set, has_line=True),
        _form("RunnerDeployment", _OLDER_ARC, manifests.RunnerDeployment, Gathering.add_older, has_line=True),
        _form("RunnerSet", _OLDER_ARC, manifests.RunnerSet, Gathering.add_older, has_line=True),
        _form("HorizontalRunnerAutoscaler", _OLDER_ARC, manifests.RunnerAutoscaler, Gathering.add_autoscaler),
        _form("RunnerPool", _REMUDA, manifests.Pool, Gathering.add_pool, has_line=True),
        _form("Node", "v1", manifests.Node, Gathering.add_node),
        POD,
        _form("LimitRange", "v1", LimitRange, Gathering.add_limit_range),
        _form("RuntimeClass", "node.k8s.io/v1", manifests.RuntimeClass, Gathering.add_runtime_class),
        _form("PriorityClass", "scheduling.k8s.io/v1", manifests.PriorityClass, Gathering.add_priority_class),
        _form("ResourceQuota", "v1", manifests.Quota, Gathering.add_quota),
    )
}  # fmt: skip
SUMMARY: Final[Form[Gathering]] = Form(
    "summary",
    (),
    manifests.Stats,
    lambda into, item, _, changed: into.add_summary(item, changed),
    msgspec.json.Decoder(manifests.Stats).decode,
    name_of=lambda item: str(item.node.node_name),
)
