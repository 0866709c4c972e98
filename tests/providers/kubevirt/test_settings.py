"""What VMs are made of: a pool's words, completed by Secrets, with every problem at once and no secret told."""

import random
from base64 import b64encode
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import BadInput
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.credentials import Fixed
from remuda.kube.resources import Meta
from remuda.kube.secrets import Secrets, _Secret
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock
from remuda.model.times import HOUR
from remuda.providers.kubevirt.guest.userdata import DiskMount
from remuda.providers.kubevirt.settings import Fingerprints, go_duration, read_provisioner, resolve

TOKEN = "t0p-s3cret"
SPEC = {"domain": {"devices": {"disks": [{"name": "disk", "disk": {"bus": "virtio"}}]}}, "volumes": []}
SETTINGS = {"spec": SPEC, "token": {"secret": "runner", "key": "token"}, "class": "my-org/linux"}
PROVISIONER = {"provisioner": {"secret": "config", "key": "config.yaml"}, "class": "my-org/my-runner"}
#: the layout of Runner Provisioner 0.1.0
CONFIG = """\
resourceClass:
  "my-org/my-runner":
    token: "t0p-s3cret"
    idleTimeout: "10m"
    spec:
      domain:
        resources: {requests: {memory: "2Gi", cpu: "1"}}
        devices: {disks: [{name: disk, disk: {bus: virtio}}]}
      volumes: [{name: disk, containerDisk: {image: "quay.io/containerdisks/ubuntu:22.04"}}]
"""


@dataclass
class Setup:
    name: str = "linux"
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    idle_timeout: int | None = None


def secrets(**values: dict[str, str]) -> Secrets:
    """Secrets that were read, without a server."""
    made = Secrets(
        Client(Access("http://127.0.0.1:1", Fixed(Trust(verify=False))), SystemClock(), random.Random(1)),
        "ci",
        SystemClock(),
        random.Random(1),
    )
    for name in ("runner", "config"):
        made.follow(name)
    for name, cache in made._caches.items():
        cache._synced.set()
        if name in values:
            data = {key: b64encode(value.encode()).decode() for key, value in values[name].items()}
            cache.put(_Secret(Meta(name=name, namespace="ci"), data))
    return made


def test_a_pools_own_words_need_only_the_token() -> None:
    make = resolve(
        SETTINGS | {"bundle": "quay.io/x", "maxRunTime": "2h"}, 300_000, secrets(runner={"token": TOKEN})
    )
    assert make.spec == SPEC
    assert make.bundle == "quay.io/x"
    assert (make.guest.token, make.guest.idle_timeout, make.guest.bundle) == (TOKEN, "300s", "remuda-bundle")
    assert make.guest.max_run_time == 2 * HOUR
    assert TOKEN not in repr(make)


def test_a_provisioners_secret_is_read_as_it_is() -> None:
    make = resolve(PROVISIONER, None, secrets(config={"config.yaml": CONFIG}))
    assert make.guest.token == TOKEN
    assert make.guest.idle_timeout == "10m"
    assert make.spec["volumes"][0]["containerDisk"]["image"] == "quay.io/containerdisks/ubuntu:22.04"
    assert resolve(PROVISIONER, 60_000, secrets(config={"config.yaml": CONFIG})).guest.idle_timeout == "60s"


def test_a_missing_secret_or_key_names_the_command_that_makes_it() -> None:
    with pytest.raises(BadInput, match="there is no Secret runner in namespace ci: kubectl create secret"):
        resolve(SETTINGS, None, secrets())
    with pytest.raises(BadInput, match=r"has no key token \(its keys: toke\): kubectl patch secret"):
        resolve(SETTINGS, None, secrets(runner={"toke": TOKEN}))
    with pytest.raises(BadInput, match="key token of Secret ci/runner is empty"):
        resolve(SETTINGS, None, secrets(runner={"token": "\n"}))


def problems_of(text: str, job_class: str = "my-org/my-runner") -> str:
    with pytest.raises(BadInput) as refused:
        read_provisioner(text, job_class)
    return str(refused.value)


def test_every_problem_of_a_provisioners_secret_is_reported_at_once() -> None:
    text = CONFIG.replace("idleTimeout", "idleTimout").replace("token:", "tokne:")
    text = text.replace("containerDisk: {image:", "cloudInitNoCloud: {userData:") + "resourceClasses: {}\n"
    problems = problems_of(text)
    assert '"idleTimout" is not known; did you mean idleTimeout?' in problems
    assert '"tokne" is not known; did you mean token?' in problems
    assert '"resourceClasses" is not known; did you mean resourceClass?' in problems
    assert ".token: is missing" in problems
    assert ".spec.volumes[0].cloudInitNoCloud: Remuda adds its own user data" in problems
    assert TOKEN not in problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: ]", "is not YAML at line 1", id="no YAML"),
        pytest.param("x: &a [*a]", 'x: "x" is not known', id="an alias inside its own anchor"),
        pytest.param(
            'resourceClass: {"my-org/my-runner": {token: t, spec: &a {domain: {}, more: [*a]}}}',
            "holds an alias inside its own anchor",
            id="in the spec",
        ),
        pytest.param(
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in pairwise("abcdefghi")),
            "is too large or too deep at line 5",
            id="aliases of aliases",
        ),
        pytest.param("[" * 100 + "]" * 100, "is too large or too deep at line 1", id="deep"),
        pytest.param("a: t0p-s3cret: x", "is not YAML at line 1", id="a secret where the YAML breaks"),
        pytest.param(
            "*t0p-s3cret", "is not YAML at line 1, column 1", id="a secret that looks like an alias"
        ),
        pytest.param("!t0p-s3cret x", "is not YAML at line 1, column 1", id="a secret that looks like a tag"),
        pytest.param("t0p-s3cret", "wants a mapping with the key resourceClass", id="no mapping"),
        pytest.param("{}", "resourceClass: wants a mapping of classes", id="no classes"),
        pytest.param("resourceClass: [t0p-s3cret]", "wants a mapping of classes", id="classes as a list"),
        pytest.param(
            "resourceClass: {my-org/my-runer: {}}",
            "did you mean my-org/my-runer?",
            id="a class of another name",
        ),
        pytest.param(
            "resourceClass: {my-org/my-runner: t0p-s3cret}", "wants a mapping with token", id="text"
        ),
        pytest.param(
            CONFIG.replace('"10m"', "ten"), '.idleTimeout: wants a duration such as "10m"', id="bad duration"
        ),
        pytest.param(CONFIG.replace('"10m"', "600"), ".idleTimeout: wants", id="a duration without a unit"),
        pytest.param(CONFIG.replace("domain:", "domian:"), ".spec.domain: is missing", id="no domain"),
        pytest.param(
            CONFIG.replace("cpu:", "~:"),
            ".spec: holds something that JSON has not",
            id="nothing as a key",
        ),
    ],
)
def test_what_cannot_be_a_configuration_is_refused_without_repeating_it(text: str, problem: str) -> None:
    refused = problems_of(text)
    assert problem in refused
    assert TOKEN not in refused


def test_an_empty_idle_timeout_is_none() -> None:
    assert read_provisioner(CONFIG.replace('"10m"', '""'), "my-org/my-runner").idle_timeout is None


@given(st.text(max_size=60))
def test_safety_no_text_crashes_the_reader(text: str) -> None:
    with pytest.raises(BadInput):
        read_provisioner(text, "my-org/my-runner")


def test_a_fingerprint_changes_with_what_secrets_hold_and_with_nothing_else() -> None:
    one, other = secrets(runner={"token": TOKEN}), secrets(runner={"token": "other"})
    setup = Setup()
    first = Fingerprints(one).of(setup, "")
    assert first == Fingerprints(one).of(setup, "")
    assert first != Fingerprints(other).of(setup, "")
    assert TOKEN not in first
    from_secret = Setup(settings=PROVISIONER)
    before = Fingerprints(secrets(config={"config.yaml": CONFIG})).of(from_secret, "")
    for word, by in (("10m", "20m"), ("2Gi", "4Gi"), (TOKEN, "new")):
        text = CONFIG.replace(word, by)
        assert Fingerprints(secrets(config={"config.yaml": text})).of(from_secret, "") != before
    beside = CONFIG + '  "my-org/other": {token: x, spec: {}}\n'
    assert Fingerprints(secrets(config={"config.yaml": beside})).of(from_secret, "") == before


def test_a_lost_secret_never_looks_like_a_new_template() -> None:
    found, setup = secrets(runner={"token": TOKEN}), Setup()
    prints = Fingerprints(found)
    known = prints.of(setup, "")
    found._caches["runner"].drop("runner", "ci")
    assert prints.of(setup, "") == known
    assert Fingerprints(found).of(setup, "told-by-vms") == "told-by-vms"
    prints.keep(frozenset())
    assert prints.of(setup, "") == ""


@pytest.mark.parametrize(
    ("ms", "text"), [(None, None), (0, None), (90_000, "90s"), (1_500, "1500ms"), (86_400_000, "86400s")]
)
def test_idle_timeouts_are_written_as_the_runner_reads_them(ms: int | None, text: str | None) -> None:
    assert go_duration(ms) == text


def test_sudo_and_empty_disks_reach_the_guest_when_the_spec_has_them() -> None:
    spec = {
        "domain": {"devices": {"disks": [{"name": "docker", "serial": "docker"}]}},
        "volumes": [{"name": "docker", "emptyDisk": {"capacity": "9Gi"}}],
    }
    mounts = [{"serial": "docker", "path": "/var/lib/docker", "fsType": "xfs"}]
    held = secrets(runner={"token": TOKEN})
    words = SETTINGS | {"spec": spec, "grantSudo": True, "emptyDiskMounts": mounts}
    guest = resolve(words, None, held).guest
    assert guest.grants_sudo
    assert guest.disks == (DiskMount("docker", "/var/lib/docker", "xfs"),)
    assert not resolve(SETTINGS, None, held).guest.grants_sudo
    with pytest.raises(BadInput, match="no disk of the spec with the serial docker has an emptyDisk volume"):
        resolve(words | {"spec": SPEC}, None, held)
