"""Secrets taken out of a text before a person sees it."""

import json
import re
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator

import yaml

MASK = "********"
_BASE64 = "[A-Za-z0-9+/_-]"


def masked(text: str, secrets: Iterable[str]) -> str:
    """
    The text with every secret replaced, also where it is escaped as in YAML and JSON, or inside longer base64.

    Base64 is found in one piece only, not over several lines, and for secrets of four bytes and more.
    """
    shapes = sorted(
        {shape for secret in secrets if secret for shape in _shapes(secret)}, key=len, reverse=True
    )
    return re.sub("|".join(shapes), MASK, text) if shapes else text


def _shapes(secret: str) -> Iterator[str]:
    in_yaml = yaml.safe_dump(secret, default_style='"', width=sys.maxsize).strip()[1:-1]
    for written in {secret, in_yaml, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
        yield re.escape(written)
        raw = written.encode(errors="surrogatepass")
        if len(raw) >= 4:
            yield from _in_base64(raw)


def _in_base64(raw: bytes) -> Iterator[str]:
    """In longer base64 a secret starts at one of three places; characters shared with a neighbour go with it."""
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            core = encode(bytes(before) + raw).decode()[first:last]
            yield f"{_BASE64}{'?' if before else '{0}'}{re.escape(core)}{_BASE64}?={{0,2}}"
