"""`remuda tiers render`: what is printed for people who apply with something else."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml
from msgspec.structs import replace
from tests.processes import Ran

from remuda.cli.tree import main
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.rules.tiers import TierPolicy, Workload, tier_of
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.compare import body_of, key_of, owner_of
from remuda.tiers.decide.model import Memory, NamespaceSeen, ObjectSeen, Policies, Snapshot, Write
from remuda.tiers.rendering import Rendered, kyverno, manifests, terraform

Run = Callable[..., Ran]
POLICY = """apiVersion: remuda.dev/v1alpha1
kind: TierPolicy
metadata: {name: mine}
spec: {cpuLimits: strip, namespaces: ["*"], defaultTier: 4-aux}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `remuda tiers render`; its exit code and what it printed."""
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))

    def call(*words: str | Path) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["tiers", "render", *map(str, words)])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def names(objects: Any) -> list[str]:
    return [
        "/".join(filter(None, (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])))
        for each in objects
    ]


def test_the_limit_range_of_a_namespace_comes_before_its_quota_and_after_the_classes(run: Run) -> None:
    done = run("--namespace", "0-core-dns", "--namespace", "shop=4-aux")
    assert done.code == 0
    found = names(yaml.safe_load_all(done.out))
    assert found[0] == "PriorityClass/tier-0-core"
    assert found[-4:] == [
        "LimitRange/0-core-dns/tier-defaults",
        "ResourceQuota/0-core-dns/0-core-dns-quota",
        "LimitRange/shop/tier-defaults",
        "ResourceQuota/shop/shop-quota",
    ]
    assert "MutatingAdmissionPolicy/" not in done.out
    assert done.out.startswith("# Without MutatingAdmissionPolicies pods get no PriorityClass")


def settled(seen: Snapshot, policies: Policies) -> list[dict[str, Any]]:
    """All that the loop writes into a cluster until it is done, in its order."""
    written: list[dict[str, Any]] = []
    memory = Memory()
    for now in range(100):
        plan, memory = decide(seen, memory, policies, now)
        if not plan.actions:
            return written
        for action in plan.actions:
            assert isinstance(action, Write)
            written.append(action.manifest)
            kind, where, name = key_of(action.manifest)
            made = ObjectSeen(
                kind,
                name,
                where,
                owner=owner_of(action.manifest["metadata"]["labels"]),
                body=body_of(action.manifest),
            )
            seen = replace(seen, objects=(*seen.objects, made))
    raise AssertionError("the loop does not settle")


@pytest.mark.parametrize("mutating", ["v1beta1", None])
def test_what_is_printed_is_what_the_loop_applies_in_its_order(mutating: str | None) -> None:
    mine = replace(DEFAULT_POLICY, name="mine", cpu_limits="strip", excluded=("b*",))
    other = replace(DEFAULT_POLICY, name="other", namespaces=("b*",), default_tier="4-aux")
    labels = {
        "0-core-a": {},
        "b": {},
        "c": {"tier": "1-cluster", "remuda.dev/own-limits": "true"},
        "d": {"tier": "1-cluster", "remuda.dev/own-quota": "true"},
        "e": {"tier": "7-heaven"},
        "f": {},
    }
    seen = Snapshot(
        namespaces=tuple(NamespaceSeen(name, labels=each) for name, each in labels.items()),
        mutation=mutating or "",
        default_class="usual",
    )
    made = manifests([mine, other], labels, mutating, "usual").objects
    written = settled(seen, Policies((mine, other)))
    assert sorted(made, key=key_of) == sorted(written, key=key_of)
    whole = [each for each in written if "namespace" not in each["metadata"]]
    assert [key_of(each) for each in made[: len(whole)]] == [key_of(each) for each in whole]


def test_of_two_that_say_a_class_otherwise_one_is_told() -> None:
    tiers = {"0-core": replace(DEFAULT_POLICY.tiers["0-core"], priority=1)}
    other = replace(DEFAULT_POLICY, name="other", namespaces=("b*",), tiers=tiers)
    assert "PriorityClass tier-0-core is as TierPolicy default says: other says it otherwise." in (
        manifests([DEFAULT_POLICY, other], {}, "v1").notes
    )


def test_namespaces_of_a_dump_get_what_their_labels_say(run: Run, tmp_path: Path, policy: Path) -> None:
    dump = tmp_path / "dump.json"
    labels = {
        "a": {"tier": "0-core"},
        "b": {},
        "c": {"tier": "0-core", "remuda.dev/own-limits": "true"},
        "d": {"tier": "0-core", "remuda.dev/own-quota": "true"},
        "e": {"tier": "7-heaven"},
        "kube-system": {},
    }
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": each}}
        for name, each in labels.items()
    ]
    usual: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "usual"},
    }
    items.append({**usual, "value": 5, "globalDefault": True})
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = run(policy, "--from", dump)
    assert done.code == 0
    assert 'in ["", "usual"]' in done.out
    found = [name for name in names(yaml.safe_load_all(done.out)) if name.count("/") == 2]
    assert found == [
        "LimitRange/a/tier-defaults",
        "ResourceQuota/a/a-quota",
        "LimitRange/b/tier-defaults",
        "ResourceQuota/b/b-quota",
        "ResourceQuota/c/c-quota",
        "LimitRange/d/tier-defaults",
    ]
    assert "# Namespace e is left alone: its label tier says '7-heaven', which is no tier.\n" in done.out
    assert "# Namespace kube-system is left alone: it has no tier.\n" in done.out


def test_a_namespace_of_two_policies_is_left_alone() -> None:
    other = replace(DEFAULT_POLICY, name="other")
    made = manifests([DEFAULT_POLICY, other], {"a": {"tier": "0-core"}}, "v1")
    assert made.notes == ("Namespace a is left alone: two policies claim it, default, other.",)
    assert sum(each["kind"] == "PriorityClass" for each in made.objects) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--namespace", "A"], '--namespace A: "A" is no name'),
        (
            ["--namespace", "a"],
            "--namespace a: its name begins with no tier: write a=TIER, with one of 0-core,",
        ),
        (["--namespace", "a=b"], "--namespace a=b: there is no tier b: there are 0-core,"),
        (["--namespace", "kube-x=0-core"], "no policy is for it, by its name: see namespaces and excluded"),
        (["--from", "x", "--cluster"], "leave one out"),
        (["absent.yaml"], "absent.yaml"),
    ],
)
def test_bad_input_says_what_is_right(run: Run, words: list[str], message: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert message in done.err


def test_all_that_is_wrong_with_names_is_said_at_once(run: Run, tmp_path: Path) -> None:
    both = tmp_path / "both.yaml"
    one = POLICY.replace("mine", "one").replace('["*"]', '["a*"]')
    both.write_text(f"{one}---\n{POLICY.replace('mine', 'two')}")
    done = run(both, "--namespace", "ab=0-core", "--namespace", "b=1")
    assert done.code == 2
    assert "--namespace ab=0-core: two policies claim it: one, two" in done.err
    assert "--namespace b=1: there is no tier 1" in done.err


def test_files_without_what_is_asked_for_are_bad_input(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text(
        POLICY.splitlines()[0]
        + "\nkind: Ceiling\nmetadata: {name: x}\nspec: {machines: 1, members: [{name: one}]}\n"
    )
    assert f"there is no TierPolicy in {empty}" in run(empty).err
    assert f"there is no Namespace in {empty}" in run("--from", empty).err
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert run("--from", broken).code == 2
    empty.write_text(POLICY.replace("4-aux", "none-such"))
    assert "spec.defaultTier: there is no tier none-such" in run(empty).err


OPTIONS = hcl2.SerializationOptions(with_comments=False, explicit_blocks=False)


def plain(value: Any) -> Any:
    """What is meant by what python-hcl2 reads: it leaves quotes and escapes in strings as they are written."""
    if isinstance(value, dict):
        return {plain(key): plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    if isinstance(value, str) and value.startswith('"'):
        return json.loads(value)
    return value


def resources(text: str) -> dict[str, dict[str, Any]]:
    """The body of each resource by its address, in the order in which they stand."""
    blocks = plain(hcl2.loads(text, serialization_options=OPTIONS))["resource"]
    return {
        f"{kind}.{name}": body
        for each in blocks
        for kind, named in each.items()
        for name, body in named.items()
    }


def rendered(**words: Any) -> Rendered:
    policy = replace(DEFAULT_POLICY, **words)
    return manifests([policy], {"a": {"tier": "0-core"}, "4-aux-b": {}}, "v1")


def test_terraform_says_of_every_object_what_its_manifest_says() -> None:
    made = rendered(cpu_limits="strip", guaranteed=(Workload("a", "Deployment", "${x}"),)).objects
    found = resources(terraform.write(made))
    assert len(found) == len(made)
    for body, manifest in zip(found.values(), made, strict=True):
        if "manifest" in body:
            assert body["manifest"] == manifest
            continue
        (meta,) = body["metadata"]
        assert meta == manifest["metadata"]
        match manifest["kind"]:
            case "PriorityClass":
                assert [
                    body[key] for key in ("value", "global_default", "preemption_policy", "description")
                ] == [manifest[key] for key in ("value", "globalDefault", "preemptionPolicy", "description")]
            case "ResourceQuota":
                assert body["spec"] == [manifest["spec"]]
            case "LimitRange":
                ((spec,), (item,)) = body["spec"], manifest["spec"]["limits"]
                (limit,) = spec["limit"]
                assert (limit["type"], limit["default"], limit["default_request"], limit["max"]) == (
                    item["type"], item["default"], item["defaultRequest"], item["max"],
                )  # fmt: skip


def test_terraform_waits_for_what_comes_first() -> None:
    found = resources(terraform.write(rendered().objects))
    quota = found["kubernetes_resource_quota_v1.resource_quota_a_a-quota"]
    assert quota["depends_on"] == ["${kubernetes_limit_range_v1.limit_range_a_tier-defaults}"]
    changing = found["kubernetes_manifest.mutating_admission_policy_remuda-tiers-default-priority"]
    assert len(changing["depends_on"]) == 5
    assert all(each.startswith("${kubernetes_priority_class_v1.") for each in changing["depends_on"])
    bound = found["kubernetes_manifest.validating_admission_policy_binding_remuda-tiers-default"]
    assert bound["depends_on"] == ["${kubernetes_manifest.validating_admission_policy_remuda-tiers-default}"]
    assert all(re.fullmatch(r"[a-z0-9_]+\.[a-z][a-z0-9_-]*", address) for address in found)


def test_terraform_and_kyverno_are_asked_for_by_name(run: Run) -> None:
    done = run("--as", "terraform", "--namespace", "a=4-aux", "-q")
    assert done.code == 0
    assert "kubernetes_limit_range_v1.limit_range_a_tier-defaults" in resources(done.out)
    done = run("--as", "kyverno")
    assert done.code == 0
    assert {each["kind"] for each in yaml.safe_load_all(done.out)} == {"PriorityClass", "ClusterPolicy"}
    assert done.out.startswith("# Kyverno gives no order")


def rules(policy: TierPolicy, suffix: str) -> dict[str, dict[str, Any]]:
    made = kyverno.render([policy]).objects
    spec = next(each["spec"] for each in made if each["metadata"]["name"] == f"remuda-tiers-default{suffix}")
    return {rule["name"]: rule for rule in spec["rules"]}


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Kubernetes' own meaning of label selectors."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for each in selector.get("matchExpressions", ()):
        value = labels.get(each["key"])
        match each["operator"]:
            case "In":
                holds = value in each["values"]
            case "NotIn":
                holds = value not in each["values"]
            case "Exists":
                holds = value is not None
            case _:
                holds = value is None
        if not holds:
            return False
    return True


def like(name: str, patterns: list[str]) -> bool:
    found = (re.escape(each).replace(r"\*", ".*").replace(r"\?", ".") for each in patterns)
    return any(re.fullmatch(each, name) for each in found)


def matches(rule: dict[str, Any], name: str, labels: dict[str, str]) -> bool:
    """Whether a rule for namespaces is for one, as Kyverno reads match, exclude and preconditions."""

    def meets(item: dict[str, Any]) -> bool:
        what = item["resources"]
        return like(name, what.get("names", ["*"])) and selects(what.get("selector", {}), labels)

    wanted = rule.get("preconditions", {}).get("all", [])
    return (
        any(map(meets, rule["match"]["any"]))
        and not any(map(meets, rule.get("exclude", {}).get("any", [])))
        and all(like(name, each["value"]) for each in wanted)
    )


@pytest.mark.parametrize("label", ["remuda.dev/tier", "tier"])
@pytest.mark.parametrize("default", [None, "a-b", "a"])
def test_kyverno_generates_for_the_tier_that_a_namespace_has(label: str, default: str | None) -> None:
    tier = DEFAULT_POLICY.tiers["0-core"]
    policy = replace(
        DEFAULT_POLICY,
        label=label,
        tiers={name: replace(tier, name=name) for name in ("a", "a-b", "c")},
        default_tier=default,
        namespaces=("a*", "c*", "x*"),
        excluded=("*-out", "cc"),
    )
    found = rules(policy, "-limits")
    values = (None, "a", "a-b", "c", "odd")
    for name in ("a", "a-b", "a-b-c", "a-c", "ab", "c", "c-a", "cc", "x", "x-out", "y", "a-out"):
        for first in values:
            for second in values:
                both = {"remuda.dev/tier": first, "tier": second}
                labels = {key: value for key, value in both.items() if value is not None}
                chosen = [rule for rule in found.values() if matches(rule, name, labels)]
                member = tier_of(name, labels, [policy])
                wanted = "default.tier" if member.origin == "default" else member.tier
                assert [rule["name"] for rule in chosen] == ([wanted] if wanted else []), (name, labels)


def test_kyverno_keeps_what_it_generates_and_leaves_out_who_opted_out() -> None:
    limits, quota = rules(DEFAULT_POLICY, "-limits")["4-aux"], rules(DEFAULT_POLICY, "-quota")["4-aux"]
    for rule in (limits, quota):
        made = rule["generate"]
        assert made["synchronize"]
        assert made["generateExisting"]
        assert made["namespace"] == "{{ request.object.metadata.name }}"
    assert limits["generate"]["name"] == "tier-defaults"
    assert quota["generate"]["name"] == "{{ request.object.metadata.name }}-quota"
    assert not matches(limits, "x", {"tier": "4-aux", "remuda.dev/own-limits": "true"})
    assert matches(quota, "x", {"tier": "4-aux", "remuda.dev/own-limits": "true"})
    assert not matches(quota, "x", {"tier": "4-aux", "remuda.dev/own-quota": "true"})


def test_kyverno_changes_new_pods_alone_and_adds_instead_of_replacing() -> None:
    policy = replace(
        DEFAULT_POLICY,
        cpu_limits="strip",
        guaranteed=(Workload("a", "Deployment", "db"),),
        sidecars=(*DEFAULT_POLICY.sidecars, replace(DEFAULT_POLICY.sidecars[0], names=("istio-*",))),
    )
    for suffix in ("-priority", "-sizes", "-cpu-limits"):
        for rule in rules(policy, suffix).values():
            text = json.dumps(rule)
            assert "op: replace" not in text
            assert all(each["resources"]["operations"] == ["CREATE"] for each in rule["match"]["any"])
    assert list(rules(policy, "-priority"))[:5] == [f"own-{name}" for name in policy.tiers]
    assert list(rules(policy, "-sizes")) == [
        "sidecars.0", "sidecars.1", "0-core", "1-cluster", "2-gpu",
    ]  # fmt: skip
    left = rules(policy, "-cpu-limits")["pod"]["exclude"]["any"][-1]["resources"]
    assert left == {"kinds": ["Pod"], "namespaces": ["a"], "names": ["db", "db-*"]}


def test_kyverno_judges_by_the_very_expressions_of_the_servers_own_rules() -> None:
    made = {each["metadata"]["name"]: each for each in kyverno.render([DEFAULT_POLICY]).objects}
    for each in cluster_objects(DEFAULT_POLICY, mutating=None):
        if each["kind"] == "ValidatingAdmissionPolicy":
            (rule,) = made[each["metadata"]["name"]]["spec"]["rules"]
            assert rule["validate"]["cel"] == {
                "variables": each["spec"]["variables"],
                "expressions": each["spec"]["validations"],
            }
    (refusing,) = made["remuda-tiers-default"]["spec"]["rules"]
    (warning,) = made["remuda-tiers-default-warn"]["spec"]["rules"]
    assert refusing["validate"]["failureAction"] == "Enforce"
    assert warning["validate"]["failureAction"] == "Audit"
    assert made["remuda-tiers-default-warn"]["spec"]["emitWarning"]


def test_kyverno_has_nothing_to_size_where_nobody_asks_for_it() -> None:
    bursting = {name: replace(tier, burst=True) for name, tier in DEFAULT_POLICY.tiers.items()}
    policy = replace(DEFAULT_POLICY, tiers=bursting, sidecars=(), excluded=(), limits_opt_out="")
    found = [each["metadata"]["name"] for each in kyverno.render([policy]).objects]
    assert "remuda-tiers-default-sizes" not in found
    assert "remuda-tiers-default-cpu-limits" not in found


def test_what_kyverno_cannot_say_is_said() -> None:
    odd = replace(DEFAULT_POLICY, name="odd", namespaces=("[ab]*",))
    notes = kyverno.render([DEFAULT_POLICY, odd]).notes
    assert "Kyverno knows * and ? in names, and takes brackets for themselves." in notes
    assert any(each.startswith("A namespace that two policies claim") for each in notes)
