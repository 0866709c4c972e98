"""
Where words of codes come from that jobs bring: reasons have a meaning and a sentence, findings four texts.

It imports nothing, so that every command can know the words of every job before it knows which it needs.
"""

from collections.abc import Callable, Iterable, Mapping

#: how codes begin → what loads them
_loaders: dict[str, Callable[[], Mapping[str, tuple[str, ...]]]] = {}


def add_codes(prefixes: Iterable[str], load: Callable[[], Mapping[str, tuple[str, ...]]]) -> None:
    """Let codes that begin with one of these words be looked up in what `load` gives, when one is met."""
    _loaders.update(dict.fromkeys(prefixes, load))


def words_of(code: str) -> tuple[str, ...] | None:
    """What a job says of a code: what it means and its texts; None when none knows it."""
    load = _loaders.get(code.partition(".")[0])
    return None if load is None else load().get(code)
