"""Whether a node lets a pod in, by the rules of the scheduler: taints, selectors and node affinity."""

from collections.abc import Iterable, Iterator, Mapping

from remuda.model.pods import Taint, Term, Toleration

#: taints that keep new pods away; a soft one does not
_HARD = ("NoSchedule", "NoExecute")
#: taints that stand for what a node says otherwise: that it is cordoned or not ready
_NODE_STATES = tuple(f"node.kubernetes.io/{state}" for state in ("unschedulable", "not-ready", "unreachable"))


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Iterator[Taint]:
    """The hard taints that nothing in the list covers; what a node that is down is tainted with is reported elsewhere."""
    for taint in taints:
        is_state = taint.key.startswith("node.kubernetes.io/")
        if taint.effect in _HARD and not is_state and not any(item.covers(taint) for item in tolerations):
            yield taint


def pressing(taints: Iterable[Taint]) -> Iterator[Taint]:
    """What a node in trouble is tainted with and nothing else shows: pressure on its disk, no network."""
    for taint in taints:
        is_state = taint.key.startswith("node.kubernetes.io/") and taint.key not in _NODE_STATES
        if taint.effect in _HARD and is_state:
            yield taint


def holds(term: Term, node: str, labels: Mapping[str, str]) -> bool:
    """Whether a term of a node affinity holds for a node; one that says nothing never does."""
    fields = {"metadata.name": node}
    conditions = [(item, labels) for item in term.match_expressions] + [
        (item, fields) for item in term.match_fields
    ]
    return bool(conditions) and all(item.holds(where) for item, where in conditions)
