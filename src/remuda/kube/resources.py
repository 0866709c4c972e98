"""Where objects are: a resource knows its path, and a projection declares only the fields that are read."""

from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct

from remuda.errors import BadInput
from remuda.model.manifests import OwnerReference

Key: TypeAlias = tuple[str, str]


class Resource(Struct, frozen=True):
    """A kind of object of one version, as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """
        The path of the collection, of an object, or of a part of it. No namespace means all of them.

        `BadInput` for what cannot be a name: an empty one, or one with dots and slashes, would be the path of something
        else, and deleting that a disaster.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", _checked(namespace)]
        parts.append(self.plural)
        if name is not None:
            if self.namespaced and not namespace:
                raise BadInput(f"{self.plural} {name}: its namespace is missing")
            parts.append(_checked(name))
        if subresource is not None:
            parts.append(subresource)
        return "/" + "/".join(quote(part, safe="") for part in parts)

    def describe(self, namespace: str | None = None, name: str | None = None) -> str:
        """For errors: `pods ci/runner-1`, `nodes`."""
        where = "/".join(part for part in (namespace if self.namespaced else None, name) if part)
        return f"{self.plural} {where}".rstrip()


def _checked(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise BadInput(f"{name!r} cannot be the name of an object")
    return name


class Meta(Struct, frozen=True, gc=False, rename="camel"):
    """The metadata that is ever read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class KubeObject(Struct, frozen=True, gc=False):
    """The least projection: metadata alone. Others inherit from it and declare what they read."""

    metadata: Meta = Meta()

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.namespace, self.metadata.name


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
JOBS = Resource("batch", "v1", "jobs", "Job")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
#: of Argo Rollouts, OpenShift and Strimzi, where they are installed
ROLLOUTS = Resource("argoproj.io", "v1alpha1", "rollouts", "Rollout")
DEPLOYMENT_CONFIGS = Resource("apps.openshift.io", "v1", "deploymentconfigs", "DeploymentConfig")
STRIMZI_POD_SETS = Resource("core.strimzi.io", "v1beta2", "strimzipodsets", "StrimziPodSet")
#: of the Vertical Pod Autoscaler, where it is installed
ADVISORS = Resource("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
RUNNER_POOLS = Resource("remuda.dev", "v1alpha1", "runnerpools", "RunnerPool")
CEILINGS = Resource("remuda.dev", "v1alpha1", "ceilings", "Ceiling")
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
ADMISSION_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
ADMISSION_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
