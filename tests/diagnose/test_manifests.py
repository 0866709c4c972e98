"""What is read of what a person wrote: never more, and never a crash."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remuda.diagnose.manifests import pool_words
from remuda.diagnose.snapshot import Ref
from remuda.model.amounts import KVM

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def spec(**given_: Any) -> dict[str, Any]:
    return {"class": "acme/linux", "source": {"circleci": {}}, "provider": {"kubevirt": given_}}


def test_defaults_are_those_of_the_pool() -> None:
    words = pool_words(spec())
    assert (words.min, words.max) == (3, 10)
    assert pool_words(spec() | {"ceiling": "all"}).min == 0
    assert pool_words({"max": 2}).min == 2, "as the pool itself reads it"


def test_a_vm_asks_for_the_least_that_kubevirt_will() -> None:
    domain = {"cpu": {"cores": 4, "sockets": 2}, "memory": {"guest": "4Gi"}}
    words = pool_words(spec(spec={"domain": domain}, token={"secret": "s", "key": "k"})).vms
    assert words is not None
    assert words.asks == {"cpu": 800, "memory": 4 * 2**30, KVM: 1}
    assert words.token == Ref("s", "k")
    dedicated = {
        "cpu": {"cores": 4, "dedicatedCpuPlacement": True},
        "resources": {"requests": {"memory": "1Gi"}},
    }
    words = pool_words(spec(spec={"domain": dedicated})).vms
    assert words is not None
    assert words.asks == {"cpu": 4000, "memory": 2**30, KVM: 1}


@given(st.dictionaries(st.sampled_from(["class", "min", "max", "ceiling", "source", "provider"]), ANYTHING))
def test_no_spec_is_too_strange(strange: dict[str, Any]) -> None:
    assert isinstance(pool_words(strange).max, int)


@given(st.dictionaries(st.sampled_from(["domain", "volumes", "tolerations", "nodeSelector"]), ANYTHING))
def test_no_spec_of_a_vm_is_too_strange(strange: dict[str, Any]) -> None:
    assert pool_words(spec(spec=strange, token=strange, provisioner=None)).vms is not None
