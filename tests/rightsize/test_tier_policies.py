"""Files of policies: RightsizePolicy and TierPolicy side by side, and what old files say."""

from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.tier_policies import BUILT_IN_TIERS, read_policies

SIZES = "apiVersion: remuda.dev/v1alpha1\nkind: RightsizePolicy\nmetadata: {name: sizes}\nspec: "
TIERS = "apiVersion: remuda.dev/v1alpha1\nkind: TierPolicy\nmetadata: {name: NAME}\nspec: "


def written(tmp_path: Path, *documents: str) -> tuple[str, ...]:
    file = tmp_path / "policies.yaml"
    file.write_text("\n---\n".join(documents) + "\n")
    return (str(file),)


def tiers(spec: str = "{}", name: str = "home") -> str:
    return TIERS.replace("NAME", name) + spec


def problems(files: tuple[str, ...]) -> list[str]:
    with pytest.raises(BadInput) as error:
        read_policies(files)
    return [line.partition(":")[2] for line in str(error.value).splitlines()]


def test_without_files_sizes_and_tiers_are_the_built_in_ones() -> None:
    read = read_policies(())
    assert (read.sizes, read.tiers, read.notes) == (RightsizePolicySpec(), BUILT_IN_TIERS, ())


def test_a_policy_of_sizes_and_one_of_tiers_stand_in_the_same_file(tmp_path: Path) -> None:
    read = read_policies(written(tmp_path, SIZES + "{history: 2d}", tiers("{defaultTier: 4-aux}")))
    assert str(read.sizes.history) == "2d"
    assert not read.tiers.are_built_in
    assert [(each.name, each.default_tier) for each in read.tiers.policies] == [("home", "4-aux")]
    assert read.notes == ()


def test_tiers_alone_are_enough(tmp_path: Path) -> None:
    read = read_policies(written(tmp_path, tiers("{namespaces: [a]}", "a"), tiers("{namespaces: [b]}", "b")))
    assert read.sizes == RightsizePolicySpec()
    assert [each.name for each in read.tiers.policies] == ["a", "b"]


def test_a_policy_of_sizes_alone_has_nothing_to_be_told(tmp_path: Path) -> None:
    read = read_policies(written(tmp_path, SIZES + "{workloads: [{tier: 2-gpu}]}"))
    assert (read.tiers, read.notes) == (BUILT_IN_TIERS, ())


@pytest.mark.parametrize(
    ("spec", "says", "instead"),
    [
        ("{tierLabel: team}", "spec.tierLabel", "{tierLabel: team}"),
        ("{defaultTier: 3}", "spec.defaultTier", "{defaultTier: 3-edge}"),
        (
            "{tierLabel: tier, defaultTier: 0, tiers: [{tier: 2, maxMemory: 16Gi}, {tier: 4, minCpu: 10m, maxCpu: 1}]}",
            "spec.tierLabel and spec.defaultTier and spec.tiers",
            "{tierLabel: tier, defaultTier: 0-core, tiers: [{name: 2-gpu, maxMemory: 16Gi}, {name: 4-aux, minCpu: 10m, maxCpu: 1}]}",
        ),
    ],
)
def test_an_old_file_still_holds_and_says_what_to_write_instead(
    tmp_path: Path, spec: str, says: str, instead: str
) -> None:
    files = written(tmp_path, SIZES + spec)
    read = read_policies(files)
    assert read.tiers == BUILT_IN_TIERS
    [note] = read.notes
    assert note.startswith(f"{files[0]}:1: RightsizePolicy sizes says {says} itself, and that still holds")
    assert f"write a TierPolicy instead, with spec: {instead} (it bounds every tier" in note
    whole = TIERS.replace("NAME", "home") + instead
    assert read_policies(written(tmp_path, whole)).tiers.policies[0].name == "home"


def test_tiers_that_are_said_twice_are_problems_all_at_once(tmp_path: Path) -> None:
    spec = "{tierLabel: team, defaultTier: 3, tiers: [{tier: 2}], workloads: [{tier: 1}, {tier: silver}]}"
    assert problems(written(tmp_path, SIZES + spec, tiers())) == [
        "4:19: spec.tierLabel: tiers are what TierPolicy home says: leave this out",
        "4:38: spec.defaultTier: tiers are what TierPolicy home says: leave this out",
        "4:41: spec.tiers: tiers are what TierPolicy home says: leave this out",
        "4:91: spec.workloads[1].tier: there is no tier silver: there are 0-core, 1-cluster, 2-gpu, 3-edge, 4-aux",
    ]


def test_two_policies_of_sizes_are_one_too_many(tmp_path: Path) -> None:
    files = written(tmp_path, SIZES + "{}", SIZES.replace("sizes}", "more}") + "{}")
    with pytest.raises(
        BadInput, match="more than one RightsizePolicy: RightsizePolicy sizes, RightsizePolicy more"
    ):
        read_policies(files)


def test_policies_of_tiers_are_checked_together(tmp_path: Path) -> None:
    assert problems(written(tmp_path, tiers(name="a"), tiers(name="b")))[0].endswith(
        "TierPolicy a claims *, too: a namespace of two policies has no tier"
    )


def test_another_kind_is_refused(tmp_path: Path) -> None:
    other = "apiVersion: remuda.dev/v1alpha1\nkind: RunnerPool\nmetadata: {name: a}\nspec: {}"
    assert '"RunnerPool" is no kind' in problems(written(tmp_path, other))[0]
