"""What a review finds: every rule there is, and where a finding is about a container."""

from typing import Literal, TypeAlias

from remuda.output.steps import Step
from remuda.rightsize.review import Finding, Severity
from remuda.rightsize.snapshot import Container, Workload

#: the gravest first
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

Rule: TypeAlias = Literal[
    "killed", "limit-below-use", "clamped-below-use", "leak", "starved",
    "limit-below-request", "odd-size", "cpu-limit",
    "no-evidence", "new-container", "container-gone", "workload-gone", "partial-evidence", "odd-samples",
    "old-evidence", "under-a-day", "sparse-samples", "advice-only", "too-few-for-strategy", "scaled-to-zero",
    "scaled-by-use", "advisor-acts", "many-advisors", "tier-not-read", "class-not-read",
    "limit-range-conflict", "limit-range-of-pod", "limit-range-gives-cpu-limit",
    "limit-range-wants-cpu-limit",
    "quota-too-small", "quota-wants-limit", "quota-with-scopes", "not-sized",
    "sized-by-operator",
    "not-read",
]  # fmt: skip

#: rule → what it means
RULES: dict[Rule, str] = {
    "killed": "The container ran out of memory and was killed within the history.",
    "limit-below-use": "The memory limit is below what was used, with a tenth for what samples miss: it will be killed.",
    "clamped-below-use": "A bound of a tier or a LimitRange allows less than what was used.",
    "leak": "Memory rises day by day and will reach the limit before the next review: it is not given more.",
    "starved": "The CPU request is more than a tenth below the lower bound of what it used.",
    "limit-below-request": "A limit is below its request: the API server refuses such a pod.",
    "odd-size": "A size is hardly meant as it is written, as 512m of memory is half a byte.",
    "cpu-limit": "There is a CPU limit: it slows a container down even where processors are idle.",
    "no-evidence": "Nothing is known of the use of a resource: it is left as it is.",
    "new-container": "The container has no samples, but its siblings have: it is new, or was renamed.",
    "container-gone": "There are samples of a container that the template does not have any more.",
    "workload-gone": "There are samples of workloads that are not there.",
    "partial-evidence": "A part of the samples could not be read, or cannot be told from those of others: nothing is lowered.",
    "odd-samples": "There is something odd about the samples.",
    "old-evidence": "The last sample is more than a day old.",
    "under-a-day": "There are fewer samples than a day of one a minute has: the bounds are wide and the size is left out of patches.",
    "sparse-samples": "Samples are so far apart that the upper bound is wider than the days they span would make it.",
    "advice-only": "All there is is the word of a VerticalPodAutoscaler: peaks and leaks cannot be seen.",
    "too-few-for-strategy": "The strategy gives no answer with so few samples.",
    "scaled-to-zero": "The workload has no pods now: its size takes effect when it has.",
    "scaled-by-use": "A HorizontalPodAutoscaler scales by this resource: to change its request may change how many pods there are.",
    "advisor-acts": "A VerticalPodAutoscaler changes pods itself and overrules what the template says.",
    "many-advisors": "More than one VerticalPodAutoscaler recommends for a container: only one can be taken at its word.",
    "tier-not-read": "The label of the tier does not begin with a digit from 0 to 4.",
    "class-not-read": "The label of the class is none of stable, volatile and gpu.",
    "limit-range-conflict": "A LimitRange and the other bounds cannot both be kept.",
    "limit-range-of-pod": "The containers of a pod together are not within a LimitRange of pods.",
    "limit-range-gives-cpu-limit": "A LimitRange with a default or a maximum of CPU gives a CPU limit to containers without one: below the request, pods are refused.",
    "limit-range-wants-cpu-limit": "A LimitRange with a ratio of CPU, or with a maximum of CPU for pods, refuses pods without a CPU limit, and those with one too far above the request.",
    "quota-too-small": "All changes together, with the surge of their rollouts, do not fit a ResourceQuota.",
    "quota-wants-limit": "A ResourceQuota counts a limit, so that pods without it are refused.",
    "quota-with-scopes": "A ResourceQuota has scopes and counts only some pods: it is not judged.",
    "not-sized": "There are pods that nothing makes, or a custom resource: they are named, and not sized.",
    "sized-by-operator": "An operator makes the pods, from a size in another object: no patch is written, as it would undo it.",
    "not-read": "A part of the cluster could not be read: nothing is concluded from it.",
}


def field_of(workload: Workload, container: Container, part: str = "") -> str:
    """The path of a container, or of a part of its resources (`limits.memory`), in its workload."""
    spec = {
        "Pod": "spec",
        "CronJob": "spec.jobTemplate.spec.template.spec",
        "StrimziPodSet": "spec.pods[].spec",
    }.get(workload.id.kind, "spec.template.spec")
    group = "initContainers" if container.is_sidecar else "containers"
    return f"{spec}.{group}[{container.name}]" + (f".resources.{part}" if part else "")


class Explanation:
    """What is told of one container while it is judged: steps and findings, in order."""

    __slots__ = ("_container", "_workload", "findings", "steps")

    def __init__(self, workload: Workload, container: Container) -> None:
        self._workload, self._container = workload, container
        self.steps: list[Step] = []
        self.findings: list[Finding] = []

    def step(self, label: str, text: str, remark: str = "") -> None:
        """Tell how a number came about."""
        self.steps.append(Step(label, text, remark))

    def find(self, rule: Rule, severity: Severity, part: str, is_: str, should: str, fix: str) -> None:
        """Tell what a person must know; `part` as in `field_of`."""
        where = field_of(self._workload, self._container, part)
        self.findings.append(Finding(rule, severity, str(self._workload.id), where, is_, should, fix))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that found something."""
        return tuple(sorted({finding.rule for finding in self.findings}))


def rank(finding: Finding) -> tuple[int, str, str, str, str]:
    """The gravest first, then by what they are about."""
    return (
        SEVERITIES.index(finding.severity),
        finding.object,
        finding.field,
        finding.rule,
        finding.is_,
    )
