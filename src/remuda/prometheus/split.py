"""
Cuts the JSON of an answer into the elements of its one long list while it comes in.

What is around the list (status, warnings, errors) is small and kept; of the list, never more than one element and the
last chunk of bytes is there at a time. The list is `data` itself, or `result` in it; its elements are objects.
"""

import re
from collections.abc import Iterator

import msgspec

#: an element may have this many bytes: 11,000 samples have under 500,000
MOST_OF_AN_ELEMENT = 8 * 2**20
MOST_AROUND = 2**20
#: a string that may not have come in whole: then its second group is empty
_STRING = rb'(?P<string>"(?:[^"\\]|\\.)*+(?P<closed>"?))'
_AROUND = re.compile(_STRING + rb"|[{}\[\]]", re.DOTALL)
_BETWEEN = re.compile(rb"[ \t\r\n]*(,?)[ \t\r\n]*([{\]]?)")
#: braces and what may hide them; all samples go by in one piece, which is what makes it fast
_WITHIN = re.compile(
    rb'[{}]|(?P<samples>"values"\s*:\s*\[\s*\[[\[\]0-9.,eE+\-"NaInf\s]*+)|' + _STRING, re.DOTALL
)


class Splitter:
    """Takes bytes and gives elements; raises `ValueError` in words for what is no such answer."""

    def __init__(self, most_of_an_element: int = MOST_OF_AN_ELEMENT, most_around: int = MOST_AROUND) -> None:
        """A part that is not to be cut may have so many bytes: an element, or what is around the list."""
        self._most_of_an_element, self._most_around = most_of_an_element, most_around
        #: bytes before the list, and after it
        self._around = bytearray()
        self._rest = b""
        #: how much of the rest was looked at
        self._seen = 0
        self._depth = 0
        self._is_in_data = False
        #: the last string outside of the list: the key of what opens next
        self._key = b""
        self._is_in_list = False
        #: open ones of the element that comes in
        self._braces = 0
        self._elements = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The elements that end in this chunk."""
        data = self._rest + chunk
        begin, at = 0, self._seen
        while True:
            if not self._is_in_list:
                at = self._leave_around(data, at)
                if not self._is_in_list:
                    break
                self._around += data[begin:at]
                begin = at
            elif self._braces:
                at = self._leave_element(data, at)
                if self._braces:
                    break
                yield data[begin:at]
                begin = at
            else:
                found = self._next(data, at)
                if found is None:
                    break
                begin, at = found, found + 1
        self._rest, self._seen = data[begin:], at - begin
        self._check_size()

    def end(self) -> bytes:
        """What is around the list, as JSON with an empty list in its place."""
        around = bytes(self._around + self._rest)
        if self._is_in_list or self._depth or not around.strip():
            raise ValueError(self._incomplete())
        return around

    def _incomplete(self) -> str:
        """Whether what came in could have gone on, or is no JSON at all; elements that were given are not seen."""
        rest = self._rest
        if self._is_in_list and not self._braces and self._elements:
            rest = rest.lstrip().removeprefix(b",")
        try:
            # Half a number is none, and may yet have become one.
            msgspec.json.decode((bytes(self._around) + rest).rstrip(b"0123456789.eE+-"))
        except msgspec.DecodeError as error:
            if "truncated" not in str(error):
                return f"it is no JSON: {error}"
        except RecursionError:
            pass
        return "it is cut off"

    def _check_size(self) -> None:
        most, size = self._most_of_an_element, len(self._rest)
        if not self._is_in_list:
            most, size = self._most_around, size + len(self._around)
        if size > most:
            raise ValueError(f"a part of it that is not to be cut is longer than {most:,} bytes")

    def _leave_around(self, data: bytes, at: int) -> int:
        """Go to where the list begins, or as far as can be."""
        while found := _AROUND.search(data, at):
            if found["string"] is not None:
                if not found["closed"]:
                    return found.start()
                self._key = found["string"]
            elif found[0] in b"}]":
                self._depth -= 1
                self._is_in_data = self._is_in_data and self._depth > 1
            else:
                is_in = (self._depth == 1 and self._key == b'"data"') or (
                    self._depth == 2 and self._is_in_data and self._key == b'"result"'
                )
                self._is_in_data = self._is_in_data or (is_in and found[0] == b"{")
                self._is_in_list = is_in and found[0] == b"["
                self._depth += 1
                if self._is_in_list:
                    return found.end()
            at = found.end()
        return len(data)

    def _next(self, data: bytes, at: int) -> int | None:
        """Where the next element begins, or the list ends, if that has come in."""
        found = _BETWEEN.match(data, at)
        assert found is not None
        if not found[2]:
            if found.end() < len(data):
                raise ValueError("its list holds something else than objects")
            return None
        if found[2] == b"]":
            if found[1]:
                raise ValueError("its list ends with a comma")
            self._is_in_list = False
            self._depth -= 1
        else:
            if bool(found[1]) != bool(self._elements):
                raise ValueError("the elements of its list are not set apart by one comma")
            self._elements += 1
            self._braces = 1
        return found.end() - 1

    def _leave_element(self, data: bytes, at: int) -> int:
        """Go behind the element, or as far as can be."""
        while found := _WITHIN.search(data, at):
            at = found.end()
            if found["samples"] is not None:
                if at == len(data):
                    return found.start()
                # The quote of a key that follows was taken along.
                at = data.rfind(b"]", found.start(), at) + 1 or at
            elif found["string"] is not None:
                if not found["closed"]:
                    return found.start()
            else:
                self._braces += 1 if found[0] == b"{" else -1
                if not self._braces:
                    return at
        return len(data)
