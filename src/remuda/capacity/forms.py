"""The kinds that are read: of which version, into which projection, and who takes them."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from remuda.capacity import written
from remuda.capacity.gather import Gathering
from remuda.capacity.pods import QuickPod
from remuda.capacity.world import Place


class Form(Struct, frozen=True):
    """A kind that is read: how, and where to."""

    kind: str
    group: str
    version: str
    type: Any
    decode: Callable[[Any], Any]
    take: Callable[[Gathering, Any, Place], bool]
    #: the line it stands on is worth finding
    has_line: bool = False

    @property
    def api_version(self) -> str:
        """As objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version


def _form(
    kind: str,
    group: str,
    version: str,
    type_: type[Struct],
    take: Callable[[Gathering, Any, Place], bool],
    *,
    quick: type[Struct] | None = None,
    has_line: bool = False,
) -> Form:
    return Form(kind, group, version, type_, msgspec.json.Decoder(quick or type_).decode, take, has_line)


_ARC, _REMUDA = "actions.github.com", "remuda.dev"
POD = _form("Pod", "", "v1", written.Pod, Gathering.add_pod, quick=QuickPod)
FORMS: Final = {
    form.kind: form
    for form in (
        _form("AutoscalingRunnerSet", _ARC, "v1alpha1", written.ScaleSet, Gathering.add_scale_set, has_line=True),
        _form("RunnerPool", _REMUDA, "v1alpha1", written.Pool, Gathering.add_pool, has_line=True),
        _form("Node", "", "v1", written.Node, Gathering.add_node),
        POD,
    )
}  # fmt: skip
