import pytest

from remuda.objects.problems import Problem, child_path, nearest, path_steps, quoted


def test_a_problem_is_written_with_its_place_and_path() -> None:
    assert str(Problem("f.yaml", 3, 5, "spec.min", "is wrong")) == "f.yaml:3:5: spec.min: is wrong"
    assert str(Problem("f.yaml", 3, 5, "", "is wrong")) == "f.yaml:3:5: is wrong"
    assert str(Problem("f.yaml", 0, 0, "", "is wrong")) == "f.yaml: is wrong"


def test_a_path_is_made_of_keys_and_indices_and_taken_apart_again() -> None:
    path = ""
    steps = ("metadata", "items", 3, "example.com/team", "x-y")
    for step in steps:
        path = child_path(path, step)
    assert path == 'metadata.items[3]["example.com/team"].x-y'
    assert path_steps(path) == steps


@pytest.mark.parametrize(
    ("word", "near"),
    [
        pytest.param("scaleDowndelay", "scaleDownDelay", id="another case"),
        pytest.param("scale_down_delay", "scaleDownDelay", id="another style"),
        pytest.param("mx", "max", id="a letter left out"),
        pytest.param("zebra", None, id="nothing near"),
        pytest.param("max" * 40, None, id="too long to be a slip"),
    ],
)
def test_the_nearest_word_is_what_a_person_meant(word: str, near: str | None) -> None:
    assert nearest(word, ["min", "max", "scaleDownDelay"]) == near


def test_quoted_text_is_one_short_line() -> None:
    assert quoted("a\nb\x1b[31m") == '"a\\nb\\x1b[31m"'
    assert quoted("x" * 100) == '"' + "x" * 39 + '…"'
