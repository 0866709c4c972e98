"""How much of something a node has and a pod asks for."""

from collections.abc import Mapping
from typing import TypeAlias

from remuda.model.pods import PodSpec
from remuda.model.quantities import Quantity

#: amounts of resources: processor shares in thousandths, everything else in whole units
Amounts: TypeAlias = dict[str, int]

KVM = "devices.kubevirt.io/kvm"
_UNITS = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def amounts(written: Mapping[str, object]) -> Amounts:
    """Quantities as whole numbers; what is no quantity is left out."""
    made: Amounts = {}
    for name, value in written.items():
        try:
            quantity = Quantity.parse(value)
        except ValueError:
            continue
        made[name] = quantity.milli if name == "cpu" else quantity.bytes
    return made


def asks_of(spec: PodSpec) -> Amounts:
    """What a pod's containers ask for together, or one of its first containers alone if that is more."""
    total: Amounts = {"pods": 1}
    for container in spec.containers:
        _add(total, amounts(container.resources.requests))
    for container in spec.init_containers:
        for name, value in amounts(container.resources.requests).items():
            total[name] = max(total.get(name, 0), value)
    _add(total, amounts(spec.overhead))
    return total


def told_amount(name: str, value: int) -> str:
    """An amount as a person writes it: `1500m CPU`, `3.5Gi memory`."""
    if name == "cpu":
        return f"{value // 1000} CPU" if value % 1000 == 0 else f"{value}m CPU"
    if name == KVM:
        return f"{value} {KVM}"
    for size, unit in _UNITS:
        if value >= size and name != "pods":
            return f"{value / size:.1f}".removesuffix(".0") + f"{unit} {name}"
    return f"{value} {name}"


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value
