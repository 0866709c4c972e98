"""Pictures of the dashboard in the documentation: there, small, used, and of pages as they are."""

import re
from pathlib import Path

from manual import pictures

ROOT = Path(__file__).parents[2]


def test_no_picture_shows_what_is_no_longer_so() -> None:
    assert pictures.stale() == [], (
        "`python -m manual.pictures` takes them anew; look at them before you commit them"
    )


def test_pictures_are_few_and_small() -> None:
    found = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert found.keys() == {f"{each.name}.webp" for each in pictures.ALL}
    assert len(found) <= 10
    assert {name for name, size in found.items() if size > 150_000} == set()


def test_every_picture_is_shown_and_has_words_for_who_cannot_see_it() -> None:
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for words, name in re.findall(
            r"!\[([^\]]*)\]\([^)]*pictures/([\w-]+)\.webp\)", page.read_text(encoding="utf-8")
        ):
            assert len(words.split()) > 3, f"{page.name}: {name}"
            shown.add(name)
    assert shown == {each.name for each in pictures.ALL}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("docs/pictures/") < readme.index("docs/terminal.svg"), "it opens with one"


def test_a_change_of_words_or_colours_is_noticed_and_one_of_marks_is_not() -> None:
    assert pictures._words("<h2 class=a>Supply {{ x }}</h2>{# no #}") == pictures._words(
        "<h3>Supply</h3>{% if y %}"
    )
    assert pictures._words("<h2>Supply</h2>") != pictures._words("<h2>Demand</h2>")
