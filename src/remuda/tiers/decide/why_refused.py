"""Why the API server refuses the pods of a workload, from its own words: over a quota with the three numbers, or something else."""

import re
from collections.abc import Iterator

from remuda.model.amount_texts import quantity
from remuda.model.amounts import amount
from remuda.model.findings import Finding
from remuda.model.plans import Term
from remuda.rules.tiers import Membership, TierPolicy
from remuda.tiers.decide.causes import cause
from remuda.tiers.decide.desired import quota_name

#: exceeded quota: shop-quota, requested: pods=1,requests.memory=1Gi, used: pods=20,requests.memory=9Gi, limited: pods=20,requests.memory=9Gi
_EXCEEDED = re.compile(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>\S+), used: (?P<used>\S+), limited: (?P<hard>\S+)"
)
_MUST_SPECIFY = re.compile(r"failed quota: (?P<quota>[^:]+): must specify (?P<resources>.+)")
_FORBIDDEN = re.compile(r"pods \"[^\"]*\" is forbidden: ")


def why_refused(
    who: str, namespace: str, words: str, member: Membership, policy: TierPolicy | None
) -> Iterator[Finding]:
    """What a refusal means; `words` are those of an event or a condition."""
    over = [_over(who, namespace, match, member, policy) for match in _EXCEEDED.finditer(words)]
    if any(over):
        for found in over:
            yield from found
        return
    if match := _MUST_SPECIFY.search(words):
        resources = ", ".join(
            dict.fromkeys(re.findall(r"(?:requests|limits)\.[\w./-]+|\bcpu\b|\bmemory\b", match["resources"]))
        )
        yield cause(who, "pod-must-specify", quota=match["quota"], resources=resources or match["resources"])
        return
    refusal = _FORBIDDEN.split(words)[-1]
    yield cause(who, "pod-refused", words=refusal.strip())


def _over(
    who: str, namespace: str, match: re.Match[str], member: Membership, policy: TierPolicy | None
) -> list[Finding]:
    """Each resource of which too much is asked for, with what is used, allowed and asked."""
    asked, used, hard = (_read(match[name]) for name in ("asked", "used", "hard"))
    is_ours = bool(member.tier) and match["quota"] == quota_name(namespace)
    found = []
    for resource, more in asked.items():
        taken, most = used.get(resource, 0), hard.get(resource, 0)
        if taken + more <= most:
            continue
        unit = resource.removeprefix("requests.").removeprefix("limits.")
        numbers = {
            "asked": more,
            "used": taken,
            "hard": most,
            "free": max(most - taken, 0),
            "missing": taken + more - most,
            "enough": taken + more,
        }
        terms: dict[str, Term] = {name: quantity(unit, number) for name, number in numbers.items()}
        terms |= {"resource": resource, "quota": match["quota"]}
        if is_ours:
            terms["tier"] = member.tier
        if policy is not None:
            terms["opt_out"] = policy.quota_opt_out
        found.append(cause(who, "pod-over-quota", **terms))
    return found


def _read(text: str) -> dict[str, int]:
    found = {}
    for part in text.rstrip(",").split(","):
        name, _, written = part.partition("=")
        try:
            found[name] = amount(name.removeprefix("requests.").removeprefix("limits."), written)
        except ValueError:  # not in the words of an API server
            continue
    return found
