"""Values of Runner Provisioner to RunnerPools: what comes out, what is told, and what is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog import CHECKS, KINDS

from remuda.objects.load import load_text
from remuda.objects.tree import Refused
from remuda.pools.provisioner import (
    DEFAULT_SPEC,
    DEFAULTS,
    GoDuration,
    Imported,
    import_values,
    merged,
    pool_name,
)

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = sorted(DATA.glob("provisioner-values-*.yaml"))
CHART = Path(__file__).parents[2] / "charts" / "remuda"
TOKENS = {"circleToken": "api-t0ken", "resourceClass": {"name": "my-org/a", "token": "class-t0ken"}}


def imported(text: str) -> Imported:
    return import_values(
        lambda: text, "values.yaml", partial(load_text, name="v", kinds=KINDS, checks=CHECKS)
    )


def of(**provisioner: Any) -> Imported:
    return imported(yaml.safe_dump({"provisioner": provisioner}))


def pool_of(**provisioner: Any) -> dict[str, Any]:
    (made,) = of(**provisioner).objects
    spec: dict[str, Any] = made["spec"]
    return spec


def problems(text: str) -> list[str]:
    found = imported(text)
    assert found.objects == ()
    assert found.notes == ()
    return [f"{problem.line}: {problem.path}: {problem.message}" for problem in found.problems]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_becomes_objects_that_are_right_and_hold_no_token(path: Path) -> None:
    found = imported(path.read_text(encoding="utf-8"))
    assert found.problems == ()
    assert found.objects
    text = yaml.safe_dump_all(found.objects)
    assert load_text(text, "pools.yaml", KINDS, CHECKS).problems == ()
    assert "-token" not in text.replace("circle-token", "")
    assert not any("example-" in note or "ignored-" in note for note in found.notes)


def test_the_values_of_the_quick_start_become_one_pool() -> None:
    (made,) = imported((DATA / "provisioner-values-0.1.0.yaml").read_text(encoding="utf-8")).objects
    assert made["metadata"] == {"name": "my-org-my-runner"}
    assert made["spec"] == {
        "class": "my-org/my-runner",
        "source": {
            "circleci": {
                "url": "https://runner.circleci.com/",
                "token": {"secret": "remuda-provisioner", "key": "circle-token"},
            }
        },
        "provider": {
            "kubevirt": {
                "spec": DEFAULT_SPEC,
                "token": {"secret": "remuda-provisioner", "key": "my-org.my-runner"},
            }
        },
        "min": 3,
        "max": 10,
        "scaleIn": "natural",
    }


def test_what_is_left_out_is_as_the_chart_has_it_and_is_reported() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))["provisioner"]
    assert DEFAULTS.items() <= values["resourceClassDefaults"].items()
    assert values["resourceClass"] == DEFAULTS | {"name": "", "token": ""}
    found = of(**TOKENS)
    (made,) = found.objects
    assert (made["spec"]["min"], made["spec"]["max"]) == (3, 10)
    assert made["spec"]["provider"]["kubevirt"]["spec"] == DEFAULT_SPEC
    message = "my-org/a: by default it has minReplicas 3, maxReplicas 10, the spec of an Ubuntu 22.04 with 2Gi and 1 CPU"
    assert message in found.notes


def test_classes_say_otherwise_than_what_they_share_field_by_field() -> None:
    small, big = imported((DATA / "provisioner-values-0.1.2.yaml").read_text(encoding="utf-8")).objects
    assert (small["metadata"]["name"], big["metadata"]["name"]) == ("my-org-small", "my-org-big-one")
    shared = {"min": 1, "max": 20, "headroom": 2, "maxSurge": 5, "scaleDownDelay": "5m", "idleTimeout": "1h"}
    assert shared.items() <= small["spec"].items()
    assert small["spec"]["schedules"] == [
        {
            "start": "0 8 * * mon-fri",
            "end": "0 18 * * mon-fri",
            "timezone": "Europe/Berlin",
            "min": 5,
            "headroom": "25%",
        },
        {"start": "0 0 * * sat", "end": "0 0 * * mon", "max": 4},
    ]
    assert small["spec"]["provider"]["kubevirt"]["spec"]["domain"]["resources"] == {
        "requests": {"memory": "4Gi", "cpu": "1"}
    }
    assert big["spec"].keys() == {"class", "source", "provider", "min", "max", "idleTimeout", "scaleIn"}
    assert (big["spec"]["min"], big["spec"]["max"]) == (0, 100)
    spec = big["spec"]["provider"]["kubevirt"]["spec"]
    assert spec["domain"]["resources"] == {"requests": {"memory": "4Gi", "cpu": "8"}}
    assert [volume["name"] for volume in spec["volumes"]] == ["root"]


@pytest.mark.parametrize(
    ("own", "made"),
    [
        pytest.param(
            {"domain": {"memory": {"guest": "8Gi"}}, "volumes": [{"name": "root"}]},
            {"domain": {"memory": {"guest": "8Gi"}}, "volumes": [{"name": "root"}]},
            id="a whole one is taken as it is",
        ),
        pytest.param(
            {"volumes": [{"name": "disk", "containerDisk": {"image": "mine"}}]},
            {
                "domain": DEFAULT_SPEC["domain"],
                "volumes": [{"name": "disk", "containerDisk": {"image": "mine"}}],
            },
            id="one that only has volumes gets the rest",
        ),
        pytest.param({}, DEFAULT_SPEC, id="an empty one is the default"),
    ],
)
def test_the_default_spec_is_not_mixed_into_a_whole_one(own: dict[str, Any], made: dict[str, Any]) -> None:
    assert pool_of(resourceClass={"name": "a/b", "spec": own})["provider"]["kubevirt"]["spec"] == made
    classes = {"a/b": {"spec": own}}
    assert pool_of(resourceClasses=classes)["provider"]["kubevirt"]["spec"] == made


def test_a_boot_timeout_of_the_values_is_the_pools() -> None:
    assert pool_of(resourceClass={"name": "a/b", "bootTimeout": "25m"})["bootTimeout"] == "25m"
    shared = {"bootTimeout": "1h"}
    assert pool_of(resourceClassDefaults=shared, resourceClasses={"a/b": {}})["bootTimeout"] == "1h"
    assert "bootTimeout" not in pool_of(resourceClass={"name": "a/b"})


def test_sudo_and_empty_disks_of_a_class_are_the_pools() -> None:
    mounts = [{"serial": "docker", "path": "/var/lib/docker"}]
    spec = {
        "domain": {"devices": {"disks": [{"name": "docker", "serial": "docker"}]}},
        "volumes": [{"name": "docker", "emptyDisk": {"capacity": "9Gi"}}],
    }
    found = of(
        resourceClassDefaults={"grantSudo": True, "spec": spec},
        resourceClasses={"a/b": {"emptyDiskMounts": mounts}, "a/c": {"grantSudo": False}},
    )
    assert found.problems == ()
    one, other = (made["spec"]["provider"]["kubevirt"] for made in found.objects)
    assert (one["grantSudo"], one["emptyDiskMounts"]) == (True, mounts)
    assert not {"grantSudo", "emptyDiskMounts"} & set(other)
    assert (
        "a/b: with grantSudo a job can read the class token in its VM, because there is no proxy that keeps it:"
        " docs/guides/migrating.md" in found.notes
    )


def test_an_empty_disk_that_no_spec_has_is_a_problem_where_it_stands() -> None:
    found = of(
        resourceClasses={"a/b": {"emptyDiskMounts": [{"serial": "docker", "path": "/var/lib/docker"}]}}
    )
    assert [(problem.path, problem.message) for problem in found.problems] == [
        (
            'provisioner.resourceClasses["a/b"].emptyDiskMounts[0].serial',
            "no disk of the spec with the serial docker has an emptyDisk volume",
        )
    ]


def test_with_a_secret_of_the_users_everything_secret_comes_from_there() -> None:
    found = imported((DATA / "provisioner-values-existing-secret.yaml").read_text(encoding="utf-8"))
    (made,) = found.objects
    spec = made["spec"]
    assert spec["provider"] == {"kubevirt": {"provisioner": {"secret": "my-secret", "key": "config.yaml"}}}
    assert spec["source"]["circleci"]["token"] == {"secret": "my-secret", "key": "circle-token"}
    assert spec["min"] == 0
    assert "idleTimeout" not in spec
    assert "my-org/my-runner: by default it has maxReplicas 10" in found.notes
    assert any(note.startswith("Secret my-secret is used as it is") for note in found.notes)
    assert any(note.startswith("imagePullSecrets: belongs to the chart") for note in found.notes)


def test_the_command_that_makes_the_secret_is_printed_without_tokens() -> None:
    found = of(**TOKENS, namespace="vms")
    message = "kubectl -n vms create secret generic remuda-provisioner"
    literals = "--from-literal=circle-token=TOKEN --from-literal=my-org.a=TOKEN"
    assert f"tokens are not printed: {message} {literals}" in found.notes
    assert not any("t0ken" in note for note in found.notes)


def test_what_differs_is_reported() -> None:
    notes = " | ".join(of(**TOKENS).notes)
    for word in ("scaleIn natural", "every second", "reaches new VMs only"):
        assert word in notes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param("replicaCount: 2\nprovisioner: {}", "replicaCount: is replicas", id="of the release"),
        pytest.param(
            "provisioner: {tokenProxy: {}}", "provisioner.tokenProxy: there is no proxy", id="of all"
        ),
        pytest.param(
            "tokenProxy: {enabled: true}\nprovisioner: {}",
            "tokenProxy: there is no proxy: the class token is in the VM, where root alone can read it. A class whose"
            " jobs get root and must not have it stays with Runner Provisioner; docs/guides/migrating.md says why",
            id="the proxy of the release",
        ),
        pytest.param(
            "sidecar: {enabled: true}\nprovisioner: {}", "sidecar: there is no proxy", id="its later name"
        ),
        pytest.param(
            "tokenProxy: {enabled: false}\nprovisioner: {}",
            "tokenProxy: the proxy is off, and here there is none: nothing changes",
            id="no proxy there either",
        ),
        pytest.param(
            "provisioner: {resourceClass: {runnerBundle: {enabled: true}}}",
            "provisioner.resourceClass.runnerBundle: name such a container disk as",
            id="of a class",
        ),
        pytest.param(
            "podAnnotations: {}\nprovisioner: {}", "podAnnotations: belongs to the chart", id="others"
        ),
    ],
)
def test_what_is_left_out_is_reported_with_what_to_do(text: str, note: str) -> None:
    values = yaml.safe_load(text)
    own = values["provisioner"].pop("resourceClass", {})
    values["provisioner"] |= {"resourceClass": {"name": "my-org/a"} | own}
    found = imported(yaml.safe_dump(values))
    assert found.problems == ()
    assert any(said.startswith(note) for said in found.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", ["0: : holds no values: they begin with provisioner:"], id="nothing"),
        pytest.param("[]", ["1: : wants a mapping that holds provisioner"], id="a list"),
        pytest.param("a: 1", ["1: provisioner: is required: it holds the classes"], id="no provisioner"),
        pytest.param(
            "provisoner: {}",
            ["1: provisoner: is not a known key; did you mean provisioner?"],
            id="provisioner misspelt",
        ),
        pytest.param(
            "provisioner: {circleToken: t}",
            ["1: provisioner.resourceClass.name: is required: no class is named"],
            id="no class",
        ),
        pytest.param(
            "provisioner: {existingSecret: mine}",
            [
                "1: provisioner.resourceClass.name: is required: no class is named; Secret mine is not read here",
            ],
            id="classes in a Secret alone",
        ),
        pytest.param(
            "provisioner: {circletoken: t, resourceClass: {nam: a/b}}",
            [
                "1: provisioner.circletoken: is not a known key; did you mean circleToken?",
                "1: provisioner.resourceClass.nam: is not a known key; did you mean name?",
            ],
            id="keys misspelt",
        ),
        pytest.param(
            "provisioner:\n  resourceClasses:\n    a/b: {minReplica: 1}\n    c/d: {maxSurge: -1}",
            [
                '3: provisioner.resourceClasses["a/b"].minReplica: is not a known key; did you mean minReplicas?',
                '4: provisioner.resourceClasses["c/d"].maxSurge: wants at least 0 and at most 100000, found -1',
            ],
            id="classes that are each wrong",
        ),
        pytest.param(
            "provisioner:\n  resourceClassDefaults:\n    runner: {idleTimeout: 5m}\n  resourceClasses:\n    a/b:\n      scaling: {minReplicas: 1}",
            [
                (
                    "3: provisioner.resourceClassDefaults.runner: is of values newer than 0.1.2, which are not known here: write"
                    " what is in it directly into the class, as 0.1.2 does (token, idleTimeout, "
                ),
                (
                    '6: provisioner.resourceClasses["a/b"].scaling: is of values newer than 0.1.2, which are not known here: write'
                    " what is in it directly into the class, as 0.1.2 does (minReplicas, maxReplicas, headroom, maxSurge, "
                ),
            ],
            id="what newer values nest",
        ),
        pytest.param(
            "provisioner: {resourceClassDefaults: {token: t}, resourceClasses: {a/b: {}}}",
            ["1: provisioner.resourceClassDefaults.token: is not a known key"],
            id="one token for all",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: runner}}",
            ["1: provisioner.resourceClass.name: is no class of CircleCI: write one like my-org/my-runner"],
            id="a class without a slash",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: a/b/c}}",
            [
                '1: provisioner.resourceClass: "a/b/c" is no class: write one or two parts of letters, digits, ',
            ],
            id="a class with two slashes",
        ),
        pytest.param(
            "provisioner:\n  resourceClass: {name: a/b}\n  resourceClasses:\n    a/b: {}\n    a.b: {}\n    A/b: {}",
            [
                '4: provisioner.resourceClasses["a/b"]: a/b is here twice',
                '5: provisioner.resourceClasses["a.b"]: is no class of CircleCI: write one like my-org/my-runner',
                '6: provisioner.resourceClasses["A/b"]: A/b becomes the pool a-b, and so does a/b',
            ],
            id="classes that cannot both be",
        ),
        pytest.param(
            "provisioner:\n  resourceClass:\n    name: a/b\n    minReplicas: 11\n    spec:\n      volumes:\n"
            "        - {name: x, cloudInitNoCloud: {}}",
            [
                "4: provisioner.resourceClass.minReplicas: min 11 is more than max 10",
                "7: provisioner.resourceClass.spec.volumes[0].cloudInitNoCloud: Remuda adds its own user data",
            ],
            id="what a pool refuses",
        ),
        pytest.param(
            "provisioner:\n  resourceClass:\n    name: runner\n    minReplicas: 11\n  resourceClasses:\n"
            "    nix: {minReplicas: 5, maxReplicas: 4}\n    mac: {maxReplicas: many}",
            [
                "3: provisioner.resourceClass.name: is no class of CircleCI: write one like my-org/my-runner",
                "4: provisioner.resourceClass.minReplicas: min 11 is more than max 10",
                "6: provisioner.resourceClasses.nix: is no class of CircleCI: write one like my-org/my-runner",
                "6: provisioner.resourceClasses.nix.minReplicas: min 5 is more than max 4",
                "7: provisioner.resourceClasses.mac: is no class of CircleCI: write one like my-org/my-runner",
                "7: provisioner.resourceClasses.mac.maxReplicas: wants a whole number",
            ],
            id="bad names and bad bounds",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: a/b/c, minReplicas: many}}",
            [
                '1: provisioner.resourceClass: "a/b/c" is no class: write one or two parts of letters, digits, ',
                "1: provisioner.resourceClass.minReplicas: wants a whole number",
            ],
            id="a bad name of a class that is not whole",
        ),
        pytest.param(
            "provisioner:\n  resourceClassDefaults: {token: t}\n  resourceClasses:\n    nix: {}\n    a/b: {}",
            [
                "2: provisioner.resourceClassDefaults.token: is not a known key",
                "4: provisioner.resourceClasses.nix: is no class of CircleCI: write one like my-org/my-runner",
            ],
            id="bad defaults and a bad name",
        ),
        pytest.param(
            "provisioner: {resourceClasses: {a/b: {idleTimeout: 1m, scaleDownDelay: 90s}}}",
            [
                '1: provisioner.resourceClasses["a/b"].idleTimeout: must be at least scaleDownDelay',
            ],
            id="VMs that end too early",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: a/b, idleTimeout: soon}, existingSecret: No, namespace: A}",
            [
                "1: provisioner.resourceClass.idleTimeout: 'soon' is not a duration: write it like 10m or 1h30m",
                "1: provisioner.existingSecret: ",
                '1: provisioner.namespace: "A" is no name: write up to 63 small letters',
            ],
            id="forms",
        ),
        pytest.param(
            "provisioner: {circleToken: 12345, resourceClass: {name: a/b, token: 0123}}",
            [
                "1: provisioner.circleToken: wants text, in quotes and once (what is there is not shown)",
                "1: provisioner.resourceClass.token: wants text, in quotes and once (what is there is not shown)",
            ],
            id="tokens that are no text",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: a/b}}\n---\nprovisioner: {}",
            ["3: : is a second document: values are one"],
            id="two documents",
        ),
        pytest.param("a: [", ["2: : is not YAML"], id="no YAML"),
        pytest.param(
            "provisioner:\n  resourceClass:\n    name: a/b\n    minReplicas: 12\n    idleTimeout: soon\n"
            "    spec:\n      hostname: x\n      domain: 3\n      volumes: [{name: q, sysprep: {}}]",
            [
                "4: provisioner.resourceClass.minReplicas: min 12 is more than max 10",
                "5: provisioner.resourceClass.idleTimeout: 'soon' is not a duration",
                "7: provisioner.resourceClass.spec.hostname: leave it out",
                "8: provisioner.resourceClass.spec.domain: is missing",
                "9: provisioner.resourceClass.spec.volumes[0].sysprep: Remuda adds its own user data",
            ],
            id="what can be read is judged beside what cannot",
        ),
        pytest.param(
            "provisioner:\n  resourceClassDefaults: {idleTimeout: 3, maxReplicas: 2}\n  resourceClasses:\n"
            "    a/b: {minReplicas: 5, bootTimeout: 2 m}",
            [
                "2: provisioner.resourceClassDefaults.idleTimeout: 3 is not a duration",
                '4: provisioner.resourceClasses["a/b"].minReplicas: min 5 is more than max 2',
                "4: provisioner.resourceClasses[\"a/b\"].bootTimeout: '2 m' is not a duration",
            ],
            id="and against what can be read of the defaults",
        ),
        pytest.param(
            "provisioner: {resourceClass: {name: a/b, minReplicas: few, maxReplicas: 2}}",
            ["1: provisioner.resourceClass.minReplicas: wants a whole number"],
            id="nothing is compared with a bound that cannot be read",
        ),
        pytest.param(
            "provisioner:\n  circleToken: [a]",
            [
                "1: provisioner.resourceClass.name: is required: no class is named",
                "2: provisioner.circleToken: wants text, in quotes and once",
            ],
            id="no class beside another problem",
        ),
    ],
)
def test_everything_that_is_wrong_is_reported_at_once_with_its_place(text: str, message: list[str]) -> None:
    found = problems(text)
    assert len(found) == len(message)
    for problem, expected in zip(found, message, strict=True):
        assert problem.startswith(expected)
    assert "12345" not in str(found)
    assert "0123" not in str(found)


def test_a_file_that_cannot_be_read_is_a_problem() -> None:
    def text() -> str:
        raise Refused("there is no such file")

    found = import_values(text, "values.yaml", partial(load_text, name="v", kinds=KINDS))
    assert [str(problem) for problem in found.problems] == ["values.yaml: there is no such file"]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        pytest.param("", 0, id="never"),
        pytest.param("10m", 600_000, id="minutes"),
        pytest.param("1h30m", 5_400_000, id="two parts"),
        pytest.param("1.5h", 5_400_000, id="a fraction"),
        pytest.param("2000us", 2, id="microseconds"),
    ],
)
def test_durations_are_read_as_go_writes_them(text: str, ms: int) -> None:
    assert GoDuration.parse(text) == ms


@pytest.mark.parametrize("text", ["10", "1d", "-1m", "soon", 10, None])
def test_what_go_would_not_read_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        GoDuration.parse(text)


def test_a_fraction_of_an_hour_is_written_as_a_pool_reads_it() -> None:
    spec = pool_of(resourceClass={"name": "a/b", "idleTimeout": "1.5h"})
    assert spec["idleTimeout"] == "1h30m"


@pytest.mark.parametrize(
    ("below", "above", "made"),
    [
        pytest.param({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="mappings are merged"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
        pytest.param({"a": 1}, {"a": 0}, {"a": 0}, id="nothing is something"),
        pytest.param({"a": 1, "b": 2}, {"a": None}, {"b": 2}, id="null takes away"),
    ],
)
def test_values_are_merged_as_helm_does(below: Any, above: Any, made: Any) -> None:
    assert merged(below, above) == made


@pytest.mark.parametrize(
    ("job_class", "name"),
    [
        pytest.param("my-org/my-runner", "my-org-my-runner", id="a slash"),
        pytest.param("My.Org/_x__y_", "my-org-x-y", id="what no name may have"),
        pytest.param(f"o/{'a' * 47}-b", f"o-{'a' * 47}", id="too long, and no dash at the end"),
        pytest.param("_/.", "", id="nothing that is left"),
    ],
)
def test_pools_are_named_after_classes(job_class: str, name: str) -> None:
    assert pool_name(job_class) == name


_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 200_000) | st.text(max_size=5) | st.just("a/b"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "token", "spec", "resourceClass", "resourceClasses", "a/b", "schedules"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_TREES)
def test_no_values_crash_it(tree: object) -> None:
    found = imported(yaml.safe_dump({"provisioner": tree}, allow_unicode=True))
    assert bool(found.objects) != bool(found.problems)
