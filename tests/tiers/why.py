"""Questions of why about small clusters, answered in sentences."""

from pathlib import Path
from typing import Any

from tests.tiers.clusters import container, named, pod, sizes, snapshot

from remuda.jobs import JOBS
from remuda.model.findings import Finding
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.output.findings import describe
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.why_memory import Advices
from remuda.tiers.decide.why_namespace import why_namespace
from remuda.tiers.decide.why_node import why_node
from remuda.tiers.decide.why_pod import why_pod
from remuda.tiers.decide.why_world import World

JOBS.teach()
MI, GI = 2**20, 2**30


def world(
    tmp_path: Path,
    *items: dict[str, Any],
    policies: tuple[TierPolicy, ...] = (DEFAULT_POLICY,),
    advices: Advices | None = None,
) -> World:
    """A cluster of these objects."""
    return World(snapshot(tmp_path, *items), policies, advices or {})


def causes(found: tuple[Finding, ...] | None) -> list[tuple[str, str, str]]:
    """Rule, what is, and the fix, in words without a hole."""
    assert found is not None
    made = []
    for each in found:
        words = describe(each)
        assert " - " not in f" {words.found} {words.expected} {words.fix} ", (each, words)
        made.append((each.rule, words.found, words.fix))
    return made


def asked(of: World, name: str) -> list[tuple[str, str, str]]:
    """Why a pod of namespace shop."""
    return causes(why_pod(of, "shop", name))


def about_node(of: World, name: str = "n1") -> list[tuple[str, str, str]]:
    return causes(why_node(of, name))


def about_namespace(of: World, name: str = "shop") -> list[tuple[str, str, str]]:
    return causes(why_namespace(of, name))


def waiting(
    name: str = "web", *, requests: dict[str, Any] | None = None, words: str = "0/1 nodes", **rest: Any
) -> dict[str, Any]:
    """A pod that no node takes."""
    spec = {"containers": [container("app", sizes(requests or {}))], "nodeName": "", **rest.pop("spec", {})}
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}]
    return pod(name, spec=spec, status={"phase": "Pending", "conditions": conditions}, **rest)


def node(
    name: str = "n1",
    *,
    labels: dict[str, str] | None = None,
    cpu: str = "4",
    memory: str = "8Gi",
    **rest: Any,
) -> dict[str, Any]:
    """A node that is ready."""
    room = {"cpu": cpu, "memory": memory, "pods": "10", **rest.pop("room", {})}
    status = {
        "allocatable": room,
        "capacity": room | rest.pop("capacity", {}),
        "conditions": rest.pop("conditions", [{"type": "Ready", "status": "True"}]),
    }
    return named("Node", name, labels=labels or {}, spec=rest, status=status)
