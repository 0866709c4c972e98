"""The gates of an overflow node: each holds for what it should, and for nothing less."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.capacity.builders import (
    CAPABILITY,
    GIB,
    NOW,
    decision,
    measured,
    node,
    policy,
    scale_set,
    sized,
    snapshot,
)

from remuda.capacity.decide.gates import Gate, carriers, node_gates, room_gate, scale_set_gates
from remuda.capacity.decide.neighbours import WHOLE_NODE
from remuda.capacity.objects import CapacityPolicySpec, Envelope, Overflow
from remuda.capacity.snapshot import (
    NODES,
    PODS,
    SCALE_SETS,
    SUMMARIES,
    Filesystem,
    Node,
    ScaleSet,
    Snapshot,
    Summary,
    Unknown,
    Usage,
    summary_of,
)
from remuda.model.pods import Match, Taint, Term, Toleration
from remuda.model.times import DAY, Instant


def gates(
    snapshot: Snapshot,
    policy: CapacityPolicySpec,
    overflow: Overflow,
    envelope: Envelope,
    scale_set: ScaleSet,
    now: Instant,
) -> tuple[Gate, ...]:
    """Everything that must hold for one more runner of the scale set to start there with this envelope."""
    return (
        *node_gates(snapshot, policy, overflow, envelope, now),
        *scale_set_gates(snapshot, policy, overflow, scale_set, now),
        room_gate(snapshot, policy, overflow, envelope, now, (scale_set,)),
    )


TAINT = Taint("overflow", "true", "NoSchedule")
TOLERATION = Toleration(key="overflow", operator="Exists")
LARGE = {"requests": measured("4", "20Gi", "24Gi"), "limits": measured("8", "40Gi", "40Gi")}
ROOM = Filesystem(100 * GIB, 60 * GIB, 1_000, 900)


def overflow(**words: Any) -> dict[str, Any]:
    return {
        "node": "sting",
        "envelopes": ["large"],
        "admitted": decision(),
        "requested": sized(memory="24Gi", ephemeral="24Gi"),
        "limited": sized(memory="40Gi", ephemeral="40Gi"),
        "prewarm": {"image": "ghcr.io/acme/closure:1"},
        "rollbacks": [{"lane": "vm-test"}],
    } | words


def judged_by(spec: dict[str, Any] | None = None, **words: Any) -> CapacityPolicySpec:
    """A policy whose overflow node is open, but for the words given."""
    envelope = {
        "name": "large",
        "requests": sized("4", "20Gi", "24Gi"),
        "limits": sized("8", "40Gi", "40Gi"),
    }
    whole: dict[str, Any] = {
        "nodes": {"primary": CAPABILITY, "overflow": [overflow(**words)]},
        "envelopes": [envelope, envelope | {"name": "other"}],
        "sets": [{"name": "vm-test", "max": 2, "envelope": "large"}],
    }
    return policy(**whole | (spec or {}))


def sting(**fields: Any) -> Node:
    return node(
        "sting", "32", "54Gi", "66Gi", **{"taints": (TAINT,), "images": ("ghcr.io/acme/closure:1",)} | fields
    )


def runner(**fields: Any) -> ScaleSet:
    return scale_set(**LARGE | {"tolerations": (TOLERATION,)} | fields)


def seen(*parts: ScaleSet | Node, **fields: Any) -> Snapshot:
    """A world in which every gate holds, but for the parts given."""
    there = {part.name for part in parts}
    usual = [part for part in (sting(), node("honey"), runner()) if part.name not in there]
    summary = {"summaries": {"sting": Summary(ROOM, ROOM, NOW)}}
    return snapshot(*parts, *usual, **summary | fields)


def judge(
    here: Snapshot | None = None, by: CapacityPolicySpec | None = None, now: int = NOW
) -> dict[str, Gate]:
    there, spec = here or seen(), by or judged_by()
    asked = next((item for item in there.scale_sets if item.name == "vm-test"), runner())
    found = gates(there, spec, spec.nodes.overflow[0], spec.envelopes[0], asked, now)
    assert len({item.gate for item in found}) == len(found)
    return {item.gate: item for item in found}


def failing(found: dict[str, Gate]) -> dict[str, str]:
    return {name: item.state for name, item in found.items() if not item.holds}


def test_a_node_is_open_when_all_gates_hold() -> None:
    found = judge()
    assert failing(found) == {}
    assert list(found) == [
        "admission", "capability", "budget", "root-filesystem", "image-filesystem", "prewarm",
        "toleration", "rollback", "room",
    ]  # fmt: skip
    assert all(item.evidence and not item.fix for item in found.values())
    assert all(item.expires for name, item in found.items() if name != "admission")


def fs(available: float, capacity: int = 100, inodes: int = 1_000, free: int = 900) -> Filesystem:
    return Filesystem(capacity * GIB, int(available * GIB), inodes, free)


def disks(root: Filesystem = ROOM, images: Filesystem = ROOM, read_at: int = NOW) -> Snapshot:
    return seen(summaries={"sting": Summary(root, images, read_at)})


def used(number: int = 1, requested: dict[str, int] | None = None, of: str = "arc/vm-test") -> Snapshot:
    asks = measured("4", "20Gi", "24Gi")
    mine = {name: value * number for name, value in asks.items()}
    usage = Usage(requested or mine | {"pods": number}, {}, {of: number}, {of: mine})
    return seen(usage={"sting": usage})


#: id → (world, the gates that do not hold)
WORLDS: dict[str, tuple[Snapshot, dict[str, str]]] = {
    "a node without the capability": (seen(sting(labels={"kubernetes.io/os": "linux"})), {"capability": "fail", "toleration": "fail"}),
    "the capability with another value": (seen(sting(labels=dict.fromkeys(CAPABILITY, "no"))), {"capability": "fail", "toleration": "fail"}),
    "a scale set without a toleration": (seen(runner(tolerations=())), {"toleration": "fail"}),
    "a scale set that tolerates everything": (seen(runner(tolerations=(Toleration(operator="Exists"),))), {"toleration": "fail"}),
    "a toleration of another value": (seen(runner(tolerations=(Toleration("overflow", "Equal", "no"),))), {"toleration": "fail"}),
    "a scale set that is tied to another node": (
        seen(runner(node_selector={**CAPABILITY, "kubernetes.io/hostname": "honey"})), {"toleration": "fail"},
    ),
    "a required affinity to other nodes": (
        seen(runner(required=(Term((Match("zone", "In", ("a",)),)),))), {"toleration": "fail"},
    ),
    "a node without a taint": (seen(sting(taints=())), {"toleration": "fail", "rollback": "fail"}),
    "a node that is only avoided": (
        seen(sting(taints=(Taint("overflow", "true", "PreferNoSchedule"),))), {"toleration": "fail", "rollback": "fail"},
    ),
    "a node that is too small": (seen(sting(allocatable=measured("2", "54Gi", "66Gi"))), {"budget": "fail", "room": "fail"}),
    "a node without local storage": (seen(sting(allocatable=measured("32", "54Gi"))), {"budget": "fail", "room": "fail"}),
    "10 % of the root left": (disks(root=fs(34)), {}),
    "less than 10 % of the root left": (disks(root=fs(33.9)), {"root-filesystem": "fail"}),
    "15 % of the images' left": (disks(images=fs(39)), {}),
    "less than 15 % of the images' left": (disks(images=fs(38.9)), {"image-filesystem": "fail"}),
    "less free than the envelope may write": (disks(fs(20), fs(20)), {"root-filesystem": "fail", "image-filesystem": "fail"}),
    "5 % of inodes left": (disks(root=fs(60, free=50)), {}),
    "less than 5 % of inodes left": (disks(root=fs(60, free=49)), {"root-filesystem": "fail"}),
    "a filesystem that counts no inodes": (disks(fs(60, inodes=0, free=0), fs(60, inodes=0, free=0)), {}),
    "a kubelet that says nothing of images": (disks(images=Filesystem()), {"image-filesystem": "unknown"}),
    "a summary that is too old": (
        disks(read_at=NOW - 30 * DAY), {"root-filesystem": "unknown", "image-filesystem": "unknown"},
    ),
    "a summary of yesterday": (disks(read_at=NOW - DAY), {}),
    "no summary": (seen(summaries={}), {"root-filesystem": "unknown", "image-filesystem": "unknown"}),
    "disk pressure": (
        seen(sting(taints=(TAINT, Taint("node.kubernetes.io/disk-pressure", "", "NoSchedule")))),
        {"root-filesystem": "fail", "image-filesystem": "fail", "room": "fail"},
    ),
    "another image": (seen(sting(images=("ghcr.io/acme/closure:2",))), {"prewarm": "fail"}),
    "a node that tells no images": (seen(sting(images=())), {"prewarm": "unknown"}),
    "a runner of the label there": (used(), {"room": "fail"}),
    "a runner of another label there": (used(of="arc/other"), {}),
    "a node that others have filled": (seen(usage={"sting": Usage({"memory": 40 * GIB})}), {"room": "fail"}),
    "a node with as many pods as it takes": (seen(usage={"sting": Usage({"pods": 110})}), {"room": "fail"}),
    "a cordoned node": (seen(sting(cordoned=True)), {"room": "fail"}),
    "a node that is not ready": (seen(sting(ready=False)), {"room": "fail"}),
    "pods that could not be read": (seen(unknown=(Unknown(PODS, "may not list pods"),)), {"room": "unknown"}),
}  # fmt: skip


@pytest.mark.parametrize("case", WORLDS)
def test_a_gate_closes_for_what_it_is_about_and_no_other_does(case: str) -> None:
    here, expected = WORLDS[case]
    assert failing(judge(here)) == expected


#: id → (policy, the gates that do not hold)
POLICIES: dict[str, tuple[CapacityPolicySpec, dict[str, str]]] = {
    "another envelope admitted": (judged_by(envelopes=["other"]), {"budget": "fail"}),
    "no runner at a time": (judged_by(mostRunners=0), {"budget": "fail", "room": "fail"}),
    "a request above its guardrail": (judged_by(requested=sized(memory="19Gi")), {"budget": "fail", "room": "fail"}),
    "a limit above its guardrail": (judged_by(limited=sized(memory="39Gi")), {"budget": "fail", "room": "fail"}),
    "no guardrails": (judged_by(requested={}, limited={}), {}),
    "an admission that ended": (judged_by(admitted=decision(until="2026-11-15")), {"admission": "fail"}),
    "an admission that ends today": (judged_by(admitted=decision(until="2026-11-16")), {}),
    "an admission of tomorrow": (judged_by(admitted=decision(when="2026-11-17")), {"admission": "fail"}),
    "no prewarm": (judged_by(prewarm={}), {"prewarm": "fail"}),
    "a record": (judged_by(prewarm={"record": decision()}), {}),
    "a record that is too old": (judged_by(prewarm={"record": decision(when="2026-10-01")}), {"prewarm": "fail"}),
    "an old record that still counts": (judged_by(prewarm={"record": decision(when="2026-10-01", until="2026-11-16")}), {}),
    "a record that ended": (judged_by(prewarm={"record": decision(until="2026-11-15")}), {"prewarm": "fail"}),
    "a record of tomorrow": (judged_by(prewarm={"record": decision(when="2026-11-17")}), {"prewarm": "fail"}),
    "a record where no image tells": (judged_by(prewarm={"image": "gone", "record": decision()}), {}),
    "no rollback": (judged_by(rollbacks=[]), {"rollback": "fail"}),
    "a rollback of another scale set": (judged_by(rollbacks=[{"lane": "small"}]), {"rollback": "fail"}),
    "a rollback of the same name elsewhere": (judged_by(rollbacks=[{"lane": "other/vm-test"}]), {"rollback": "fail"}),
    "a rollback by namespace and name": (judged_by(rollbacks=[{"lane": "arc/vm-test"}]), {}),
    "a patch that takes tolerations off": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"spec": {"template": {"spec": {"tolerations": None}}}}}]), {},
    ),
    "a patch that ties it to another node": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "honey"}}}}}}]), {},
    ),
    "a patch that keeps it there": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"spec": {"maxRunners": 1}}}]), {"rollback": "fail"},
    ),
    "a patch of something else": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"metadata": {"name": "x"}}}]), {"rollback": "fail"},
    ),
    "a patch that would also rename it": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"tolerations": None}}}}}]), {"rollback": "fail"},
    ),
    "a patch that is no pod": (
        judged_by(rollbacks=[{"lane": "vm-test", "patch": {"spec": {"template": 3}}}]), {"rollback": "fail"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", POLICIES)
def test_what_the_policy_says_closes_gates(case: str) -> None:
    by, expected = POLICIES[case]
    assert failing(judge(by=by)) == expected


def test_a_node_that_is_not_there_passes_nothing_that_is_about_it() -> None:
    here = snapshot(node("honey"), runner())
    found = judge(here)
    assert set(failing(found)) == set(found) - {"admission"}
    here = snapshot(runner(), unknown=(Unknown(NODES, "may not list nodes"),))
    states = failing(judge(here))
    assert states["capability"] == states["budget"] == states["toleration"] == states["room"] == "unknown"


@pytest.mark.parametrize("part", [SUMMARIES, summary_of("sting")])
def test_what_is_missing_for_a_gate_is_named(part: str) -> None:
    here = seen(summaries={}, unknown=(Unknown(part, "may not get nodes/proxy"),))
    gate = judge(here)["root-filesystem"]
    assert gate.state == "unknown"
    assert "may not get nodes/proxy" in gate.evidence
    assert "/api/v1/nodes/sting/proxy/stats/summary" in gate.fix


def test_primary_nodes_may_have_labels_that_are_no_capability() -> None:
    primary = {**CAPABILITY, "role": "primary", "kubernetes.io/hostname": "honey"}
    by = judged_by({"nodes": {"primary": primary, "overflow": [overflow()]}})
    assert failing(judge(by=by)) == {}
    # while no scale set selects by any of them, all but the name count
    by_nothing = seen(runner(node_selector={}))
    assert failing(judge(by_nothing, by)) == {"capability": "fail"}
    named = judged_by(
        {
            "nodes": {
                "primary": {**CAPABILITY, "kubernetes.io/hostname": "honey"},
                "overflow": [overflow()],
            }
        }
    )
    assert failing(judge(by_nothing, named)) == {}


def test_a_scale_set_that_is_tied_to_a_node_by_name_says_nothing_of_the_capability() -> None:
    by = judged_by({"nodes": {"primary": {**CAPABILITY, "role": "primary"}, "overflow": [overflow()]}})
    tied = scale_set("tied", node_selector={"kubernetes.io/hostname": "honey"})
    assert failing(judge(seen(tied), by)) == {}


def test_what_one_scale_set_selects_by_beside_the_others_is_no_capability() -> None:
    by = judged_by({"nodes": {"primary": {**CAPABILITY, "role": "primary"}, "overflow": [overflow()]}})
    choosy = scale_set(name="choosy", **LARGE | {"node_selector": {**CAPABILITY, "role": "primary"}})
    assert failing(judge(seen(choosy), by)) == {}


def test_evidence_grows_old() -> None:
    found = judge(now=NOW + 30 * DAY)
    assert set(failing(found)) == set(found) - {"admission"}
    assert {item.state for name, item in found.items() if name != "admission"} == {"unknown"}
    short = judged_by({"evidence": {"date": "2026-11-01", "fitted": 4, "maxAge": "1d"}})
    assert failing(judge(by=short, now=NOW + DAY - 1)) == {}
    assert len(failing(judge(by=short, now=NOW + DAY))) == len(found) - 1


def test_scale_sets_that_carry_the_envelope_and_can_be_there_are_asked_about() -> None:
    by = judged_by()
    site, large = by.nodes.overflow[0], by.envelopes[0]
    sized_alike, small = scale_set("b", **LARGE), scale_set("small")
    assert carriers(seen(sized_alike, small), by, site, large) == (runner(),)
    kept_off = runner(tolerations=())
    assert carriers(seen(kept_off, sized_alike, small), by, site, large) == (kept_off, sized_alike)
    assert carriers(seen(runner(labels=("other",)), small), by, site, large) == ()


@given(
    available=st.integers(0, 200 * GIB),
    capacity=st.integers(1, 200 * GIB),
    request=st.integers(0, 200),
    is_root=st.booleans(),
)
def test_safety_an_envelope_that_writes_all_it_requests_evicts_nobody(
    available: int, capacity: int, request: int, is_root: bool
) -> None:
    seen_there = Filesystem(capacity, min(available, capacity), 10, 10)
    here = disks(seen_there, ROOM) if is_root else disks(ROOM, seen_there)
    large = {"name": "large", "requests": sized("4", "20Gi", f"{request}Gi")}
    by = judged_by({"envelopes": [large]}, requested={}, limited={})
    gate = judge(here, by)["root-filesystem" if is_root else "image-filesystem"]
    left = seen_there.available - request * GIB
    least = 0.10 if is_root else 0.15
    assert gate.holds == (left * 100 >= capacity * (10 if is_root else 15))
    if gate.holds:
        assert left >= least * capacity - 1


@pytest.mark.slow
@given(st.sets(st.sampled_from(["nodes", "pods", "summaries", "images"])))
def test_safety_what_is_not_known_never_passes(gone: set[str]) -> None:
    here = seen(sting(images=()) if "images" in gone else sting())
    full = judge(here)
    if "nodes" in gone:
        here = replace(here, nodes=(), unknown=(*here.unknown, Unknown(NODES, "no")))
    if "pods" in gone:
        here = replace(here, unknown=(*here.unknown, Unknown(PODS, "no")))
    if "summaries" in gone:
        here = replace(here, summaries={}, unknown=(*here.unknown, Unknown(SUMMARIES, "no")))
    after = judge(here)
    assert {name for name, item in after.items() if item.holds} <= {
        name for name, item in full.items() if item.holds
    }


def test_an_envelope_that_does_not_bound_what_it_writes_is_refused() -> None:
    spec = judged_by(requested=sized("", "24Gi", "24Gi"))
    bare = replace(
        spec.envelopes[0],
        requests=policy(envelopes=[{"name": "x", "requests": sized("4", "20Gi")}]).envelopes[0].requests,
    )
    found = {gate.gate: gate for gate in gates(seen(), spec, spec.nodes.overflow[0], bare, runner(), NOW)}
    message = "gives no ephemeral-storage, of which requested allows 24Gi ephemeral storage"
    assert message in found["budget"].evidence
    assert "requests no ephemeral-storage" in found["budget"].evidence
    assert found["root-filesystem"].evidence.startswith("large requests no ephemeral-storage")


def test_room_that_more_than_resources_decides_is_not_known() -> None:
    gate = judge(seen(runner(unsure=("scheduler volcano places its runners",))))["room"]
    assert (gate.state, gate.evidence) == (
        "unknown",
        "resources fit, but scheduler volcano places its runners",
    )


def test_what_a_node_has_once_is_taken_by_who_is_there() -> None:
    port = {"host port 80": WHOLE_NODE}
    here = seen(runner(claims=port), usage={"sting": Usage(requested=port)})
    gate = judge(here)["room"]
    assert (gate.state, "no host port 80 left" in gate.evidence) == ("fail", True)


@pytest.mark.parametrize(
    ("taken", "state"),
    [
        pytest.param({}, "pass", id="just enough"),
        pytest.param({"cpu": 1}, "fail", id="a thousandth of a core too little"),
        pytest.param({"memory": 1}, "fail", id="a byte too little"),
        pytest.param({"pods": 1}, "fail", id="no pod left"),
    ],
)
def test_there_is_room_for_one_more_to_the_last_byte(taken: dict[str, int], state: str) -> None:
    just = sting(allocatable=measured("4", "20Gi", "24Gi") | {"pods": 1})
    gate = judge(seen(just, usage={"sting": Usage(requested=taken)}))["room"]
    assert gate.state == state


def test_there_is_no_room_for_what_a_node_does_not_have() -> None:
    assert judge(seen(runner(overhead={"example.com/fuse": 1})))["room"].state == "fail"


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"cordoned": True}, "it is cordoned"), ({"ready": False}, "it is not ready"), ({"cordoned": True, "ready": False}, "it is cordoned")],
)  # fmt: skip
def test_a_node_that_is_down_has_no_room(fields: dict[str, bool], why: str) -> None:
    assert judge(seen(sting(**fields)))["room"].evidence == f"sting takes no more: {why}"


def test_a_node_without_local_storage_has_none_of_what_is_requested() -> None:
    bare = sting(allocatable=measured("32", "54Gi") | {"pods": 110})
    assert "and sting has 0 ephemeral storage in all" in judge(seen(bare))["budget"].evidence


def test_a_record_of_what_was_made_ready_ends() -> None:
    by = judged_by(prewarm={"record": decision(until="2026-12-01")})
    end = judge(by=by)["prewarm"].expires
    assert end is not None
    assert [judge(by=by, now=at)["prewarm"].state for at in (end - 1, end)] == ["pass", "fail"]
    assert judge(by=by)["prewarm"].evidence == "ada on 2026-11-01: it fits"


def test_a_rollback_says_how_it_returns_a_set() -> None:
    assert judge()["rollback"].evidence.startswith("its tolerations are taken off, after which ")
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"role": "primary"}}}}}
    by = judged_by(rollbacks=[{"lane": "vm-test", "patch": patch}])
    assert judge(by=by)["rollback"].evidence.startswith("a patch, after which ")


def test_a_set_that_is_there_is_judged_though_others_were_not_read() -> None:
    assert judge(seen(unknown=(Unknown(SCALE_SETS, "may not list"),)))["toleration"].state == "pass"


def test_of_sets_that_were_not_read_nothing_is_said() -> None:
    here = replace(seen(), scale_sets=(), unknown=(Unknown(SCALE_SETS, "may not list"),))
    assert judge(here)["toleration"].state == "unknown"


def test_nodes_that_were_not_read_are_distinguished_from_one_that_is_not_there() -> None:
    unread = (Unknown(PODS, "may not list"), Unknown(NODES, "may not list"))
    here = replace(seen(), nodes=(), unknown=unread)
    assert judge(here)["capability"].evidence == "nodes could not be read: may not list"
