"""A snapshot in a file, for somebody else to look at; what is found in it is what was found live."""

import gzip
import json
import os
import zlib
from pathlib import Path

import msgspec
from msgspec import Struct, field

from remuda.diagnose.snapshot import Snapshot
from remuda.errors import BadInput

FORMAT = "remuda-diagnosis/1"
_LARGEST = 512 * 2**20


class _Bundle(Struct, frozen=True):
    format: str
    snapshot: Snapshot = field(name="world")


class _Labelled(Struct, frozen=True):
    format: str = ""


def write_bundle(path: Path, snapshot: Snapshot) -> None:
    """Write JSON, compressed when the name ends in .gz, for the owner alone."""
    data = msgspec.json.format(msgspec.json.encode(_Bundle(FORMAT, snapshot)), indent=1) + b"\n"
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(data)
    except OSError as error:
        raise BadInput(f"--bundle: {path} cannot be written: {error.strerror}") from None


def read_bundle(path: Path) -> Snapshot:
    """A snapshot that `write_bundle` wrote; `BadInput` when the file is anything else."""
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            with gzip.open(path) as file:
                data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise BadInput(f"--from: {path} is larger than {_LARGEST // 2**20} MiB, which no bundle is")
        json.loads(data, object_pairs_hook=_check_keys)
        label = msgspec.json.decode(data, type=_Labelled).format
        if label != FORMAT:
            raise BadInput(
                f"--from: {path} is no bundle that this remuda reads ({label[:40] or 'no format'} instead of {FORMAT}): "
                "make one with remuda diagnose pools --bundle FILE"
            )
        return msgspec.json.decode(data, type=_Bundle).snapshot
    except OSError as error:
        raise BadInput(f"--from: {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, RecursionError, zlib.error) as error:
        raise BadInput(
            f"--from: {path} is no bundle ({error}): make one with remuda diagnose pools --bundle FILE"
        ) from None


def _check_keys(pairs: list[tuple[str, object]]) -> None:
    """Of two values with one key one would be passed over silently."""
    if len({key for key, _ in pairs}) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice")
