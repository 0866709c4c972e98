"""Secrets taken out of texts that others wrote."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.diagnose.observe.masking import everywhere, log_masker, masker, values_in


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(
            "https://robot:hunter2@images.example/x", "https://***@images.example/x", id="in an address"
        ),
        pytest.param("Authorization: Bearer abcdef123456", "Authorization: Bearer ***", id="after a scheme"),
        pytest.param("token=abc123def", "token=***", id="after a word for it"),
        pytest.param('{"auth_token": "abc123def"}', '{"auth_token": "***"}', id="in JSON"),
        pytest.param("got CCIPAT_abc_def here", "got *** here", id="by a prefix that says so"),
        pytest.param("x " + "0a" * 20 + " y", "x *** y", id="a long hexadecimal number"),
        pytest.param("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "***", id="a web token"),
        pytest.param(
            "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----", "***", id="a private key"
        ),
    ],
)
def test_what_looks_like_a_secret_goes(text: str, left: str) -> None:
    assert masker(())(text) == left


@pytest.mark.parametrize(
    "text",
    [
        'couldn\'t find key circle-token in Secret ci/circle; secret "regcred" not found',
        "spec.provider.kubevirt.token: is missing: say which Secret holds the resource class token",
        "image images.example/x@sha256:" + "0a" * 32,
        "virt-launcher-linux-0-x7k2p on gke-pool-1-0f3a2b1c-x9d8",
        "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available",
        "2f0e1f3c-7d1a-4c0e-9a6e-0d7f4b6c8a11",
    ],
)
def test_what_a_person_needs_stays(text: str) -> None:
    assert masker(())(text) == text


def test_after_a_word_for_a_secret_a_log_keeps_nothing() -> None:
    assert log_masker(())("password: correct\nnext") == "password: ***\nnext"
    assert masker(())("password: correct") == "password: correct"


@given(
    st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=6, max_size=40),
    st.text(max_size=5),
    st.text(max_size=5),
)
def test_a_value_that_is_known_goes_wherever_it_is(secret: str, before: str, after: str) -> None:
    mask = masker([secret])
    assert secret not in mask(f"{before} {secret} {after}")
    whole = encoded(f"{before}{secret}{after}")
    inside = encoded("\0" * (len(before.encode()) % 3) + secret).rstrip("=")[2:-2]
    assert inside == "" or len(inside) < 6 or inside not in mask(whole)


def test_a_value_that_is_escaped_goes_too() -> None:
    mask = masker(['pa"ss wörd/1'])
    assert mask(r'{"x": "pa\"ss w\u00f6rd/1"}') == '{"x": "***"}'
    assert mask("https://x/?p=pa%22ss%20w%C3%B6rd%2F1&q=1") == "https://x/?p=***&q=1"


def test_short_values_stay_for_they_are_words() -> None:
    assert masker(["ok", "node"])("node is ok") == "node is ok"


def test_values_are_found_in_configurations_inside_secrets() -> None:
    config = "resourceClass:\n  acme/linux:\n    token: t0ken-of-linux\n    spec: {domain: {memory: {guest: 2Gi}}}\n"
    assert "t0ken-of-linux" in set(values_in(encoded(config)))
    assert "2Gi" not in set(values_in(encoded(config)))
    docker = (
        '{"auths": {"images.example": {"username": "robot", "password": "p4ssw0rd", "auth": "cm9ib3Q="}}}'
    )
    assert {"p4ssw0rd", "cm9ib3Q="} <= set(values_in(encoded(docker)))
    assert list(values_in("AP8A/w==")) == ["AP8A/w=="]
    assert list(values_in(encoded("a: [\n"))) == ["a: ["]


def test_every_text_in_data_is_masked_and_nothing_else() -> None:
    data = {"a": ["secret-1", 2, None, {"secret-1": True}], "b": 1.5}
    assert everywhere(data, masker(["secret-1"])) == {"a": ["***", 2, None, {"secret-1": True}], "b": 1.5}
