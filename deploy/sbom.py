#!/usr/bin/env python3
"""
Print what Remuda runs with as a bill of materials, CycloneDX 1.6 in JSON: names, versions, licences, who needs whom.

Run it with the Python of an environment that Remuda is installed in. What is installed beside it and not needed by it
(the tools of developers) is left out; of its extras those count that `make run` and the image bring. The same environment
gives the same text: no time, no random number.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from typing import Any

ROOT = "remuda"
#: extras that `deploy/runtime.lock` has: those of Remuda, and what they ask of others
EXTRAS = {"remuda": {"web", "postgres"}, "psycopg": {"binary"}}


def bill(installed: dict[str, Distribution]) -> dict[str, Any]:
    """The document for `ROOT` and all it needs of what is installed."""
    chosen: dict[str, list[str]] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen[name] = sorted({need for need in needs(installed[name]) if need in installed})
            waiting += chosen[name]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(installed[ROOT], "application")},
        "components": [component(installed[name], "library") for name in sorted(chosen) if name != ROOT],
        "dependencies": [
            {"ref": purl(installed[name]), "dependsOn": [purl(installed[need]) for need in chosen[name]]}
            for name in sorted(chosen)
        ],
    }


def needs(found: Distribution) -> Iterator[str]:
    """The packages that one requires, without what only another extra would bring."""
    extras = EXTRAS.get(canonical(found.metadata["Name"]), set())
    for line in found.requires or ():
        asked = re.search(r"extra == ['\"]([^'\"]+)", line)
        if asked is None or asked[1] in extras:
            yield canonical(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])


def component(found: Distribution, kind: str) -> dict[str, Any]:
    """One package: what it is called, and the licence it says it has."""
    said = found.metadata.get("License-Expression")
    # older packages have classifiers or a text of their own instead of an expression
    classified = [
        line.rsplit(" :: ", 1)[1]
        for line in found.metadata.get_all("Classifier") or ()
        if line.startswith("License :: OSI Approved :: ")
    ]
    named = classified or [line for line in [found.metadata.get("License", "").split("\n")[0]] if line]
    licences = [{"expression": said}] if said else [{"license": {"name": name}} for name in named]
    return {
        "type": kind,
        "bom-ref": purl(found),
        "name": canonical(found.metadata["Name"]),
        "version": found.version,
        "purl": purl(found),
    } | ({"licenses": licences} if licences else {})


def purl(found: Distribution) -> str:
    """The address of a package that scanners know it by."""
    return f"pkg:pypi/{canonical(found.metadata['Name'])}@{found.version}"


def canonical(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    found = {canonical(one.metadata["Name"]): one for one in distributions()}
    json.dump(bill(found | {ROOT: distribution(ROOT)}), sys.stdout, indent=1)
    sys.stdout.write("\n")
