"""
Whether a cluster will do, asked before anything is started: its version, our kinds in it, and what we may do there.

Only what everybody may ask is asked: the version, discovery, the published schemas, and reviews of our own access. A
server that does not answer such a question is not refused for it.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from remuda.errors import BadInput
from remuda.kube.client import Client, decoded
from remuda.kube.discovery import served, server_version
from remuda.kube.errors import Forbidden, KubeError, Missing, Unauthorized, Unreachable, Untrusted
from remuda.kube.rbac import Rule
from remuda.kube.resources import Resource

#: the oldest Kubernetes that is supported; the chart says the same
OLDEST = (1, 29)
_INSTALL = "remuda crds | kubectl apply --server-side -f -"
_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
_LOCAL_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview"
)
_REMEDIES: dict[type[KubeError], str] = {
    Unauthorized: "fix or renew the credentials",
    Untrusted: "give the certificate-authority that the server's certificate is of",
    Unreachable: "check the address in the kubeconfig, and that the server is up",
}


class _Verdict(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _Verdict


class _Schemas(Struct, frozen=True):
    schemas: dict[str, dict[str, Any]] = {}


class _Published(Struct, frozen=True):
    components: _Schemas = _Schemas()


async def check(
    client: Client,
    command: str,
    needs: Sequence[Rule],
    crds: Sequence[Mapping[str, Any]],
    namespace: str,
    moment: float = 2.0,
) -> None:
    """
    Raise `BadInput` with all that stands in the way of a command, a line each with what to do.

    What was installed or granted just now shows a moment later, so problems are looked for twice.
    """
    try:
        problems = await _problems(client, command, needs, crds, namespace)
        if problems:
            await asyncio.sleep(moment)
            problems = await _problems(client, command, needs, crds, namespace)
    except KubeError as error:
        remedy = next(
            (remedy for kind, remedy in _REMEDIES.items() if isinstance(error, kind)), "is it an API server?"
        )
        raise BadInput(f"{client.access.server} cannot be used: {error}; {remedy}") from error
    if problems:
        raise BadInput("\n".join(problems))


async def _problems(
    client: Client, command: str, needs: Sequence[Rule], crds: Sequence[Mapping[str, Any]], namespace: str
) -> list[str]:
    version = await server_version(client)
    if version.pair < OLDEST:
        found, oldest = version.git_version or version.pair, ".".join(map(str, OLDEST))
        return [f"the cluster is Kubernetes {found}, which is too old: upgrade it to {oldest} or newer"]
    kinds = await asyncio.gather(*(_kind_problem(client, crd["spec"]) for crd in crds))
    return [*filter(None, kinds), *await _missing_permissions(client, command, needs, namespace)]


async def _kind_problem(client: Client, spec: Mapping[str, Any]) -> str | None:
    group, plural, expected = spec["group"], spec["names"]["plural"], spec["versions"][0]
    versions = [found.version async for found in served(client, group, plural)]
    if not versions:
        return f"the cluster knows no {plural}.{group}: install them with {_INSTALL}"
    if expected["name"] not in versions:
        return (
            f"the cluster serves {plural}.{group} as {', '.join(versions)} and this remuda reads {expected['name']}: "
            f"install its own with {_INSTALL}, or use the remuda that the cluster's belong to"
        )
    theirs = await _published_schema(client, group, expected["name"], spec["names"]["kind"])
    dropped = list(_lacking(expected["schema"]["openAPIV3Schema"], theirs, "")) if theirs else []
    if dropped:
        return (
            f"{plural}.{group} in the cluster is older than this remuda and would drop {', '.join(dropped)}: "
            f"update it with {_INSTALL}"
        )
    return None


async def _published_schema(client: Client, group: str, version: str, kind: str) -> dict[str, Any] | None:
    """What the server says objects of a kind hold: who may not read definitions may read this."""
    doing, path = f"reading the schema of {group}/{version}", f"/openapi/v3/apis/{group}/{version}"
    try:
        published = decoded(await client.request("GET", path, doing=doing, safe=True), _Published, doing)
    except (Missing, Forbidden):
        return None
    named = {"group": group, "version": version, "kind": kind}
    schemas = published.components.schemas.values()
    return next((item for item in schemas if item.get("x-kubernetes-group-version-kind") == [named]), None)


def _lacking(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str) -> Iterator[str]:
    """Fields that we know and they do not, the outermost of each."""
    if theirs.get("x-kubernetes-preserve-unknown-fields"):
        return
    known = theirs.get("properties", {})
    for name, schema in ours.get("properties", {}).items():
        if name in known:
            yield from _lacking(schema, known[name], f"{path}{name}.")
        else:
            yield f"{path}{name}"
    for inner in ("items", "additionalProperties"):
        if isinstance(ours.get(inner), dict) and isinstance(theirs.get(inner), dict):
            yield from _lacking(ours[inner], theirs[inner], path)


async def _missing_permissions(
    client: Client, command: str, needs: Sequence[Rule], namespace: str
) -> list[str]:
    missing = await refused(client, needs, namespace)
    if not missing:
        return []
    grant = f"remuda rbac {command} --namespace {namespace} | kubectl apply -f -"
    message = f"permissions are missing in namespace {namespace}: {', '.join(missing)}; "
    return [message + f"grant them with {grant} and a RoleBinding to it"]


async def refused(
    client: Client, needs: Sequence[Rule], namespace: str, account: str | None = None
) -> list[str]:
    """
    What we, or a service account of the namespace, may not do of what is needed and not optional, as `patch events`.

    Of ourselves everybody may ask; a server that does not answer that refuses nothing. Of an account it takes a
    permission, whose lack is an error.
    """
    needed = [rule for rule in needs if not rule.is_optional]
    asked = [(rule, resource, verb) for rule in needed for resource in rule.resources for verb in rule.verbs]
    answers = await asyncio.gather(*(_may(client, *item, namespace, account) for item in asked))
    return [
        f"{verb} {resource}{f'.{rule.group}' if rule.group else ''}"
        for (rule, resource, verb), may in zip(asked, answers, strict=True)
        if not may
    ]


async def _may(
    client: Client, rule: Rule, resource: str, verb: str, namespace: str, account: str | None
) -> bool:
    plural, _, part = resource.partition("/")
    attributes = {"namespace": namespace, "verb": verb, "group": rule.group, "resource": plural}
    attributes |= {"subresource": part} if part else {}
    attributes |= {"name": rule.names[0]} if rule.names else {}
    spec: dict[str, Any] = {"resourceAttributes": attributes}
    review, where = _REVIEWS, {}
    if account is not None:
        review, where = _LOCAL_REVIEWS, {"metadata": {"namespace": namespace}}
        spec["user"] = f"system:serviceaccount:{namespace}:{account}"
        spec["groups"] = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ]
    body = {"apiVersion": review.api_version, "kind": review.kind, **where, "spec": spec}
    doing = f"asking whether {account or 'we'} may {verb} {resource}"
    try:
        # Nothing is made by it, so it may be asked again.
        path, whole = review.path(namespace), msgspec.json.encode(body)
        data = await client.request("POST", path, body=whole, doing=doing, safe=True)
    except (Forbidden, Missing):
        if account is not None:
            raise
        return True  # we cannot know, and whatever is refused later is reported then
    return decoded(data, _Review, doing).status.allowed
