#!/usr/bin/env python3
"""
Print the part of a lock that some packages need, with versions and hashes as they are.

    python deploy/part_of_lock.py requirements.lock remuda      what Remuda runs with, without what it is developed with
    python deploy/part_of_lock.py requirements.lock hatchling   what its wheel is built with

The lock itself says which package is there for whom, in its `# via` comments.
"""

import re
import sys
from pathlib import Path

_ENTRY = re.compile(r"^(?P<name>[a-z0-9._-]+)(?:\[[^]]*])?==")


def entries(text: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Name → (its lines, who needs it). The project is `remuda`, its group of developers' tools `remuda:dev`."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for block in re.split(r"^(?=[^ #\n])", text, flags=re.MULTILINE):
        if entry := _ENTRY.match(block):
            lines = block.splitlines()
            pinned = [line for line in lines if not line.lstrip().startswith("#")]
            said = " ".join(line.strip(" #").removeprefix("via") for line in lines[len(pinned) :])
            said = re.sub(r" \(pyproject\.toml(:\w+)?\)", r"\1", said)
            found[entry["name"]] = ("\n".join(pinned) + "\n", frozenset(said.split()))
    return found


def part(text: str, root: str) -> str:
    """The entries that `root` needs, itself included where it is an entry. KeyError when nothing does."""
    known = entries(text)
    wanted = {root}
    while more := {name for name, (_, needed_by) in known.items() if needed_by & wanted} - wanted:
        wanted |= more
    chosen = [lines for name, (lines, _) in known.items() if name in wanted]
    if not chosen:
        raise KeyError(root)
    return "".join(chosen)


if __name__ == "__main__":
    sys.stdout.write(part(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
