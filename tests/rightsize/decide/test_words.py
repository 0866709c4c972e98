"""How amounts and names are written."""

import pytest

from remuda.rightsize.decide import words

MI = 2**20


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "a"),
        (5, "a, b, c, d, e"),
        (6, "a, b, c, d, e and 1 more"),
        (8, "a, b, c, d, e and 3 more"),
    ],
)
def test_five_names_are_written_and_the_others_counted(count: int, text: str) -> None:
    assert words.some("abcdefgh"[:count]) == text


def test_amounts_are_written_as_people_read_them() -> None:
    assert [words.memory(None), words.memory(512 * MI)] == ["not set", "512Mi"]
    assert [words.cpu(None), words.cpu(250)] == ["not set", "250m"]
    assert [words.enough(amount) for amount in (5 * MI - 1, 5 * MI, 5 * MI + 1)] == ["5Mi", "5Mi", "6Mi"]
    assert [words.about(59 * MI + 800_000), words.about(4444 * MI)] == ["59.8Mi", "4,440Mi"]
    assert [words.counted(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert [words.writer_of(each)(1024) for each in ("cpu", "limits.cpu")] == ["1024m"] * 2
    assert words.writer_of("limits.memory")(MI) == "1Mi"
    assert words.moment(1_767_225_600) == "2026-01-01T00:00:00Z"
