"""What is said of where the files of a release come from can be checked by whoever has them and a clone."""

import hashlib
from pathlib import Path

import pytest
from deploy.provenance import statement
from tests.deploy.conftest import ROOT

COMMIT = "1a2432fcfcbe1a2432fcfcbe1a2432fcfcbe0000"


def test_every_file_of_a_release_is_named_by_its_digest_with_what_it_was_built_from(tmp_path: Path) -> None:
    contents = {"remuda-1.tar.gz": b"sources", "remuda-1.whl": b"wheel", "remuda.cdx.json": b"{}"}
    for name, content in {**contents, "remuda.intoto.json": b"", "SHA256SUMS": b"later"}.items():
        (tmp_path / name).write_bytes(content)
    made = statement(tmp_path, COMMIT, "3.13.1")
    assert (made["_type"], made["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://slsa.dev/provenance/v1",
    )
    digests = {one["name"]: one["digest"]["sha256"] for one in made["subject"]}
    assert digests == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    build = made["predicate"]["buildDefinition"]
    source, *locks = build["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": COMMIT}
    for lock in locks:
        assert lock["digest"]["sha256"] == hashlib.sha256((ROOT / lock["name"]).read_bytes()).hexdigest()
    assert build["internalParameters"] == {"python": "3.13.1"}
    # a verifier needs both, whoever built it
    assert build["buildType"]
    assert made["predicate"]["runDetails"]["builder"]["id"]


@pytest.mark.parametrize("commit", ["", f"{COMMIT}+changes"])
def test_what_nobody_could_build_again_has_no_provenance(commit: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="commit your changes"):
        statement(tmp_path, commit, "3.13.1")
