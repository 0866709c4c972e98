"""What a person asked a review for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which workloads, and who says what they used; empty is all of them, the cluster, and its own advisors."""

    context: str | None = None
    files: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prometheus: str = ""
    usage: tuple[str, ...] = ()
    history_s: int = 8 * 86_400
