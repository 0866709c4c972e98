"""How amounts, times and names are written in steps and findings: exactly, so that a person can check them."""

from collections.abc import Callable, Iterable

from remuda.model import amount_texts
from remuda.model.amount_texts import MIB
from remuda.model.times import SECOND, write_instant
from remuda.rightsize.estimate.histogram import Second

NOT_SET = "not set"
_SOME = 5


def memory(amount: int | None) -> str:
    """`512Mi`."""
    return NOT_SET if amount is None else amount_texts.exact_text("memory", amount)


def about(amount: int) -> str:
    """Memory that was computed, to three digits: `59.8Mi`."""
    return f"{float(f'{amount / MIB:.3g}'):,g}Mi"


def quantity(amount: int) -> str:
    """Memory as one writes it into a template, exactly: `512Mi`, `500M`."""
    return amount_texts.quantity("memory", amount)


def enough(amount: int) -> str:
    """Memory as one writes it into a template, rounded up to whole MiB."""
    return quantity(-(-amount // MIB) * MIB)


def cpu(amount: int | None) -> str:
    """`250m`."""
    return NOT_SET if amount is None else amount_texts.exact_text("cpu", amount)


def writer_of(resource: str) -> Callable[[int | None], str]:
    """What writes amounts of a resource, be it of requests or limits: `limits.cpu`."""
    return cpu if resource.endswith("cpu") else memory


def moment(at: Second) -> str:
    """A time in UTC."""
    return write_instant(at * SECOND)


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(names: Iterable[str]) -> str:
    """The first few of them."""
    all_names = list(names)
    more = len(all_names) - _SOME
    return ", ".join(all_names[:_SOME]) + (f" and {more} more" if more > 0 else "")
