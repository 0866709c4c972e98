"""How findings of a review are made and ordered: their codes and words are in `remuda.rightsize.codes`."""

from collections.abc import Iterable

from remuda.model.findings import SEVERITIES, Finding, Severity
from remuda.model.plans import Term
from remuda.output.steps import Step
from remuda.rightsize.snapshot import Autoscaler, Container, Workload


def finding(rule: str, severity: Severity, subject: object, field: str = "", /, **terms: Term) -> Finding:
    """What a person must know of an object. A term that is true is 1, and one that is none or false is left out."""
    shown: dict[str, Term] = {
        name: int(value) if value is True else value
        for name, value in terms.items()
        if value is not None and value is not False
    }
    return Finding(f"rightsize.{rule}", severity, str(subject), field, shown)


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
    """What is reported of one container while it is judged: steps and findings, in order."""

    __slots__ = ("_container", "_workload", "findings", "steps")

    def __init__(self, workload: Workload, container: Container) -> None:
        self._workload, self._container = workload, container
        self.steps: list[Step] = []
        self.findings: list[Finding] = []

    def step(self, label: str, text: str, remark: str = "") -> None:
        """Tell how a number came about."""
        self.steps.append(Step(label, text, remark))

    def find(self, rule: str, severity: Severity, part: str = "", /, **terms: Term) -> None:
        """Tell what a person must know; `part` as in `field_of`."""
        where = field_of(self._workload, self._container, part)
        self.findings.append(finding(rule, severity, self._workload.id, where, **terms))

    def find_scaled(self, by: Autoscaler, request: str) -> None:
        """Tell that a resource is left as it is, because an autoscaler counts its use."""
        resource = "CPU" if by.resource == "cpu" else by.resource
        part, name = f"requests.{by.resource}", by.name
        self.step("hpa", f"{resource} is left as it is", f"HorizontalPodAutoscaler {name} counts its use")
        self.find("scaled-by-use", "info", part, request=request, autoscaler=name, resource=resource)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that found something."""
        return tuple(sorted({each.rule for each in self.findings}))


def ordered_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first, then by what they are about; each once, as one may be found with each container of a workload."""
    found = {_rank(each): each for each in findings}
    return tuple(found[rank] for rank in sorted(found))


def _rank(each: Finding) -> tuple[int, str, str, str, tuple[str, ...]]:
    terms = tuple(f"{value} {name}" for name, value in each.terms.items())
    return SEVERITIES.index(each.severity), each.subject, each.field, each.code, terms
