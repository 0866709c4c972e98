"""
Terraform: resources of the Kubernetes provider, each after what it needs.

LimitRanges, quotas and classes have types of their own, and the rest is `kubernetes_manifest`, which asks the cluster for
its types while planning: the server must be there and serve them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from remuda.output import hcl
from remuda.output.hcl import Reference, Value

_TYPES = {
    "PriorityClass": "kubernetes_priority_class_v1",
    "LimitRange": "kubernetes_limit_range_v1",
    "ResourceQuota": "kubernetes_resource_quota_v1",
}
_MANIFEST = "kubernetes_manifest"
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def write(objects: Iterable[Mapping[str, Any]]) -> str:
    """One file with all of them."""
    objects = tuple(objects)
    classes = [_address(each) for each in objects if each["kind"] == "PriorityClass"]
    addresses = {(each["kind"], _place(each)): _address(each) for each in objects}
    made = []
    for each in objects:
        kind = each["kind"]
        needed: list[str] = []
        if kind == "ResourceQuota":
            namespace = each["metadata"]["namespace"]
            needed = [
                address
                for (other, place), address in addresses.items()
                if other == "LimitRange" and place.startswith(f"{namespace}/")
            ]
        elif kind.endswith("Binding"):
            needed = [addresses[kind.removesuffix("Binding"), each["spec"]["policyName"]]]
        elif kind == "MutatingAdmissionPolicy":
            # a pod that is given a class which is not there is forbidden
            needed = classes
        made.append(_resource(each, needed))
    return "\n".join(made)


def _resource(manifest: Mapping[str, Any], needed: Iterable[str]) -> str:
    body = {
        "PriorityClass": _priority_class,
        "LimitRange": _limit_range,
        "ResourceQuota": _resource_quota,
    }.get(manifest["kind"], _manifest)(manifest)
    if names := [Reference(address) for address in needed]:
        body += "\n" + hcl.attributes({"depends_on": names}, 2)
    kind, _, name = _address(manifest).partition(".")
    return hcl.block(f"resource {hcl.text(kind)} {hcl.text(name)}", body)


def _place(manifest: Mapping[str, Any]) -> str:
    meta = manifest["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def _address(manifest: Mapping[str, Any]) -> str:
    """The type and a name that nothing else of it has: no name of Kubernetes has an underscore, and none here begins with a digit."""
    kind = manifest["kind"]
    place = _place(manifest).replace("/", "_").replace(".", "_")
    prefix = _CAMEL.sub("_", kind).lower()
    return f"{_TYPES.get(kind, _MANIFEST)}.{prefix}_{place}"


def _metadata(manifest: Mapping[str, Any]) -> str:
    meta = manifest["metadata"]
    names: dict[str, Value] = {key: meta[key] for key in ("name", "namespace") if key in meta}
    return hcl.block("metadata", hcl.attributes({**names, "labels": meta["labels"]}, 4), 2)


def _priority_class(manifest: Mapping[str, Any]) -> str:
    values: dict[str, Value] = {
        "value": manifest["value"],
        "global_default": manifest["globalDefault"],
        "preemption_policy": manifest["preemptionPolicy"],
        "description": manifest["description"],
    }
    return f"{_metadata(manifest)}\n{hcl.attributes(values, 2)}"


def _limit_range(manifest: Mapping[str, Any]) -> str:
    limits = ""
    for item in manifest["spec"]["limits"]:
        values = {_CAMEL.sub("_", key).lower(): value for key, value in item.items()}
        limits += hcl.block("limit", hcl.attributes(values, 6), 4)
    return f"{_metadata(manifest)}\n{hcl.block('spec', limits, 2)}"


def _resource_quota(manifest: Mapping[str, Any]) -> str:
    spec = hcl.attributes({"hard": manifest["spec"]["hard"]}, 4)
    return f"{_metadata(manifest)}\n{hcl.block('spec', spec, 2)}"


def _manifest(manifest: Mapping[str, Any]) -> str:
    return hcl.attribute("manifest", dict(manifest), 2)
