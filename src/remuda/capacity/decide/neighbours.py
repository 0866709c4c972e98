"""
What of a node can be had once only: host ports, and places apart from pods that a pod may not be with.

Both are counted like resources, under names with a space, which no resource has: every node has `WHOLE` of each, who must
be alone with it takes all, and who may not be beside such a one takes 1. What cannot be counted like that is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from remuda.capacity import manifests
from remuda.capacity.snapshot import JOB_PODS
from remuda.model.amounts import Amounts
from remuda.model.pods import Match

WHOLE_NODE = 1_000_000
#: what each of those takes that may be there beside each other, and not beside who takes the whole
_BESIDE = 1  # pragma: no mutate - any little of a million
HOSTNAME = "kubernetes.io/hostname"
#: what the controller adds to runners beside what is known of it
_ADDED = ("actions.github.com/", "app.kubernetes.io/", "helm.sh/")
_PORT, _APART = "host port ", "room apart from "


def is_claim(name: str) -> bool:
    """Whether it is no resource."""
    return " " in name


def ports_of(spec: manifests.PodSpec) -> Iterator[manifests.Port]:
    """The ports of the host that a pod takes, by those of its containers that run all the time."""
    lasting = [each for each in spec.init_containers if each.restart_policy == "Always"]
    for container in (*spec.containers, *lasting):
        for port in container.ports:
            if port.host_port or (spec.host_network and port.container_port):
                yield port


def port_claims(spec: manifests.PodSpec) -> Amounts:
    """The same to be counted: whatever the address, since that of a runner is every address."""
    return {
        f"{_PORT}{port.protocol or 'TCP'} {port.host_port or port.container_port}": WHOLE_NODE
        for port in ports_of(spec)
    }


class Resident(Struct, frozen=True, gc=False):
    """A pod on a node that is no runner of a known set."""

    node: str
    namespace: str
    labels: Mapping[str, str]
    apart: tuple[manifests.PodTerm, ...] = ()


class Kin(Struct, frozen=True):
    """A set of runners: who they are to the rules of other pods, and theirs."""

    id: str
    namespace: str
    labels: Mapping[str, str]
    apart: tuple[manifests.PodTerm, ...] = ()


class Apart(Struct, frozen=True):
    """What keeping apart comes to: what a runner of each set takes, what is taken of nodes, and what is unknown."""

    claims: dict[str, Amounts]
    taken: dict[str, Amounts]
    unsure: dict[str, list[str]]


def keep_apart(
    sets: Sequence[Kin], residents: Iterable[Resident], nodes: Mapping[str, Mapping[str, str]]
) -> Apart:
    """Required anti-affinity, of sets among each other and with pods that are there, either way. `nodes` are labels by name."""
    making = _Making(sets, nodes)
    for kin in sets:
        for term in kin.apart:
            making.add_term(kin, term)
    for resident in residents:
        making.add_resident(resident)
    return making.made()


class _Making:
    def __init__(self, sets: Sequence[Kin], nodes: Mapping[str, Mapping[str, str]]) -> None:
        self._sets = sets
        self._nodes = nodes
        self._terms: list[tuple[Kin, manifests.PodTerm]] = []
        self._claims: dict[str, Amounts] = {}
        self._taken: dict[str, Amounts] = {}
        self._unsure: dict[str, list[str]] = {}

    def made(self) -> Apart:
        # who is alone with a node's room leaves none to the others that may not be beside it
        return Apart(self._claims, self._taken, self._unsure)

    def add_term(self, kin: Kin, term: manifests.PodTerm) -> None:
        if term.namespace_selector is not None or term.match_label_keys or term.mismatch_label_keys:
            self._note_uncertain(kin, "its required pod anti-affinity depends on more than labels of pods")
            return
        met = {
            other.id: _means(term, kin.namespace, other.namespace, other.labels, _is_added)
            for other in self._sets
        }
        if None in met.values():
            self._note_uncertain(
                kin, "its required pod anti-affinity goes by labels that the controller adds"
            )
            return
        others = [other for other in self._sets if met[other.id] and other.id != kin.id]
        if term.topology_key != HOSTNAME and (others or met[kin.id]):
            for each in (kin, *others):
                self._note_uncertain(
                    each, f"required pod anti-affinity keeps runners apart by {term.topology_key}"
                )
        elif met[kin.id]:
            self._claim(kin, kin, WHOLE_NODE)
            for other in others:
                self._claim(other, kin, _BESIDE)
        elif others:
            for each in (kin, *others):
                self._note_uncertain(
                    each, f"required pod anti-affinity keeps {kin.id} apart from runners of other sets"
                )
        self._terms.append((kin, term))

    def add_resident(self, resident: Resident) -> None:
        for kin, term in self._terms:
            if _means(term, kin.namespace, resident.namespace, resident.labels):
                self._close(kin, term.topology_key, resident.node)
        for term in resident.apart:
            for kin in self._sets:
                if term.namespace_selector is None and not (
                    term.match_label_keys or term.mismatch_label_keys
                ):
                    met = _means(term, resident.namespace, kin.namespace, kin.labels, _is_added)
                else:
                    met = None
                if met is None:
                    self._note_uncertain(
                        kin, "pods that are there are to be apart from others by what is not known"
                    )
                elif met:
                    self._close(kin, term.topology_key, resident.node)

    def _close(self, kin: Kin, key: str, name: str) -> None:
        """No runner of the set may be where the node is, by what the key says of it."""
        self._claim(kin, kin, _BESIDE)
        here = self._nodes.get(name, {})
        same = [name]
        if key != HOSTNAME:
            same = [
                each for each, labels in self._nodes.items() if key in here and labels.get(key) == here[key]
            ]
        for each in same:
            self._taken.setdefault(each, {})[_APART + kin.id] = WHOLE_NODE

    def _claim(self, kin: Kin, of: Kin, number: int) -> None:
        claims = self._claims.setdefault(kin.id, {})
        claims[_APART + of.id] = max(number, claims.get(_APART + of.id, 0))

    def _note_uncertain(self, kin: Kin, words: str) -> None:
        found = self._unsure.setdefault(kin.id, [])
        if words not in found:
            found.append(words)


def _is_added(key: str) -> bool:
    return key.startswith(_ADDED)


def _means(
    term: manifests.PodTerm,
    own: str,
    namespace: str,
    labels: Mapping[str, str],
    is_unknown: Callable[[str], bool] = lambda _: False,  # pragma: no mutate - both are no then
) -> bool | None:
    """Whether a term of a pod in namespace `own` is about a pod; None when that hangs on a label that is not known."""
    selector = term.label_selector
    if selector is None or namespace not in (term.namespaces or (own,)):
        return False
    matches = [Match(key, "In", (value,)) for key, value in selector.match_labels.items()]
    answers = [
        None if match.key not in labels and is_unknown(match.key) else match.holds(labels)
        for match in (*matches, *selector.match_expressions)
    ]
    return False if False in answers else None if None in answers else True


def scheduling_uncertainties(spec: manifests.PlacedSpec) -> Iterator[str]:
    """What of a pod the scheduler looks at and an audit does not."""
    if spec.scheduler_name not in {"", "default-scheduler"}:
        yield f"scheduler {spec.scheduler_name} places its runners"
    if spec.scheduling_gates:
        yield "its runners wait for a scheduling gate to be taken off"
    if spec.resource_claims:
        yield "its runners claim devices by resourceClaims"
    if spec.affinity.pod_affinity.required:
        yield "its runners must be near other pods (required pod affinity)"
    for each in spec.topology_spread_constraints:
        if each.when_unsatisfiable != "ScheduleAnyway":
            yield f"its runners must be spread by {each.topology_key} (topologySpreadConstraints)"
    if disks := [each.name for each in spec.volumes if each.is_disk]:
        yield f"where its volumes can be is not looked at: {', '.join(disks)}"
    if any(port.host_ip not in {"", "0.0.0.0", "::"} for port in ports_of(spec)):  # noqa: S104 - compared, not bound
        yield "it takes a host port of one address alone"
    if any(each.name == "ACTIONS_RUNNER_CONTAINER_HOOKS" for item in spec.containers for each in item.env):
        yield JOB_PODS
