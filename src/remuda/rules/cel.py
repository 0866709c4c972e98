"""What rules of admission are written with: expressions in CEL, as the API server judges them, and patterns of names."""

import json
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

#: all that names of Kubernetes are made of, kinds among them
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
_NOTHING = r"[^\s\S]"
_SPECIAL = re.compile(r"[*?[]")


class Condition(Struct, frozen=True):
    """An expression and its name."""

    name: str
    expression: str

    def written(self) -> dict[str, str]:
        """As a policy of admission holds it."""
        return {"name": self.name, "expression": self.expression}


class Judged(Struct, frozen=True):
    """What must hold of an object, and what is said when it does not."""

    expression: str
    message: str
    message_expression: str = ""

    def written(self) -> dict[str, Any]:
        """As a ValidatingAdmissionPolicy holds it."""
        made = {"expression": self.expression, "message": self.message}
        return made | {"messageExpression": self.message_expression} if self.message_expression else made


def quoted(text: str) -> str:
    """Text as CEL writes it."""
    return json.dumps(str(text), ensure_ascii=False)


def listed(texts: Iterable[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(map(quoted, texts))}]"


def mapped(texts: dict[str, str]) -> str:
    """A map of texts to texts."""
    return f"{{{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in texts.items())}}}"


def like(what: str, patterns: Iterable[str]) -> str:
    """
    Whether a name is like one of some patterns with `*`, `?` and `[…]`, exactly as `fnmatchcase` answers.

    Plain names are looked up, since a regular expression costs by its length.
    """
    patterns = tuple(dict.fromkeys(patterns))
    if "*" in patterns:
        return "true"
    plain = [each for each in patterns if not _SPECIAL.search(each)]
    others = [each for each in patterns if _SPECIAL.search(each)]
    made = [f"{what} in {listed(plain)}"] if plain else []
    made += [f"{what}.matches({quoted(whole(others))})"] if others else []
    return f"({' || '.join(made)})" if made else "false"


def regular_expression(pattern: str) -> str:
    """A pattern as a regular expression of RE2 that says the same of any name of Kubernetes."""
    made = ""
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter == "*":
            made += "" if made.endswith(".*") else ".*"
        elif letter == "?":
            made += "."
        elif letter == "[" and (end := _end_of_set(pattern, at)):
            # what a set means is asked of who knows, a letter at a time
            chosen = [each for each in _LETTERS if fnmatchcase(each, pattern[at - 1 : end])]
            made += f"[{''.join(map(re.escape, chosen))}]" if chosen else _NOTHING
            at = end
        else:
            made += letter if letter.isalnum() or letter == "-" else re.escape(letter)
    return made


def whole(patterns: Iterable[str]) -> str:
    """Several patterns as one regular expression that a name as a whole must be like."""
    return f"^(?:{'|'.join(map(regular_expression, patterns))})$"


def _end_of_set(pattern: str, start: int) -> int:
    """Where a set ends that begins before `start`; 0 where it does not end and is a bracket."""
    at = start + pattern.startswith("!", start)
    return pattern.find("]", at + 1) + 1
