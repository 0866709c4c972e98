"""Where runners may be and how many fit: in words for one node, and at once for all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import CAPABILITY, measured, node, scale_set, snapshot

from remuda.capacity.decide.fits import Ground, Rooms, bits, closed, obstacles, shape_of, short
from remuda.capacity.decide.neighbours import WHOLE_NODE
from remuda.capacity.snapshot import Node, ScaleSet, Usage
from remuda.model.pods import Match, Taint, Term, Toleration

TAINT = Taint("overflow", "true", "NoSchedule")


@pytest.mark.parametrize(
    ("seen", "there", "message"),
    [
        (scale_set(), node(), ()),
        (scale_set(), node(cordoned=True), ("is cordoned",)),
        (scale_set(), node(ready=False), ("is not ready",)),
        (scale_set(), node(taints=(TAINT,)), ("has the taint overflow=true:NoSchedule, which is not tolerated",)),
        (scale_set(tolerations=(Toleration("overflow", "Exists"),)), node(taints=(TAINT,)), ()),
        (scale_set(tolerations=(Toleration("overflow", "Equal", "no"),)), node(taints=(TAINT,)),
         ("has the taint overflow=true:NoSchedule, which is not tolerated",)),
        (scale_set(), node(taints=(Taint("overflow", "", "PreferNoSchedule"),)), ()),
        (scale_set(), node(labels={}), ("has no label capability.example/kvm=true",)),
        (scale_set(required=(Term((Match("zone", "In", ("a",)),)),)), node(), ("does not meet the required node affinity",)),
        (scale_set(required=(Term((Match("zone", "In", ("a",)),)), Term((Match("zone", "DoesNotExist"),)))), node(), ()),
        (scale_set(required=(Term(match_fields=(Match("metadata.name", "In", ("honey",)),)),)), node(), ()),
        (scale_set(), node(memory="4Gi"), ("is too small: has 4Gi memory, and a runner asks for 8Gi memory",)),
        (scale_set(requests={"example.com/kvm": 1}), node(),
         ("is too small: has no example.com/kvm, and a runner asks for 1 example.com/kvm",)),
        (scale_set(), node(cordoned=True, labels={}, cpu="1"),
         ("is cordoned", "has no label capability.example/kvm=true", "is too small: has 1 CPU, and a runner asks for 2 CPU")),
    ],
)  # fmt: skip
def test_every_obstacle_is_reported(seen: ScaleSet, there: Node, message: tuple[str, ...]) -> None:
    assert obstacles(seen, there) == message


def test_a_full_node_is_distinguished_from_a_small_one() -> None:
    free = {"cpu": 1_000, "memory": 2**40, "pods": 0}
    assert obstacles(scale_set(), node(), free) == (
        "is too full: 1 CPU left of 32 CPU, and a runner asks for 2 CPU",
        "is too full: 0 pods left of 110 pods, and a runner asks for 1 pods",
    )


def test_a_node_is_met_by_its_name() -> None:
    ground = Ground((node("a"), node("b"), node("c", labels={})))
    named = Match("metadata.name", "In", ("b", "c"))
    assert ground.meeting([Term(match_fields=(named,))]) == 0b110
    assert ground.meeting([Term((Match("capability.example/kvm", "Exists"),), (named,))]) == 0b010


def test_a_node_of_which_nothing_is_left_is_too_full() -> None:
    (name,) = names = {"example.com/fuse": 1}
    there = node(allocatable={name: 1})
    assert list(short(names, there, {name: 1})) == []
    for free in ({}, {name: 0}, {name: -3}):
        (words,) = short(names, there, free)
        assert words.startswith("is too full: 0 ")


keys = st.sampled_from(("zone", "disk"))
values = st.sampled_from(("a", "b", "1", "2"))
matches = st.builds(
    Match,
    keys,
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
    st.tuples(values),
)
terms = st.builds(
    Term,
    st.lists(matches, max_size=2).map(tuple),
    st.lists(
        st.builds(Match, st.just("metadata.name"), st.just("In"), st.tuples(st.sampled_from(("n0", "n1")))),
        max_size=1,
    ).map(tuple),
)
taints = st.builds(
    Taint, st.sampled_from(("x", "y")), st.sampled_from(("", "1")), st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule"))
)  # fmt: skip
tolerations = st.builds(
    Toleration,
    st.sampled_from(("x", "y", "")),
    st.sampled_from(("Exists", "Equal", "")),
    st.sampled_from(("", "1")),
    st.sampled_from(("", "NoSchedule")),
)
scale_sets = st.builds(
    lambda selector, tolerated, required: scale_set(
        node_selector=selector, tolerations=tuple(tolerated), required=tuple(required), requests={}
    ),
    st.dictionaries(keys, values, max_size=2),
    st.lists(tolerations, max_size=2),
    st.lists(terms, max_size=2),
)
nodes = st.lists(
    st.builds(
        lambda labels, tainted: node(labels=labels, taints=tuple(tainted)),
        st.dictionaries(keys, values, max_size=2),
        st.lists(taints, max_size=2),
    ),
    max_size=10,
).map(
    lambda found: [
        Node(f"n{at}", each.labels, each.taints, each.allocatable) for at, each in enumerate(found)
    ]
)


@pytest.mark.slow
@given(scale_sets, nodes)
def test_what_all_nodes_say_at_once_is_what_each_says(seen: ScaleSet, there: list[Node]) -> None:
    ground = Ground(there)
    allowed = ground.picked(ground.allowing(shape_of(seen).placement))
    assert list(allowed) == [at for at, each in enumerate(there) if not any(closed(seen, each))]


@given(st.lists(st.none() | st.integers(0, 5), max_size=8), st.integers(0, 6))
def test_nodes_with_less_of_a_resource_are_those_that_report_less(has: list[int | None], amount: int) -> None:
    there = [
        Node(f"n{at}", allocatable={} if each is None else {"memory": each}) for at, each in enumerate(has)
    ]
    wanted = [at for at, each in enumerate(has) if each is not None and each < amount]
    assert list(Ground(there).picked(Ground(there).below("memory", amount))) == wanted


@given(st.sets(st.integers(0, 70)))
def test_nodes_as_bits_and_back(places: set[int]) -> None:
    assert list(Ground([]).picked(bits(places))) == sorted(places)


def test_the_labels_own_runners_make_room_for_themselves() -> None:
    """Three runners of 8Gi are there, one of them of another label's set: 40Gi hold four beside that one."""
    eight = measured("2", "8Gi") | {"pods": 1}
    usage = Usage(
        {name: 3 * value for name, value in eight.items()},
        {},
        {"arc/own": 2, "arc/other": 1},
        {"arc/own": {name: 2 * value for name, value in eight.items()}, "arc/other": eight},
    )
    rooms = Rooms(snapshot(node(memory="40Gi"), usage={"honey": usage}))
    requests = tuple(measured("2", "8Gi").items())
    assert rooms.fits(requests, (0,), frozenset({"arc/own"})) == {0: 4}
    assert rooms.fits(requests, (0,), frozenset()) == {0: 2}


def test_a_node_that_does_not_say_how_many_pods_it_takes_takes_what_kubelets_do() -> None:
    there = Node("honey", CAPABILITY, allocatable=measured("1000", "8000Gi"))
    assert Rooms(snapshot(there)).fits((("cpu", 1),), (0,), frozenset()) == {0: 110}


def test_a_node_that_is_over_committed_takes_none() -> None:
    rooms = Rooms(snapshot(node(), usage={"honey": Usage({"cpu": 99_000})}))
    assert rooms.fits((("cpu", 1),), (0,), frozenset()) == {0: 0}


@pytest.mark.parametrize(
    ("match", "names"),
    [
        (Match("kvm", "DoesNotExist"), ["b"]),
        (Match("kvm", "NotIn", ("yes",)), ["b", "c"]),
        (Match("kvm", "Exists"), ["a", "c"]),
        (Match("kvm", "Gt", ("x",)), []),
    ],
)
def test_an_expression_holds_for_nodes_with_and_without_the_label(match: Match, names: list[str]) -> None:
    there = [Node("a", {"kvm": "yes"}), Node("b"), Node("c", {"kvm": "no"})]
    ground = Ground(there)
    term = Term((match,))
    assert [there[index].name for index in ground.picked(ground.meeting([term, term]))] == names


def test_a_term_that_says_nothing_holds_nowhere() -> None:
    assert Ground([Node("a")]).meeting([Term()]) == 0


def test_places_are_the_same_remembered_or_not() -> None:
    ground = Ground([Node(f"n{at}") for at in range(100)])
    for number in (*range(1, 100), 1):
        assert ground.picked(1 << number | 1) == (0, number)


def test_nodes_that_nothing_distinguishes_have_one_number() -> None:
    ground = Ground([Node("a", {"x": "1"}), Node("b", {"x": "1"}), Node("c", {"x": "2"})])
    for _ in range(2):
        one, same, other = ground.signatures(("x",), by_name=False)
        assert one == same != other
    assert len(set(ground.signatures(("x",), by_name=True))) == 3


def test_what_a_node_has_once_is_an_obstacle_only_where_it_is_taken() -> None:
    port = {"host port 80": WHOLE_NODE}
    taking = scale_set(claims=port)
    assert obstacles(taking, node()) == obstacles(taking, node(), dict(node().allocatable) | port) == ()
    assert obstacles(taking, node(), dict(node().allocatable) | {"host port 80": 0}) == (
        "has no host port 80 left",
    )


def test_who_tolerates_alike_may_be_on_the_same_nodes() -> None:
    tainted = [Node("a", taints=(Taint("t", "", "NoSchedule"),)), Node("b")]
    ground = Ground(tainted)
    tolerant = scale_set(node_selector={}, tolerations=(Toleration("t", "Exists"),))
    picky = scale_set(node_selector={"x": "y"}, tolerations=(Toleration("t", "Exists"),))
    assert [ground.allowing(shape_of(each).placement) for each in (tolerant, picky, tolerant)] == [3, 0, 3]


def test_a_runner_that_is_put_on_a_node_by_name_is_closed_out_of_all_others() -> None:
    tied = scale_set(node_name="a")
    assert list(closed(tied, node("a"))) == []
    assert list(closed(tied, node("b"))) == ["is not a, where nodeName puts the runners"]
