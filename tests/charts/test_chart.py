"""What the chart renders, and what it refuses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.catalog import KINDS
from tests.charts.rendering import PROVISIONER, ROOT, SETS, SOURCE, Chart, Helm, Values, container

from remuda import __version__
from remuda.cli.up import up
from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role
from remuda.objects.crds import crd_of

NEEDS = JOBS.permissions()

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).with_name("golden")
SCHEMA = json.loads((SOURCE / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((SOURCE / "values.yaml").read_text(encoding="utf-8"))
#: how helm tells that a cluster has our kinds
KNOWN = "remuda.dev/v1alpha1/RunnerPool"
EVERY_SET = [pytest.param(values, id=name) for name, values in SETS.items()]


def resolved(schema: Any) -> Any:
    """What a schema says itself, or by reference."""
    if "$ref" not in schema:
        return schema
    found = SCHEMA
    for step in schema["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return resolved(found) | schema


def groups_and_values(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything the schema knows by name."""
    for name, given in schema.get("properties", {}).items():
        inner = resolved(given)
        yield (*path, name), inner
        yield from groups_and_values(inner, (*path, name))


def values_described() -> dict[tuple[str, ...], str]:
    """What values.yaml shows one by one: no groups, and nothing that Helm or Kubernetes names."""
    return {
        path: schema["description"]
        for path, schema in groups_and_values(SCHEMA)
        if path == ("resources",) or ("properties" not in schema and path[0] not in ("resources", "global"))
    }


def commented() -> dict[tuple[str, ...], str]:
    """The comment above each value of values.yaml."""
    found, path, words = {}, tuple[str, ...](), list[str]()
    for line in (SOURCE / "values.yaml").read_text(encoding="utf-8").splitlines():
        if said := re.fullmatch(r" *# ?(.*)", line):
            words.append(said[1])
        elif key := re.match(r"( *)(\w+):", line):
            path = (*path[: len(key[1]) // 2], key[2])
            if words:
                found[path] = " ".join(words)
            words = []
    return found


def test_helm_has_nothing_to_complain_of(chart: Chart) -> None:
    for values in SETS.values():
        done = chart.helm("lint", "--strict", chart.path, values=values)
        assert done.code == 0, done.out


@pytest.mark.parametrize("name", ["defaults", *PROVISIONER])
def test_it_renders_what_it_did(chart: Chart, name: str, pytestconfig: pytest.Config) -> None:
    text = chart.text(SETS[name])
    if name in PROVISIONER:
        # the rest is as by default
        source = "---\n# Source: remuda/templates/provisioner.yaml\n"
        text = "".join(re.findall(rf"{source}(?:(?!---\n).*\n)*", text))
    path = GOLDEN / f"{name}.yaml"
    if pytestconfig.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "if right: python -m pytest tests/charts --update-golden"


def test_the_crds_are_those_of_remuda_and_no_part_of_the_release(chart: Chart) -> None:
    assert sorted(chart.crds(), key=json.dumps) == sorted(map(crd_of, KINDS), key=json.dumps)
    assert len(list((chart.path / "crds").iterdir())) == len(KINDS)
    assert "CustomResourceDefinition" not in {item["kind"] for item in chart.objects()}


@pytest.mark.parametrize(
    ("values", "more"),
    [
        pytest.param({}, [], id="CRDs"),
        pytest.param({"dashboard": {"enabled": True}}, ["--api-versions", KNOWN], id="dashboard"),
        pytest.param({"prometheusRule": {"enabled": True}}, ["--api-versions", KNOWN], id="alerts"),
    ],
)
def test_a_chart_that_is_not_whole_says_how_to_make_it_so(
    helm: Helm, values: Values, more: list[str]
) -> None:
    done = helm("template", "remuda", SOURCE, *more, values=values)
    assert done.code != 0
    assert "install the one that charts/package makes" in done.err


def test_a_chart_from_a_clone_will_do_where_the_crds_are(helm: Helm) -> None:
    assert helm("template", "remuda", SOURCE, "--api-versions", KNOWN).code == 0


def test_the_chart_is_of_the_version_it_installs() -> None:
    about = yaml.safe_load((SOURCE / "Chart.yaml").read_text(encoding="utf-8"))
    assert (about["version"], about["appVersion"]) == (__version__, __version__)
    assert f"remuda:{__version__} " in (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_the_role_is_what_the_table_says(chart: Chart) -> None:
    needed = NEEDS["up"]
    assert chart.one("Role")["rules"] == [rule.written() for rule in needed if not rule.is_cluster_wide]


def test_tiers_are_granted_what_they_ask_of_the_cluster_where_they_are_wanted(chart: Chart) -> None:
    values = {"tiers": {"enabled": True}}
    wide = cluster_role(NEEDS["up"], "ci-remuda", optional=True)
    assert wide is not None
    assert chart.one("ClusterRole", values)["rules"] == wide["rules"]
    binding = chart.one("ClusterRoleBinding", values)
    assert binding["roleRef"]["name"] == chart.one("ClusterRole", values)["metadata"]["name"] == "ci-remuda"
    account = chart.one("ServiceAccount", values)["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "ci"}]
    kinds = {item["kind"] for item in chart.objects({**values, "rbac": {"create": False}})}
    assert kinds.isdisjoint({"Role", "ClusterRole", "ClusterRoleBinding"})


def test_nothing_is_granted_beyond_the_namespace(chart: Chart) -> None:
    for values in SETS.values():
        kinds = {item["kind"] for item in chart.objects(values)}
        assert kinds.isdisjoint({"ClusterRole", "ClusterRoleBinding"})


@pytest.mark.parametrize("values", EVERY_SET)
def test_the_binding_gives_the_role_to_who_the_pods_are(chart: Chart, values: Values) -> None:
    objects = {item["kind"]: item for item in chart.objects(values, namespace="elsewhere")}
    account = objects["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"]
    if "ServiceAccount" in objects:
        assert objects["ServiceAccount"]["metadata"]["name"] == account
    binding = objects.get("RoleBinding")
    if binding is None:
        assert not values["rbac"]["create"]
        return
    granted = binding["roleRef"]
    assert objects[granted["kind"]]["metadata"]["name"] == granted["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "elsewhere"}]


@pytest.mark.parametrize("values", EVERY_SET)
def test_remuda_takes_the_rendered_arguments(chart: Chart, values: Values) -> None:
    name, *words = container(chart.one("Deployment", values))["args"]
    taken = up.make_context(name, words).params
    assert name == "up"
    assert taken["cluster"] is True
    assert taken["address"] == "0.0.0.0"
    assert taken["interval"] == values.get("interval", 1)
    assert (taken["health_port"], taken["live_port"]) == (8000, 8001)


@pytest.mark.parametrize("values", EVERY_SET)
def test_everything_leads_to_the_pods(chart: Chart, values: Values) -> None:
    objects = chart.objects(values)
    pods = next(item for item in objects if item["kind"] == "Deployment")["spec"]["template"]["metadata"][
        "labels"
    ]
    selectors = {
        "Deployment": ("selector", "matchLabels"),
        "Service": ("selector",),
        "PodDisruptionBudget": ("selector", "matchLabels"),
        "NetworkPolicy": ("podSelector", "matchLabels"),
    }
    for item in objects:
        if item["kind"] in selectors:
            found = item["spec"]
            for step in selectors[item["kind"]]:
                found = found[step]
            assert found
            assert found.items() <= pods.items(), item["kind"]
        if item["kind"] == "ServiceMonitor":
            service = next(other for other in objects if other["kind"] == "Service")
            assert item["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
            assert item["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]


def test_the_probes_ask_where_remuda_answers(chart: Chart) -> None:
    made = container(chart.one("Deployment"))
    ports = {port["name"]: port["containerPort"] for port in made["ports"]}
    asked = {
        name: (made[f"{name}Probe"]["httpGet"]["path"], ports[made[f"{name}Probe"]["httpGet"]["port"]])
        for name in ("startup", "liveness", "readiness")
    }
    assert asked == {"startup": ("/live", 8001), "liveness": ("/live", 8001), "readiness": ("/ready", 8000)}


@pytest.mark.parametrize(
    ("image", "message"),
    [
        pytest.param({}, f"localhost/remuda:{__version__}", id="by default the chart's own version"),
        pytest.param({"tag": "1"}, "localhost/remuda:1", id="a tag is used"),
        pytest.param(
            {"tag": "1", "digest": f"sha256:{'a' * 64}"},
            f"localhost/remuda@sha256:{'a' * 64}",
            id="digest beats tag",
        ),
    ],
)
def test_the_image(chart: Chart, image: Values, message: str) -> None:
    assert container(chart.one("Deployment", {"image": image}))["image"] == message


def test_pods_start_anew_when_and_only_when_the_configuration_changes(chart: Chart) -> None:
    variants: list[Values] = [
        {},
        {"replicas": 2},
        {"config": {"A": "1"}},
        {"config": {"A": "2"}},
        {"secrets": {"values": {"A": "1"}}},
        {"secrets": {"existing": "tokens"}},
    ]
    sums = [
        chart.one("Deployment", values)["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        for values in variants
    ]
    assert sums[0] == sums[1]
    assert len(set(sums)) == len(variants) - 1


def test_configuration_reaches_the_pods_as_environment(chart: Chart) -> None:
    values = {"config": {"PLAIN": "1"}, "secrets": {"values": {"TOKEN": "s3cret"}}}
    objects = {item["kind"]: item for item in chart.objects(values)}
    assert objects["ConfigMap"]["data"] == {"PLAIN": "1"}
    assert objects["Secret"]["stringData"] == {"TOKEN": "s3cret"}
    assert container(objects["Deployment"])["envFrom"] == [
        {"configMapRef": {"name": "remuda"}},
        {"secretRef": {"name": "remuda"}},
    ]
    text = chart.text(values)
    assert text.count("s3cret") == 1


def test_the_url_of_the_database_comes_from_a_secret_alone(chart: Chart) -> None:
    named = {"ledger": {"postgres": {"existingSecret": "history", "key": "address"}}}
    deployment = next(item for item in chart.objects(named) if item["kind"] == "Deployment")
    found = {item["name"]: item.get("valueFrom") for item in container(deployment)["env"]}
    assert found["REMUDA_STORE"] == {"secretKeyRef": {"name": "history", "key": "address"}}
    assert "REMUDA_STORE" not in chart.text({})


def test_the_dashboard_leaves_the_pod_only_with_a_secret(chart: Chart) -> None:
    text = chart.text({"replicas": 2})
    assert "--web-" not in text
    assert "8420" not in text


def test_the_dashboard_has_its_token_from_a_secret_its_address_from_the_pod_and_a_service(
    chart: Chart,
) -> None:
    values = SETS["the dashboard is for the cluster"]
    deployment, service = chart.one("Deployment", values), chart.one("Service", values)
    made = container(deployment)
    name, *words = made["args"]
    taken = up.make_context(name, words).params
    assert (taken["web_address"], taken["web_port"]) == ("0.0.0.0", 8420)
    assert str(taken["web_token"]) == "/etc/remuda/web/token"
    assert str(taken["web_access"]) == "/etc/remuda/web/access.yaml"
    assert {"containerPort": 8420, "name": "web"} in made["ports"]
    assert {"name": "web", "port": 80, "targetPort": "web"} in service["spec"]["ports"]
    assert service["spec"].get("type", "ClusterIP") == "ClusterIP"
    environ = {item["name"]: item.get("valueFrom") for item in made["env"]}
    assert environ["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    volumes = {item["name"]: item for item in deployment["spec"]["template"]["spec"]["volumes"]}
    # the group of the pod may read it, and nobody else
    assert volumes["web"]["secret"] == {"secretName": "remuda-web", "defaultMode": 0o440}
    assert {"name": "web", "mountPath": "/etc/remuda/web", "readOnly": True} in made["volumeMounts"]


def test_replicas_reach_each_other_and_who_may_reaches_the_dashboard(chart: Chart) -> None:
    values = SETS["the dashboard is for the cluster"]
    policy = chart.one("NetworkPolicy", values)["spec"]
    selector = {"podSelector": policy["podSelector"]}
    (coming,) = [rule for rule in policy["ingress"] if rule["ports"] == [{"port": "web"}]]
    assert coming["from"] == [selector, *values["networkPolicy"]["webFrom"]]
    (going,) = [rule for rule in policy["egress"] if rule["ports"] == [{"port": "web"}]]
    assert going["to"] == [selector]
    closed = chart.one("NetworkPolicy", {"networkPolicy": {"enabled": True}})["spec"]
    assert not any({"port": "web"} in rule["ports"] for rule in (*closed["ingress"], *closed["egress"]))


def test_a_budget_is_there_for_several_replicas_alone(chart: Chart) -> None:
    kinds = [[item["kind"] for item in chart.objects({"replicas": count})] for count in (1, 2)]
    assert ["PodDisruptionBudget" in found for found in kinds] == [False, True]


def test_one_that_holds_the_volume_ends_before_the_next_begins(chart: Chart) -> None:
    claimed = chart.objects({"ledger": {"claim": {"enabled": True}}})
    deployment = next(item for item in claimed if item["kind"] == "Deployment")
    claim = next(item for item in claimed if item["kind"] == "PersistentVolumeClaim")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    assert volumes["ledger"]["persistentVolumeClaim"] == {"claimName": claim["metadata"]["name"]}
    spared = chart.one("Deployment")["spec"]["strategy"]
    assert spared == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_two_releases_do_not_meet(chart: Chart) -> None:
    values = {"dashboard": {"enabled": True}}

    def names(**where: str) -> set[tuple[str, str]]:
        return {(item["kind"], item["metadata"]["name"]) for item in chart.objects(values, **where)}

    assert names(name="remuda").isdisjoint(names(name="ci"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"replcas": 2}, "additional properties 'replcas' not allowed", id="an unknown value"),
        pytest.param(
            {"image": {"tagg": "1"}},
            "at '/image': additional properties 'tagg' not allowed",
            id="an unknown value of a group",
        ),
        pytest.param({"replicas": -1}, "at '/replicas': minimum: got -1, want 0", id="too few"),
        pytest.param(
            {"replicas": "two"}, "at '/replicas': got string, want integer", id="words for a number"
        ),
        pytest.param({"replicas": None}, "missing property 'replicas'", id="nothing for a number"),
        pytest.param(
            {"interval": 0}, "at '/interval': minimum: got 0, want 0.05", id="an interval of nothing"
        ),
        pytest.param({"image": {"digest": "latest"}}, "at '/image/digest'", id="a digest that is none"),
        pytest.param(
            {"config": {"A": 1}}, "at '/config/A': got number, want string", id="a variable not quoted"
        ),
        pytest.param(
            {"config": {"A B": "1"}},
            "at '/config': additional properties 'A B' not",
            id="a variable no shell could name",
        ),
        pytest.param({"ledger": {"keep": "a week"}}, "at '/ledger/keep'", id="a duration in words"),
        pytest.param({"ledger": {"keepSize": "lots"}}, "at '/ledger/keepSize'", id="a size in words"),
        pytest.param({"imagePullSecrets": ["regcred"]}, "at '/imagePullSecrets/0'", id="a bare name"),
        pytest.param(
            {"resources": {"request": {}}},
            "additional properties 'request' not allowed",
            id="a kind of resources",
        ),
        pytest.param(
            {"replicas": 2, "ledger": {"claim": {"enabled": True}}},
            "ledger.claim.enabled needs replicas: 1",
            id="several replicas on one volume",
        ),
        pytest.param({"web": {"port": 0}}, "at '/web/port': minimum: got 0, want 1", id="no port"),
        pytest.param({"web": {"existingSecret": "No Name"}}, "at '/web/existingSecret'", id="no name"),
        pytest.param(
            {"secrets": {"existing": "tokens", "values": {"A": "1"}}},
            "secrets.existing and secrets.values are both set: choose one",
            id="two places for secrets",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_what_and_where(chart: Chart, values: Values, message: str) -> None:
    assert message in chart.refusal(values)


def test_a_chart_of_charts_may_hold_this_one(chart: Chart) -> None:
    assert chart.objects({"global": {"imageRegistry": "images.example"}})


def test_every_value_is_described_in_the_same_words_where_it_is_set_and_where_it_is_checked() -> None:
    assert commented() == values_described()
    assert all(schema["description"] for _, schema in groups_and_values(SCHEMA))


def test_every_value_has_a_default_and_nothing_else_has() -> None:
    for path in values_described():
        found = VALUES
        for step in path:
            found = found[step]
    assert VALUES.keys() == SCHEMA["properties"].keys() - {"global"}


def test_every_value_is_used() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "templates").iterdir())
    for path in values_described():
        group, last = ".".join(path[:-1]), path[-1]
        # what becomes of the values of Runner Provisioner is tested one by one
        name = r"\$given" if group == "provisioner" else r"\.Values\." + group
        within = rf"\bwith \.Values\.{group} (?s:.*)[ (]\.{last}\b|{name}\.{last}\b"
        if len(path) > 2 and path[0] == "provisioner":
            within = rf"\.{last}\b|\"{last}\""
        assert re.search(rf"\.Values\.{'.'.join(path)}\b|{within}", templates), ".".join(path)


def test_the_page_about_it_names_only_values_there_are() -> None:
    page = (ROOT / "docs" / "guides" / "kubernetes.md").read_text(encoding="utf-8")
    known = {".".join(path) for path, _ in groups_and_values(SCHEMA)}
    named = set(re.findall(r"--set(?:-string)? ([A-Za-z.]+)=", page)) | set(
        re.findall(r"^\| `([A-Za-z.]+)`", page, re.MULTILINE)
    )
    assert named
    assert {
        name for name in named if name not in known and not name.startswith(("config.", "secrets.values."))
    } == set()
