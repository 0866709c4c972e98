"""Finding a cluster: what kubectl reads is read alike, and every problem is one sentence."""

import base64
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kube.conftest import SetClock
from tests.servers.authority import Authority

from remuda.errors import BadInput
from remuda.kube.config import find_access, from_kubeconfig, in_cluster
from remuda.kube.credentials import Exec, Fixed, TokenFile
from remuda.loop.clock import SystemClock
from remuda.model.times import DAY

CLOCK = SystemClock()


def config(**changes: Any) -> dict[str, Any]:
    """A kubeconfig of one cluster, user and context, all called `it`; `cluster`, `user` and `context` add to those."""
    cluster = {"server": "https://api.example.com:6443"} | changes.pop("cluster", {})
    user = {"token": "abc"} | changes.pop("user", {})
    context = {"cluster": "it", "user": "it"} | changes.pop("context", {})
    made = {
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": context}],
        "current-context": "it",
    }
    return made | changes


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(a kubeconfig, name=…)`."""

    def make(content: object, name: str = "config") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return file

    return make


async def test_a_context_names_server_credentials_and_namespace(write: Write) -> None:
    access = from_kubeconfig([write(config(context={"namespace": "ci"}, user={"token": " abc\n"}))], CLOCK)
    assert (access.server, access.namespace, access.proxy, access.server_name, access.warnings) == (
        "https://api.example.com:6443", "ci", None, None, (),
    )  # fmt: skip
    assert (await access.credentials.proof()).token == "abc"


def test_another_context_can_be_chosen_than_the_current_one(write: Write) -> None:
    two = {"name": "two", "context": {"cluster": "it", "namespace": "other", "user": None}}
    whole = config()
    whole["contexts"].append(two)
    file = write(whole)
    assert from_kubeconfig([file], CLOCK).namespace == "default"
    assert from_kubeconfig([file], CLOCK, "two").namespace == "other"


async def test_files_are_merged_and_the_first_that_has_a_name_wins(
    write: Write, authority: Authority
) -> None:
    """Each path in a file is relative to that file."""
    certificate, key = authority.issue("merged")
    ca = write(authority.certificate.read_text(), "clusters/pki/ca.crt")
    clusters = write(
        config(cluster={"certificate-authority": "pki/ca.crt"}, users=[], contexts=None), "clusters/config"
    )
    write(certificate.read_text(), "users/dana.crt")
    write(key.read_text(), "users/dana.key")
    write("from-file", "users/token")
    user = {"token": None, "tokenFile": "token", "client-certificate": "dana.crt", "client-key": "dana.key"}
    users = write(
        config(user=user, cluster={"server": "https://never"}) | {"current-context": "ignored"},
        "users/config",
    )
    environ = {"KUBECONFIG": os.pathsep.join([str(clusters), "", str(ca.parent / "missing"), str(users)])}
    access = find_access(environ, CLOCK)
    assert access.server == "https://api.example.com:6443"
    proof = await access.credentials.proof()
    assert (proof.token, len(proof.tls.get_ca_certs())) == ("from-file", 1)


async def test_inline_data_wins_over_a_path(write: Write, authority: Authority) -> None:
    data = base64.b64encode(authority.certificate.read_bytes()).decode()
    cluster = {"certificate-authority-data": data, "certificate-authority": "missing"}
    access = from_kubeconfig([write(config(cluster=cluster))], CLOCK)
    assert len((await access.credentials.proof()).tls.get_ca_certs()) == 1


def test_unverified_tls_is_warned_about(write: Write) -> None:
    access = from_kubeconfig([write(config(cluster={"insecure-skip-tls-verify": True}))], CLOCK)
    assert access.warnings == (
        "TLS of https://api.example.com:6443 is not verified (insecure-skip-tls-verify)",
    )


def test_a_proxy_and_the_name_in_the_certificate_are_read(write: Write) -> None:
    cluster = {"proxy-url": "http://user:pw@proxy:3128", "tls-server-name": "inside"}
    file = write(config(cluster=cluster))
    access = find_access({"KUBECONFIG": str(file), "HTTPS_PROXY": "http://other"}, CLOCK)
    assert (access.proxy, access.server_name) == ("http://user:pw@proxy:3128", "inside")


def test_the_proxy_of_the_environment_is_used_where_none_is_named(write: Write) -> None:
    environ = {"KUBECONFIG": str(write(config())), "https_proxy": "http://around:3128"}
    assert find_access(environ, CLOCK).proxy == "http://around:3128"
    assert find_access(environ | {"NO_PROXY": "example.com"}, CLOCK).proxy is None


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        pytest.param({}, Fixed, id="a token"),
        pytest.param({"token": None}, Fixed, id="nothing"),
        pytest.param({"token": None, "tokenFile": "token"}, TokenFile, id="a token file"),
        pytest.param({"tokenFile": "token"}, Fixed, id="a token wins over a file"),
        pytest.param({"token": None, "exec": {"command": "x"}}, Exec, id="a plug-in"),
        pytest.param(
            {
                "exec": {
                    "command": "x",
                    "apiVersion": "client.authentication.k8s.io/v1beta1",
                    "args": None,
                    "env": None,
                    "installHint": None,
                    "interactiveMode": "IfAvailable",
                    "provideClusterInfo": False,
                    "somethingNew": 1,
                }
            },
            Exec,
            id="a plug-in as tools write it",
        ),
    ],
)
def test_a_user_has_its_kind_of_credentials(write: Write, user: dict[str, Any], kind: type[object]) -> None:
    assert isinstance(from_kubeconfig([write(config(user=user))], CLOCK).credentials, kind)


BAD = [
    pytest.param("a: [", "is not YAML, line 1", id="not YAML"),
    pytest.param("", "holds no kubeconfig", id="empty"),
    pytest.param("just words", "holds no kubeconfig", id="not a mapping"),
    pytest.param({"clusters": 5}, "clusters is no list", id="clusters are no list"),
    pytest.param({"users": [5]}, "an entry of users has no name", id="a user is no entry"),
    pytest.param({"contexts": [{"name": 1}]}, "an entry of contexts has no name", id="a name is no text"),
    pytest.param(
        {"current-context": ["x"]}, "current-context is no name", id="the current context is a list"
    ),
    pytest.param({}, "has no current context; choose one of: none", id="no current context"),
    pytest.param(
        config() | {"current-context": None}, "has no current context; choose one of: it", id="no choice"
    ),
    pytest.param(
        config() | {"current-context": "x"}, "has no context 'x'; there is: it", id="missing context"
    ),
    pytest.param(config(context={"cluster": "x"}), "has no cluster 'x'; there is: it", id="missing cluster"),
    pytest.param(
        config(context={"cluster": ""}), "context 'it' names no cluster", id="no cluster in the context"
    ),
    pytest.param(config(context={"user": "x"}), "has no user 'x'; there is: it", id="missing user"),
    pytest.param(
        config(context={"user": 5}),
        r"context 'it': Expected `str \| null`, got `int`",
        id="a user of no text",
    ),
    pytest.param(
        config(cluster={"server": 1}), r"cluster 'it': Expected `str`, got `int`", id="a server of no text"
    ),
    pytest.param(config(cluster={"server": ""}), "cluster 'it' has no usable server: ''", id="no server"),
    pytest.param(
        config(cluster={"server": "api:6443"}), "has no usable server", id="a server without a scheme"
    ),
    pytest.param(
        config(cluster={"server": "https://[::1"}), "has no usable server", id="half an IPv6 address"
    ),
    pytest.param(config(cluster={"server": "https://a:99999"}), "has no usable server", id="a port too high"),
    pytest.param(
        config(cluster={"proxy-url": "socks5://p"}), "proxy-url names no proxy that is", id="a SOCKS proxy"
    ),
    pytest.param(
        config(cluster={"certificate-authority-data": "***"}),
        "certificate-authority-data is not base64",
        id="CA garbage",
    ),
    pytest.param(
        config(cluster={"certificate-authority-data": "YWJj"}), "holds no certificate", id="a CA that is none"
    ),
    pytest.param(
        config(cluster={"certificate-authority": "nowhere"}),
        "certificate-authority nowhere cannot be read: No such file",
        id="a CA that is missing",
    ),
    pytest.param(
        config(cluster={"certificate-authority": "nul\0"}),
        "certificate-authority nul\0 cannot be read: embedded null byte",
        id="a CA of no name",
    ),
    pytest.param(
        config(user={"client-key-data": "YWJj"}), "belong together; one is missing", id="a key alone"
    ),
    pytest.param(
        config(user={"client-certificate-data": "YWJj", "client-key-data": "YWJj"}),
        "context 'it': the client certificate or its key cannot be read",
        id="a client certificate that is none",
    ),
    pytest.param(
        config(user={"client-certificate-data": "%"}), "client-certificate-data is not base64", id="garbage"
    ),
    pytest.param(
        config(user={"token": 5}), r"user 'it': Expected `str \| null`, got `int`", id="a token of no text"
    ),
    pytest.param(config(user={"token": "a b"}), "token holds no token", id="a token of two words"),
    pytest.param(config(user={"username": "u"}), "username/password are not supported", id="a password"),
    pytest.param(config(user={"auth-provider": {"name": "gcp"}}), "auth-provider and", id="an auth provider"),
    pytest.param(config(user={"as": "root"}), r"acting as someone else \('root'\)", id="impersonation"),
    pytest.param(
        config(user={"exec": {}}), "user 'it': Object missing required field `command`", id="no command"
    ),
    pytest.param(config(user={"exec": {"command": ""}}), "has no command", id="an empty command"),
    pytest.param(
        config(user={"exec": {"command": "x", "env": [{}]}}), "missing required field `name`", id="bad env"
    ),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_every_problem_is_one_sentence_that_names_the_file(
    write: Write, content: object, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        find_access({"KUBECONFIG": str(write(content))}, CLOCK)
    assert "kubeconfig" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_expired_client_certificate_is_reported_before_it_is_used(
    write: Write, authority: Authority
) -> None:
    certificate, key = authority.issue("late")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    file = write(config(user=user))
    from_kubeconfig([file], CLOCK)
    with pytest.raises(BadInput, match=f"kubeconfig {file}, context 'it': the client certificate expired at"):
        from_kubeconfig([file], SetClock(CLOCK.now() + 3 * DAY))


def test_kubeconfigs_that_point_nowhere_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="KUBECONFIG names /no/where:/at/all, and no such file exists"):
        find_access({"KUBECONFIG": "/no/where:/at/all"}, CLOCK)
    with pytest.raises(BadInput, match=f"kubeconfig {tmp_path} cannot be read: Is a directory"):
        find_access({"KUBECONFIG": str(tmp_path)}, CLOCK)
    with pytest.raises(BadInput, match="no cluster is known: there is no kubeconfig, and this is not a pod"):
        find_access({"HOME": str(tmp_path)}, CLOCK)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="is not YAML"):
        find_access({"KUBECONFIG": str(binary)}, CLOCK)


def test_the_kubeconfig_at_home_is_found(write: Write, tmp_path: Path) -> None:
    write(config(), ".kube/config")
    assert find_access({"HOME": str(tmp_path)}, CLOCK).server == "https://api.example.com:6443"


@pytest.fixture
def account(tmp_path: Path, authority: Authority) -> Path:
    """The files of a service account, as a pod sees them."""
    at = tmp_path / "account"
    at.mkdir()
    (at / "ca.crt").write_bytes(authority.certificate.read_bytes())
    (at / "namespace").write_text("ci\n")
    (at / "token").write_text("abc")
    return at


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nonexistent"}


async def test_in_a_pod_its_service_account_is_used(account: Path) -> None:
    access = find_access(POD, CLOCK, account=account)
    assert (access.server, access.namespace) == ("https://10.0.0.1:443", "ci")
    assert (await access.credentials.proof()).token == "abc"
    (account / "token").unlink()
    (account / "token").write_text("rotated")
    assert (await access.credentials.proof()).token == "rotated"
    six = in_cluster(POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}, account)
    assert six.server == "https://[fd00::1]:443"


def test_a_kubeconfig_that_is_named_wins_over_the_pod(account: Path, write: Write) -> None:
    access = find_access(POD | {"KUBECONFIG": str(write(config()))}, CLOCK, account=account)
    assert access.server == "https://api.example.com:6443"


def test_a_context_is_not_looked_for_in_a_pod(account: Path) -> None:
    with pytest.raises(BadInput, match="there is no kubeconfig"):
        find_access(POD, CLOCK, account=account, context="it")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(
            lambda at: (at / "token").unlink(), "Is automountServiceAccountToken false", id="no token"
        ),
        pytest.param(lambda at: (at / "ca.crt").unlink(), "cannot be read: .*No such file", id="no CA"),
        pytest.param(lambda at: (at / "ca.crt").write_text(""), "holds no certificate", id="an empty CA"),
        pytest.param(
            lambda at: (at / "ca.crt").write_bytes(b"\xff"), "is not text", id="a CA that is no text"
        ),
    ],
)
def test_a_service_account_that_is_not_whole_is_one_sentence(
    account: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(account)
    with pytest.raises(BadInput, match=message):
        find_access(POD, CLOCK, account=account)


def test_a_pod_with_a_broken_environment_is_one_sentence(account: Path) -> None:
    with pytest.raises(BadInput, match="name no server"):
        in_cluster(POD | {"KUBERNETES_SERVICE_PORT": "many"}, account)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "cluster", "user", "context", "server", "token", "exec", "command", "env", "args"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@examples(50)
@given(clusters=anything, users=anything, contexts=anything, current=anything)
def test_safety_whatever_a_kubeconfig_holds_nothing_but_bad_input_comes_of_it(
    tmp_path_factory: pytest.TempPathFactory,
    clusters: object,
    users: object,
    contexts: object,
    current: object,
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed"
    whole = {"clusters": clusters, "users": users, "contexts": contexts, "current-context": current}
    file.write_text(yaml.safe_dump(whole))
    with pytest.raises(BadInput):
        find_access({"KUBECONFIG": str(file)}, CLOCK)


@pytest.mark.slow
@examples(50)
@given(cluster=anything, user=anything, server=st.text(max_size=30))
def test_safety_whatever_a_cluster_or_user_holds_nothing_but_bad_input_comes_of_it(
    tmp_path_factory: pytest.TempPathFactory, cluster: object, user: object, server: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed"
    whole = config()
    whole["clusters"][0]["cluster"] = (
        cluster | {"server": f"https://{server}"} if isinstance(cluster, dict) else cluster
    )
    whole["users"][0]["user"] = user
    file.write_text(yaml.safe_dump(whole))
    with suppress(BadInput):
        find_access({"KUBECONFIG": str(file)}, CLOCK)
