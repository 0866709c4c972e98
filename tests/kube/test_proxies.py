"""Which proxy stands between us and a server."""

import pytest

from remuda.errors import BadInput
from remuda.kube.proxies import checked_proxy, proxy_around

PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("server", "exceptions", "is_used"),
    [
        pytest.param("https://api.example.com", "", True, id="any server"),
        pytest.param("http://api.example.com", "", False, id="http has a proxy of its own"),
        pytest.param("https://api.example.com", "example.com", False, id="names under an excepted one"),
        pytest.param("https://api.example.com", " .example.com , x", False, id="a leading dot"),
        pytest.param("https://badexample.com", "example.com", True, id="a name that only ends alike"),
        pytest.param("https://api.example.com", "*", False, id="a star"),
        pytest.param("https://10.1.2.3:6443", "10.0.0.0/8", False, id="a network"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.3", False, id="an address"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.4,example.com", True, id="another address"),
        pytest.param("https://[fd00::1]", "fd00::/8", False, id="a network of IPv6"),
        pytest.param("https://10.1.2.3", "*", False, id="a star for an address"),
        pytest.param("https://127.0.0.1:6443", "", False, id="this computer"),
        pytest.param("https://localhost:6443", "", False, id="this computer by name"),
    ],
)
def test_the_environment_names_a_proxy_and_its_exceptions(
    server: str, exceptions: str, is_used: bool
) -> None:
    found = proxy_around(PROXY | {"no_proxy": exceptions}, server)
    assert found == ("http://proxy:3128" if is_used else None)


@pytest.mark.parametrize(
    "url", ["socks5://user:hunter2@proxy:1080", "proxy:3128", "http://", "http://[x", "http://h:99999"]
)
def test_a_proxy_that_cannot_be_used_is_bad_input_without_its_password(url: str) -> None:
    with pytest.raises(BadInput, match="it names no proxy that is supported") as caught:
        checked_proxy(url, "it")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(BadInput, match="HTTPS_PROXY names no proxy"):
        proxy_around({"https_proxy": url}, "https://api.example.com")
