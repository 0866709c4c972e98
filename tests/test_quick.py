"""How the quick tests are shared out."""

from pathlib import Path

import pytest
from tests.quick import is_all_slow, parts, scratch


def test_every_file_is_in_one_part_and_parts_are_about_even() -> None:
    sizes = {f"tests/test_{number}.py": number * 100 for number in range(40)}
    shared = parts(sizes, 3)
    assert sorted(name for part in shared for name in part) == sorted(sizes)
    loads = [sum(sizes[name] for name in part) for part in shared]
    assert max(loads) - min(loads) <= max(sizes.values()) / 10


def test_no_part_is_empty() -> None:
    assert parts({"tests/test_one.py": 1}, 4) == [["tests/test_one.py"]]


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        pytest.param("import pytest\n\npytestmark = pytest.mark.slow\n", True, id="the mark alone"),
        pytest.param(
            "pytestmark = [\n    pytest.mark.slow,\n    other,\n]\n", True, id="one of several marks"
        ),
        pytest.param("pytestmark = pytest.mark.slowly\n", False, id="another mark"),
        pytest.param("@pytest.mark.slow\ndef test_one() -> None: ...\n", False, id="one slow test"),
    ],
)
def test_a_file_is_left_out_when_every_test_in_it_is_slow(text: str, is_left_out: bool) -> None:
    assert is_all_slow(text) is is_left_out


def test_files_are_kept_in_memory_where_there_is_room_and_nothing_is_left(tmp_path: Path) -> None:
    with scratch(tmp_path, 0) as made:
        assert made.parent == tmp_path
        (made / "file").touch()
    assert list(tmp_path.iterdir()) == []
    for memory, room_bytes in ((tmp_path / "missing", 0), (tmp_path, 1 << 62)):
        with scratch(memory, room_bytes) as elsewhere:
            assert elsewhere.is_dir()
            assert elsewhere.parent != tmp_path
        assert not elsewhere.exists()
