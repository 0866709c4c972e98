"""A snapshot in a file, and files that are none."""

import gzip
from pathlib import Path

import pytest
from tests.diagnose.conftest import Run
from tests.diagnose.snapshots import healthy, node, pool

from remuda.diagnose.observe.bundle import read_bundle, write_bundle
from remuda.errors import BadInput


@pytest.mark.parametrize("name", ["bundle.json", "bundle.json.gz"])
def test_a_world_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    write_bundle(tmp_path / name, healthy())
    assert read_bundle(tmp_path / name) == healthy()
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "is no bundle", id="nothing"),
        pytest.param(b"{", "is no bundle", id="half of one"),
        pytest.param(
            b'{"format": "remuda-diagnosis/9"}', "remuda-diagnosis/9 instead of", id="one of the future"
        ),
        pytest.param(b"{}", "no format instead of", id="something else"),
        pytest.param(
            b'{"format": "remuda-diagnosis/1", "world": {"at": "x"}}', "is no bundle", id="a wrong shape"
        ),
        pytest.param(gzip.compress(b"{}" * 100)[:20], "is no bundle", id="cut short"),
        pytest.param(b"[" * 100_000, "is no bundle", id="nested without end"),
        pytest.param(
            gzip.compress(b"{}" * 100, mtime=0)[:12] + b"\xff" * 30, "is no bundle", id="spoilt inside"
        ),
        pytest.param(
            b'{"format": "remuda-diagnosis/1", "world": {"at": 1, "namespace": "a", "namespace": "b"}}',
            "the key 'namespace' is there twice",
            id="a key twice",
        ),
    ],
)
def test_a_file_that_is_no_bundle_is_bad_input(data: bytes, message: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "x"
    file.write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_bundle(file)
    ran = run("pools", "--from", file)
    assert (ran.code, ran.out) == (2, "")


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written: No such file or directory"):
        write_bundle(tmp_path / "nowhere" / "x", healthy())


@pytest.mark.parametrize(
    "words",
    [["--namespace", "ci"], ["--context", "c"], ["--bundle", "y"]],
    ids=lambda words: words[0],
)
def test_a_file_and_a_cluster_are_not_both_looked_at(words: list[str], tmp_path: Path, run: Run) -> None:
    write_bundle(tmp_path / "x", healthy())
    ran = run("pools", "--from", tmp_path / "x", *words)
    assert (ran.code, ran.err) == (
        2,
        "remuda: --from looks at a file: leave out --namespace, --context and --bundle\n",
    )


def test_exit_codes_tell_what_was_found(tmp_path: Path, run: Run) -> None:
    well, ill = tmp_path / "well", tmp_path / "ill"
    write_bundle(well, healthy())
    write_bundle(ill, healthy(nodes=(node(labels={}),), pools=(pool(), pool("arm", max=0))))
    assert run("pools", "--from", well).code == 0
    assert run("kubevirt", "--from", well).code == 0
    assert run("pools", "--from", ill).code == 1
    assert run("kubevirt", "--from", ill, "-q").code == 1
    unknown = run("pools", "lniux", "--from", well)
    assert (unknown.code, unknown.err) == (
        2,
        "remuda: there is no pool lniux in namespace ci; there is: linux\n",
    )
    assert "demand" in run("pools", "linux", "--from", ill, "-o", "markdown").out


def test_without_a_cluster_there_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    ran = run("pools")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
