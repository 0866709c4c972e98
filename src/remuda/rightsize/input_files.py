"""What a person gives by the name of a file, or as standard input."""

import sys
from pathlib import Path

from remuda.errors import BadInput

STDIN = "standard input"


def read_input(file: str, most_bytes: int) -> tuple[bytes, str]:
    """
    What a file says, and what to call it; - is standard input.

    One byte too many shows that there is more than `most_bytes`. `BadInput` when it cannot be read.
    """
    if file == "-":
        return sys.stdin.buffer.read(most_bytes + 1), STDIN
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most_bytes + 1), file
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{file}: cannot be read: {why}") from None
