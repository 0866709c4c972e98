"""What makes pods: who a workload is, and how many pods more than wanted a change of its template brings about."""

import re
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta, Struct

#: whole, or a percentage; the description tells it from a quantity
Share = Annotated[Any, Meta(description="A number of pods, or a percentage of them.")]
#: of a Deployment that does not say, both more and fewer
DEFAULT_SURGE: Final = "25%"
_PERCENTAGE = re.compile(r"([0-9]{1,9})%")


class WorkloadId(NamedTuple):
    """Who a workload is."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Rolling(Struct, frozen=True, rename="camel"):
    """How pods are replaced by those of a new template."""

    max_surge: Share = None
    max_unavailable: Share = None


class Strategy(Struct, frozen=True, rename="camel"):
    """Whether pods are replaced one after another."""

    type: str = ""
    rolling_update: Rolling = Rolling()


class BlueGreen(Struct, frozen=True):
    """All pods are there twice while they are replaced."""


class RolloutStrategy(Struct, frozen=True, rename="camel"):
    """How Argo Rollouts replaces pods."""

    canary: Rolling = Rolling()
    blue_green: BlueGreen | None = None


def surge_of(strategy: Strategy, replicas: int, default: int | str) -> int:
    """Pods beyond `replicas` while they are replaced; `ValueError` for what is neither a count nor a percentage."""
    if strategy.type not in {"", "RollingUpdate", "Rolling"}:
        return 0
    share = strategy.rolling_update.max_surge
    return _pods(default if share is None else share, replicas)


def unavailable_of(strategy: Strategy, replicas: int, default: int | str, surge: int) -> int:
    """
    Pods below `replicas` that there may be while they are replaced: one at least, where there may be none above.

    `ValueError` for what is neither a count nor a percentage; one that recreates its pods may be without any.
    """
    if strategy.type not in {"", "RollingUpdate", "Rolling"}:
        return replicas
    share = strategy.rolling_update.max_unavailable
    return max(_pods(default if share is None else share, replicas, up=False), 0 if surge else 1)


def canary(strategy: RolloutStrategy) -> Strategy:
    """A Rollout's strategy as a Deployment has it; with blue and green, as many pods as there are come beside them."""
    if strategy.blue_green is not None:
        return Strategy(rolling_update=Rolling("100%", 0))
    return Strategy(rolling_update=strategy.canary)


def _pods(share: object, replicas: int, *, up: bool = True) -> int:
    if type(share) is int and share >= 0:
        return share
    percentage = _PERCENTAGE.fullmatch(share) if isinstance(share, str) else None
    if percentage is None:
        raise ValueError(f"{share!r:.60} is no number of pods: write a whole one, or a percentage like 25%")
    part = int(percentage[1]) * replicas
    return -(-part // 100) if up else part // 100
