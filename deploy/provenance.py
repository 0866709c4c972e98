#!/usr/bin/env python3
"""
Print where the files in a directory come from, as an in-toto statement with SLSA provenance, for whoever checks them.

    python deploy/provenance.py dist > dist/remuda.intoto.json

It says what was built, by its digest, and what it was built from: the commit, the lock of what builds, the Python. It
is written by whoever runs the build and signed by nobody, which is level 1 of SLSA and no more. It holds no time and
nothing of the machine: the same commit, built with the same Python, gives the same text.
"""

import hashlib
import json
import platform
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: what decides what a build is made with, beside the commit that all of them are in
LOCKS = ("deploy/build.lock", "deploy/runtime.lock")


def statement(made: Path, commit: str, python: str) -> dict[str, Any]:
    """The statement about all that is in a directory. Raises ValueError where nobody could build it again."""
    if not commit or "+" in commit:
        raise ValueError("provenance is for what a commit holds: commit your changes, and build from a clone")
    files = sorted(path for path in made.glob("remuda*") if not path.name.endswith(".intoto.json"))
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [described(path, path.name) for path in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://remuda.dev/builds/make-dist/v1",
                "externalParameters": {"target": "make dist"},
                "internalParameters": {"python": python},
                "resolvedDependencies": [
                    {"name": "remuda", "digest": {"gitCommit": commit}},
                    *(described(ROOT / name, name) for name in LOCKS),
                ],
            },
            "runDetails": {"builder": {"id": "https://remuda.dev/builders/clone/v1"}},
        },
    }


def described(path: Path, name: str) -> dict[str, Any]:
    """A file by name and digest."""
    return {"name": name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from deploy.commit import commit_of

    try:
        made = statement(Path(sys.argv[1]), commit_of(ROOT), platform.python_version())
    except ValueError as error:
        sys.exit(f"provenance: {error}")
    json.dump(made, sys.stdout, indent=1)
    sys.stdout.write("\n")
