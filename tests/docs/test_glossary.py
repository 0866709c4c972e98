"""The glossary: every word once, in order, and found from the first page."""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_TEXT = (_ROOT / "docs/explanation/glossary.md").read_text()
_TABLES = [re.findall(r"^\| \*\*(.+?)\*\* \|", part, re.MULTILINE) for part in _TEXT.split("\n## ")]


def test_every_word_has_one_meaning() -> None:
    words = [word for table in _TABLES for word in table]
    assert len(words) > 60
    assert sorted(set(words)) == sorted(words)


def test_the_words_of_a_table_are_in_order() -> None:
    for table in _TABLES:
        assert table == sorted(table)


def test_it_is_found_from_the_first_page() -> None:
    assert "(docs/explanation/glossary.md)" in (_ROOT / "README.md").read_text()
