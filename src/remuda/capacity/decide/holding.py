"""What a label has and what keeps it from more, as one reason: the first that holds of ceiling, maxima and nodes."""

from remuda.capacity.decide.audit import LabelAudit
from remuda.capacity.decide.findings_placing import bound_text
from remuda.model.plans import Reason


def holding(label: LabelAudit) -> Reason:
    """Why as many runners of a label run as do, and how many more may."""
    ceiling, most, running = label.ceiling, label.max, label.running
    subject = f"label/{label.name}"
    if running is None or not label.is_known:
        what = "scale sets were not read" if not label.is_known else "pods were not read"
        return Reason("label.unknown", subject, {"what": what})
    if not label.scale_sets:
        return Reason("label.without-sets", subject, {"policy": label.policy})
    terms = {"running": running, "ceiling": ceiling, "max": most, "policy": label.policy}
    if ceiling is None:
        together = "any number" if most is None else most
        return Reason("label.without-ceiling", subject, {"running": running, "together": together})
    if running > ceiling:
        return Reason("label.above-ceiling", subject, terms | {"over": running - ceiling})
    if running == ceiling:
        return Reason("label.held-by-ceiling", subject, terms)
    if most is not None and running >= most:
        return Reason("label.held-by-maxima", subject, terms)
    # Where maxima come to more than the ceiling, that they do not fit together says nothing about what it allows.
    is_within = most is not None and most <= ceiling
    bound = label.packing.bound if label.packing and is_within else None
    if bound is not None:
        return Reason("label.held-by-nodes", subject, terms | {"bound": bound_text(bound)})
    free = min(ceiling, ceiling if most is None else most) - running
    return Reason("label.has-room", subject, terms | {"free": free})
