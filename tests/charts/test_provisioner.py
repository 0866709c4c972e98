"""The values and the Secret of Runner Provisioner, as they are: what becomes of them, and what is refused."""

import base64
from functools import partial
from typing import Any

import pytest
import yaml
from tests.catalog import CHECKS, KINDS
from tests.charts.rendering import DATA, PROVISIONER, Chart, Values, container
from tests.servers.cluster import Cluster
from tests.servers.fixtures import NewCluster

from remuda.objects.load import load_text
from remuda.pools.provisioner import GoDuration, import_values, whole_spec
from remuda.providers.kubevirt.settings import read_provisioner

pytestmark = pytest.mark.slow

EVERY = [pytest.param(name, id=name) for name in PROVISIONER]
QUICK_START = PROVISIONER["provisioner-values-0.1.0"]
CONFIG = (DATA / "provisioner-secret-config-0.1.0.yaml").read_text(encoding="utf-8")
CLASS = {"token": "t"}


def pools(chart: Chart, values: Values, **where: str) -> dict[str, dict[str, Any]]:
    return {
        item["metadata"]["name"]: item
        for item in chart.objects(values, **where)
        if item["kind"] == "RunnerPool"
    }


def provisioner(**given: Any) -> Values:
    return {"provisioner": {"circleToken": "t"} | given}


def test_the_secret_is_in_the_layout_of_runner_provisioner(chart: Chart) -> None:
    secret = chart.one("Secret", QUICK_START)
    assert secret["stringData"].keys() == {"circle-token", "config.yaml"}
    assert secret["stringData"]["circle-token"] == "example-api-token"
    config = yaml.safe_load(secret["stringData"]["config.yaml"])
    theirs = yaml.safe_load(CONFIG)
    theirs["resourceClass"]["my-org/my-runner"]["idleTimeout"] = ""
    assert config == theirs


def test_a_class_becomes_a_pool_that_reads_the_secret(chart: Chart) -> None:
    name = chart.one("Secret", QUICK_START)["metadata"]["name"]
    assert chart.one("RunnerPool", QUICK_START)["spec"] == {
        "class": "my-org/my-runner",
        "source": {
            "circleci": {
                "url": "https://runner.circleci.com/",
                "token": {"secret": name, "key": "circle-token"},
            }
        },
        "provider": {"kubevirt": {"provisioner": {"secret": name, "key": "config.yaml"}}},
        "min": 3,
        "max": 10,
        "scaleIn": "natural",
    }


@pytest.mark.parametrize("name", EVERY)
def test_pools_are_right_and_the_secret_is_read(chart: Chart, name: str) -> None:
    objects = chart.objects(PROVISIONER[name])
    made = [item for item in objects if item["kind"] == "RunnerPool"]
    assert load_text(yaml.safe_dump_all(made), "pools.yaml", KINDS, CHECKS).problems == ()
    for secret in (item for item in objects if item["kind"] == "Secret"):
        for pool in made:
            assert read_provisioner(secret["stringData"]["config.yaml"], pool["spec"]["class"]).token


@pytest.mark.parametrize("name", EVERY)
def test_what_is_imported_is_what_the_chart_makes(chart: Chart, name: str) -> None:
    """But for the template, which is in the Secret here and in the open there."""
    text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
    found = import_values(lambda: text, name, partial(load_text, name=name, kinds=KINDS, checks=CHECKS))
    made = pools(chart, PROVISIONER[name])
    assert [item["metadata"]["name"] for item in found.objects] == sorted(
        made, key=[item["metadata"]["name"] for item in found.objects].index
    )
    for item in found.objects:
        ours, theirs = item["spec"], made[item["metadata"]["name"]]["spec"]
        kubevirt = ours["provider"]["kubevirt"]
        if "spec" in kubevirt:
            config = chart.one("Secret", PROVISIONER[name])["stringData"]["config.yaml"]
            read = read_provisioner(config, ours["class"])
            assert read.spec == kubevirt["spec"]
            assert GoDuration.parse(read.idle_timeout or "") == GoDuration.parse(ours.pop("idleTimeout", ""))
            theirs = theirs | {"provider": ours["provider"]}
        assert ours == theirs


@pytest.mark.parametrize("name", EVERY)
def test_tokens_are_in_the_secret_alone(chart: Chart, name: str) -> None:
    text = chart.text(PROVISIONER[name])
    given = {
        word
        for word in yaml.safe_dump(PROVISIONER[name]).split()
        if word.startswith(("example-", "ignored-"))
    }
    assert given
    for token in given:
        assert text.count(token) == (0 if token.startswith("ignored-") else 1)


def test_with_a_secret_of_yours_none_is_made(chart: Chart) -> None:
    values = PROVISIONER["provisioner-values-existing-secret"]
    assert "Secret" not in {item["kind"] for item in chart.objects(values)}
    spec = chart.one("RunnerPool", values)["spec"]
    assert spec["source"]["circleci"]["token"] == {"secret": "my-secret", "key": "circle-token"}
    assert spec["provider"]["kubevirt"] == {"provisioner": {"secret": "my-secret", "key": "config.yaml"}}


def test_a_changed_token_or_spec_does_not_restart_the_pods(chart: Chart) -> None:
    given = [{}, QUICK_START, provisioner(resourceClasses={"a/b": CLASS, "a/c": {"token": "u"}})]
    templates = [chart.one("Deployment", values)["spec"]["template"] for values in given]
    assert templates[0] == templates[1] == templates[2]


def test_by_default_nothing_is_made(chart: Chart) -> None:
    assert {"Secret", "RunnerPool"}.isdisjoint(item["kind"] for item in chart.objects())


def test_what_concerns_vms_goes_to_another_namespace_where_one_is_named(chart: Chart) -> None:
    values = provisioner(namespace="vms", resourceClasses={"a/b": CLASS})
    there = {item["kind"] for item in chart.objects(values) if item["metadata"].get("namespace") == "vms"}
    assert there == {"Role", "RoleBinding", "Secret", "RunnerPool"}
    (subject,) = chart.one("RoleBinding", values)["subjects"]
    assert subject["namespace"] == "ci"
    assert "--namespace=vms" in container(chart.one("Deployment", values))["args"]
    same = chart.text(values, namespace="vms")
    assert "namespace: vms" not in same.replace("    namespace: vms", "")
    assert "--namespace" not in same


@pytest.mark.parametrize(
    ("job_class", "name"),
    [
        pytest.param("my-org/my-runner", "my-org-my-runner", id="a slash"),
        pytest.param("My.Org/_x__y_", "my-org-x-y", id="what no name may have"),
        pytest.param(f"o/{'a' * 47}-b", f"o-{'a' * 47}", id="too long, and no dash at the end"),
    ],
)
def test_pools_are_named_after_classes(chart: Chart, job_class: str, name: str) -> None:
    assert pools(chart, provisioner(resourceClasses={job_class: CLASS})).keys() == {name}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param(
            provisioner(circletoken="t"),
            [
                "at '/provisioner': additional properties 'circletoken' not allowed",
                "one of 'circleciAPIAddr', ",
            ],
            id="an unknown value, with those there are",
        ),
        pytest.param(
            provisioner(resourceClass={"nam": "a/b"}),
            ["at '/provisioner/resourceClass'", "one of 'name', 'token', "],
            id="an unknown value of the class",
        ),
        pytest.param(
            provisioner(resourceClasses={"a/b": {"tokn": "t"}}),
            ["at '/provisioner/resourceClasses/a~1b'", "one of 'token', 'idleTimeout'"],
            id="an unknown value of a class",
        ),
        pytest.param(
            provisioner(resourceClassDefaults={"token": "t"}),
            ["at '/provisioner/resourceClassDefaults': additional properties 'token' not allowed"],
            id="one token for all",
        ),
        pytest.param(
            provisioner(resourceClass={"name": "runner", "token": "t"}),
            ["at '/provisioner/resourceClass/name': 'runner' does not match pattern"],
            id="a class without a slash",
        ),
        pytest.param(
            provisioner(resourceClasses={"runner": CLASS}),
            ["invalid propertyName 'runner'"],
            id="one of several",
        ),
        pytest.param(
            provisioner(resourceClasses={"a/b": CLASS | {"minReplicas": "many"}}),
            ["at '/provisioner/resourceClasses/a~1b/minReplicas': got string, want integer"],
            id="words for a number",
        ),
        pytest.param(
            provisioner(resourceClasses={"a/b": CLASS | {"schedules": [{"start": "0 8 * * *"}]}}),
            ["missing property 'end'"],
            id="half a schedule",
        ),
        pytest.param(
            provisioner(circleciAPIAddr="circleci.example"),
            ["at '/provisioner/circleciAPIAddr': 'circleci.example' does not match pattern"],
            id="an address that is none",
        ),
        pytest.param(
            provisioner(resourceClass={"idleTimeout": "1 day"}),
            ["at '/provisioner/resourceClass/idleTimeout'"],
            id="a duration in words",
        ),
        pytest.param(
            provisioner(),
            ["provisioner.resourceClass.name is missing: there is a token and no class"],
            id="no class",
        ),
        pytest.param(
            {"provisioner": {"existingSecret": "my-secret"}},
            [
                "provisioner.resourceClass.name is missing, and Secret my-secret in namespace default cannot be asked"
            ],
            id="a Secret that helm cannot read",
        ),
        pytest.param(
            {"provisioner": {"resourceClass": {"name": "a/b"}}},
            ["provisioner.circleToken is missing", "a/b: token is missing"],
            id="no tokens",
        ),
        pytest.param(
            provisioner(resourceClass={"name": "a/b", "token": "t"}, resourceClasses={"a/b": CLASS}),
            ["provisioner.resourceClass.name: a/b is in provisioner.resourceClasses too"],
            id="a class twice",
        ),
        pytest.param(
            provisioner(resourceClasses={"a/b.c": CLASS, "a.b/c": CLASS, "_/.": CLASS}),
            ["a/b.c: becomes the pool a-b-c, and so does a.b/c", "_/.: has no letter or digit"],
            id="classes whose pools have one name, or none",
        ),
        pytest.param(
            provisioner(
                resourceClasses={
                    "a/b": CLASS | {"minReplicas": 11},
                    "a/c": CLASS | {"idleTimeout": "1m", "scaleDownDelay": "90s"},
                    "a/d": CLASS
                    | {
                        "schedules": [
                            {"start": "0 8 * * *", "end": "0 9 * * *"},
                            {"start": "0 7 * * *", "end": "0 9 * * *", "maxReplicas": 2},
                        ]
                    },
                    "a/e": CLASS
                    | {"spec": {"volumes": [{"name": "init", "cloudInitNoCloud": {"userData": ""}}]}},
                }
            ),
            [
                "a/b: minReplicas 11 is more than maxReplicas 10",
                "a/c: idleTimeout 1m is less than scaleDownDelay 90s",
                "a/d: the schedule that starts at 0 8 * * * changes nothing",
                "a/d: minReplicas 3 is more than maxReplicas 2 in the schedule that starts at 0 7 * * *",
                "a/e: volume init of its spec holds user data",
            ],
            id="everything else, at once",
        ),
        pytest.param(
            {"image": {"repository": "circleci/runner-provisioner"}},
            ["image.repository is the image of Runner Provisioner: name one of Remuda"],
            id="the other image",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_what_and_where(
    chart: Chart, values: Values, message: list[str]
) -> None:
    refusal = chart.refusal(values)
    for words in message:
        assert words in refusal


class Release:
    """A user with helm in a cluster of their own."""

    def __init__(self, chart: Chart, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self._chart = chart
        self._at = ("--kubeconfig", cluster.kubeconfig(), "--namespace", namespace)

    def do(self, verb: str, values: Values) -> None:
        done = self._chart.helm(verb, "remuda", self._chart.path, *self._at, values=values)
        assert done.code == 0, done.err

    def gone(self) -> None:
        done = self._chart.helm("uninstall", "remuda", *self._at)
        assert done.code == 0, done.err

    def pools(self, namespace: str | None = None) -> dict[str, dict[str, Any]]:
        where = f"/apis/remuda.dev/v1alpha1/namespaces/{namespace or self.namespace}/runnerpools"
        items = self.cluster.request("GET", where).json()["items"]
        return {item["metadata"]["name"]: item["spec"] for item in items}

    def config(self) -> dict[str, Any]:
        path = f"/api/v1/namespaces/{self.namespace}/secrets/remuda-provisioner"
        data = self.cluster.request("GET", path).json()["data"]
        read: dict[str, Any] = yaml.safe_load(base64.b64decode(data["config.yaml"]))
        return read

    def deployment(self) -> dict[str, Any]:
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/remuda"
        found: dict[str, Any] = self.cluster.request("GET", path).json()
        return found


def make_namespace(cluster: Cluster, name: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = {"metadata": {"name": name, "labels": labels}}
    answer = cluster.request("POST", "/api/v1/namespaces", body)
    assert answer.status == 201, answer.text


def test_a_first_install_makes_the_pools_and_an_upgrade_follows_the_values(
    chart: Chart, new_cluster: NewCluster
) -> None:
    cluster = new_cluster()
    make_namespace(cluster, "runner-provisioner")
    release = Release(chart, cluster, "runner-provisioner")
    release.do("install", QUICK_START)
    assert release.pools()["my-org-my-runner"]["max"] == 10
    assert release.config()["resourceClass"]["my-org/my-runner"]["token"] == "example-runner-token"
    before = release.deployment()["metadata"]["generation"]

    changed = provisioner(resourceClass={"name": "my-org/my-runner", "token": "another", "maxReplicas": 12})
    release.do("upgrade", changed)
    assert release.pools()["my-org-my-runner"]["max"] == 12
    assert release.config()["resourceClass"]["my-org/my-runner"]["token"] == "another"
    assert release.deployment()["metadata"]["generation"] == before

    release.do("upgrade", PROVISIONER["provisioner-values-0.1.2"])
    assert release.pools().keys() == {"my-org-small", "my-org-big-one"}
    assert release.config()["resourceClass"].keys() == {"my-org/small", "my-org/Big.one"}
    release.gone()

    secret = {"metadata": {"name": "my-secret"}, "stringData": {"circle-token": "t", "config.yaml": CONFIG}}
    assert cluster.request("POST", "/api/v1/namespaces/runner-provisioner/secrets", secret).status == 201
    release.do("install", {"provisioner": {"existingSecret": "my-secret"}})
    found = release.pools()
    assert found.keys() == {"my-org-my-runner"}
    assert found["my-org-my-runner"]["class"] == "my-org/my-runner"
    assert found["my-org-my-runner"]["provider"]["kubevirt"]["provisioner"]["secret"] == "my-secret"


def test_vms_may_be_in_a_namespace_that_the_pods_are_not_in(chart: Chart, new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    for name in ("ops", "vms"):
        make_namespace(cluster, name)
    release = Release(chart, cluster, "ops")
    release.do("install", provisioner(namespace="vms", resourceClasses={"a/b": CLASS}))
    assert release.pools("vms").keys() == {"a-b"}
    assert release.pools() == {}
    token = cluster.token_for("ops", "remuda")
    asked = "/apis/remuda.dev/v1alpha1/namespaces/{}/runnerpools"
    codes = {name: cluster.request("GET", asked.format(name), token=token).status for name in ("ops", "vms")}
    assert codes == {"ops": 403, "vms": 200}


def test_definitions_of_an_older_release_are_replaced_as_the_page_says(
    chart: Chart, new_cluster: NewCluster
) -> None:
    cluster = new_cluster()
    make_namespace(cluster, "ci")
    release = Release(chart, cluster, "ci")
    release.do("install", {})
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnerpools.remuda.dev"
    older = cluster.request("GET", path).json()
    properties = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["max"]["description"] = "As it was."
    del properties["idleTimeout"]
    assert cluster.request("PUT", path, older).status == 200
    crds = chart.helm("show", "crds", chart.path).out
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=crds)
    now = cluster.request("GET", path).json()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "idleTimeout" in now["properties"]["spec"]["properties"]
    release.do("upgrade", QUICK_START)
    assert release.pools().keys() == {"my-org-my-runner"}


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(
            {
                "domain": {"memory": {"guest": "8Gi"}},
                "volumes": [{"name": "root", "containerDisk": {"image": "i"}}],
            },
            id="whole",
        ),
        pytest.param({"volumes": [{"name": "disk", "containerDisk": {"image": "i"}}]}, id="volumes alone"),
        pytest.param({"domain": {"memory": {"guest": "8Gi"}}}, id="a domain alone"),
        pytest.param({}, id="nothing"),
    ],
)
def test_the_default_spec_is_not_mixed_into_a_whole_one(chart: Chart, own: dict[str, Any]) -> None:
    for values in (
        provisioner(resourceClass={"name": "a/b", "token": "t", "spec": own}),
        provisioner(resourceClasses={"a/b": CLASS | {"spec": own}}),
        provisioner(resourceClasses={"a/b": CLASS}, resourceClassDefaults={"spec": own}),
    ):
        config = yaml.safe_load(chart.one("Secret", values)["stringData"]["config.yaml"])
        assert config["resourceClass"]["a/b"]["spec"] == whole_spec(own)


def test_a_boot_timeout_of_the_values_is_the_pools(chart: Chart) -> None:
    one = provisioner(resourceClass={"name": "a/b", "token": "t", "bootTimeout": "25m"})
    assert chart.one("RunnerPool", one)["spec"]["bootTimeout"] == "25m"
    shared = provisioner(resourceClasses={"a/b": CLASS}, resourceClassDefaults={"bootTimeout": "1h"})
    assert chart.one("RunnerPool", shared)["spec"]["bootTimeout"] == "1h"
