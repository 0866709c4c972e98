"""All gates of an overflow node in the order they are shown, whether or not a set carries the envelope."""

from tests.capacity.builders import CAPABILITY, GIB, NOW, decision, node, policy, scale_set, sized, snapshot

from remuda.capacity.decide.checked_gates import checked_gates
from remuda.capacity.decide.gates import Gate
from remuda.capacity.snapshot import SCALE_SETS, ScaleSet, Snapshot, Unknown

SITE = {"node": "sting", "envelopes": ["vm"], "admitted": decision()}
ENVELOPE = {"name": "vm", "requests": sized("2", "8Gi", "4Gi"), "limits": sized("8", "16Gi", "8Gi")}
RULES = policy(nodes={"primary": CAPABILITY, "overflow": [SITE]}, envelopes=[ENVELOPE])
NODE_GATES = ["admission", "capability", "budget", "root-filesystem", "image-filesystem", "prewarm"]


def checked(world: Snapshot, *scale_sets: ScaleSet) -> list[tuple[str, Gate]]:
    (site,), (envelope,) = RULES.nodes.overflow, RULES.envelopes
    return list(checked_gates(world, RULES, site, envelope, scale_sets, NOW))


def test_those_of_the_node_come_first_then_those_of_each_set_and_room_last() -> None:
    one, other = scale_set("one"), scale_set("other")
    found = checked(snapshot(one, other, node("sting")), one, other)
    assert [(name, gate.gate) for name, gate in found] == [
        *(("", name) for name in NODE_GATES),
        *((name, gate) for name in ("arc/one", "arc/other") for gate in ("toleration", "rollback")),
        ("", "room"),
    ]


def test_an_envelope_that_no_set_carries_passes_nothing_of_a_set() -> None:
    found = {gate.gate: gate for _, gate in checked(snapshot(node("sting")))}
    assert [found[name].state for name in ("toleration", "rollback")] == ["fail", "fail"]
    assert found["rollback"].evidence == "no scale set of nix-kvm carries vm"
    assert found["rollback"].fix.startswith("name it as the envelope of a set in the policy")
    assert found["rollback"].read_at == NOW


def test_sets_that_were_not_read_are_not_said_to_carry_nothing() -> None:
    world = snapshot(node("sting"), unknown=(Unknown(SCALE_SETS, "forbidden"),))
    found = {gate.gate: gate for _, gate in checked(world)}
    assert [found[name].state for name in ("toleration", "rollback")] == ["unknown", "unknown"]
    assert found["toleration"].evidence == "scale sets could not be read: forbidden"


def test_room_counts_the_sets_that_are_asked_about() -> None:
    carrying = scale_set(overhead={"memory": 500 * GIB})
    world = snapshot(carrying, node("sting"))
    assert checked(world, carrying)[-1][1].state == "fail"
    assert checked(world)[-1][1].state == "pass"
