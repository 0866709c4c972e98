"""What the status of a TierPolicy says, made of the reasons of the last cycle."""

from collections.abc import Iterable

from remuda.model.plans import Reason
from remuda.output.words import number, sentence
from remuda.runtime import Condition, Status

#: so many namespaces that wait are named in a message
_MOST_NAMED = 5


def policy_status(name: str, reasons: Iterable[Reason], blocked: Iterable[str]) -> Status:
    """Whether all namespaces of a policy are as it says; `blocked` are the codes of those that wait for somebody."""
    summary = None
    waiting, troubles = list[str](), list[str]()
    codes = frozenset(blocked)
    for reason in reasons:
        if reason.code == "tiers.policy":
            summary = reason if reason.subject == f"tierpolicy/{name}" else summary
        elif reason.code in codes and reason.terms.get("policy") == name:
            waiting.append(sentence(reason))
        elif reason.code == "tiers.unread":
            troubles.append(sentence(reason))
    if summary is None:
        return Status()
    settled, there = number(summary.terms, "settled"), number(summary.terms, "namespaces")
    more = [f"and {len(waiting) - _MOST_NAMED} more"] if len(waiting) > _MOST_NAMED else []
    message = "; ".join([sentence(summary), *troubles, *waiting[:_MOST_NAMED], *more])
    word = (
        "Unreadable" if troubles else "Blocked" if waiting else "Settled" if settled == there else "Applying"
    )
    is_settled = settled == there and not troubles and not waiting
    return Status(
        (Condition("Settled", is_settled, word, message),), {"namespaces": there, "settled": settled}
    )
