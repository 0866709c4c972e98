"""`remuda capacity audit`: what it prints, in every form, and how it exits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from tests.capacity.builders import (
    CAPABILITY,
    LABEL,
    sized,
    write,
    written_node,
    written_policy,
    written_pool,
    written_runner,
    written_set,
)
from tests.processes import Ran

Run = Callable[..., Ran]
GIB = 2**30
STING = {"cpu": "32", "memory": "57336136Ki", "ephemeral-storage": "71210557932"}
POD = {"nodeSelector": CAPABILITY}


def written_sets(**last: Any) -> list[dict[str, Any]]:
    """Three sets: max 1, 1 and 2."""
    small: dict[str, Any] = {"requests": sized("2", "8Gi"), "limits": sized("8", "16Gi")}
    large: dict[str, Any] = {"requests": sized("4", "32Gi", "24Gi"), "limits": sized("8", "64Gi", "40Gi")}
    return [
        written_set("docs", pod=POD, runnerScaleSetName=LABEL, maxRunners=1, **small),
        written_set("lint", pod=POD, runnerScaleSetLabels=[LABEL], maxRunners=1, **small),
        written_set("vm-test", pod=POD, runnerScaleSetName=LABEL, **({"maxRunners": 2} | large | last)),
    ]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """They and one node, without a file of pods."""
    return write(tmp_path, *written_sets(), written_node("sting", STING))


def audited(run: Run, *words: str | Path) -> Any:
    ran = run("capacity", "audit", *words, "-o", "json")
    assert ran.code in {0, 1}, ran.err
    return json.loads(ran.out)


def base(cpu: int, memory: int, ephemeral: int) -> dict[str, int]:
    return {
        "cpu_millicores": cpu * 1_000,
        "memory_bytes": memory * GIB,
        "ephemeral_storage_bytes": ephemeral * GIB,
    }


def test_the_arithmetic_is_right(run: Run, cluster: Path) -> None:
    """Max 4, 12 CPU/80Gi/48Gi requested, 32 CPU/160Gi/80Gi limited; one of the large fits, and its limit is too much."""
    found = audited(run, "--label", LABEL, "--from", cluster)
    (label,) = found["labels"]
    assert (label["name"], label["activeSets"], label["ceiling"]) == (LABEL, 3, None)
    aggregate = label["aggregate"]
    assert aggregate["max"] == 4
    assert {key: value for key, value in aggregate["requests"].items() if key != "raw"} == base(12, 80, 48)
    assert {key: value for key, value in aggregate["limits"].items() if key != "raw"} == base(32, 160, 80)
    assert aggregate["requests"]["raw"] == {"cpu": "12", "memory": "80Gi", "ephemeral-storage": "48Gi"}
    (node,) = found["nodes"]
    assert node["allocatable"]["memory_bytes"] / GIB == pytest.approx(54.68, abs=0.005)
    assert node["allocatable"]["ephemeral_storage_bytes"] / GIB == pytest.approx(66.32, abs=0.005)
    assert node["fits"] == {"docs": 6, "lint": 6, "vm-test": 1}
    assert node["overcommits"]["vm-test"] == ["memory"]
    assert node["overcommits"]["docs"] == ["cpu", "memory"]  # six of them, not one
    rules = {item["rule"]: item for item in found["findings"]}
    assert "64Gi memory, more than there is on sting" in rules["limit-exceeds-node"]["is"]
    assert rules["aggregate-does-not-fit"]["severity"] == "error"


def test_tables_show_gibibytes_with_two_decimals(run: Run, cluster: Path) -> None:
    ran = run("capacity", "audit", "--include-label", LABEL, "--from", cluster)
    assert ran.code == 1
    for words in ("54.68", "66.32", "80.00 / 160.00", "48.00 / 80.00", "12 / 32", "vm-test 1!", "cannot fit"):
        assert words in ran.out


def test_a_set_without_a_bound_is_shown_as_such(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, *written_sets(maxRunners=None), written_node("sting", STING))
    assert "∞" in run("capacity", "audit", "--from", path).out
    found = audited(run, "--from", path, "--label", LABEL)
    (label,) = found["labels"]
    assert label["aggregate"]["max"] is None
    assert label["aggregate"]["requests"]["memory_bytes"] is None
    assert "unbounded-set" in [item["rule"] for item in found["findings"]]


def test_the_document_is_as_its_schema_says(run: Run, tmp_path: Path) -> None:
    ran = run("capacity", "audit", "--schema")
    schema = json.loads(ran.out)
    assert (ran.code, schema["$id"]) == (0, "remuda.dev/capacity-audit/v1")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    sets = [*written_sets(maxRunners=None), written_pool(class_="other")]
    snapshot = write(tmp_path, *sets, written_node("sting", STING), written_node(), written_runner())
    policy = write(tmp_path, written_policy(owners=[{"name": "team", "lanes": ["docs"]}]), name="p.json")
    for words in (
        ["--from", str(snapshot)],
        ["--from", str(snapshot), "--label", LABEL, "--policy", str(policy)],
    ):
        found = audited(run, *words)
        validator.validate(found)
        assert found["findings"]
    found["nodes"][0].pop("fits")
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found)


def test_yaml_says_what_json_says(run: Run, cluster: Path) -> None:
    words = ("capacity", "audit", "--from", cluster, "--at", "2026-11-16T12:00:00Z", "-o")
    assert yaml.safe_load(run(*words, "yaml").out) == json.loads(run(*words, "json").out)


def test_markdown_is_a_page(run: Run, cluster: Path) -> None:
    page = run("capacity", "audit", "--label", LABEL, "--from", cluster, "-o", "markdown").out
    assert page.startswith(f"# Capacity of {LABEL}\n\nAudit of {LABEL} at ")
    assert "\n| LABEL | SETS | MAX |" in page
    assert "| error | `aggregate-does-not-fit` |" in page


@pytest.mark.parametrize(
    ("fail_on", "last", "code"),
    [
        ("error", {"maxRunners": 1, "limits": sized("8", "16Gi", "40Gi")}, 0),
        ("warning", {"maxRunners": 1, "limits": sized("8", "16Gi", "40Gi")}, 0),
        ("info", {"maxRunners": 1, "limits": sized("8", "16Gi", "40Gi")}, 1),  # pods were not read
        ("error", {"maxRunners": 1}, 0),
        ("warning", {"maxRunners": 1}, 1),  # the limit is above the node
        ("error", {}, 1),
    ],
)
def test_the_exit_code_says_how_grave_it_is(
    run: Run, tmp_path: Path, fail_on: str, last: dict[str, Any], code: int
) -> None:
    path = write(tmp_path, *written_sets(**last), written_node("sting", STING))
    assert run("capacity", "audit", "--label", LABEL, "--from", path, "--fail-on", fail_on).code == code


def test_a_label_that_no_set_carries_is_bad_input_with_near_misses(run: Run, cluster: Path) -> None:
    ran = run("capacity", "audit", "--label", "nix-kv", "--from", cluster)
    assert ran.code == 2
    assert "did you mean nix-kvm?" in ran.out


@pytest.mark.parametrize("text", ["[]", '{"apiVersion": "v1", "kind": "List", "items": []}'])
def test_files_without_scale_sets_are_no_clean_audit(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "nothing.json"
    file.write_text(text)
    ran = run("capacity", "audit", "--label", LABEL, "--from", file)
    assert ran.code == 1
    assert "scale sets were not read: who carries the label, and what it comes to, is not known" in ran.out
    assert "no set carries the label" not in ran.out
    assert audited(run, "--label", LABEL, "--from", file)["labels"][0]["aggregate"]["max"] is None


def test_a_maximum_that_the_controller_takes_for_none_is_none(run: Run, tmp_path: Path) -> None:
    found = audited(run, "--label", LABEL, "--from", write(tmp_path, *written_sets(maxRunners=2**31 - 1)))
    assert found["labels"][0]["aggregate"]["max"] is None
    assert "unbounded-set" in {item["rule"] for item in found["findings"]}


def test_a_policy_is_judged_by(run: Run, cluster: Path, tmp_path: Path) -> None:
    policy = write(tmp_path, written_policy(ceiling=3), name="policy.json")
    found = audited(run, "--label", LABEL, "--from", cluster, "--policy", policy)
    assert found["labels"][0]["ceiling"] == 3
    (node,) = found["nodes"]
    assert (node["role"], node["admitted"]) == ("primary", True)
    assert {"ceiling-exceeded", "newcomer-above-default"} <= {item["rule"] for item in found["findings"]}


def test_runners_that_are_there_are_counted_and_make_room(run: Run, tmp_path: Path) -> None:
    runner = written_runner(of="vm-test", on="sting", requests=sized("4", "32Gi", "24Gi"))
    found = audited(run, "--from", write(tmp_path, *written_sets(), written_node("sting", STING), runner))
    assert {item["name"]: item["running"] for item in found["scaleSets"]} == {
        "docs": 0,
        "lint": 0,
        "vm-test": 1,
    }
    (node,) = found["nodes"]
    assert node["requested"]["memory_bytes"] == 32 * GIB
    assert node["fits"]["vm-test"] == 1


def test_sets_of_one_name_are_distinguished(run: Run, tmp_path: Path) -> None:
    sets = [written_set(namespace=space, runnerScaleSetName=LABEL, pod=POD) for space in ("a", "b")]
    found = audited(run, "--from", write(tmp_path, *sets, written_node()))
    assert list(found["nodes"][0]["fits"]) == ["a/vm-test", "b/vm-test"]


def test_several_labels_give_each_node_a_role_for_each(run: Run, tmp_path: Path) -> None:
    sets = [
        written_set("one", runnerScaleSetName="a", pod=POD),
        written_set("two", runnerScaleSetName="b", pod={"nodeSelector": {"gpu": "yes"}}),
    ]
    found = audited(run, "--from", write(tmp_path, *sets, written_node()))
    (node,) = found["nodes"]
    assert {name: role["admitted"] for name, role in node["labels"].items()} == {"a": True, "b": False}
    assert (node["role"], node["admitted"]) == ("eligible", True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "{cluster}", "--context", "x"], "leave one of them out"),
        (["--from", "{folder}/none.json"], "there is no such file"),
        (["--from", "{cluster}", "--policy", "{folder}/none.yaml"], "there is no such file"),
        (["--from", "{cluster}", "--policy", "{folder}/twice.json"], "a label has one"),
        (["--from", "{cluster}", "--policy", "{folder}/ceiling.json"], "there is no CapacityPolicy in"),
        (
            ["--from", "{cluster}", "--label", "docs", "--policy", "{folder}/policy.json"],
            "is for nix-kvm, and for none",
        ),
        (["--from", "{cluster}", "--fail-on", "never"], "Invalid value for '--fail-on'"),
        (["--from", "{cluster}", "--at", "noon"], "is no time"),
        (["--from", "{folder}/broken.json"], "broken.json:1:"),
    ],
)
def test_bad_input_is_refused(
    run: Run, cluster: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    write(tmp_path, written_policy(), name="policy.json")
    write(tmp_path, written_policy(), written_policy("again"), name="twice.json")
    ceiling = {"apiVersion": "remuda.dev/v1alpha1", "kind": "Ceiling", "metadata": {"name": "c"}, "spec": {"machines": 1}}  # fmt: skip
    write(tmp_path, ceiling, name="ceiling.json")
    (tmp_path / "broken.json").write_text("{")
    ran = run("capacity", "audit", *(word.format(cluster=cluster, folder=tmp_path) for word in words))
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_help_says_how_it_exits(run: Run) -> None:
    ran = run("capacity", "audit", "--help")
    assert ran.code == 0
    assert "Exit codes: 0" in ran.out
