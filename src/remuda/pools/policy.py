"""From the words of the objects to the plain numbers that `decide` reads, and to what act needs of a pool."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from remuda.model.times import SECOND
from remuda.objects.ceiling import CeilingMember, CeilingSpec
from remuda.objects.kinds import Complaint, Kind, Object
from remuda.objects.load import Blame, Objects
from remuda.objects.scalars import Share
from remuda.pools.decide.model import Bounds, Hours, Policy, PoolPolicy
from remuda.pools.objects import (
    RUNNER_POOL_COLUMNS,
    RUNNER_POOL_RULES,
    RunnerPoolSpec,
    RunnerPoolStatus,
    Schedule,
)
from remuda.pools.runners import check_runner
from remuda.rules.bounds import default_min
from remuda.rules.windows import Window

INEXACT_WINDOW = 60 * SECOND
#: sources that know at every moment who is busy
EXACT_SOURCES = frozenset({"queue"})


class PoolSetup(Struct, frozen=True):
    """What act and the adapters need to know of a pool."""

    name: str
    job_class: str
    source: str
    provider: str
    template: str
    settings: dict[str, Any]
    idle_timeout: int | None
    #: jobs a machine takes; None is no limit
    max_uses: int | None
    job_timeout: int
    source_settings: dict[str, Any] = {}


#: what a pool's machines are made of beside its own words, like the contents of Secrets, as a short text
Fingerprint = Callable[[PoolSetup], str]


class Setup(Struct, frozen=True):
    """All pools: the policy they are judged by, and what carries it out."""

    policy: Policy
    pools: dict[str, PoolSetup]


def compile_objects(
    objects: Iterable[Object[Any]], exact_sources: frozenset[str], fingerprint: Fingerprint = lambda _: ""
) -> Setup:
    """Turn checked objects into a setup. Only what passed `check_objects` may come here."""
    found = list(objects)
    ceilings: dict[str, CeilingSpec] = {item.name: item.spec for item in found if item.kind == "Ceiling"}
    pools = {item.name: item.spec for item in found if item.kind == "RunnerPool"}
    setups = {name: _setup(name, spec, fingerprint) for name, spec in sorted(pools.items())}
    return Setup(
        Policy(
            {
                name: _policy(spec, setups[name], ceilings, exact_sources)
                for name, spec in sorted(pools.items())
            },
            {name: spec.machines for name, spec in sorted(ceilings.items())},
            concurrency=dict(
                sorted(bound for spec in pools.values() if (bound := _concurrency(spec)) is not None)
            ),
        ),
        setups,
    )


def change(recorded: Policy, objects: Iterable[Object[Any]], exact_sources: frozenset[str]) -> Policy:
    """A recorded policy with changed objects in the place of their namesakes; the file need not hold the others."""
    found = list(objects)
    changed = compile_objects(found, exact_sources).policy
    ceilings: dict[str, CeilingSpec] = {item.name: item.spec for item in found if item.kind == "Ceiling"}
    pools = {**recorded.pools, **changed.pools}
    for name, pool in pools.items():
        if pool.ceiling in ceilings:
            # Members are the ceiling's to say, also for pools that are not in the file.
            terms = {str(member.name): member for member in ceilings[pool.ceiling].members}.get(name)
            pools[name] = structs.replace(
                pool,
                guaranteed=terms.guaranteed if terms else 0,
                priority=terms.priority if terms else 0,
                weight=terms.weight if terms else 1,
            )
        elif (
            name in changed.pools and name in recorded.pools and pool.ceiling == recorded.pools[name].ceiling
        ):
            before = recorded.pools[name]
            pools[name] = structs.replace(
                pool, guaranteed=before.guaranteed, priority=before.priority, weight=before.weight
            )
    return Policy(
        pools,
        {**recorded.ceilings, **changed.ceilings},
        recorded.broken,
        {**recorded.concurrency, **changed.concurrency},
    )


def check_objects(objects: Objects) -> Iterator[Blame]:
    """Problems that only show between objects: classes served twice, ceilings that do not exist or cannot hold."""
    pools = [item for item in objects if item.kind == "RunnerPool"]
    ceilings = {item.name: item for item in objects if item.kind == "Ceiling"}
    served: dict[str, Object[Any]] = {}
    for pool in pools:
        first = served.setdefault(pool.spec.class_, pool)
        if first is not pool:
            words = f"class {pool.spec.class_} is already served by pool {first.name}"
            yield pool, "spec.class", words, (first, "spec.class")
        ceiling = pool.spec.ceiling
        if ceiling is not UNSET and not objects.may_hold("Ceiling", ceiling):
            known = ", ".join(sorted(ceilings)) or "none"
            yield pool, "spec.ceiling", f"there is no Ceiling {ceiling}; there is: {known}"
    yield from _check_concurrency(pools)
    for ceiling in ceilings.values():
        yield from _check_ceiling(ceiling, pools, objects)


def _check_concurrency(pools: list[Object[Any]]) -> Iterator[Blame]:
    first: dict[str, Object[Any]] = {}
    for pool in pools:
        bound = _concurrency(pool.spec)
        if bound is None:
            continue
        other = first.setdefault(bound[0], pool)
        if _concurrency(other.spec) != bound:
            said = f"pool {other.name} of the same organisation says {other.spec.source.circleci.plan_concurrency}"
            rest_on: list[tuple[Object[Any], str]] = [
                (each, path) for each in (pool, other) for path in ("spec.class", "spec.source.circleci")
            ]
            yield pool, "spec.source.circleci.planConcurrency", f"is {bound[1]} here, but {said}", *rest_on


def _check_ceiling(ceiling: Object[Any], pools: list[Object[Any]], objects: Objects) -> Iterator[Blame]:
    under = {pool.name: pool for pool in pools if pool.spec.ceiling == ceiling.name}
    known = {pool.name: pool for pool in pools}
    members: dict[str, CeilingMember] = {}
    for index, member in enumerate(ceiling.spec.members):
        members[member.name] = member
        where = f"spec.members[{index}].name"
        if member.name in known and member.name not in under:
            words = f"pool {member.name} is not under this ceiling: set its spec.ceiling"
            itself, other = (ceiling, "metadata.name"), known[member.name]
            yield ceiling, where, words, itself, (other, "metadata.name"), (other, "spec.ceiling")
        elif not objects.may_hold("RunnerPool", member.name):
            yield ceiling, where, f"there is no RunnerPool {member.name}"
    promised = {
        name: max(members[name].guaranteed if name in members else 0, largest_min(pool.spec))
        for name, pool in under.items()
    }
    total = sum(promised.values())
    if total > ceiling.spec.machines:
        message = " + ".join(f"{name} {count}" for name, count in sorted(promised.items()) if count)
        words = f"guarantees and minima add up to {total} ({message}): more than the ceiling of {ceiling.spec.machines}"
        rest_on: list[tuple[Object[Any], str]] = [(ceiling, "metadata.name")]
        for index in range(len(ceiling.spec.members)):
            rest_on += [(ceiling, f"spec.members[{index}].{key}") for key in ("name", "guaranteed")]
        rest_on += [(pool, path) for pool in under.values() for path in _minima(pool.spec)]
        yield ceiling, "spec.machines", words, *rest_on


def largest_min(spec: RunnerPoolSpec) -> int:
    """The largest minimum that may ever be in force, in any window."""
    return max(
        [_own_min(spec), *(window.min for window in spec.schedules if not isinstance(window.min, UnsetType))]
    )


def _minima(spec: RunnerPoolSpec) -> list[str]:
    """The paths of what `largest_min` rests on under a ceiling."""
    return ["spec.min", *(f"spec.schedules[{index}].min" for index in range(len(spec.schedules)))]


def _own_min(spec: RunnerPoolSpec) -> int:
    if not isinstance(spec.min, UnsetType):
        return spec.min
    return default_min(spec.max, has_ceiling=spec.ceiling is not UNSET)


def check_pool(pool: Object[Any]) -> Iterator[Complaint]:
    """Problems that one pool shows by itself."""
    spec: RunnerPoolSpec = pool.spec
    if not isinstance(spec.min, UnsetType) and spec.min > spec.max:
        yield "spec.min", f"min {spec.min} is more than max {spec.max}", "spec.max"
    for name, given in (("source", spec.source), ("provider", spec.provider)):
        keys = [field for field in given.__struct_fields__ if getattr(given, field) is not UNSET]
        if len(keys) != 1:
            known = ", ".join(given.__struct_fields__)
            yield f"spec.{name}", f"wants exactly one of: {known}"
    source, provider = spec.source.circleci, spec.provider.kubevirt
    if (source is UNSET) != (provider is UNSET):
        yield (
            "spec.provider",
            "circleci and kubevirt go together: tasks of CircleCI are served by VMs that claim them",
            "spec.source",
        )
    elif not isinstance(source, UnsetType) and not isinstance(provider, UnsetType):
        yield from check_runner(pool.name, spec.class_, provider)
        if not spec.single_task:
            yield "spec.singleTask", "a CircleCI runner takes one task: leave it out", "spec.source"
    for index, window in enumerate(spec.schedules):
        low = _own_min(spec) if isinstance(window.min, UnsetType) else window.min
        high = spec.max if isinstance(window.max, UnsetType) else window.max
        if low > high:
            where = f"spec.schedules[{index}]"
            yield (
                f"{where}.min" if window.max is UNSET else f"{where}.max",
                f"while this window is open, min {low} is more than max {high}",
                *(f"{where}.min", f"{where}.max"),
                *(("spec.min", "spec.ceiling") if isinstance(window.min, UnsetType) else ()),
                *(("spec.max",) if isinstance(window.max, UnsetType) else ()),
            )
        if window.min is UNSET and window.max is UNSET and window.headroom is UNSET:
            yield f"spec.schedules[{index}]", "changes nothing: give it min, max or headroom"
    if not isinstance(spec.max_uses, UnsetType) and spec.single_task:
        yield "spec.maxUses", "is for reused machines only: set singleTask to false", "spec.singleTask"
    if not isinstance(spec.idle_timeout, UnsetType) and spec.idle_timeout < spec.scale_down_delay:
        yield (
            "spec.idleTimeout",
            "must be at least scaleDownDelay, or machines end while they are still wanted",
            "spec.scaleDownDelay",
        )
    for name, value in (("bootTimeout", spec.boot_timeout), ("jobTimeout", spec.job_timeout)):
        if value < SECOND:
            yield f"spec.{name}", "must be at least 1s"


def _organisation(spec: RunnerPoolSpec) -> str | None:
    """Whose plan bounds the pool's tasks; the same organisation at two addresses is two."""
    if isinstance(spec.source.circleci, UnsetType):
        return None
    return f"{spec.class_.partition('/')[0]} at {spec.source.circleci.url}"


def _concurrency(spec: RunnerPoolSpec) -> tuple[str, int] | None:
    """The organisation and what its plan runs at once, if the pool says so."""
    source, whose = spec.source.circleci, _organisation(spec)
    if isinstance(source, UnsetType) or isinstance(source.plan_concurrency, UnsetType) or whose is None:
        return None
    return whose, source.plan_concurrency


def _setup(name: str, spec: RunnerPoolSpec, fingerprint: Fingerprint) -> PoolSetup:
    provider, source = _only_key(spec.provider), _only_key(spec.source)
    settings = msgspec.to_builtins(getattr(spec.provider, provider), enc_hook=_plain)
    source_settings = msgspec.to_builtins(getattr(spec.source, source), enc_hook=_plain)
    if not isinstance(spec.source.circleci, UnsetType):
        # Its VMs call there too.
        settings |= {"class": str(spec.class_), "url": str(spec.source.circleci.url)}
    max_uses = 1 if spec.single_task else None if isinstance(spec.max_uses, UnsetType) else spec.max_uses
    idle_timeout = None if isinstance(spec.idle_timeout, UnsetType) else int(spec.idle_timeout)
    setup = PoolSetup(
        name=name,
        job_class=str(spec.class_),
        source=source,
        provider=provider,
        template="",
        settings=settings,
        idle_timeout=idle_timeout,
        max_uses=max_uses,
        job_timeout=int(spec.job_timeout),
        source_settings=source_settings,
    )
    parts = {"provider": provider, "settings": settings, "idleTimeout": idle_timeout}
    beside = fingerprint(setup)
    return structs.replace(setup, template=_digest(parts | ({"beside": beside} if beside else {})))


def _policy(
    spec: RunnerPoolSpec, setup: PoolSetup, ceilings: dict[str, CeilingSpec], exact_sources: frozenset[str]
) -> PoolPolicy:
    own = _bounds(_own_min(spec), spec.max, spec.headroom)
    under = None if isinstance(spec.ceiling, UnsetType) else str(spec.ceiling)
    member = CeilingMember(name=setup.name)  # type: ignore[arg-type]
    if under in ceilings:
        member = next((item for item in ceilings[under].members if item.name == setup.name), member)
    if isinstance(spec.idle_window, UnsetType):
        idle_window = 0 if setup.source in exact_sources else INEXACT_WINDOW
    else:
        idle_window = int(spec.idle_window)
    return PoolPolicy(
        name=setup.name,
        job_class=setup.job_class,
        template=setup.template,
        bounds=own,
        hours=tuple(_hours(window, spec) for window in spec.schedules),
        max_surge=None if isinstance(spec.max_surge, UnsetType) else spec.max_surge,
        scale_down_delay=int(spec.scale_down_delay),
        natural=spec.scale_in == "natural",
        idle_window=idle_window,
        boot_timeout=int(spec.boot_timeout),
        ceiling=under,
        guaranteed=member.guaranteed,
        priority=member.priority,
        weight=member.weight,
        source=setup.source,
        organisation=_organisation(spec),
        reused=setup.max_uses != 1 and setup.source in exact_sources,
    )


def _hours(window: Schedule, spec: RunnerPoolSpec) -> Hours:
    return Hours(
        Window(str(window.start), str(window.end), str(window.timezone)),
        _bounds(
            _own_min(spec) if isinstance(window.min, UnsetType) else window.min,
            spec.max if isinstance(window.max, UnsetType) else window.max,
            spec.headroom if isinstance(window.headroom, UnsetType) else window.headroom,
        ),
    )


def _bounds(low: int, high: int, headroom: Share) -> Bounds:
    return Bounds(low, high, headroom.count, headroom.percent)


def _only_key(given: Struct) -> str:
    return next(field for field in given.__struct_fields__ if getattr(given, field) is not UNSET)


def _digest(template: object) -> str:
    """Short, stable over processes and key order."""
    return hashlib.blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=5).hexdigest()


def _plain(value: object) -> str:
    return str(value)


RUNNER_POOL = Kind(
    "RunnerPool",
    "runnerpools",
    RunnerPoolSpec,
    ("rp", "pool"),
    check_pool,
    rules=RUNNER_POOL_RULES,
    columns=RUNNER_POOL_COLUMNS,
    status=RunnerPoolStatus,
)
