"""Typed values back to the data a person would write in a file."""

from typing import Any

import msgspec

from remuda.objects.scalars import Share


def to_manifest(value: Any) -> Any:
    """
    JSON-like data that loads as `value` again.

    Struct fields have their file names and those that are unset are left out; a quantity or duration is its text.
    """
    match value:
        case msgspec.Struct():
            pairs = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            fields = {key: getattr(value, name) for key, name in pairs}
            return {key: to_manifest(each) for key, each in fields.items() if each is not msgspec.UNSET}
        case dict():
            return {str(key): to_manifest(each) for key, each in value.items()}
        case list() | tuple():
            return [to_manifest(each) for each in value]
        case Share(percent=0):
            return value.count
    return value if value is None or type(value) in {bool, int, float, str} else str(value)
