"""
Takes secrets out of texts that others wrote: console logs, events, messages.

Values that are known are taken out wherever they stand, also escaped or in base64. Whatever else looks like one, by its
shape or by the word before it, goes too: a bundle is handed to strangers, and a word too few in it costs little.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

import yaml

MASK = "***"
#: shorter values are words that would be missed everywhere
_SHORTEST = 6
_NAMED = r"[\w.-]*(?:token|passw(?:or)?d|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|credential|auth)[\w-]*"
_SECRET_KEY = re.compile(_NAMED, re.IGNORECASE)
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/\s@]+(?=@)"
    r"|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"
    r"|\b(?:CCIPAT|CCIPRJ)_\w+|\bgh[pousr]_\w{16,}|\bAKIA[0-9A-Z]{12,}|\bxox[a-z]-[\w-]+"
    r"|(?<!sha256:)\b[0-9a-fA-F]{32,}\b"
    r"|\b(?=[\w+]*[0-9])(?=[\w+]*[a-z])(?=[\w+]*[A-Z])[\w+]{32,}={0,2}",
    re.DOTALL,
)
_SCHEME = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
#: after a word for a secret, anything in a log; elsewhere sentences are spared, whose words have no digits
_IN_A_LOG = re.compile(rf"\b({_NAMED}[\"']?\s*[:=]\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;}}]+)", re.IGNORECASE)
_IN_A_SENTENCE = re.compile(
    rf"\b({_NAMED}[\"']?\s*[:=]\s*[\"']?)((?=[^\s\"',;]*[0-9])[^\s\"',;]{{6,}}|[^\s\"',;]{{20,}})",
    re.IGNORECASE,
)


def masker(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that takes these values, and what looks like a secret, out of a sentence."""
    known = _pattern(secrets)

    def mask(text: str) -> str:
        text = known.sub(MASK, text) if known else text
        text = _SCHEME.sub(rf"\1 {MASK}", _SHAPES.sub(MASK, text))
        return _IN_A_SENTENCE.sub(rf"\1{MASK}", text)

    return mask


def log_masker(secrets: Iterable[str]) -> Callable[[str], str]:
    """As `masker`, for a log: whatever follows a word for a secret goes, too."""
    mask = masker(secrets)
    return lambda text: _IN_A_LOG.sub(rf"\1{MASK}", mask(text))


def named_secret(name: str) -> bool:
    """Whether a name says that what it stands for is secret: `API_TOKEN`, `password`."""
    return _SECRET_KEY.fullmatch(name) is not None


def everywhere(data: Any, mask: Callable[[str], str]) -> Any:
    """Plain data with every text in it masked; keys are names, and stay."""
    match data:
        case str():
            return mask(data)
        case dict():
            return {key: everywhere(value, mask) for key, value in data.items()}
        case list() | tuple():
            return [everywhere(item, mask) for item in data]
        case _:
            return data


def values_in(encoded: str) -> Iterator[str]:
    """What is secret in a value of a Secret: the value, lines of keys, and what a configuration calls a token."""
    try:
        text = b64decode(encoded, validate=True).decode()
    except ValueError:
        yield encoded
        return
    yield text.strip()
    if "\n" in text or text.lstrip().startswith("{"):
        yield from (
            line.strip() for line in text.splitlines() if len(line.strip()) >= 40 and " " not in line.strip()
        )
        try:
            yield from _named(yaml.load(text, yaml.CSafeLoader))
        except (yaml.YAMLError, ValueError, RecursionError):
            return


def _named(data: object) -> Iterator[str]:
    """Texts under keys that are words for secrets."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, str):
                if _SECRET_KEY.fullmatch(str(key)):
                    yield value
                elif "\n" in value:
                    yield from values_in(b64encode(value.encode()).decode())
            else:
                yield from _named(value)
    elif isinstance(data, list):
        for item in data:
            yield from _named(item)


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    shapes = set[str]()
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            written = {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
            shapes |= {*map(re.escape, written), *_in_base64(secret.encode())}
    return re.compile("|".join(sorted(shapes, key=len, reverse=True))) if shapes else None


def _in_base64(raw: bytes) -> Iterator[str]:
    """Inside longer base64 a value begins at one of three places."""
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        yield re.escape(b64encode(bytes(before) + raw).decode()[first:last]) + "[A-Za-z0-9+/]?={0,2}"
