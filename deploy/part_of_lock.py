#!/usr/bin/env python3
"""
Print the part of a lock that some packages need, with versions and hashes as they are; `make lock` does.

    python deploy/part_of_lock.py requirements.lock remuda jinja2 psycopg what Remuda runs with: deploy/runtime.lock
    python deploy/part_of_lock.py requirements.lock hatchling editables   what it is built with: deploy/build.lock

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


def part(text: str, *roots: str) -> str:
    """The entries that `roots` need, themselves included where they are entries. KeyError when nothing needs one."""
    known = entries(text)
    chosen: set[str] = set()
    for root in roots:
        needed = {root}
        while more := {name for name, (_, needed_by) in known.items() if needed_by & needed} - needed:
            needed |= more
        if not needed & known.keys():
            raise KeyError(root)
        chosen |= needed
    return "".join(lines for name, (lines, _) in known.items() if name in chosen)


if __name__ == "__main__":
    sys.stdout.write(part(Path(sys.argv[1]).read_text(encoding="utf-8"), *sys.argv[2:]))
