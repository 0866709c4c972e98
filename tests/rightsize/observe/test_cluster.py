"""A live cluster, read into a world: a real API server with the controllers, and the advisor's own custom resources."""

import asyncio
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.processes import eventually
from tests.rightsize.observe.clusters import (
    MIB,
    NAMESPACE,
    NOW,
    WEB,
    advisor,
    autoscaler,
    by_resource,
    container,
    cron_job,
    job,
    killed,
    limit_range,
    quota,
    recommendation,
    template,
    workload,
)
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl

from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.rbac import cluster_role
from remuda.loop.clock import SystemClock
from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.observe.cluster import collect
from remuda.rightsize.observe.files import read_files
from remuda.rightsize.observe.owners import Owning
from remuda.rightsize.patches import make
from remuda.rightsize.review import ContainerReview, Review, WorkloadReview
from remuda.rightsize.snapshot import Advisor, Ask, Autoscaler, Kill, Size, Snapshot

pytestmark = pytest.mark.slow
GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
STATUS_PATCH = "application/strategic-merge-patch+json"
HELP = "`remuda rbac rightsize` prints what is needed"
LISTED = (
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "horizontalpodautoscalers.autoscaling",
    "jobs.batch",
    "limitranges",
    "namespaces",
    "pods",
    "replicasets.apps",
    "resourcequotas",
    "statefulsets.apps",
)
LONG = "a-name-of-so-many-letters-that-nothing-fits-behind-it-any-more"
NIGHTLY = "nightly-29384756"
#: what the controllers make: workloads with how many pods
MADE = {"web": 2, "db": 2, "bare": 1, "once": 2, NIGHTLY: 1, LONG: 1}


@pytest.fixture(scope="module")
def staged(programs: Programs) -> Iterator[Cluster]:
    """A server whose controllers have made pods of workloads; it does not know the advisor yet."""
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager")
    users = {"nobody": (), "reader": (), "shopper": (), "half": ()}
    with Cluster(names, extras=("kube-controller-manager",), users=users) as cluster:
        body = {"metadata": {"name": NAMESPACE, "labels": {"tier": "3-edge"}}}
        post(cluster, "/api/v1/namespaces", body)
        account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        eventually(lambda: cluster.request("GET", account).status == 200, "the default account")
        apply(
            cluster,
            quota(spec={"hard": {"requests.cpu": "4", "limits.memory": "8Gi", "pods": "30"}}),
            limit_range(max={"memory": "4Gi"}, defaultRequest={"cpu": "50m"}),
        )
        eventually(lambda: used(cluster), "the quota to be counted")
        proxy = container("proxy", restartPolicy="Always")
        apply(
            cluster,
            workload(replicas=2, template=template(container(), initContainers=[proxy])),
            named("Deployment", LONG),
            named("StatefulSet", "db", replicas=2, serviceName="db", podManagementPolicy="Parallel"),
            named("DaemonSet", "agent", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
            named("ReplicaSet", "bare"),
            job("once", parallelism=2, completions=2, completionMode="Indexed"),
            cron_job("nightly", suspend=True),
            autoscaler(by_resource("cpu"), by_resource("memory", value="1Gi")),
        )  # fmt: skip
        cluster.kubectl("create", "job", NIGHTLY, "--from=cronjob/nightly", "-n", NAMESPACE)
        eventually(lambda: len(pods(cluster)) == sum(MADE.values()), "all pods")
        eventually(lambda: used(cluster).get("pods") == str(sum(MADE.values())), "all pods to be counted")
        status = {"containerStatuses": [out_of_memory()]}
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/db-0/status"
        answer = cluster.request("PATCH", path, {"status": status}, content_type=STATUS_PATCH)
        assert answer.status == 200, answer.text
        yield cluster


def named(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """A workload whose pods are nobody else's."""
    labels = {"app": name[:60]}
    wanted = {"selector": {"matchLabels": labels}, "template": template(labels=labels), **spec}
    return workload(kind, name, **wanted)


def out_of_memory() -> dict[str, Any]:
    last = killed()
    last["terminated"] |= {"startedAt": "2025-12-31T11:00:00Z"}
    message = {"name": "app", "image": "any", "imageID": "", "ready": False, "restartCount": 3}
    return message | {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last}


def post(cluster: Cluster, path: str, body: object) -> None:
    answer = cluster.request("POST", path, body)
    assert answer.status == 201, answer.text


def apply(cluster: Cluster, *items: Any) -> None:
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(items))


def pods(cluster: Cluster) -> list[str]:
    items = cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").json()["items"]
    return [item["metadata"]["name"] for item in items]


def used(cluster: Cluster) -> dict[str, str]:
    answer = cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/quota").json()
    found: dict[str, str] = answer.get("status", {}).get("used", {})
    return found


def look(cluster: Cluster, user: str = "admin", *namespaces: str) -> Snapshot:
    async def once() -> Snapshot:
        access = from_kubeconfig([cluster.kubeconfig(user)], SystemClock())
        async with Client(access, SystemClock(), random.Random(1)) as client:
            return await collect(client, NOW, namespaces=namespaces)

    return asyncio.run(once())


def causes(snapshot: Snapshot) -> dict[str, str]:
    return {each.part: each.why for each in snapshot.unknown}


def bind(cluster: Cluster, user: str, role: dict[str, Any], *, namespace: str = "") -> None:
    post(cluster, f"{RBAC}/clusterroles", role)
    name = role["metadata"]["name"]
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": GROUP}],
    }
    apply(cluster, binding)


# In this order: what is installed stays.


def test_a_cluster_without_an_advisor_is_read_whole(staged: Cluster) -> None:
    snapshot = look(staged)
    assert snapshot.unknown == ()
    assert snapshot.source == staged.url
    assert snapshot.at == NOW
    mine = {each.id.name: each for each in snapshot.workloads if each.id.namespace == NAMESPACE}
    assert {name: (each.id.kind, each.replicas, each.surge) for name, each in mine.items()} == {
        "web": ("Deployment", 2, 1),
        LONG: ("Deployment", 1, 1),
        "db": ("StatefulSet", 2, 0),
        "agent": ("DaemonSet", 0, 1),
        "bare": ("ReplicaSet", 1, 0),
        "once": ("Job", 2, 0),
        "nightly": ("CronJob", 0, 0),
    }
    assert [each.name for each in mine["web"].containers] == ["app", "proxy"]
    assert mine["web"].containers[0].size.requests == Ask(100, 64 * MIB)
    assert snapshot.namespaces[NAMESPACE]["tier"] == "3-edge"
    [limits] = snapshot.limit_ranges
    assert (limits.most, limits.defaults.requests.cpu_millicores) == (Ask(None, 4096 * MIB), 50)
    # the server itself gives containers that do not say the most there is
    assert limits.defaults.limits == Ask(None, 4096 * MIB)
    assert snapshot.autoscalers == (
        Autoscaler("scaler", WEB, "cpu", most=9),
        Autoscaler("scaler", WEB, "memory", most=9),
    )
    assert snapshot.advisors == ()


def test_a_quota_is_read_with_what_the_controllers_counted(staged: Cluster) -> None:
    [found] = look(staged).quotas
    assert found.hard == {"requests.cpu": 4000, "limits.memory": 8 * 2**30, "pods": 30}
    # each pod of web has a sidecar
    count = sum(MADE.values())
    assert found.used == {
        "requests.cpu": 100 * (count + 2),
        "limits.memory": 128 * MIB * (count + 2),
        "pods": count,
    }


def test_pods_belong_to_their_workloads_by_reference_and_by_name(staged: Cluster) -> None:
    snapshot = look(staged)
    mine = {pod: owner for (namespace, pod), owner in snapshot.owners.items() if namespace == NAMESPACE}
    counts = {name: sum(owner.name == name for owner in mine.values()) for name in MADE}
    assert counts == MADE | {NIGHTLY: 0}
    assert {owner.name for owner in mine.values()} == {*MADE, "nightly"} - {NIGHTLY}
    # as if they were gone, and only their names were left
    gone = Owning(msgspec.structs.replace(snapshot, owners={}))
    assert {pod: gone.of(NAMESPACE, pod) for pod in mine} == mine
    cut = [pod for pod, owner in mine.items() if owner.name == LONG]
    assert [len(pod) for pod in cut] == [63]


def test_a_container_that_ran_out_of_memory_is_reported(staged: Cluster) -> None:
    db = WorkloadId(NAMESPACE, "StatefulSet", "db")
    assert look(staged).kills == (Kill(db, "app", "db-0", NOW // 1000 - 43_200, 64 * MIB, 128 * MIB),)


def test_who_may_do_nothing_is_shown_every_missing_verb_and_resource(staged: Cluster) -> None:
    snapshot = look(staged, "nobody")
    assert causes(snapshot) == {what.partition(".")[0]: f"may not list {what}; {HELP}" for what in LISTED}
    assert (snapshot.workloads, snapshot.owners, snapshot.quotas) == ((), {}, ())


def test_what_may_not_be_read_is_reported_and_the_rest_goes_on(staged: Cluster) -> None:
    rules = [
        {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    bind(staged, "half", {"metadata": {"name": "half"}, "rules": rules})
    snapshot = look(staged, "half")
    allowed = {"deployments.apps", "statefulsets.apps", "pods"}
    assert causes(snapshot).keys() == {what.partition(".")[0] for what in LISTED if what not in allowed}
    assert {each.id.name for each in snapshot.workloads} == {"web", LONG, "db"}
    # ReplicaSets could not be read, and so names tell
    owning = Owning(snapshot)
    assert {
        owning.of(*pod) for pod in [(NAMESPACE, each) for each in pods(staged) if each.startswith("web")]
    } == {WEB}


def install(cluster: Cluster, programs: Programs) -> None:
    """Make the server know the advisor."""
    text = programs("vpa-crds")["vpa-crds"].read_text()
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    for item in yaml.safe_load_all(text):
        name = f"crd/{item['metadata']['name']}"
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", name)


def advise(cluster: Cluster, name: str, **status: Any) -> None:
    item = advisor(name, **status)
    apply(cluster, item)
    path = f"/apis/autoscaling.k8s.io/v1/namespaces/{NAMESPACE}/verticalpodautoscalers/{name}/status"
    merge = "application/merge-patch+json"
    answer = cluster.request("PATCH", path, {"status": item["status"]}, content_type=merge)
    assert answer.status == 200, answer.text


def test_an_advisor_is_read_with_what_it_recommends(staged: Cluster, programs: Programs) -> None:
    install(staged, programs)
    conditions = [
        {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {
            "type": "LowConfidence",
            "status": "True",
            "message": "too little",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
    ]
    advise(staged, "web", recommendation=recommendation(), conditions=conditions)
    snapshot = look(staged)
    assert snapshot.unknown == ()
    estimate = Estimate(Amounts(25, 262_144_000), Amounts(10, 100 * MIB), Amounts(2000, 2**30))
    assert snapshot.advisors == (
        Advisor("web", WEB, "Off", {"app": estimate}, {"LowConfidence": "too little"}),
    )


def test_what_is_read_live_is_what_kubectl_writes_to_files(staged: Cluster, tmp_path: Path) -> None:
    live = look(staged)
    wanted = ",".join((*LISTED, "verticalpodautoscalers.autoscaling.k8s.io"))
    for form in ("json", "yaml"):
        (tmp_path / form).write_text(staged.kubectl("get", wanted, "-A", "-o", form))
        found = read_files([tmp_path / form], NOW)
        assert (found.problems, found.notes, found.snapshot.unknown) == ((), (), ())
        assert msgspec.structs.replace(found.snapshot, source="") == msgspec.structs.replace(live, source="")


def test_what_rbac_prints_is_enough(staged: Cluster) -> None:
    role = cluster_role(JOBS.permissions()["rightsize"], "reads")
    assert role is not None
    bind(staged, "reader", role)
    snapshot = look(staged, "reader")
    assert snapshot.unknown == ()
    assert msgspec.structs.replace(snapshot, source="") == msgspec.structs.replace(look(staged), source="")


def test_who_may_read_one_namespace_reads_it_by_its_name(staged: Cluster) -> None:
    role = cluster_role(JOBS.permissions()["rightsize"], "shops")
    assert role is not None
    bind(staged, "shopper", role, namespace=NAMESPACE)
    snapshot = look(staged, "shopper", NAMESPACE)
    assert snapshot.unknown == ()
    assert snapshot.namespaces.keys() == {NAMESPACE}
    whole = look(staged)
    assert snapshot.workloads == tuple(each for each in whole.workloads if each.id.namespace == NAMESPACE)
    assert (snapshot.quotas, snapshot.advisors, snapshot.kills) == (whole.quotas, whole.advisors, whole.kills)
    assert len(causes(look(staged, "shopper"))) == len(LISTED) + 1
    other = causes(look(staged, "shopper", "kube-system"))
    assert other["pods"] == f"may not list pods in kube-system; {HELP}"
    assert other["namespaces"] == f"may not get namespaces kube-system; {HELP}"


def test_a_namespace_that_is_not_there_is_reported(staged: Cluster) -> None:
    assert causes(look(staged, "admin", "nowhere")) == {"Namespace nowhere": "there is no such namespace"}


def test_a_quantity_that_the_server_lets_pass_is_reported_with_its_object(staged: Cluster) -> None:
    bad = recommendation()
    bad["containerRecommendations"][0]["target"] = {"cpu": "-1", "memory": "1Gi"}
    advise(staged, "odd", recommendation=bad)
    snapshot = look(staged)
    assert causes(snapshot) == {
        f"VerticalPodAutoscaler {NAMESPACE}/odd": "status.recommendation.containerRecommendations[0].target.cpu: '-1' is "
        "not a quantity: it cannot be below zero"
    }
    assert [each.name for each in snapshot.advisors] == ["web"]
    assert len(snapshot.workloads) > 5


CUSTOM = {
    "Rollout": ("argoproj.io", "v1alpha1", "rollouts"),
    "DeploymentConfig": ("apps.openshift.io", "v1", "deploymentconfigs"),
    "StrimziPodSet": ("core.strimzi.io", "v1beta2", "strimzipodsets"),
}


def define_custom(cluster: Cluster) -> None:
    """Make the server know kinds of others, whatever they hold."""
    for kind, (group, version, plural) in CUSTOM.items():
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [served],
        }
        name = f"{plural}.{group}"
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": spec,
        }
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(crd))
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", f"crd/{name}")


def test_custom_resources_are_read_where_they_are_installed_and_patched_by_json(staged: Cluster) -> None:
    define_custom(staged)
    pods = template(container(resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}))
    for kind, (group, version, _) in CUSTOM.items():
        spec = {"pods": [pods, pods]} if kind == "StrimziPodSet" else {"replicas": 2, "template": pods}
        apply(
            staged,
            {
                "apiVersion": f"{group}/{version}",
                "kind": kind,
                "metadata": {"name": "custom", "namespace": NAMESPACE},
                "spec": spec,
            },
        )
    snapshot = look(staged, "reader")
    found = {each.id.kind: each for each in snapshot.workloads if each.id.name == "custom"}
    assert found.keys() == CUSTOM.keys()
    assert {each.replicas for each in found.values()} == {2}
    # what an earlier test left behind
    assert causes(snapshot).keys() <= {f"VerticalPodAutoscaler {NAMESPACE}/odd"}
    who = found["Rollout"].id
    then = Size(Ask(None, 512 * MIB), Ask(None, 512 * MIB))
    for part in found["Rollout"].containers:
        item = ContainerReview(part.name, part.size, then, "lower", index=part.index, written=part.written)
        whole = WorkloadReview(who.namespace, who.kind, who.name, 2, None, (item,))
        (file,) = make(Review(NOW, "live", "samples", "vpa", 1, (whole,)), "json").files
        staged.kubectl("patch", "rollout", "custom", "-n", NAMESPACE, "--type", "json", "-p", file.text)
    after = {each.id: each for each in look(staged, "reader").workloads}
    assert [each.size for each in after[who].containers] == [then]


def test_nothing_but_reading_was_asked(staged: Cluster) -> None:
    asked = [
        each for each in staged.audit() if each["user"]["username"] in {"reader", "nobody", "shopper", "half"}
    ]
    assert {each["verb"] for each in asked} <= {"list", "get"}
    assert not [each for each in asked if re.search("secret|configmap", each["requestURI"])]
    assert asked
