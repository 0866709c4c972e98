"""How amounts are written for people: processors as they are, everything else in GiB with two decimals."""

from collections.abc import Iterable, Mapping

from remuda.capacity.snapshot import EPHEMERAL
from remuda.model.quantities import NANO, Quantity

GIB = 2**30
UNBOUNDED = "∞"
_NOUNS = {"cpu": "CPU", "memory": "memory", EPHEMERAL: "ephemeral storage"}


def figure(name: str, value: int | None) -> str:
    """A number for a column: `4`, `1.5`, `54.68`; what was not given is a dash."""
    if value is None:
        return "-"
    if name == "cpu":
        return f"{value / 1000:.3f}".rstrip("0").rstrip(".")
    return str(value) if name == "pods" else f"{value / GIB:.2f}"


def told(name: str, value: int) -> str:
    """An amount in a sentence: `4 CPU`, `54.68Gi memory`, `2 pods`."""
    if name in {"memory", EPHEMERAL}:
        return f"{figure(name, value)}Gi {_NOUNS[name]}"
    return f"{figure(name, value)} CPU" if name == "cpu" else f"{value} {name}"


def told_all(amounts: Mapping[str, int], names: Iterable[str] = ("cpu", "memory", EPHEMERAL)) -> str:
    """Several of them; nothing is `nothing`."""
    return ", ".join(told(name, amounts[name]) for name in names if name in amounts) or "nothing"


def quantity(name: str, value: int) -> str:
    """An amount as Kubernetes writes it: `500m`, `32Gi`."""
    if name == "cpu":
        return str(Quantity(value * (NANO // 1_000)))
    return str(Quantity(value * NANO, "decimal" if name == "pods" else "binary"))


def count(number: int | None) -> str:
    """A number of runners, where none means that there is no bound."""
    return UNBOUNDED if number is None else str(number)
