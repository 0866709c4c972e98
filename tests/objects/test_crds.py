"""The custom resource definitions, on a real API server: the same YAML is accepted and refused in both places."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.catalog import CHECKS, KINDS
from tests.servers.cluster import Cluster

from remuda.objects.crds import crd_of
from remuda.objects.load import load_text

#: what a cluster keeps as ours; the examples of a fleet, of a review and of what is in a cluster are for files alone
EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[2] / "examples").glob("*.yaml")
    if not any(map(path.match, ("fleet-*", "rightsize-*", "tiers-cluster*")))
)
PLURALS = {kind.name: kind.plural for kind in KINDS}


def pool(**spec: Any) -> dict[str, Any]:
    whole = {"class": "a/b", "source": {"queue": {}}, "provider": {"process": {}}, **spec}
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": "shell"},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }


def ceiling(*members: dict[str, Any], **spec: Any) -> dict[str, Any]:
    body = {"machines": 8, "members": list(members), **spec}
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "Ceiling",
        "metadata": {"name": "roof"},
        "spec": body,
    }


def policy(**spec: Any) -> dict[str, Any]:
    body = {"label": "kvm", "ceiling": 4, "nodes": {"primary": {"example.com/kvm": "true"}}, **spec}
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "CapacityPolicy",
        "metadata": {"name": "kvm"},
        "spec": body,
    }


def test_every_kind_has_a_definition_with_a_status_and_an_age() -> None:
    for kind in KINDS:
        version = crd_of(kind)["spec"]["versions"][0]
        assert version["subresources"] == {"status": {}}
        assert version["additionalPrinterColumns"][-1]["name"] == "Age"
        assert "additionalProperties" not in version["schema"]["openAPIV3Schema"]["properties"]["spec"]


@pytest.fixture(scope="module")
def defined(cluster: Cluster) -> Cluster:
    """A server that knows our kinds."""
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(map(crd_of, KINDS)))
    for kind in KINDS:
        cluster.kubectl(
            "wait", "--for=condition=Established", "--timeout=60s", f"crd/{kind.plural}.remuda.dev"
        )
    return cluster


def refused(server: Cluster, namespace: str, body: dict[str, Any]) -> str | None:
    """What the server says against an object, or None."""
    plural = PLURALS[body["kind"]]
    answer = server.request(
        "POST",
        f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/{plural}?dryRun=All&fieldValidation=Strict",
        body,
    )
    return None if answer.status < 300 else str(answer.json()["message"])


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_accepted_as_it_is(defined: Cluster, namespace: str, example: Path) -> None:
    for body in yaml.safe_load_all(example.read_text()):
        assert refused(defined, namespace, body) is None
        # And what the server gives back reads the same in a file.
        plural = PLURALS[body["kind"]]
        kept = defined.request("POST", f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/{plural}", body)
        loaded = load_text(kept.text, "server", KINDS)
        fresh = load_text(json.dumps(body), "file", KINDS)
        assert loaded.problems == ()
        assert [each.spec for each in loaded.objects] == [each.spec for each in fresh.objects]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(pool(min=5, max=2), id="min above max"),
        pytest.param(pool(min=11), id="min above the default max"),
        pytest.param(pool(minn=1), id="an unknown key"),
        pytest.param(pool(max="ten"), id="text for a number"),
        pytest.param(pool(max=-1), id="a negative number"),
        pytest.param(pool(bootTimeout="10 minutes"), id="a duration in words"),
        pytest.param(pool(headroom="25"), id="a percentage without its sign"),
        pytest.param(pool(source={}), id="no source"),
        pytest.param(pool(provider={}), id="no provider"),
        pytest.param(pool(**{"class": None}), id="no class"),
        pytest.param(pool(scaleIn="sometimes"), id="a word that is none of the words"),
        pytest.param(pool(maxUses=3), id="max uses of single-task machines"),
        pytest.param(pool(maxSurge=0), id="a surge of nothing"),
        pytest.param(
            pool(schedules=[{"start": "0 8 * * *", "end": "0 9 * * *"}]), id="a window that changes nothing"
        ),
        pytest.param(ceiling({"name": "a"}, {"name": "a"}), id="a member twice"),
        pytest.param(ceiling({"name": "a", "weight": 0}), id="no weight"),
        pytest.param(policy(nodes={"primary": {}}), id="every node is primary"),
        pytest.param(policy(nodes={}), id="no primary nodes"),
        pytest.param(policy(owners=[{"name": "a", "guaranteed": 5}]), id="guarantees above the ceiling"),
        pytest.param(policy(sets=[{"name": "a", "max": 1}, {"name": "a", "max": 2}]), id="a set twice"),
        pytest.param(policy(envelopes=[{"name": "a", "requests": {"memory": "8GB "}}]), id="no quantity"),
        pytest.param(policy(evidence={"date": "yesterday", "fitted": 1}), id="no date"),
    ],
)
def test_what_a_file_may_not_say_the_server_refuses_too(
    defined: Cluster, namespace: str, body: dict[str, Any]
) -> None:
    assert load_text(json.dumps(body), "file", KINDS).problems != ()
    assert refused(defined, namespace, body) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(pool(), id="only what must be"),
        pytest.param(pool(headroom="25%"), id="headroom as a percentage"),
        pytest.param(pool(headroom=2), id="headroom as a count"),
        pytest.param(pool(singleTask=False, maxUses=3), id="reused machines"),
        pytest.param(
            pool(
                schedules=[
                    {"start": "0 8 * * MON-FRI", "end": "0 18 * * *", "timezone": "Europe/Berlin", "min": 2}
                ]
            ),
            id="a schedule",
        ),
        pytest.param(pool(provider={"process": {"limits": {"memory": "512Mi", "cpu": "500m"}}}), id="limits"),
        pytest.param(ceiling(), id="a ceiling without members"),
        pytest.param(
            ceiling({"name": "a", "guaranteed": 2, "priority": -1, "weight": 3}), id="a ceiling with members"
        ),
        pytest.param(policy(), id="a small policy"),
        pytest.param(
            policy(
                owners=[{"name": "a", "guaranteed": 1, "lanes": ["x/y"]}, {"name": "b", "guaranteed": 3}],
                envelopes=[{"name": "big", "requests": {"cpu": 4, "ephemeral-storage": "24Gi"}}],
                sets=[{"name": "x/y", "max": 2, "envelope": "big"}],
                evidence={"date": "2026-11-16", "fitted": 4, "maxAge": "30d"},
                nodes={
                    "primary": {"example.com/kvm": "true"},
                    "overflow": [
                        {
                            "node": "sting",
                            "envelopes": ["big"],
                            "admitted": {"who": "ada", "why": "it fits", "when": "2026-11-16"},
                            "rollbacks": [{"lane": "x/y", "patch": {"spec": {"template": {"a": 1}}}}],
                        }
                    ],
                },
            ),
            id="a policy with all there is",
        ),
    ],
)
def test_what_a_file_may_say_the_server_accepts_too(
    defined: Cluster, namespace: str, body: dict[str, Any]
) -> None:
    assert (
        load_text(json.dumps(body), "file", KINDS, () if body["kind"] == "Ceiling" else CHECKS).problems == ()
    )
    assert refused(defined, namespace, body) is None


@pytest.mark.slow
def test_kubectl_shows_the_numbers_of_a_pool(defined: Cluster, namespace: str) -> None:
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/runnerpools"
    defined.request("POST", path, pool(ceiling="roof"))
    status = {"status": {"wanted": 7, "ready": 6, "busy": 5, "waiting": 4}}
    answer = defined.request(
        "PATCH", f"{path}/shell/status", status, content_type="application/merge-patch+json"
    )
    assert answer.status == 200
    shown = defined.kubectl("get", "runnerpools", "-n", namespace)
    headings, row = str(shown).splitlines()[:2]
    assert headings.split() == ["NAME", "DESIRED", "READY", "BUSY", "WAITING", "CEILING", "AGE"]
    assert row.split()[:6] == ["shell", "7", "6", "5", "4", "roof"]


@pytest.mark.slow
def test_the_class_of_circleci_runners_stays(defined: Cluster, namespace: str) -> None:
    token = {"secret": "s", "key": "k"}
    runners = pool(source={"circleci": {}}, provider={"kubevirt": {"spec": {"domain": {}}, "token": token}})
    assert refused(defined, namespace, runners) is None
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/runnerpools"
    assert defined.request("POST", path, runners).status == 201
    content = "application/merge-patch+json"
    other = defined.request("PATCH", f"{path}/shell", {"spec": {"class": "a/c"}}, content_type=content)
    assert other.status == 422
    assert "cannot be changed" in other.text
    assert defined.request("PATCH", f"{path}/shell", {"spec": {"max": 9}}, content_type=content).status == 200


@pytest.mark.slow
def test_what_may_be_null_is_kept_as_null(defined: Cluster, namespace: str) -> None:
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/tierpolicies"
    body = {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "TierPolicy",
        "metadata": {"name": "cardless"},
        "spec": {"gpu": None},
    }
    answer = defined.request("POST", path, body)
    assert answer.status == 201, answer.text
    assert answer.json()["spec"] == {"gpu": None}
