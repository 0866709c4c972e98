"""
The stored form of a snapshot: what it begins with, and what of it can be read apart.

What changed is one compressed piece. A checkpoint is two: first what is counted (`remuda.fleet.standing`), a sixth of it, and then the
rest, ids above all, so that who counts need not unpack these. It ends with the checksum of what is counted. Checkpoints of before
are one piece, and are read as well.
"""

import zlib
from typing import Any

import msgspec
from msgspec import Struct

from remuda.fleet.journal import Record
from remuda.fleet.profiles import Profile
from remuda.fleet.standing import CountedColumns, CountedRecord
from remuda.ledger.record import decode, unpack
from remuda.ledger.store import DamagedRow

#: What a stored snapshot begins with.
CHECKPOINT, CHANGES = b"C", b"D"
_encode = msgspec.msgpack.Encoder().encode
_COUNTED = CountedColumns.__struct_fields__


class _Rest(Struct, frozen=True, kw_only=True):
    """What of a record is not counted."""

    columns: dict[str, bytes]
    renamed: bytes
    ids: list[str]
    resources: list[str]
    providers: list[str]
    profiles: list[Profile]


def pack_record(record: Record) -> bytes:
    """The stored form of a snapshot."""
    if not record.is_checkpoint:
        return CHANGES + zlib.compress(_encode(record), 1)
    fields = msgspec.structs.asdict(record)
    head, rest = ({name: fields[name] for name in each.__struct_fields__} for each in (CountedRecord, _Rest))
    head["columns"] = {name: data for name, data in record.columns.items() if name in _COUNTED}
    rest["columns"] = {name: data for name, data in record.columns.items() if name not in _COUNTED}
    counted = _encode(head)
    parts = [CHECKPOINT, zlib.compress(counted, 1), zlib.compress(_encode(rest), 1)]
    return b"".join([*parts, zlib.adler32(counted).to_bytes(4, "big")])


def unpack_record(data: bytes, what: str) -> Record:
    """Read a stored snapshot; `DamagedRow` says that `what` cannot be read."""
    first, rest = _first(data, what)
    if not rest:
        whole: Record = decode(first, Record, what)
        return whole
    counted: CountedRecord = decode(first, CountedRecord, what)
    other: _Rest = unpack(rest, _Rest, what)
    fields: dict[str, Any] = {**msgspec.structs.asdict(counted), **msgspec.structs.asdict(other)}
    fields["columns"] = {**msgspec.structs.asdict(counted.columns), **other.columns}
    return Record(**fields)


def unpack_counted(data: bytes, what: str) -> CountedRecord:
    """Read of a stored snapshot what is counted."""
    counted: CountedRecord = decode(_first(data, what)[0], CountedRecord, what)
    return counted


def _first(data: bytes, what: str) -> tuple[bytes, bytes]:
    """The first piece, and what comes after it."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(memoryview(data)[1:])
    except zlib.error as error:
        raise DamagedRow(f"{what} cannot be read: {error}") from error
    if not stream.eof:
        raise DamagedRow(f"{what} cannot be read: it is cut off")
    return plain, stream.unused_data
