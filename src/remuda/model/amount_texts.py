"""
How amounts are written, in one way each: exactly as Kubernetes does, for a sentence, and as figures of tables.

Amounts are what `remuda.model.amounts` reads: processor shares in thousandths, everything else in whole units.
"""

from collections.abc import Iterable, Mapping

from remuda.model.quantities import NANO, Quantity

MIB, GIB, TIB = 2**20, 2**30, 2**40
_UNITS = ((TIB, "Ti"), (GIB, "Gi"), (MIB, "Mi"), (2**10, "Ki"))
_NOUNS = {"cpu": "CPU", "ephemeral-storage": "ephemeral storage"}


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in {"memory", "storage", "ephemeral-storage"} or resource.startswith("hugepages-")


def quantity(resource: str, amount: int) -> str:
    """Exactly, as one writes it into a manifest and a server gives it back: `500m`, `32Gi`, `500M`, `8`."""
    if resource == "cpu":
        return str(Quantity(amount * (NANO // 1_000)))
    # 2G is also a whole number of Ki, as which nobody writes it
    is_binary = is_bytes(resource) and amount % 1024 == 0 and (amount % MIB == 0 or amount % 1_000_000 != 0)
    return str(Quantity(amount * NANO, "binary" if is_binary else "decimal"))


def amount_text(resource: str, amount: int) -> str:
    """In a sentence: `1.5 CPU`, `54.68Gi memory`, `2 pods`."""
    noun = _NOUNS.get(resource, resource)
    if resource == "cpu":
        return f"{cores(amount)} {noun}"
    return f"{bytes_text(amount) if is_bytes(resource) else amount} {noun}"


def amounts_text(amounts: Mapping[str, int], resources: Iterable[str] | None = None) -> str:
    """Several of them, those of some resources or all; none is `nothing`."""
    chosen = amounts if resources is None else [name for name in resources if name in amounts]
    return ", ".join(amount_text(name, amounts[name]) for name in chosen) or "nothing"


def exact_text(resource: str, amount: int) -> str:
    """In a sentence whose numbers a person checks: `1500m`, `512Mi`, `1000000 (1.0Mi)` where it is no whole MiB."""
    if resource == "cpu":
        return f"{amount}m"
    return quantity(resource, amount) if amount % MIB == 0 else f"{amount} ({amount / MIB:.1f}Mi)"


def bytes_text(amount: int) -> str:
    """Bytes to two decimals of the largest unit that they fill: `54.68Gi`, `32Mi`, `512`."""
    for size, unit in _UNITS:
        if abs(amount) >= size:
            return trimmed(f"{amount / size:.2f}") + unit
    return str(amount)


def cores(millicores: int) -> str:
    """A number of cores: `4`, `1.5`, `1,200`."""
    return trimmed(f"{millicores / 1000:,.3f}")


def figure(resource: str, amount: int | None) -> str:
    """
    A number for a column, of cores, of GiB or of pieces: `1.5`, `64.00`, `110`; what is not given is a dash.

    GiB always have two decimals, so that a column lines up.
    """
    if amount is None:
        return "-"
    if resource == "cpu":
        return cores(amount)
    return f"{amount / GIB:,.2f}" if is_bytes(resource) else f"{amount:,}"


def gib(amount: int) -> str:
    """A number of GiB, for sums: `54.68`, `1,024`."""
    return trimmed(f"{amount / GIB:,.2f}")


def trimmed(number: str) -> str:
    """Without zeros at the end of its decimals."""
    return number.rstrip("0").rstrip(".") if "." in number else number
