"""Where Prometheus is and who we are: from the environment and files, never shown."""

import base64
from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.prometheus.access import check_url, find_access

URL = "http://prometheus.example:9090/path"
SECRET = "s3cr3t-word"


@pytest.mark.parametrize("url", [URL, f"{URL}/", "https://[::1]:9090", "http://x"])
def test_an_address_is_taken_without_its_last_slash(url: str) -> None:
    assert check_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "", "prometheus:9090", "ftp://x", "http://", "http://x:0", "http://x:99999", "http://[x", "http://a b",
        f"http://me:{SECRET}@x", f"http://x?token={SECRET}", "http://x#y", "http://x/\n", "http://ü",
    ],
)  # fmt: skip
def test_what_is_no_address_is_not_shown(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_url(url)
    assert SECRET not in str(caught.value)
    assert "URL of Prometheus" in str(caught.value)


def test_without_anything_nothing_is_sent() -> None:
    access = find_access(URL, {})
    assert (access.url, access.headers(), access.tls, access.proxy) == (URL, {}, None, None)


def test_a_token_a_tenant_and_a_password_become_headers(tmp_path: Path) -> None:
    environ = {
        "REMUDA_PROMETHEUS_TOKEN": f" {SECRET}\n",
        "REMUDA_PROMETHEUS_HEADER": "X-Scope-OrgID: a|b\nX-B: c:d",
    }
    headers = find_access(URL, environ).headers()
    assert headers == {"Authorization": f"Bearer {SECRET}", "X-Scope-OrgID": "a|b", "X-B": "c:d"}
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n", encoding="utf-8")
    environ = {"REMUDA_PROMETHEUS_USER": "me", "REMUDA_PROMETHEUS_PASSWORD_FILE": str(file)}
    headers = find_access(URL, environ).headers()
    assert headers == {"Authorization": "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()}


def test_a_token_that_was_rotated_is_used_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one", encoding="utf-8")
    access = find_access(URL, {"REMUDA_PROMETHEUS_TOKEN_FILE": str(file)})
    assert access.headers() == {"Authorization": "Bearer one"}
    file.write_text("two", encoding="utf-8")
    assert access.headers() == {"Authorization": "Bearer two"}


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"TOKEN": SECRET, "USER": "me", "PASSWORD": SECRET}, "not both"),
        ({"TOKEN": SECRET, "TOKEN_FILE": "/x"}, "not both"),
        ({"USER": "me"}, "belong together"),
        ({"PASSWORD": SECRET}, "belong together"),
        ({"USER": "m:e", "PASSWORD": SECRET}, "colon"),
        ({"TOKEN": f"two {SECRET}"}, "holds no token"),
        ({"TOKEN_FILE": "/does/not/exist"}, "No such file"),
        ({"HEADER": SECRET}, "one a line"),
        ({"HEADER": f"Bad Name: {SECRET}"}, "one a line"),
        ({"HEADER": f"Host: {SECRET}"}, "one a line"),
        ({"CA_FILE": "/does/not/exist"}, "No such file"),
        ({"LABELS": "cluster"}, "cluster=NAME"),
        ({"LABELS": "a b=c"}, "cluster=NAME"),
        ({"LABELS": "a=b,a=c"}, "cluster=NAME"),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(environ: dict[str, str], why: str) -> None:
    with pytest.raises(BadInput, match=why) as caught:
        find_access(URL, {f"REMUDA_PROMETHEUS_{name}": value for name, value in environ.items()})
    assert SECRET not in str(caught.value)
    assert "REMUDA_PROMETHEUS_" in str(caught.value)


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("nothing", encoding="utf-8")
    environ = {"REMUDA_PROMETHEUS_USER": "me", "REMUDA_PROMETHEUS_CA_FILE": str(tmp_path / "ca")}
    with pytest.raises(BadInput) as caught:
        find_access("nowhere", environ)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "empty"), (b"\xff", "no text"), (b"x" * 70_000, "too large")]
)
def test_a_file_that_holds_no_secret_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(BadInput, match=why):
        find_access(URL, {"REMUDA_PROMETHEUS_TOKEN_FILE": str(tmp_path / "token")})


def test_the_proxy_around_is_used() -> None:
    assert find_access(URL, {"HTTP_PROXY": "http://proxy:1"}).proxy == "http://proxy:1"
    assert find_access(URL, {"HTTP_PROXY": "http://proxy:1", "NO_PROXY": "example"}).proxy is None


def test_labels_select_whose_series_are_read() -> None:
    labels = find_access(URL, {"REMUDA_PROMETHEUS_LABELS": 'cluster = no"rth , env=live'}).labels
    assert labels == (("cluster", 'no"rth'), ("env", "live"))
