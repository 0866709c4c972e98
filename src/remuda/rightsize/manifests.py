"""
What is read of each kind of object: projections that declare only the fields that right-sizing uses.

Amounts are as they are written; `remuda.rightsize.observe.gather` makes workloads and bounds of these.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from remuda.model import manifests
from remuda.model.manifests import (
    Condition,
    NonNegative,
    OwnerReference,
    Quantities,
    Reference,
    TemplateMeta,
    controller_of,
)
from remuda.model.workloads import Rolling, RolloutStrategy, Strategy


class ObjectMeta(manifests.ObjectMeta, frozen=True, gc=False, rename="camel"):
    """Who an object is, and to whom it belongs."""

    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None

    @property
    def owner(self) -> OwnerReference | None:
        """Who keeps it, if anybody does."""
        return controller_of(self.owner_references)


class Manifest(manifests.Manifest, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Any object."""

    metadata: ObjectMeta


class Namespace(Manifest, frozen=True, kw_only=True):
    """A namespace, of which labels matter alone."""


class Claim(Struct, frozen=True, gc=False):
    """A device that a container claims, by its name in the pod."""

    name: str = ""


class Resources(manifests.Resources, frozen=True, gc=False):
    """Requests and limits, and devices that are claimed."""

    claims: tuple[Claim, ...] = ()


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A container; a first container that is always restarted runs beside the others."""

    name: Annotated[str, Meta(min_length=1, description="The name of the container.")]
    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What runs in a pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()


class Template(Struct, frozen=True):
    """What pods are made from."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class ReplicatedSpec(Struct, frozen=True, rename="camel"):
    """Of whatever makes a number of equal pods."""

    replicas: NonNegative | None = None
    template: Template = Template()


class Replicated(Manifest, frozen=True, kw_only=True):
    """A StatefulSet or a ReplicaSet: its pods are replaced without more of them, or not at all."""

    spec: ReplicatedSpec = ReplicatedSpec()


class DeploymentSpec(ReplicatedSpec, frozen=True):
    """Of a Deployment."""

    strategy: Strategy = Strategy()


class Deployment(Manifest, frozen=True, kw_only=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()


class RolloutSpec(ReplicatedSpec, frozen=True, rename="camel"):
    """Of a Rollout: it has a template, or says which Deployment has it."""

    strategy: RolloutStrategy = RolloutStrategy()
    workload_ref: Reference | None = None


class Rollout(Manifest, frozen=True, kw_only=True):
    """A Rollout of Argo Rollouts."""

    spec: RolloutSpec = RolloutSpec()


class ConfigStrategy(Strategy, frozen=True):
    """The same with OpenShift's word for it."""

    rolling_update: Rolling = field(name="rollingParams", default=Rolling())


class DeploymentConfigSpec(DeploymentSpec, frozen=True):
    """Of a DeploymentConfig."""

    strategy: ConfigStrategy = ConfigStrategy()


class DeploymentConfig(Manifest, frozen=True, kw_only=True):
    """A DeploymentConfig of OpenShift."""

    spec: DeploymentConfigSpec = DeploymentConfigSpec()


class PodSetSpec(Struct, frozen=True):
    """Of a StrimziPodSet: the pods themselves, in full."""

    pods: tuple[Template, ...] = ()


class PodSet(Manifest, frozen=True, kw_only=True):
    """A StrimziPodSet: its operator writes it, and would undo what others change."""

    spec: PodSetSpec = PodSetSpec()


class DaemonSetSpec(Struct, frozen=True, rename="camel"):
    """Of a DaemonSet."""

    update_strategy: Strategy = Strategy()
    template: Template = Template()


class DaemonSetStatus(Struct, frozen=True, rename="camel"):
    """On how many nodes it should run."""

    desired_number_scheduled: NonNegative | None = None


class DaemonSet(Manifest, frozen=True, kw_only=True):
    """A DaemonSet."""

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Struct, frozen=True):
    """Of a Job."""

    parallelism: NonNegative | None = None
    suspend: bool = False
    template: Template = Template()


class JobStatus(Struct, frozen=True):
    """How far a Job is."""

    conditions: tuple[Condition, ...] = ()


class Job(Manifest, frozen=True, kw_only=True):
    """A Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True):
    """What Jobs are made from."""

    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True, rename="camel"):
    """Of a CronJob."""

    suspend: bool = False
    job_template: JobTemplate = JobTemplate()


class CronJobStatus(Struct, frozen=True):
    """Which Jobs run now."""

    active: tuple[Reference, ...] = ()


class CronJob(Manifest, frozen=True, kw_only=True):
    """A CronJob."""

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class LimitRange(Manifest, frozen=True, kw_only=True):
    """A LimitRange."""

    spec: manifests.LimitRangeSpec = manifests.LimitRangeSpec()


class QuotaSpec(Struct, frozen=True, rename="camel"):
    """What a quota allows."""

    hard: Quantities = {}
    scopes: tuple[str, ...] = ()
    scope_selector: manifests.ScopeSelector = manifests.ScopeSelector()


class QuotaStatus(Struct, frozen=True):
    """What a quota allows by now, and what of it is taken; nothing until the controllers have counted."""

    hard: Quantities = {}
    used: Quantities = {}


class Quota(Manifest, frozen=True, kw_only=True):
    """A ResourceQuota."""

    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class MetricSource(Struct, frozen=True):
    """A resource that a metric is about, of one container or of all."""

    name: str = ""
    container: str = ""


class Metric(Struct, frozen=True, rename="camel"):
    """What a HorizontalPodAutoscaler goes by."""

    type: str = ""
    resource: MetricSource = MetricSource()
    container_resource: MetricSource = MetricSource()


class AutoscalerSpec(Struct, frozen=True, rename="camel"):
    """Of a HorizontalPodAutoscaler; v1 has a target of the CPU in place of metrics."""

    scale_target_ref: Reference = Reference()
    max_replicas: NonNegative = 0
    metrics: tuple[Metric, ...] = ()
    target_cpu: int | None = field(name="targetCPUUtilizationPercentage", default=None)


class AnnotatedMeta(ObjectMeta, frozen=True, gc=False):
    """Who an object is, and what does not fit elsewhere."""

    annotations: dict[str, str] = field(default_factory=dict)


class Autoscaler(Manifest, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler."""

    metadata: AnnotatedMeta
    spec: AutoscalerSpec = AutoscalerSpec()


class UpdatePolicy(Struct, frozen=True, rename="camel"):
    """When pods are changed."""

    update_mode: str = ""


class AdvisorSpec(Struct, frozen=True, rename="camel"):
    """Of a VerticalPodAutoscaler."""

    target_ref: Reference = Reference()
    update_policy: UpdatePolicy = UpdatePolicy()


class Recommended(Struct, frozen=True, rename="camel"):
    """What a container should request."""

    container_name: str = ""
    target: Quantities = {}
    lower_bound: Quantities = {}
    upper_bound: Quantities = {}


class Recommendation(Struct, frozen=True, rename="camel"):
    """Of all containers."""

    container_recommendations: tuple[Recommended, ...] = ()


class AdvisorStatus(Struct, frozen=True):
    """What the recommender says."""

    recommendation: Recommendation = Recommendation()
    conditions: tuple[Condition, ...] = ()


class Advisor(Manifest, frozen=True, kw_only=True):
    """A VerticalPodAutoscaler."""

    spec: AdvisorSpec = AdvisorSpec()
    status: AdvisorStatus = AdvisorStatus()


class Terminated(Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    reason: str = ""
    finished_at: str = ""


class State(Struct, frozen=True, gc=False):
    """What a container does, or did."""

    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a container fares, and how the one before it ended."""

    name: str = ""
    state: State = State()
    last_state: State = State()


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a pod fares."""

    phase: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Manifest, frozen=True, kw_only=True, gc=False):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
