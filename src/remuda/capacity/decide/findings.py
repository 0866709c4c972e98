"""How the findings of an audit are made: their codes and words are in `remuda.capacity.codes`."""

from remuda.capacity.decide.label import LabelContext
from remuda.capacity.snapshot import ScaleSet
from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term

_FIELDS = {
    "AutoscalingRunnerSet": {
        "max": "spec.maxRunners",
        "min": "spec.minRunners",
        "labels": "spec.runnerScaleSetLabels",
        "name": "spec.runnerScaleSetName",
        "resources": "spec.template.spec.containers[].resources",
        "pod": "spec.template.spec",
        "phase": "status.phase",
    },
    "RunnerDeployment": {
        "max": "spec.replicas, or spec.maxReplicas of its autoscaler",
        "min": "spec.replicas, or spec.minReplicas of its autoscaler",
        "labels": "spec.template.spec.labels",
        "name": "spec.template.spec.labels",
        "resources": "spec.template.spec.resources",
        "pod": "spec.template.spec",
        "phase": "status",
    },
    "RunnerSet": {
        "max": "spec.replicas, or spec.maxReplicas of its autoscaler",
        "min": "spec.replicas, or spec.minReplicas of its autoscaler",
        "labels": "spec.labels",
        "name": "spec.labels",
        "resources": "spec.template.spec.containers[].resources",
        "pod": "spec.template.spec",
        "phase": "status",
    },
    "RunnerPool": {
        "max": "spec.max",
        "min": "spec.min",
        "labels": "spec.class",
        "name": "spec.class",
        "resources": "spec.provider.kubevirt.spec.domain.resources",
        "pod": "spec.provider.kubevirt.spec",
        "phase": "status",
    },
}


def field_of(scale_set: ScaleSet, what: str, more: str = "") -> str:
    """Where something stands in the object of a scale set."""
    return _FIELDS[scale_set.kind][what] + more


def about_set(
    context: LabelContext, scale_set: ScaleSet, rule: str, severity: Severity, field: str, **terms: Term
) -> Finding:
    """A finding about a scale set."""
    subject = f"{scale_set.kind} {scale_set.id}"
    return Finding(f"capacity.{rule}", severity, subject, field, terms, context.label, scale_set.place)


def about_policy(context: LabelContext, rule: str, severity: Severity, field: str, **terms: Term) -> Finding:
    """A finding about the label's policy."""
    return Finding(f"capacity.{rule}", severity, context.policy_object, field, terms, context.label)
