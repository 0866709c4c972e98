import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.machines.process.output import TAIL, Mask, Output

words = st.text("abc", min_size=4, max_size=7)


@given(st.lists(words, min_size=1, max_size=4), st.lists(st.text("abc", max_size=12), max_size=12))
def test_safety_a_stream_is_masked_as_if_it_came_in_one_piece(secrets: list[str], chunks: list[str]) -> None:
    longest_first = sorted({each.encode() for each in secrets}, key=lambda each: (-len(each), each))
    whole = "".join(chunks).encode()
    expected = re.sub(b"|".join(longest_first), b"***", whole)
    mask = Mask(secrets)

    streamed = b"".join([mask.feed(chunk.encode()) for chunk in chunks]) + mask.rest()

    assert streamed == expected
    assert not any(each in streamed for each in longest_first)


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        pytest.param(["hunter22"], b"a hunter22 b", b"a *** b", id="a value is masked"),
        pytest.param(["abc"], b"abc", b"abc", id="three characters are left alone"),
        pytest.param(
            ["first line\nxy\nthird line\n"], b"third line\nxy", b"***\nxy", id="each long line is masked"
        ),
        pytest.param(["pass word \r\n"], b"pass word", b"***", id="the end of a line is no part of it"),
        pytest.param(["schl\xfcssel"], "schl\xfcssel".encode(), b"***", id="text beyond ASCII is masked"),
        pytest.param(["a.c*d"], b"abcccd a.c*d", b"abcccd ***", id="a value is no pattern"),
        pytest.param([], b"text", b"text", id="no secrets, no change"),
    ],
)
def test_what_is_masked(secrets: list[str], text: bytes, expected: bytes) -> None:
    mask = Mask(secrets)
    assert b"".join([mask.feed(text[at : at + 1]) for at in range(len(text))]) + mask.rest() == expected


def test_output_that_cannot_be_the_beginning_of_a_value_is_not_held_back() -> None:
    mask = Mask(["hunter22"])
    assert mask.feed(b"progress 10% h") == b"progress 10% "
    assert mask.feed(b"u") == b""
    assert mask.feed(b"m") == b"hum"


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 7, 1_000, 100_000])
def test_output_beyond_its_limit_keeps_its_head_and_its_tail(tmp_path: Path, size: int) -> None:
    text = b"".join(b"line %d\n" % number for number in range(30_000))
    output = Output(str(tmp_path / "o"), 1_000, Mask([]))

    for at in range(0, len(text), size):
        output.feed(text[at : at + size])
    output.close()

    left_out = len(text) - 1_000 - TAIL
    start = b"" if text[999:1_000] == b"\n" else b"\n"
    line = start + b"[remuda: %d bytes left out]\n" % left_out
    assert (tmp_path / "o").read_bytes() == text[:1_000] + line + text[-TAIL:]
    assert output.total == len(text)


def test_output_a_little_beyond_its_limit_is_whole(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "o"), 4, Mask([]))
    output.feed(b"012")
    output.feed(b"3456789")
    output.close()
    assert (tmp_path / "o").read_bytes() == b"0123456789"
    assert output.trouble == ""


def test_the_place_of_output_is_made_again_when_it_was_deleted(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "missing" / "o"), 100, Mask([]))
    output.feed(b"012345")
    output.close()
    assert output.trouble == ""
    assert (tmp_path / "missing" / "o").read_bytes() == b"012345"
    assert (tmp_path / "missing").stat().st_mode & 0o777 == 0o700


def test_output_without_a_place_is_dropped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    output = Output(str(tmp_path / "file" / "o"), 4, Mask([]))
    output.feed(b"012345")
    output.close()
    assert "was not kept" in output.trouble
    assert output.total == 6


def test_output_to_a_full_disk_is_dropped_and_reported() -> None:
    output = Output("/dev/full", 100, Mask([]))
    output.feed(b"012345")
    output.close()
    assert "No space left" in output.trouble


def test_no_output_leaves_no_file(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "o"), 100, Mask(["secret"]))
    output.feed(b"")
    output.close()
    assert not output.trouble
    assert not (tmp_path / "o").exists()


def test_output_that_someone_deleted_is_reported(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "o"), 100, Mask([]))
    output.feed(b"012")
    (tmp_path / "o").unlink()
    output.feed(b"345")
    output.close()
    assert "was deleted" in output.trouble


def test_a_link_in_the_place_of_the_output_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    (tmp_path / "1-1.log").symlink_to(victim)
    output = Output(str(tmp_path / "1-1.log"), 100, Mask(()))
    output.feed(b"words")
    output.close()
    assert victim.read_text() == "whole"
    assert "the output was not kept" in output.trouble


def test_output_leaves_the_last_of_a_small_disk_to_others(small_disk: Path) -> None:
    path = small_disk / "1.log"
    output = Output(str(path), 1 << 30, Mask([]))
    for _ in range(40):
        output.feed(b"x" * (1 << 20))
    output.close()
    assert output.trouble == "part of the output was not kept: its disk is almost full"
    assert output.total == 40 << 20
    assert 20 << 20 <= path.stat().st_size <= 21 << 20, "an eighth of 24 MiB stays free"
    (small_disk / "others").write_bytes(b"x" * (2 << 20))
