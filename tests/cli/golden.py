"""Texts that are compared with files, and rewritten with `--update-golden`."""

from pathlib import Path

import pytest

HERE = Path(__file__).with_name("golden")


def check_golden(name: str, text: str, config: pytest.Config) -> None:
    """Compare with `golden/<name>.txt`."""
    file = HERE / f"{name}.txt"
    if config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), "if this is right: python -m pytest tests/cli --update-golden"
