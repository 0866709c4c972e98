"""
What a person wrote about a pool, as far as the checks read it.

An object that is wrong is just what a diagnosis is for, so nothing here raises: what has another shape is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from remuda.diagnose.snapshot import CircleWords, PoolWords, Ref, VmWords
from remuda.model.amounts import KVM, Amounts, amounts
from remuda.model.pods import Toleration
from remuda.rules.bounds import DEFAULT_MAX, default_min
from remuda.rules.instances import requested_millicores


def pool_words(spec: Mapping[str, Any]) -> PoolWords:
    """A RunnerPool's spec."""
    ceiling, most = _text(spec.get("ceiling")), _number(spec.get("max"), DEFAULT_MAX)
    source, provider = _map(spec.get("source")), _map(spec.get("provider"))
    return PoolWords(
        class_=_text(spec.get("class")),
        min=_number(spec.get("min"), default_min(most, has_ceiling=bool(ceiling))),
        max=most,
        ceiling=ceiling,
        natural=spec.get("scaleIn") == "natural",
        circleci=_circleci(source) if "circleci" in source else None,
        vms=_vms(_map(provider["kubevirt"])) if "kubevirt" in provider else None,
    )


def _circleci(source: Mapping[str, Any]) -> CircleWords:
    written = _map(source["circleci"])
    return CircleWords(_text(written.get("url")) or CircleWords().url, _ref(written.get("token")))


def _vms(written: Mapping[str, Any]) -> VmWords:
    spec = _map(written.get("spec"))
    return VmWords(
        token=_ref(written.get("token")),
        provisioner=_ref(written.get("provisioner")),
        bundle=_text(written.get("bundle")) or None,
        asks=_asks(_map(spec.get("domain"))) if spec else {},
        node_selector={key: _text(value) for key, value in _map(spec.get("nodeSelector")).items()},
        tolerations=tuple(
            Toleration(
                _text(item.get("key")),
                _text(item.get("operator")),
                _text(item.get("value")),
                _text(item.get("effect")),
            )
            for item in _maps(spec.get("tolerations"))
        ),
        images=tuple(
            _text(_map(item.get("containerDisk")).get("image"))
            for item in _maps(spec.get("volumes"))
            if "containerDisk" in item
        ),
    )


def _asks(domain: Mapping[str, Any]) -> Amounts:
    """The least a launcher asks for; KubeVirt adds what itself needs."""
    cpu, requests = _map(domain.get("cpu")), _map(_map(domain.get("resources")).get("requests"))
    cores, sockets, threads = (_number(cpu.get(name), 1) for name in ("cores", "sockets", "threads"))
    is_dedicated = cpu.get("dedicatedCpuPlacement") is True
    least = {"cpu": requested_millicores(cores, sockets, threads, is_dedicated=is_dedicated), KVM: 1}
    guest = amounts({"memory": _map(domain.get("memory")).get("guest", "")})
    return least | guest | amounts(requests)


def _ref(value: object) -> Ref | None:
    written = _map(value)
    return Ref(_text(written.get("secret")), _text(written.get("key"))) if written else None


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: object) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object, default: int) -> int:
    return value if type(value) is int else default
