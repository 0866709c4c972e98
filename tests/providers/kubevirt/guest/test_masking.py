"""Masking: no form of a secret that a reader could turn back is left."""

import base64
import dataclasses
import json

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.providers.kubevirt.guest.sandbox import read

from remuda.model.times import HOUR, Duration
from remuda.providers.kubevirt.guest.masking import MASK, masked
from remuda.providers.kubevirt.guest.userdata import GuestConfig, user_data

GUEST = GuestConfig(
    token="s3cr3t/token+1", api_url="https://runner.circleci.com", max_run_time=Duration(HOUR)
)
secrets = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=4)

USUAL = user_data(dataclasses.replace(GUEST, token=MASK))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("s3cr3t/token+1", id="as it is"),
        pytest.param(base64.b64encode(b"s3cr3t/token+1").decode(), id="in base64"),
        pytest.param(
            base64.urlsafe_b64encode(b"s3cr3t/token+1??>>").decode(), id="in the base64 of addresses"
        ),
        *(
            pytest.param(
                base64.b64encode(b"x" * n + b"s3cr3t/token+1 and more").decode(),
                id=f"in base64 from byte {n}",
            )
            for n in range(4)
        ),
    ],
)
def test_a_secret_is_masked(text: str) -> None:
    shown = masked(f"before {text} after", ["s3cr3t/token+1"])
    assert MASK in shown
    assert "before" in shown
    assert "after" in shown
    assert "s3cr3t" not in shown
    assert base64.b64encode(b"cr3t/tok").decode()[2:-3] not in shown


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert masked("abcd-efgh", ["abcd", "abcd-efgh"]) == MASK


def test_no_secret_leaves_the_text_alone() -> None:
    assert masked("text", []) == "text"
    assert masked("text", [""]) == "text"


def test_masked_user_data_is_still_user_data_and_differs_in_the_token_only() -> None:
    shown = masked(user_data(GUEST), [GUEST.token])
    assert shown == user_data(dataclasses.replace(GUEST, token=MASK))


@pytest.mark.slow
@examples(50)
@given(secrets)
def test_no_secret_is_left_in_user_data(token: str) -> None:
    guest = dataclasses.replace(GUEST, token=token)
    assume(token not in USUAL)
    shown = masked(user_data(guest), [token])
    assert token not in shown
    (file,) = (file for file in read(shown)["write_files"] if file["path"].endswith("runner.yaml"))
    assert token not in str(yaml.safe_load(file["content"]))


@given(secrets, st.text(), st.text())
def test_no_secret_is_left_in_json_and_base64(token: str, before: str, after: str) -> None:
    assume(token not in MASK)
    for ascii_only in (True, False):
        shown = masked(json.dumps({"t": token}, ensure_ascii=ascii_only), [token])
        assert json.loads(shown) == {"t": MASK}
    whole = (before + token + after).encode(errors="replace")
    encoded = base64.b64encode(whole).decode()
    shown = masked(encoded, [token])
    assert MASK in shown
    left = shown.replace(MASK, "").rstrip("=")
    assert len(left) * 6 // 8 <= len(whole) - len(token.encode())
