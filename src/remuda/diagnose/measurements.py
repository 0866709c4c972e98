"""What is known of where use of workloads is measured, as the checks of `remuda diagnose metrics` read it."""

from msgspec import Struct

from remuda.model.times import Instant

#: below this a recommendation is provisional, and at this it is as sure as it gets
LEAST_S, WHOLE_S = 86_400, 8 * 86_400


class Component(Struct, frozen=True):
    """A Deployment or StatefulSet that measures or recommends."""

    kind: str
    namespace: str
    name: str
    desired: int
    ready: int

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Api(Struct, frozen=True):
    """The API that metrics-server serves; without a message it is available."""

    trouble: str = ""


class Advisor(Struct, frozen=True):
    """A VerticalPodAutoscaler: whom it is for, and what it says of itself."""

    namespace: str
    name: str
    target: str
    has_recommendation: bool
    #: condition → its message, of those that tell why there is none or a poor one
    complaints: dict[str, str] = {}

    def __str__(self) -> str:
        return f"VerticalPodAutoscaler {self.namespace}/{self.name}"


class Prometheus(Struct, frozen=True):
    """What a Prometheus says of the use of containers."""

    url: str
    #: why it could not be asked; all else is empty then
    trouble: str = ""
    version: str = ""
    #: metric → how many series it has now
    series: dict[str, int] = {}
    #: metric → for how many seconds back there are samples, as far as was asked
    reach: dict[str, int] = {}
    #: targets that are down, as job/instance
    down: tuple[str, ...] = ()
    #: namespace/name of pods that have samples of memory now
    pods: tuple[str, ...] = ()


class Measurements(Struct, frozen=True):
    """One look at everything that measures."""

    at: Instant
    #: None where the API is not registered
    api: Api | None = None
    servers: tuple[Component, ...] = ()
    recommenders: tuple[Component, ...] = ()
    prometheis: tuple[Component, ...] = ()
    #: None where the cluster does not know the kind
    advisors: tuple[Advisor, ...] | None = None
    #: namespace/name of pods that run for at least some minutes
    pods: tuple[str, ...] = ()
    #: None where nobody said which to ask
    prometheus: Prometheus | None = None
    #: what → why it could not be read
    unread: dict[str, str] = {}
