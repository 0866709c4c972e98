"""How the quick tests are shared out."""

from tests.quick import parts


def test_every_file_is_in_one_part_and_parts_are_about_even() -> None:
    sizes = {f"tests/test_{number}.py": number * 100 for number in range(40)}
    shared = parts(sizes, 3)
    assert sorted(name for part in shared for name in part) == sorted(sizes)
    loads = [sum(sizes[name] for name in part) for part in shared]
    assert max(loads) - min(loads) <= max(sizes.values()) / 10


def test_no_part_is_empty() -> None:
    assert parts({"tests/test_one.py": 1}, 4) == [["tests/test_one.py"]]
