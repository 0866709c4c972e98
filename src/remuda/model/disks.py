"""When a disk has too little room to work with."""

from remuda.model.amount_texts import MIB

#: below this, history is given up to go on
LITTLE_ROOM = 64 * MIB
FEW_FILES = 1_000


def shortage(free_bytes: int | None, free_files: int | None) -> str:
    """What a disk is short of, in words; nothing where there is enough, or nobody could find out."""
    if free_bytes is not None and free_bytes < LITTLE_ROOM:
        return f"{free_bytes / MIB:.0f} MiB are free"
    if free_files is not None and free_files < FEW_FILES:
        return f"{free_files} more files can be made"
    return ""
