"""Where values of JSON end, and where a text stops being JSON: what decoders only say in words of their own."""

import json
import re
from typing import Final

from remuda.objects.texts import Text
from remuda.objects.tree import Refused

#: strings, brackets, and a quote that nothing closes
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
#: the beginning of a number or a word, and nothing after it
_BEGUN: Final = re.compile(rb"[-+.0-9A-Za-z]*\s*")
_CLOSED: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def value_end(data: bytes, begin: int) -> int | None:
    """Where the object or list that begins there ends; None when its brackets are never closed."""
    depth = 0
    for token in _TOKEN.finditer(data, begin):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"':
                return None
        if depth == 0:
            return token.end()
    return None


def malformed(text: Text, begin: int) -> Refused:
    """Why the value that begins there is no JSON, and where."""
    data = text.data[begin:]
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return Refused("is not JSON: this is not UTF-8", *text.place(begin + error.start))
    try:
        # Byte by byte, so that places are those of the file; what is read is dropped at once.
        _DECODER.raw_decode(data.decode("latin-1"))
    except json.JSONDecodeError as error:
        if error.pos > 0 and _is_cut_off(data, error.pos):
            return Refused("is cut off: the JSON ends before it is complete", *text.place(len(text.data)))
        return Refused(f"is not JSON: {error.msg}", *text.place(begin + error.pos))
    except RecursionError:
        return Refused("is nested too deep")
    return Refused("is not JSON", *text.place(begin))


_DECODER: Final = json.JSONDecoder(object_pairs_hook=lambda _: None, parse_int=len, parse_float=len)


def _is_cut_off(data: bytes, at: int) -> bool:
    """Whether the text ends within what begins there."""
    if data[at : at + 1] == b'"':
        return _CLOSED.match(data, at) is None
    return _BEGUN.fullmatch(data, at) is not None
