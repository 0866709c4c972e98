"""What holds for every world and every use."""

from typing import Any, Literal, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.decide.builders import MI, NOW, days, evidence, judge
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.model.quantities import NANO, Quantity
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide.context import counted, requested
from remuda.rightsize.decide.verdicts import verdict_of
from remuda.rightsize.evidence import Day, Evidence, OomKill
from remuda.rightsize.objects import RightsizePolicySpec, TierSpec
from remuda.rightsize.review import ContainerReview, Review
from remuda.rightsize.snapshot import (
    Advisor,
    Ask,
    Autoscaler,
    Container,
    Kill,
    LimitRange,
    Quota,
    Size,
    Snapshot,
    Unknown,
    Workload,
)

T = TypeVar("T")
MEBIBYTES = st.integers(1, 9000)
CORES = st.integers(1, 5000)
TIMES = st.integers(BEGIN - DAY, NOW)


def maybe(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.none() | values


def asks(memory: st.SearchStrategy[int | None] | None = None) -> st.SearchStrategy[Ask]:
    in_bytes = (memory or maybe(MEBIBYTES)).map(lambda each: None if each is None else each * MI)
    return st.builds(Ask, maybe(CORES), in_bytes)


# Made once: a strategy that is made for each draw takes longer to make than to draw from.
ASKS = asks()
SIZES = st.builds(Size, ASKS, ASKS)
BYTES = MEBIBYTES.map(MI.__mul__)
RANGES = {each: st.tuples(each, each, each) for each in (MEBIBYTES, CORES)}
DAYS = st.lists(st.tuples(MEBIBYTES, MEBIBYTES), max_size=9)
OOM_KILLS = st.lists(st.builds(OomKill, TIMES, BYTES), max_size=2)
PEAKS = st.integers(0, 9000)
COUNTS = st.sampled_from([0, 360, 11_520])
CONFIDENCES = st.floats(0, 8)
BOOLEANS = st.booleans()
RATIOS = maybe(st.floats(1, 5))
NAMES = st.sampled_from("xyz")
NAMESPACES = st.sampled_from(["shop", "pay"])
SCOPES: st.SearchStrategy[Literal["Container", "Pod"]] = st.sampled_from(["Container", "Pod"])
DEFAULTS = st.sampled_from([Size(), Size(Ask(), Ask(200))])
CONTAINERS = st.lists(st.sampled_from(["main", "side", "proxy"]), min_size=1, max_size=2, unique=True)
LABELS = st.sampled_from([{}, {"tier": "1-x"}, {"tier": "4"}, {"tier": "?"}])
UP_TO = [st.integers(0, most) for most in range(5)]
IDS = st.builds(
    WorkloadId,
    st.sampled_from(["shop", "pay"]),
    st.sampled_from(["Deployment", "CronJob"]),
    st.sampled_from("abc"),
)


@st.composite
def known(draw: st.DrawFn, *, whole: bool = False) -> Evidence:
    """Any evidence whose bounds are in order; `whole` is not partial."""
    memory, cpu = (tuple(sorted(draw(RANGES[each]))) for each in (MEBIBYTES, CORES))
    peak = draw(PEAKS)
    seen = draw(DAYS)
    made = evidence(
        (memory[1], memory[0], memory[2]),
        (cpu[1], cpu[0], cpu[2]),
        peak,
        days=tuple(Day(BEGIN + n * DAY, max(pair) * MI, min(pair) * MI) for n, pair in enumerate(seen)),
        kills=tuple(draw(OOM_KILLS)),
        is_partial=not whole and draw(BOOLEANS),
        cpu_samples=draw(COUNTS),
        memory_samples=draw(COUNTS),
        first=draw(TIMES),
        confidence=draw(CONFIDENCES),
    )
    other = draw(st.sampled_from([made, made, msgspec.structs.replace(made, krr=None)]))
    return msgspec.structs.replace(other, other=made.estimate)


@st.composite
def limit_ranges(draw: st.DrawFn) -> LimitRange:
    least, most = draw(ASKS), draw(ASKS)
    ratio = draw(RATIOS)
    name = draw(NAMES)
    return LimitRange(
        draw(NAMESPACES),
        name,
        draw(SCOPES),
        least,
        most,
        ratio,
        draw(DEFAULTS),
        draw(RATIOS),
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    names = draw(CONTAINERS)
    parts = tuple(Container(name, draw(SIZES)) for name in names)
    labels = draw(LABELS)
    return Workload(draw(IDS), parts, labels, draw(UP_TO[4]), draw(UP_TO[2]))


WORKLOADS = st.lists(workloads(), min_size=1, max_size=4, unique_by=lambda each: each.id)
PARTS = st.sampled_from(["main", "side"])
AMOUNTS = st.dictionaries(
    st.sampled_from(["requests.memory", "limits.cpu", "pods", "cpu"]), st.integers(0, 10**11), max_size=3
)
QUOTAS = st.lists(st.builds(Quota, st.just("shop"), st.sampled_from("qr"), AMOUNTS, AMOUNTS), max_size=2)
LIMIT_RANGES = st.lists(limit_ranges(), max_size=3)
OF_NAMESPACES = st.sampled_from([{}, {"shop": {"tier": "2"}}])
UNKNOWNS = st.lists(st.builds(Unknown, st.sampled_from("ab"), st.just("403")), max_size=2)
METRICS = st.sampled_from(["cpu", "memory"])
MODES = st.sampled_from(["Off", "Auto"])
LIMITS = maybe(BYTES)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    found = draw(WORKLOADS)
    ids = st.sampled_from([each.id for each in found])
    return Snapshot(
        NOW * 1000,
        "files",
        tuple(found),
        draw(OF_NAMESPACES),
        tuple(draw(LIMIT_RANGES)),
        tuple(draw(QUOTAS)),
        tuple(
            draw(st.lists(st.builds(Autoscaler, st.sampled_from("hi"), ids, METRICS), max_size=1))
        ),
        tuple(draw(st.lists(st.builds(Advisor, st.just("v"), ids, MODES), max_size=2))),
        kills=tuple(
            draw(st.lists(st.builds(Kill, ids, PARTS, st.just("p"), TIMES, LIMITS), max_size=2))
        ),
        unknown=tuple(draw(UNKNOWNS)),
    )  # fmt: skip


PAIRS = st.tuples(MEBIBYTES, MEBIBYTES)


@st.composite
def policies(draw: st.DrawFn) -> RightsizePolicySpec:
    least, most = sorted(draw(PAIRS))
    bounds = TierSpec(
        tier=1,
        min_memory=Quantity(least * MI * NANO),
        max_memory=draw(maybe(st.just(Quantity(most * MI * NANO)))),
    )
    return RightsizePolicySpec(tiers=draw(st.sampled_from([(), (bounds,)])))


Case = tuple[Snapshot, dict[tuple[WorkloadId, str], Evidence], RightsizePolicySpec, str]


STRATEGIES = st.sampled_from(["vpa", "vpa", "krr", "mine"])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    snapshot = draw(snapshots())
    found = {
        (each.id, part.name): draw(known())
        for each in snapshot.workloads
        for part in each.containers
        if draw(UP_TO[4])
    }
    return snapshot, found, draw(policies()), draw(STRATEGIES)


def judged(case: Case) -> Review:
    snapshot, found, policy, strategy = case
    parts = {
        name: getattr(snapshot, name)
        for name in ("namespaces", "limit_ranges", "quotas", "autoscalers", "advisors", "kills", "unknown")
    }
    return judge(*snapshot.workloads, known=found, policy=policy, strategy=strategy, **parts)


def containers(made: Review) -> list[tuple[WorkloadId, ContainerReview]]:
    return [
        (WorkloadId(each.namespace, each.kind, each.name), part)
        for each in made.workloads
        for part in each.containers
    ]


def most_allowed(case: Case, identity: WorkloadId, tier: int | None) -> float:
    """The tightest maximum of memory by policy and LimitRanges."""
    snapshot, _, policy, _ = case
    bounds = [
        each.most.memory_bytes
        for each in snapshot.limit_ranges
        if each.of == "Container"
        and each.namespace == identity.namespace
        and each.most.memory_bytes is not None
    ]
    bounds += [
        each.max_memory.bytes for each in policy.tiers if each.tier == tier and each.max_memory is not None
    ]
    return min(bounds, default=float("inf"))


def no_request_is_above_its_limit_where_anything_was_changed(part: ContainerReview) -> None:
    now, then = part.now, part.recommended
    for before, after in (
        ((now.requests.cpu_millicores, now.limits.cpu_millicores), (then.requests.cpu_millicores, then.limits.cpu_millicores)),
        ((now.requests.memory_bytes, now.limits.memory_bytes), (then.requests.memory_bytes, then.limits.memory_bytes)),
    ):  # fmt: skip
        asked, limit = after
        assert before == after or limit is None or (asked or 0) <= limit


def no_limit_that_is_set_is_below_the_use_unless_a_bound_says_so(part: ContainerReview, most: float) -> None:
    now, limit = part.now.limits.memory_bytes, part.recommended.limits.memory_bytes
    if part.evidence is None or limit is None or limit == now:
        return
    need = -(-part.evidence.memory_peak * 11 // 10)
    assert limit >= min(need, most)
    assert limit >= need or "clamped-below-use" in part.rules
    assert limit >= min(need, now or need), "nothing that is used is taken away"


def nothing_is_lowered_on_partial_evidence_nor_changed_without_any(part: ContainerReview) -> None:
    now, then = part.now, part.recommended
    had = counted(now, part.defaults).limits
    if part.evidence is None:
        assert (then, part.verdict) == (now, "leave")
    elif part.evidence.is_partial:
        is_demanded = "limit-range-wants-cpu-limit" in part.rules and had.cpu_millicores is None
        assert part.verdict != "lower" or is_demanded
        for resource in ("cpu", "memory"):
            assert (requested(then, resource) or 0) >= (requested(now, resource) or 0)
        for before, after, is_new in (
            (had.cpu_millicores, then.limits.cpu_millicores, is_demanded),
            (had.memory_bytes, then.limits.memory_bytes, False),
        ):
            assert after is None or is_new or (before is not None and after >= before)


def what_is_left_or_kept_is_as_it_was_and_all_else_is_not(part: ContainerReview) -> None:
    is_same = verdict_of(part.now, part.recommended, is_held=False) == "keep"
    assert is_same is (part.verdict in {"leave", "keep"})


@pytest.mark.slow
@given(cases())
def test_safety_of_every_container_of_every_world(case: Case) -> None:
    made = judged(case)
    tiers = {WorkloadId(each.namespace, each.kind, each.name): each.tier for each in made.workloads}
    for identity, part in containers(made):
        no_request_is_above_its_limit_where_anything_was_changed(part)
        no_limit_that_is_set_is_below_the_use_unless_a_bound_says_so(
            part, most_allowed(case, identity, tiers[identity])
        )
        nothing_is_lowered_on_partial_evidence_nor_changed_without_any(part)
        what_is_left_or_kept_is_as_it_was_and_all_else_is_not(part)


@pytest.mark.slow
@given(cases())
def test_a_review_of_what_followed_a_review_changes_nothing(case: Case) -> None:
    snapshot, found, policy, strategy = case
    then = {(identity, part.name): part.recommended for identity, part in containers(judged(case))}
    followed = tuple(
        msgspec.structs.replace(
            each,
            containers=tuple(
                msgspec.structs.replace(part, size=then[each.id, part.name]) for part in each.containers
            ),
        )
        for each in snapshot.workloads
    )
    again = judged((msgspec.structs.replace(snapshot, workloads=followed), found, policy, strategy))
    assert {(identity, part.name): part.recommended for identity, part in containers(again)} == then


@pytest.mark.slow
@given(cases(), st.randoms(use_true_random=False))
def test_a_review_is_the_same_in_whatever_order_its_parts_come(case: Case, random: Any) -> None:
    snapshot, found, policy, strategy = case

    def mixed(items: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(random.sample(items, len(items)))

    shuffled = msgspec.structs.replace(
        snapshot,
        **{
            name: mixed(getattr(snapshot, name))
            for name in ("workloads", "limit_ranges", "quotas", "autoscalers", "advisors", "kills", "unknown")
        },
    )
    evidences = {
        key: msgspec.structs.replace(one, days=mixed(one.days), kills=mixed(one.kills))
        for key, one in mixed(tuple(found.items()))
    }
    again = judged((shuffled, evidences, policy, strategy))

    def plain(review: Review) -> bytes:
        """Without the evidence itself, which is shown as it was given."""
        bare = [
            msgspec.structs.replace(
                each,
                containers=tuple(msgspec.structs.replace(part, evidence=None) for part in each.containers),
            )
            for each in review.workloads
        ]
        return msgspec.json.encode(msgspec.structs.replace(review, workloads=tuple(bare)))

    assert plain(again) == plain(judged(case))


@pytest.mark.slow
@given(
    st.tuples(MEBIBYTES, MEBIBYTES, MEBIBYTES).map(sorted),
    st.integers(0, 9000),
    st.tuples(*[st.integers(0, 3000)] * 4),
    st.sampled_from(["0", "3", "?"]),
    maybe(st.floats(1, 4)),
    maybe(MEBIBYTES),
)
def test_who_uses_more_is_never_given_less(
    memory: list[int], peak: int, more: tuple[int, ...], tier: str, ratio: float | None, least: int | None
) -> None:
    bare = Workload(WorkloadId("shop", "Deployment", "web"), (Container("main"),), {"tier": tier})
    bounds = LimitRange(
        "shop", "x", "Container", Ask(None, None if least is None else least * MI), memory_ratio=ratio
    )
    lower, target, upper = memory

    def given_for(low: int, middle: int, high: int, seen: int) -> tuple[int, int, int]:
        one = evidence((middle, low, high), (middle, low, high), seen, days=days([300] * 8))
        [(_, part)] = containers(judge(bare, known=one, limit_ranges=(bounds,)))
        then = part.recommended
        return (
            then.requests.cpu_millicores or 0,
            then.requests.memory_bytes or 0,
            then.limits.memory_bytes or 0,
        )

    little = given_for(lower, target, upper, peak)
    raised = sorted([lower + more[0], target + more[1], upper + more[2]])
    much = given_for(raised[0], raised[1], raised[2], peak + more[3])
    assert all(after >= before for before, after in zip(little, much, strict=True))
