"""Whether a node takes a pod, and if not, everything that is in the way, as the scheduler sees it."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from remuda.diagnose.snapshot import SCHEDULABLE, Node
from remuda.model.amount_texts import amount_text
from remuda.model.amounts import Amounts, amounts, asks_of
from remuda.model.pods import Pod, Taint, Term, Toleration
from remuda.rules import placing


class Wish(Struct, frozen=True):
    """Something that wants a place."""

    name: str
    asks: Amounts
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    terms: tuple[Term, ...] = ()


class Obstacle(Struct, frozen=True):
    """One reason why a node does not take a wish; `short` is what lacks there, and by how much, where there is not enough room."""

    kind: str
    message: str
    taint: Taint | None = None
    short: Amounts = {}
    is_too_small: bool = False


def wish_of(pod: Pod) -> Wish:
    """What a pod asks for."""
    spec = pod.spec
    return Wish(pod.name, asks_of(spec), spec.node_selector, spec.tolerations, spec.required_terms)


def obstacles(wish: Wish, node: Node, taken: Mapping[str, Amounts] | None) -> Iterator[Obstacle]:
    """All that keeps a node from taking a wish. Without knowing what is `taken`, only what it could hold empty counts."""
    labels = node.metadata.labels
    if labels.get(SCHEDULABLE) != "true" and wish.node_selector.get(SCHEDULABLE) == "true":
        yield Obstacle("label", f"has no label {SCHEDULABLE}=true")
    if not node.is_up:
        yield Obstacle("down", "is cordoned" if node.spec.unschedulable else "is not Ready")
    for taint in untolerated(node, wish.tolerations):
        yield Obstacle("taint", f"has the taint {taint}, which is not tolerated", taint)
    for key, value in wish.node_selector.items():
        if key != SCHEDULABLE and labels.get(key) != value:
            yield Obstacle("selector", f"has no label {key}={value}")
    if wish.terms and not any(placing.holds(term, node.name, labels) for term in wish.terms):
        yield Obstacle("affinity", "does not meet the required node affinity")
    yield from _room(wish, node, taken)


def untolerated(node: Node, tolerations: tuple[Toleration, ...]) -> Iterator[Taint]:
    """The hard taints of a node that nothing in the list covers."""
    return placing.untolerated(node.spec.taints, tolerations)


def _room(wish: Wish, node: Node, taken: Mapping[str, Amounts] | None) -> Iterator[Obstacle]:
    whole = amounts(node.status.room)
    used = (taken or {}).get(node.name, {})
    free = {name: max(0, whole.get(name, 0) - used.get(name, 0)) for name in wish.asks}
    short = {name: value - free[name] for name, value in wish.asks.items() if value > free[name]}
    if short:
        message = ", ".join(
            f"{amount_text(name, by)} too little ({amount_text(name, free[name])} free of "
            f"{amount_text(name, whole[name])}, {amount_text(name, wish.asks[name])} asked for)"
            if whole.get(name)
            else f"no {name}"
            for name, by in sorted(short.items())
        )
        is_too_small = any(value > whole.get(name, 0) for name, value in wish.asks.items())
        yield Obstacle("room", f"has {message}", short=short, is_too_small=is_too_small)
