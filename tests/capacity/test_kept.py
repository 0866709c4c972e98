"""Audits that are kept: whole, bounded, without secrets, and never in the way of the audit itself."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.capacity.builders import (
    LABEL,
    NOW,
    decision,
    listed,
    node,
    policy,
    scale_set,
    sized,
    snapshot,
    write,
    written_node,
    written_policy,
    written_set,
)
from tests.capacity.conftest import Run
from tests.capacity.kept_audits import Home, busy

from remuda.capacity import kept
from remuda.capacity.decide.audit import audit
from remuda.capacity.kept import MOST_FINDINGS, SCHEMA, Head, KeptAudit, kept_of
from remuda.errors import BadInput
from remuda.ledger import documents
from remuda.ledger.documents import Kept
from remuda.ledger.record import pack
from remuda.model.times import DAY

OVERFLOW = {
    "node": "sting",
    "envelopes": ["vm"],
    "admitted": decision(),
    "prewarm": {"image": "registry.example/wanted"},
}
ENVELOPE = {"name": "vm", "requests": sized("2", "8Gi", "24Gi"), "limits": sized("8", "16Gi", "40Gi")}


def read(home: Path) -> KeptAudit:
    with documents.documents(home) as db:
        (item,) = kept.newest_of_each(db)
        return kept.read(documents.packed(db, item), item, KeptAudit)


def test_what_is_kept_is_judged_again_to_the_same_findings(tmp_path: Path) -> None:
    world = snapshot(
        scale_set(max=None), scale_set("docs", max=2, min=1), node(), node("sting"), source="cluster"
    )
    rules = policy(
        nodes={"primary": {"capability.example/kvm": "true"}, "overflow": [OVERFLOW]},
        envelopes=[ENVELOPE],
        owners=[{"name": "platform", "lanes": ["docs"], "guaranteed": 1}],
        evidence={"date": "2026-11-01", "fitted": 3, "maxAge": "14d"},
        sets=[{"name": "docs", "max": 2, "jobPod": {"requests": sized("500m", "1Gi")}}],
    )
    made = audit(world, (), {"kvm": rules}, NOW)
    assert kept.keep(tmp_path, made, (), {"kvm": rules}, NOW + 5) == ""
    found = read(tmp_path)
    assert (found.schema, found.made_at, found.at, found.source) == (SCHEMA, NOW + 5, NOW, "cluster")
    assert found.specs() == {"kvm": rules}
    again = audit(found.snapshot, found.labels, found.specs(), found.at)
    assert again.findings == found.findings == made.findings
    assert found.names == (LABEL,)
    assert [reason.code for reason in found.reasons] == ["label.has-room"]


def test_no_secret_is_kept() -> None:
    world = snapshot(
        scale_set(scope="https://hunter2:x@github.com/acme?token=hunter2#hunter2"),
        scale_set("odd", scope="http://[hunter2"),
        node(images=("registry.example/hunter2", "registry.example/wanted")),
        node("bare", images=("registry.example/other", "registry.example/hunter2")),
    )
    patch = {"spec": {"template": {"spec": {"containers": [{"env": [{"name": "A", "value": "hunter2"}]}]}}}}
    rules = policy(
        nodes={
            "primary": {"capability.example/kvm": "true"},
            "overflow": [OVERFLOW | {"rollbacks": [{"lane": "vm-test", "patch": patch}]}],
        },
        envelopes=[ENVELOPE],
    )
    found = kept_of(audit(world, (), {"kvm": rules}, NOW), (), {"kvm": rules}, NOW)
    assert "hunter2" not in repr(found)
    first, odd = found.snapshot.scale_sets
    assert (first.scope, odd.scope) == ("https://github.com/acme", "")
    assert [each.images for each in found.snapshot.nodes] == [
        ("registry.example/wanted",),
        ("registry.example/other",),
    ]


def test_one_that_is_too_large_is_not_kept_and_no_error(tmp_path: Path) -> None:
    made = audit(busy(), (), {}, NOW)
    assert "at most 100 are kept of one" in kept.keep(tmp_path / "d", made, (), {}, NOW, largest=100)
    assert not (tmp_path / "d").exists()


def test_findings_are_kept_up_to_a_number_the_gravest_first() -> None:
    made = audit(busy(), (), {"kvm": policy()}, NOW)
    many = replace(made, findings=made.findings[:1] * (MOST_FINDINGS + 5))
    assert len(kept_of(many, (), {}, NOW).findings) == MOST_FINDINGS


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"schema": "remuda.dev/capacity-kept/v9"}, "v9, and this remuda reads remuda.dev/capacity-kept/v1"),
        ({"schema": ""}, "is of no version"),
        ({"schema": SCHEMA, "made_at": "then"}, "cannot be read"),
        ([1, 2], "cannot be read"),
    ],
)
def test_what_another_version_kept_is_not_guessed_at(value: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        kept.read(pack(value), Kept(1, "capacity/cluster", NOW), Head)


def test_a_policy_that_cannot_be_read_any_more_says_so() -> None:
    found = KeptAudit(SCHEMA, policies={"kvm": {"label": "x", "ceiling": -3}})
    with pytest.raises(BadInput, match="a policy of the kept audit cannot be read"):
        found.specs()


def files(folder: Path) -> tuple[str | Path, ...]:
    world = write(folder, written_set(maxRunners=1, requests=sized("2", "8Gi")), written_node())
    rules = write(folder, written_policy(), name="policy.json")
    return "audit", "--from", world, "--policy", rules


def test_the_command_keeps_what_it_saw_and_says_nothing_about_it(run: Run, tmp_path: Path) -> None:
    ran = run(*files(tmp_path), "--at", "2026-11-16T12:00:00Z")
    assert ran.err == ""
    found = read(tmp_path / "data")
    assert found.at == NOW
    assert abs(found.made_at - NOW) > 0, "it was made now, whatever it was judged as of"
    assert found.snapshot.scale_sets[0].id == "arc/vm-test"


def test_the_command_keeps_nothing_when_asked_not_to(run: Run, tmp_path: Path) -> None:
    run(*files(tmp_path), "--no-keep")
    assert not (tmp_path / "data").exists()


def test_a_label_that_nobody_carries_does_not_take_the_place_of_a_good_audit(
    run: Run, tmp_path: Path
) -> None:
    assert run("audit", "--from", files(tmp_path)[2], "--label", "nix-kv").code == 2
    assert not (tmp_path / "data").exists()


def test_scale_sets_that_were_not_read_are_not_kept_as_an_audit(run: Run, tmp_path: Path) -> None:
    only_nodes = write(tmp_path, listed(written_node()), name="nodes.json")
    ran = run("audit", "--from", only_nodes)
    assert "this audit is not kept: scale sets were not read" in ran.err
    assert not (tmp_path / "data").exists()


def test_a_data_directory_that_cannot_be_used_costs_nobody_the_audit(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    kept_nothing = run(*files(tmp_path), "-o", "json")
    assert json.loads(kept_nothing.out)["labels"]
    assert "this audit is not kept: the data directory" in kept_nothing.err
    assert run(*files(tmp_path), "-q").err == ""


def test_audits_of_two_clusters_do_not_mix(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for number in range(3):
        home.keep(busy(number), at=NOW + number * DAY)
    home.keep(replace(busy(), source="another"), at=NOW + DAY)
    with documents.documents(tmp_path) as db:
        found = [(item.kind, item.at) for item in kept.newest_of_each(db)]
        assert found == [("capacity/cluster", NOW + 2 * DAY), ("capacity/another", NOW + DAY)]
        assert [item.at for item in kept.newest_of_each(db, NOW)] == [NOW]
