"""TLS contexts: what cannot be read is said in one sentence, and nothing asks on a terminal."""

import base64
import ssl
import subprocess
from pathlib import Path

import pytest
from tests.servers.authority import Authority

from remuda.errors import BadInput
from remuda.kube.trust import Pair, Trust, check_not_expired, decoded
from remuda.loop.clock import SystemClock
from remuda.model.times import DAY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    certificate, key = authority.issue("dana", ("devs",))
    return Pair(certificate.read_bytes(), key.read_bytes())


def test_servers_are_verified_unless_that_is_switched_off(authority: Authority) -> None:
    verified, unverified = Trust(authority.certificate.read_text()).context(), Trust(verify=False).context()
    assert (verified.verify_mode, verified.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (unverified.verify_mode, unverified.check_hostname) == (ssl.CERT_NONE, False)


def test_only_the_given_authority_is_believed(authority: Authority) -> None:
    assert len(Trust(authority.certificate.read_text()).context().get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("ca", "message"),
    [
        pytest.param("", "holds no certificate", id="empty"),
        pytest.param("not PEM", "holds no certificate", id="not PEM"),
        pytest.param(
            "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n",
            "cannot be read",
            id="PEM of something else",
        ),
    ],
)
def test_an_authority_that_is_none_is_bad_input(ca: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"the certificate authority of the cluster {message}"):
        Trust(ca).context()


def test_a_certificate_and_a_key_that_do_not_match_are_bad_input(authority: Authority, pair: Pair) -> None:
    other = authority.issue("erin")[1].read_bytes()
    with pytest.raises(BadInput, match="the client certificate or its key cannot be read"):
        Trust().context(Pair(pair.certificate, other))


def test_a_locked_key_is_bad_input_and_not_a_question(tmp_path: Path, pair: Pair) -> None:
    (tmp_path / "key").write_bytes(pair.key)
    locked = ["openssl", "pkcs8", "-topk8", "-in", str(tmp_path / "key"), "-passout", "pass:secret"]
    key = subprocess.run(locked, check=True, capture_output=True, timeout=60).stdout
    assert b"ENCRYPTED" in key
    with pytest.raises(BadInput, match="the client certificate or its key cannot be read"):
        Trust().context(Pair(pair.certificate, key))


def test_a_client_certificate_past_its_end_is_bad_input(pair: Pair) -> None:
    now = SystemClock().now()
    check_not_expired(pair.certificate, now)
    with pytest.raises(
        BadInput, match=r"the client certificate expired at 20\d\d-\d\d-\d\dT.*Z; get a new one"
    ):
        check_not_expired(pair.certificate, now + 3 * DAY)


def test_the_end_of_a_certificate_is_what_openssl_says(authority: Authority, tmp_path: Path) -> None:
    """Also after 2049, where certificates write years with four digits."""
    _, key = authority.issue("old")
    request = ["openssl", "req", "-new", "-key", str(key), "-subj", "/CN=old", "-out", str(tmp_path / "csr")]
    subprocess.run(request, check=True, capture_output=True, timeout=60)
    sign = ["openssl", "x509", "-req", "-in", str(tmp_path / "csr"), "-signkey", str(key), "-days", "20000"]
    made = subprocess.run(sign, check=True, capture_output=True, timeout=60).stdout
    check_not_expired(made, SystemClock().now() + 19_999 * DAY)
    with pytest.raises(BadInput, match="expired"):
        check_not_expired(made, SystemClock().now() + 20_001 * DAY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", id="an empty sequence"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----", id="no base64"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nMIL/\n-----END CERTIFICATE-----", id="cut short"),
    ],
)
def test_what_is_no_certificate_is_left_to_tls(text: bytes) -> None:
    check_not_expired(text, 2**60)


def test_base64_may_have_lines_and_nothing_else() -> None:
    assert decoded(base64.encodebytes(b"x" * 100).decode(), "it") == b"x" * 100
    with pytest.raises(BadInput, match="it is not base64"):
        decoded("***", "it")
