"""Whether Remuda starts, may act, and finds its Secrets."""

from typing import Any

import pytest
from msgspec import structs
from tests.diagnose.snapshots import (
    NAMESPACE,
    NOON,
    condition,
    container_status,
    event,
    healthy,
    own_pod,
    pool,
    workload,
)

from remuda.diagnose.decide.controller import controller, permissions, secret_keys
from remuda.diagnose.snapshot import Lead, Permissions, SecretKeys, Snapshot, Workload
from remuda.model.manifests import Condition
from remuda.model.pods import Pod

REGCRED = {"imagePullSecrets": [{"name": "regcred"}]}
CRASHED = {"terminated": {"exitCode": 2, "reason": "Error"}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}


def pulled(**given: Any) -> Snapshot:
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "401 Unauthorized"}}}
    return healthy(pods=(own_pod(ready=False, status=container_status(**waiting), **given),))


def refused(message: str) -> Workload:
    made = workload("remuda", NAMESPACE, ready=0)
    failure = Condition("ReplicaFailure", "True", "FailedCreate", message)
    return structs.replace(made, status=structs.replace(made.status, conditions=(failure,)))


def unplaced() -> Pod:
    why = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes")
    return own_pod(ready=False, spec={"nodeName": ""}, status={"phase": "Pending", "conditions": [why]})


def ended(code: int, reason: str) -> Pod:
    last = {"terminated": {"exitCode": code, "reason": reason}}
    return own_pod(ready=False, status=container_status(state=BACK_OFF, lastState=last, restartCount=3))


@pytest.mark.parametrize(
    ("snapshot", "message", "evidence", "fix"),
    [
        pytest.param(
            healthy(controllers=(), lead=None, pods=()),
            "Remuda is not installed here",
            "namespace ci has no Deployment",
            "helm install remuda",
            id="nothing is there",
        ),
        pytest.param(
            pulled(spec=REGCRED),
            "the controller does not start",
            "names the pull secret regcred, which does not exist",
            "kubectl create secret docker-registry regcred -n ci",
            id="the pull secret is missing",
        ),
        pytest.param(
            pulled(),
            "the controller does not start",
            "ErrImagePull of images.example/it: 401 Unauthorized",
            "a private registry needs imagePullSecrets",
            id="an image cannot be pulled",
        ),
        pytest.param(
            healthy(
                pods=(own_pod(ready=False, status=container_status(state=BACK_OFF, lastState=CRASHED)),),
                logs={"remuda-x": "remuda: ci cannot be used\n"},
            ),
            "the controller does not start",
            "ended with 2, which is bad input: remuda: ci cannot be used",
            "remuda validate",
            id="the configuration is bad",
        ),
        pytest.param(
            healthy(
                pods=(
                    own_pod(
                        ready=False,
                        status=container_status(
                            state={
                                "waiting": {
                                    "reason": "CreateContainerConfigError",
                                    "message": 'secret "x" not found',
                                }
                            }
                        ),
                    ),
                )
            ),
            "the controller does not start",
            'secret "x" not found',
            "make the Secret or ConfigMap",
            id="its environment is missing",
        ),
        pytest.param(
            healthy(controllers=(workload("remuda", NAMESPACE, replicas=0),), pods=(), lead=None),
            "the controller does not start",
            "Deployment remuda is scaled to 0",
            "kubectl scale deployment remuda -n ci --replicas=1",
            id="it is scaled to none",
        ),
        pytest.param(
            healthy(pods=()),
            "the controller does not start",
            "no pod of Remuda is there",
            "kubectl describe deployment -n ci",
            id="it has no pods",
        ),
        pytest.param(
            healthy(controllers=(refused("exceeded quota"),), pods=()),
            "the controller does not start",
            "Deployment remuda: exceeded quota",
            "a quota, an admission policy",
            id="its pods are refused",
        ),
        pytest.param(
            healthy(pods=(unplaced(),)),
            "the controller does not start",
            "pod remuda-x has no node: 0/3 nodes",
            "add a node that fits",
            id="no node takes it",
        ),
        pytest.param(
            healthy(pods=(ended(137, "OOMKilled"),)),
            "the controller does not start",
            "ended with 137 (OOMKilled), 3 restarts: it left no log",
            "kubectl logs -n ci remuda-x --previous",
            id="it is killed",
        ),
        pytest.param(
            healthy(
                pods=(
                    own_pod(),
                    own_pod(
                        ready=False, status=container_status(state={"running": {}}) | {"phase": "Running"}
                    ),
                )
            ),
            "some of the controller's pods are not ready",
            "container it runs and is not ready",
            "kubectl describe pod",
            id="one of two is not ready",
        ),
        pytest.param(
            healthy(
                pods=(
                    own_pod(
                        ready=False,
                        status=container_status(state={"waiting": {"reason": "RunContainerError"}}),
                    ),
                )
            ),
            "the controller does not start",
            "pod remuda-x: RunContainerError",
            "kubectl describe pod",
            id="its container cannot run",
        ),
        pytest.param(
            healthy(lead=None),
            "pods are ready, and none of them leads",
            "there is no Lease remuda",
            "see the check permissions",
            id="nobody ever led",
        ),
        pytest.param(
            healthy(lead=Lead("remuda-old", NOON - 300_000)),
            "pods are ready, and none of them leads",
            "the Lease remuda of remuda-old was renewed 300 s ago",
            "kubectl logs -n ci",
            id="nobody leads",
        ),
        pytest.param(
            healthy(
                pods=(own_pod(ready=False, spec={"nodeName": ""}, status={"phase": "Pending"}),),
                events=(event("Pod", "remuda-x", "FailedMount", "no such volume"),),
            ),
            "the controller does not start",
            "event FailedMount on Pod remuda-x: no such volume",
            "kubectl describe pod -n ci remuda-x",
            id="events tell it",
        ),
    ],
)
def test_a_controller_that_does_not_work_is_told_why(
    snapshot: Snapshot, message: str, evidence: str, fix: str
) -> None:
    found = controller(snapshot)
    assert (found.verdict, found.message) == ("problem", message)
    assert evidence in "\n".join(found.evidence)
    assert fix in "\n".join(found.fix)


def test_a_controller_outside_the_cluster_is_fine_while_it_leads() -> None:
    found = controller(healthy(controllers=(), pods=(), lead=Lead("laptop-77", NOON - 1_000)))
    assert (found.verdict, found.message) == ("ok", "laptop-77 leads; it is no Deployment of namespace ci")


def test_a_pod_that_was_evicted_is_not_counted() -> None:
    evicted = own_pod(ready=False, status={"phase": "Failed"})
    assert controller(healthy(pods=(evicted, own_pod()))).verdict == "ok"


def test_a_missing_verb_is_named() -> None:
    refused = ("patch virtualmachinepools.pool.kubevirt.io", "get secrets")
    found = permissions(healthy(permissions=Permissions("ServiceAccount remuda", refused)))
    assert found.verdict == "problem"
    assert found.evidence == (
        "ServiceAccount remuda may not patch virtualmachinepools.pool.kubevirt.io",
        "ServiceAccount remuda may not get secrets",
    )
    assert len(found.fix) == 1


PROVISIONER = {"kubevirt": {"provisioner": {"secret": "old", "key": "config.yaml"}}}
FROM_ENVIRONMENT = pool(source={"circleci": {}})


@pytest.mark.parametrize(
    ("snapshot", "evidence", "fix"),
    [
        pytest.param(
            healthy(secrets={}),
            "pool linux, source.circleci.token: there is no Secret circle",
            "kubectl create secret generic circle -n ci --from-file=circle-token=FILE --from-file=class-token=FILE",
            id="a Secret is missing",
        ),
        pytest.param(
            healthy(secrets={"circle": SecretKeys(("class-token", "token"))}),
            "Secret circle has no key circle-token (its keys: class-token, token)",
            """kubectl patch secret circle -n ci -p '{"stringData":{"circle-token":"VALUE"}}'""",
            id="a key is missing",
        ),
        pytest.param(
            healthy(secrets={"circle": SecretKeys(("circle-token", "class-token"), ("class-token",))}),
            "key class-token of Secret circle is empty",
            "kubectl patch secret circle",
            id="a key is empty",
        ),
        pytest.param(
            healthy(pools=(pool(provider=PROVISIONER),)),
            "pool linux, provider.kubevirt.provisioner: there is no Secret old",
            "--from-file=config.yaml=FILE",
            id="the provisioner's Secret is missing",
        ),
        pytest.param(
            healthy(pools=(FROM_ENVIRONMENT,)),
            "the controller's environment has no CIRCLE_TOKEN",
            "source.circleci.token",
            id="no token is given anywhere",
        ),
        pytest.param(
            healthy(
                controllers=(
                    workload(
                        "remuda", NAMESPACE, containers=[{"envFrom": [{"secretRef": {"name": "more"}}]}]
                    ),
                )
            ),
            "Deployment remuda: there is no Secret more",
            "kubectl create secret generic more",
            id="the controller's own Secret is missing",
        ),
    ],
)
def test_what_is_missing_in_secrets_is_named(snapshot: Snapshot, evidence: str, fix: str) -> None:
    found = secret_keys(snapshot)
    assert found.verdict == "problem"
    assert evidence in "\n".join(found.evidence)
    assert fix in "\n".join(found.fix)


@pytest.mark.parametrize(
    "container",
    [
        pytest.param({"env": [{"name": "CIRCLE_TOKEN", "value": "never read"}]}, id="by itself"),
        pytest.param({"envFrom": [{"secretRef": {"name": "env"}}]}, id="from a Secret"),
        pytest.param({"envFrom": [{"configMapRef": {"name": "any"}}]}, id="perhaps from a ConfigMap"),
        pytest.param(
            {
                "env": [
                    {
                        "name": "CIRCLE_TOKEN",
                        "valueFrom": {"secretKeyRef": {"name": "env", "key": "CIRCLE_TOKEN"}},
                    }
                ]
            },
            id="from a key",
        ),
    ],
)
def test_a_token_in_the_environment_is_a_token(container: dict[str, Any]) -> None:
    own = (workload("remuda", NAMESPACE, containers=[container]),)
    secrets = {"env": SecretKeys(("CIRCLE_TOKEN",)), "circle": SecretKeys(("class-token",))}
    snapshot = healthy(pools=(FROM_ENVIRONMENT,), controllers=own, secrets=secrets)
    assert secret_keys(snapshot).verdict == "ok"


@pytest.mark.parametrize(
    ("optional", "verdict", "message"),
    [
        pytest.param(False, "problem", "a Secret or a key of one is missing", id="needed"),
        pytest.param(True, "ok", "2 references to Secrets, all there", id="optional"),
    ],
)
def test_only_secrets_that_are_needed_are_missed(optional: bool, verdict: str, message: str) -> None:
    ref = {"name": "none", "key": "k", "optional": optional}
    env = [{"name": "A", "valueFrom": {"secretKeyRef": ref}}]
    found = secret_keys(healthy(controllers=(workload("remuda", NAMESPACE, containers=[{"env": env}]),)))
    assert (found.verdict, found.message) == (verdict, message)


def test_references_of_pools_and_of_the_controller_are_counted() -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "circle", "key": "circle-token"}}}]
    found = secret_keys(healthy(controllers=(workload("remuda", NAMESPACE, containers=[{"env": env}]),)))
    assert found.message == "3 references to Secrets, all there"
