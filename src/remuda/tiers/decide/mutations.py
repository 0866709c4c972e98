"""
What admission changes of a pod that is made, as JSON patches written in CEL.

Each policy has one expression, since what an earlier one changed the next would not see. All of it may be asked again for
the same pod, when a webhook added a container: what is right already is not written again.
"""

from collections.abc import Iterator

from remuda.rules.cel import Condition, quoted
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.cel import (
    LISTS,
    amount,
    has_amount,
    has_own_class,
    is_cpu_limited,
    is_cpu_limited_pod,
    is_default,
    is_runner,
    is_sidecar,
    sidecar_value,
    sidecar_variables,
)


def priority_patch(tier: str) -> str:
    """
    The PriorityClass of a tier, for a pod without one.

    Priority and preemption policy, which the API server filled in for no class, go: it works them out again, and would
    forbid the pod whose numbers are not those of its class. `add` also replaces.
    """
    ops = [f'JSONPatch{{op: "add", path: "/spec/priorityClassName", value: {quoted("tier-")} + {tier}}}']
    given = [
        f"(has(object.spec.{field}) ? [{_remove(f'/spec/{field}')}] : [])"
        for field in ("priority", "preemptionPolicy")
    ]
    return f"variables.tier == '' ? [] : {' + '.join([f'[{ops[0]}]', *given])}"


def size_patch_variables(policy: TierPolicy, default_class: str) -> Iterator[Condition]:
    """Who is left alone but for what keeps it from being refused."""
    yield from sidecar_variables(policy)
    yield Condition("isRunner", is_runner())
    yield Condition("hasOwnClass", has_own_class(default_class))
    yield Condition(
        "sizesSidecars", "variables.tier != '' && !variables.keepsOwnLimits && !variables.isRunner"
    )
    strips = (
        "!variables.isRunner && !variables.hasOwnClass && variables.tier != '' && !variables.isGuaranteed"
    )
    yield Condition("strips", strips if policy.cpu_limits == "strip" else "false")


def sizes_patch(policy: TierPolicy) -> str:
    """Sidecars that are on defaults get their own sizes, defaults below a request give way, and CPU limits go with `strip`."""
    parts = []
    for place, kind in LISTS.items():
        made = [_limits(place, kind)]
        if policy.sidecars:
            made += [_requests(place, kind, resource) for resource in ("cpu", "memory")]
        if policy.cpu_limits == "strip":
            made.append(
                _each(place, f"variables.strips && {is_cpu_limited(kind)}", _remove_at(place, "limits/cpu"))
            )
        both = " + ".join(made)
        parts.append(both if place == "containers" else f"(has(object.spec.{place}) ? {both} : [])")
    if policy.cpu_limits == "strip":
        pod = f"variables.strips && {is_cpu_limited_pod()}"
        parts.append(f"({pod} ? [{_remove('/spec/resources/limits/cpu')}] : [])")
    return " + ".join(parts)


def _requests(place: str, kind: str, resource: str) -> str:
    """A sidecar's request, where it is on the default."""
    wanted = sidecar_value({"cpu": 1, "memory": 2}[resource])
    condition = (
        f"variables.sizesSidecars && {is_sidecar()} && {is_default(resource, 'request', kind)}"
        f" && {amount(resource, 'requests')}.compareTo(quantity({wanted})) != 0"
    )
    return _each(place, condition, _add_at(place, f"requests/{resource}", wanted))


def _limits(place: str, kind: str) -> str:
    """The memory limit of a container on a default: that of its sidecar, and never below a request that it has."""
    request, own = "c.resources.requests['memory']", sidecar_value(3)
    is_above = (
        f"!{is_default('memory', 'request', kind)} && quantity({request}).isGreaterThan(quantity({own}))"
    )
    is_sized = f"variables.sizesSidecars && {is_sidecar()}"
    wanted = f"(!({is_sized}) || {is_above} ? {request} : {own})"
    is_refused = f"variables.isEven && quantity({request}).isGreaterThan({amount('memory', 'limits')})"
    condition = (
        f"{has_amount('memory', 'limits')} && {has_amount('memory', 'requests')} && {is_default('memory', 'limit', kind)}"
        f" && ({is_sized} || {is_refused}) && quantity({wanted}).compareTo({amount('memory', 'limits')}) != 0"
    )
    return _each(place, condition, _add_at(place, "limits/memory", wanted))


def _each(place: str, condition: str, operation: str) -> str:
    """An operation for each container of which a condition holds, `i` being its place."""
    return f"object.spec.{place}.transformList(i, c, {condition}, {operation})"


def _add_at(place: str, field: str, value: str) -> str:
    return (
        f'JSONPatch{{op: "add", path: "/spec/{place}/" + string(i) + "/resources/{field}", value: {value}}}'
    )


def _remove_at(place: str, field: str) -> str:
    return f'JSONPatch{{op: "remove", path: "/spec/{place}/" + string(i) + "/resources/{field}"}}'


def _remove(path: str) -> str:
    return f'JSONPatch{{op: "remove", path: "{path}"}}'
