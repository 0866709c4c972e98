"""What is sent to the API server: the user's spec as it is, and no token but in the Secret."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.times import HOUR, MINUTE, SECOND, Duration
from remuda.providers.kubevirt.guest.userdata import GuestConfig
from remuda.providers.kubevirt.resources import DRAINS, MANAGED_BY, MEMBER, POOL, TEMPLATE
from remuda.providers.kubevirt.settings import Make
from remuda.providers.kubevirt.template import Blueprint

TOKEN = "t0p-s3cret"
SPEC: dict[str, Any] = {
    "domain": {
        "resources": {"requests": {"memory": "2Gi"}},
        "devices": {"disks": [{"name": "disk", "disk": {"bus": "virtio"}}], "rng": {}},
    },
    "volumes": [{"name": "disk", "containerDisk": {"image": "ubuntu"}}],
    "tolerations": [{"key": "kubevirt"}],
}


def make(spec: dict[str, Any] | None = None, bundle: str | None = None, token: str = TOKEN) -> Make:
    guest = GuestConfig(
        token=token,
        api_url="https://runner.circleci.com/",
        max_run_time=Duration(5 * HOUR),
        bundle="remuda-bundle" if bundle else None,
    )
    return Make(SPEC if spec is None else spec, guest, bundle, "beside")


def blueprint(spec: dict[str, Any] | None = None, bundle: str | None = None, token: str = TOKEN) -> Blueprint:
    return Blueprint("linux", "t1", make(spec, bundle, token))


def test_the_users_spec_is_passed_on_with_disks_and_volumes_added() -> None:
    before = deepcopy(SPEC)
    made = blueprint()
    spec = made.vm_template()["spec"]["template"]["spec"]
    assert before == SPEC
    assert spec["domain"]["devices"]["disks"] == [
        *SPEC["domain"]["devices"]["disks"],
        {"name": "remuda-guest", "disk": {"bus": "virtio"}},
        {"name": "remuda-boot", "serial": "remuda-boot", "disk": {"bus": "virtio", "readonly": True}},
    ]
    field = {"path": "boot", "fieldRef": {"fieldPath": "metadata.labels['kubevirt.io/created-by']"}}
    assert spec["volumes"] == [
        *SPEC["volumes"],
        {"name": "remuda-guest", "cloudInitNoCloud": {"secretRef": {"name": made.secret}}},
        {"name": "remuda-boot", "downwardAPI": {"fields": [field]}},
    ]
    assert spec["tolerations"] == SPEC["tolerations"]
    assert spec["domain"]["devices"]["rng"] == {}


def test_a_bundle_is_one_more_disk_with_the_serial_the_guest_looks_for() -> None:
    spec = blueprint(bundle="quay.io/bundle").vm("linux-1")["spec"]["template"]["spec"]
    disk = spec["domain"]["devices"]["disks"][1]
    assert (disk["name"], disk["serial"]) == ("remuda-bundle", "remuda-bundle")
    assert {"name": "remuda-bundle", "containerDisk": {"image": "quay.io/bundle"}} in spec["volumes"]


def test_a_guest_is_given_the_time_its_task_may_take_unless_the_user_says_so() -> None:
    spec = blueprint().instance["spec"]
    assert spec["terminationGracePeriodSeconds"] * SECOND >= 5 * HOUR + 5 * MINUTE
    given_by_user = blueprint(SPEC | {"terminationGracePeriodSeconds": 7}).instance["spec"]
    assert given_by_user["terminationGracePeriodSeconds"] == 7


@pytest.mark.parametrize(
    ("grace", "drains"),
    [
        pytest.param(None, True, id="ours"),
        pytest.param(5 * 3600, True, id="as long as a task may run"),
        pytest.param(5 * 3600 - 1, False, id="shorter"),
        pytest.param("18000", False, id="no number"),
    ],
)
def test_a_vm_says_whether_its_grace_lets_any_task_end(grace: object, drains: bool) -> None:
    made = blueprint(SPEC | {"terminationGracePeriodSeconds": grace})
    for meta in (made.vm("linux-1")["metadata"], made.vm_template()["metadata"]):
        assert (meta["annotations"].get(DRAINS) == "true") == drains


def test_vms_are_labelled_so_that_they_are_found_again() -> None:
    made = blueprint()
    pooled, alone = made.vm_template()["metadata"]["labels"], made.vm("linux-1")["metadata"]["labels"]
    for labels in (pooled, alone, made.instance["metadata"]["labels"]):
        assert labels.items() >= {POOL: "linux", TEMPLATE: "t1"}.items()
    # A VM of a pool that somebody copies is not ours.
    assert MANAGED_BY not in pooled
    assert MEMBER not in alone
    assert made.vm_pool()["spec"]["selector"] == {"matchLabels": {MEMBER: pooled[MEMBER]}}
    assert made.vm_template()["spec"]["runStrategy"] == "Once"
    assert made.instance["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true"


def test_no_object_but_the_secret_holds_the_token() -> None:
    made = blueprint()
    shown = str([made.vm("linux-1"), made.vm_pool(), made.labels, made.secret])
    assert TOKEN not in shown
    secret = made.user_data_secret({"uid": "u"})
    assert TOKEN in secret["stringData"]["userdata"]
    assert secret["immutable"] is True
    assert secret["metadata"]["ownerReferences"] == [{"uid": "u"}]
    assert "ownerReferences" not in made.user_data_secret(None)["metadata"]


def test_another_token_is_another_secret_and_the_same_one_the_same() -> None:
    assert blueprint().secret == blueprint().secret
    assert blueprint().secret != blueprint(token="new").secret
    assert blueprint().written != blueprint(SPEC | {"nodeSelector": {}}).written


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"domain": {}}, id="no devices"),
        pytest.param({"domain": {"devices": None}, "volumes": None}, id="empty devices and volumes"),
        pytest.param({"domain": {"devices": {"disks": None}}}, id="empty disks"),
    ],
)
def test_a_spec_with_nothing_in_it_gets_what_it_needs(spec: dict[str, Any]) -> None:
    made = blueprint(spec).instance["spec"]
    assert [disk["name"] for disk in made["domain"]["devices"]["disks"]] == ["remuda-guest", "remuda-boot"]
    assert [volume["name"] for volume in made["volumes"]] == ["remuda-guest", "remuda-boot"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), anything, max_size=4))
def test_safety_whatever_else_is_in_a_spec_stays(extra: dict[str, Any]) -> None:
    taken = {"domain", "volumes", "terminationGracePeriodSeconds"}
    spec = {key: value for key, value in extra.items() if key not in taken} | SPEC
    made = blueprint(spec).instance["spec"]
    assert {key: value for key, value in made.items() if key not in taken} == {
        key: value for key, value in spec.items() if key not in taken
    }
