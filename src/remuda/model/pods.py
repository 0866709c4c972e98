"""Pods and what they share with the objects they are made from: the fields that show why one does not run."""

from collections.abc import Mapping

from msgspec import Struct, field

from remuda.model.labels import Operator, Requirement
from remuda.model.manifests import Condition, OwnerReference, Quantities, Resources


class Meta(Struct, frozen=True, rename="camel"):
    """Metadata without annotations, which hold whole objects at times."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class Taint(Struct, frozen=True):
    """What keeps pods off a node."""

    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(Struct, frozen=True):
    """What lets a pod onto a tainted node nevertheless, for ever or, once it is there, for so many seconds."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = field(name="tolerationSeconds", default=None)

    def covers(self, taint: Taint) -> bool:
        """Whether it is about this taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.operator == "Exists":
            return not self.key or self.key == taint.key
        return self.operator in {"", "Equal"} and (self.key, self.value) == (taint.key, taint.value)


class Match(Struct, frozen=True):
    """One condition of an affinity."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool | None:
        """Whether labels meet it; None for one that no API server would take."""
        try:
            return Requirement(self.key, Operator(self.operator), self.values).matches(labels)
        except ValueError:
            return None

    def __str__(self) -> str:
        return " ".join(part for part in (self.key, self.operator, ",".join(self.values)) if part)


class Term(Struct, frozen=True, rename="camel"):
    """Conditions that hold together."""

    match_expressions: tuple[Match, ...] = ()
    match_fields: tuple[Match, ...] = ()


class _Terms(Struct, frozen=True, rename="camel"):
    node_selector_terms: tuple[Term, ...] = ()


class _NodeAffinity(Struct, frozen=True):
    required: _Terms | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class _Affinity(Struct, frozen=True, rename="camel"):
    node_affinity: _NodeAffinity | None = None


class Named(Struct, frozen=True):
    """A reference by name alone."""

    name: str = ""


class _KeyRef(Struct, frozen=True):
    name: str = ""
    key: str = ""
    optional: bool = False


class _From(Struct, frozen=True, rename="camel"):
    secret_key_ref: _KeyRef | None = None


class EnvVar(Struct, frozen=True, rename="camel"):
    """An environment variable by name, and the Secret it is from; never its value."""

    name: str = ""
    value_from: _From | None = None


class _SourceRef(Struct, frozen=True):
    name: str = ""
    optional: bool = False


class EnvFrom(Struct, frozen=True, rename="camel"):
    """Variables from a whole Secret or ConfigMap."""

    secret_ref: _SourceRef | None = None
    config_map_ref: _SourceRef | None = None


class Container(Struct, frozen=True, rename="camel"):
    """A container as it is asked for."""

    name: str = ""
    image: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    resources: Resources = Resources()
    #: of a first container: with `Always` it runs beside the others
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, rename="camel"):
    """What a pod asks for."""

    node_name: str = ""
    service_account_name: str = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: _Affinity | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    image_pull_secrets: tuple[Named, ...] = ()
    overhead: Quantities = {}
    #: of the pod as a whole, where the cluster knows that
    resources: Resources | None = None

    @property
    def required_terms(self) -> tuple[Term, ...]:
        """The terms of its hard node affinity: one of them must hold, if there are any."""
        affinity = self.affinity.node_affinity if self.affinity else None
        return affinity.required.node_selector_terms if affinity and affinity.required else ()


class _Waiting(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Running(Struct, frozen=True, rename="camel"):
    started_at: str | None = None


class _Terminated(Struct, frozen=True, rename="camel"):
    reason: str = ""
    message: str = ""
    exit_code: int = 0


class _State(Struct, frozen=True):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None


class ContainerStatus(Struct, frozen=True, rename="camel"):
    """How a container fares."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: _State = _State()
    last_state: _State = _State()


class _PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Struct, frozen=True):
    """A pod."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def statuses(self) -> tuple[ContainerStatus, ...]:
        """How all its containers fare."""
        return (*self.status.init_container_statuses, *self.status.container_statuses)

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""
        return any(item.type == "Ready" and item.status == "True" for item in self.status.conditions)

    @property
    def is_over(self) -> bool:
        """Whether it ended, or was asked to: evicted pods stay for a while."""
        return self.status.phase in ("Succeeded", "Failed") or self.metadata.deletion_timestamp is not None

    @property
    def unplaced(self) -> Condition | None:
        """Why no node takes it, if none does."""
        if self.spec.node_name:
            return None
        for item in self.status.conditions:
            if item.type == "PodScheduled" and item.status == "False":
                return item
        return None

    def waiting(self) -> dict[str, str]:
        """Containers that cannot start: the reason by name."""
        return {
            item.name: item.state.waiting.reason for item in self.statuses if item.state.waiting is not None
        }
