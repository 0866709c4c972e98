"""Whether Remuda itself runs, may do what it must, and finds the Secrets that pools refer to."""

from collections.abc import Iterator

from remuda.diagnose.decide.verdicts import Seen, counted, cut, listed
from remuda.diagnose.snapshot import Pool, Ref, SecretKeys, Snapshot
from remuda.model.checks import CheckResult
from remuda.model.pods import Container, Pod
from remuda.model.times import MINUTE

IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_APP = "app.kubernetes.io/name"
_LEAD_IS_OLD = MINUTE
_LOG_LINES = 3
_NO_KEYS = SecretKeys()


def controller(snapshot: Snapshot) -> CheckResult:
    """Remuda's own pods: started, ready, and one of them leading."""
    seen, namespace = Seen("controller"), snapshot.namespace
    leads = _leads(snapshot)
    if not snapshot.controllers:
        if leads and snapshot.lead:
            return seen.ok(f"{snapshot.lead.holder} leads; it is no Deployment of namespace {namespace}")
        if trouble := snapshot.trouble("deployments", "leases"):
            return seen.unread(snapshot, trouble)
        seen.add(
            f"namespace {namespace} has no Deployment with the label {_APP}=remuda, and nobody holds the Lease remuda",
            f"helm install remuda build/charts/remuda --namespace {namespace}, or name another --namespace",
        )
        return seen.problem("Remuda is not installed here")
    if trouble := snapshot.trouble("pods"):
        return seen.unread(snapshot, trouble)
    _look_at_deployments(snapshot, seen)
    pods = [pod for pod in snapshot.pods if pod.metadata.labels.get(_APP) == "remuda" and not pod.is_over]
    ready = [pod for pod in pods if pod.is_ready]
    for pod in pods:
        if not pod.is_ready:
            _look_at_pod(snapshot, pod, seen)
    if seen and not ready:
        return seen.problem("the controller does not start")
    if not ready:
        seen.add("no pod of Remuda is there", f"kubectl describe deployment -n {namespace} -l {_APP}=remuda")
        return seen.problem("the controller does not start")
    if not leads and "leases" not in snapshot.unread:
        _nobody_leads(snapshot, seen)
        return seen.problem("pods are ready, and none of them leads")
    if seen:
        return seen.problem("some of the controller's pods are not ready")
    holder = snapshot.lead.holder if snapshot.lead else "unknown"
    return seen.ok(f"{counted(len(ready), 'pod')} ready, {holder} leads")


def permissions(snapshot: Snapshot) -> CheckResult:
    """What the controller needs of the API server, by the table that `remuda rbac up` prints."""
    seen = Seen("permissions")
    if snapshot.permissions is None:
        return seen.unread(
            snapshot, snapshot.trouble("permissions") or ("permissions: they were not asked for",)
        )
    who = snapshot.permissions.who
    for verb in snapshot.permissions.refused:
        seen.add(
            f"{who} may not {verb}",
            f"remuda rbac up --namespace {snapshot.namespace} | kubectl apply -f -, with a RoleBinding to {who}",
        )
    if seen:
        return seen.problem(f"{counted(len(snapshot.permissions.refused), 'permission')} missing")
    return seen.ok(f"{who} may do all that remuda up needs")


def secret_keys(snapshot: Snapshot) -> CheckResult:
    """The Secrets that pools and the controller refer to: there, with the keys that are meant."""
    seen, count = Seen("secrets"), 0
    if trouble := snapshot.trouble("secrets", "runnerpools"):
        return seen.unread(snapshot, trouble)
    for pool in snapshot.pools:
        for what, ref in _refs(pool):
            count += 1
            if missing := _missing(snapshot, ref):
                seen.add(f"pool {pool.name}, {what}: {missing}", _give(snapshot, ref))
        if pool.words.circleci is not None and pool.words.circleci.token is None and _lacks_token(snapshot):
            seen.add(
                f"pool {pool.name} names no token for CircleCI, and the controller's environment has no CIRCLE_TOKEN",
                "set source.circleci.token of the pool, or secrets.existing of the chart to a Secret with CIRCLE_TOKEN",
            )
    for deployment in snapshot.controllers:
        for ref in _env_refs(deployment.spec.template.spec.containers):
            count += 1
            if missing := _missing(snapshot, ref):
                seen.add(f"Deployment {deployment.name}: {missing}", _give(snapshot, ref))
    if seen:
        return seen.problem("a Secret or a key of one is missing")
    return seen.ok(f"{counted(count, 'reference')} to Secrets, all there")


def secret_fix(snapshot: Snapshot, pool: Pool) -> str:
    """What to do about a pool that a Secret keeps incomplete: what is missing is the check's, what is wrong in it not."""
    refs = tuple(ref for _, ref in _refs(pool))
    if not refs or any(_missing(snapshot, ref) for ref in refs):
        return "see the check secrets"
    ref = next((ref for what, ref in _refs(pool) if what.endswith("provisioner")), refs[-1])
    show = f"""kubectl get secret {ref.secret} -n {snapshot.namespace} -o go-template='{{{{index .data "{ref.key}" | base64decode}}}}'"""
    return (
        f"correct what the message says in key {ref.key} of Secret {ref.secret} ({show} shows it, tokens too)"
    )


def pull_trouble(snapshot: Snapshot, pod: Pod, seen: Seen) -> bool:
    """Tell why a pod's images cannot be had, if so."""
    waiting = {name: why for name, why in pod.waiting().items() if why in IMAGE_REASONS}
    if not waiting:
        return False
    images = {item.name: item.image for item in (*pod.spec.containers, *pod.spec.init_containers)}
    words = {item.name: item.state.waiting.message for item in pod.statuses if item.state.waiting}
    names = [item.name for item in pod.spec.image_pull_secrets]
    lacking = (
        [name for name in names if name not in snapshot.secrets] if "secrets" not in snapshot.unread else []
    )
    for name, why in waiting.items():
        fix = f"check that {images.get(name)} exists and that the nodes may pull it" + (
            "" if names else "; a private registry needs imagePullSecrets"
        )
        seen.add(f"pod {pod.name}: {why} of {images.get(name)}: {words.get(name) or 'no reason given'}", fix)
    for name in lacking:
        seen.add(
            f"pod {pod.name} names the pull secret {name}, which does not exist",
            f"kubectl create secret docker-registry {name} -n {snapshot.namespace} --docker-server=… --docker-username=… "
            "--docker-password=…",
        )
    return True


def _leads(snapshot: Snapshot) -> bool:
    lead = snapshot.lead
    return bool(
        lead and lead.holder and lead.renewed_at is not None and snapshot.at - lead.renewed_at < _LEAD_IS_OLD
    )


def _nobody_leads(snapshot: Snapshot, seen: Seen) -> None:
    lead = snapshot.lead
    message = "there is no Lease remuda"
    if lead is not None:
        age = f"{(snapshot.at - lead.renewed_at) // 1000} s ago" if lead.renewed_at is not None else "never"
        message = f"the Lease remuda of {lead.holder or 'nobody'} was renewed {age}"
    seen.add(
        message, f"kubectl logs -n {snapshot.namespace} -l {_APP}=remuda --tail=50; see the check permissions"
    )


def _look_at_deployments(snapshot: Snapshot, seen: Seen) -> None:
    for item in snapshot.controllers:
        if item.spec.replicas == 0:
            seen.add(
                f"Deployment {item.name} is scaled to 0",
                f"kubectl scale deployment {item.name} -n {snapshot.namespace} --replicas=1",
            )
        for condition in item.status.conditions:
            if condition.type == "ReplicaFailure" and condition.status == "True":
                seen.add(
                    f"Deployment {item.name}: {condition.message}",
                    "do what the message says: a quota, an admission policy or a missing ServiceAccount",
                )


def _look_at_pod(snapshot: Snapshot, pod: Pod, seen: Seen) -> None:
    if pull_trouble(snapshot, pod, seen):
        return
    if pod.unplaced is not None:
        seen.add(
            f"pod {pod.name} has no node: {pod.unplaced.message}",
            "add a node that fits, or change the chart's values",
        )
        return
    for item in pod.statuses:
        ended = item.state.terminated or item.last_state.terminated
        waiting = item.state.waiting
        if ended is not None and ended.exit_code == 2:
            seen.add(
                f"pod {pod.name}: container {item.name} ended with 2, which is bad input: {_last_words(snapshot, pod)}",
                "fix what it complains of; remuda validate FILE checks objects beforehand",
            )
        elif ended is not None:
            seen.add(
                f"pod {pod.name}: container {item.name} ended with {ended.exit_code} ({ended.reason}), "
                f"{counted(item.restart_count, 'restart')}: {_last_words(snapshot, pod)}",
                f"kubectl logs -n {snapshot.namespace} {pod.name} --previous",
            )
        elif waiting is not None and waiting.reason == "CreateContainerConfigError":
            seen.add(f"pod {pod.name}: {waiting.message}", "make the Secret or ConfigMap that it names")
        elif waiting is not None:
            seen.add(f"pod {pod.name}: {waiting.reason} {waiting.message}", *_describe(snapshot, pod))
        elif not item.ready:
            seen.add(
                f"pod {pod.name}: container {item.name} runs and is not ready: {_last_words(snapshot, pod)}",
                *_describe(snapshot, pod),
            )
    for line in snapshot.warnings("Pod", pod.name)[-3:]:
        seen.add(line)
    if not pod.statuses:
        seen.add(f"pod {pod.name} is {pod.status.phase or 'new'}", *_describe(snapshot, pod))


def _describe(snapshot: Snapshot, pod: Pod) -> tuple[str]:
    return (f"kubectl describe pod -n {snapshot.namespace} {pod.name}",)


def _last_words(snapshot: Snapshot, pod: Pod) -> str:
    lines = [line for line in snapshot.logs.get(pod.name, "").splitlines() if line.strip()]
    return cut(" / ".join(lines[-_LOG_LINES:])) or "it left no log"


def _refs(pool: Pool) -> Iterator[tuple[str, Ref]]:
    words = pool.words
    if words.circleci and words.circleci.token:
        yield "source.circleci.token", words.circleci.token
    if words.vms and words.vms.token:
        yield "provider.kubevirt.token", words.vms.token
    if words.vms and words.vms.provisioner:
        yield "provider.kubevirt.provisioner", words.vms.provisioner


def _env_refs(containers: tuple[Container, ...]) -> Iterator[Ref]:
    for container in containers:
        for source in container.env_from:
            if source.secret_ref and not source.secret_ref.optional:
                yield Ref(source.secret_ref.name, "")
        for item in container.env:
            ref = item.value_from.secret_key_ref if item.value_from else None
            if ref and not ref.optional:
                yield Ref(ref.name, ref.key)


def _missing(snapshot: Snapshot, ref: Ref) -> str:
    found = snapshot.secrets.get(ref.secret)
    if found is None:
        return f"there is no Secret {ref.secret}"
    if ref.key and ref.key not in found.keys:
        return f"Secret {ref.secret} has no key {ref.key} (its keys: {listed(found.keys) or 'none'})"
    if ref.key in found.empty:
        return f"key {ref.key} of Secret {ref.secret} is empty"
    return ""


def _give(snapshot: Snapshot, ref: Ref) -> str:
    if ref.secret in snapshot.secrets:
        return (
            f"kubectl patch secret {ref.secret} -n {snapshot.namespace} "
            f'-p \'{{"stringData":{{"{ref.key}":"VALUE"}}}}\''
        )
    # All its keys in one command: a second one would find the Secret there.
    refs = [item for pool in snapshot.pools for _, item in _refs(pool)]
    refs += [item for each in snapshot.controllers for item in _env_refs(each.spec.template.spec.containers)]
    keys = dict.fromkeys(item.key for item in refs if item.secret == ref.secret and item.key)
    files = " ".join(f"--from-file={key}=FILE" for key in keys or ("KEY",))
    return f"kubectl create secret generic {ref.secret} -n {snapshot.namespace} {files}"


def _lacks_token(snapshot: Snapshot) -> bool:
    """Whether no Deployment of ours can have CIRCLE_TOKEN; where a ConfigMap may bring it, nobody knows."""
    for item in snapshot.controllers:
        for container in item.spec.template.spec.containers:
            if any(source.name == "CIRCLE_TOKEN" for source in container.env):
                return False
            for source in container.env_from:
                if source.config_map_ref is not None:
                    return False
                if (
                    source.secret_ref
                    and "CIRCLE_TOKEN" in snapshot.secrets.get(source.secret_ref.name, _NO_KEYS).keys
                ):
                    return False
    return bool(snapshot.controllers)
