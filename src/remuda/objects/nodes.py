"""What a file says, as a tree in which every key and value knows its line and column (both count from 1)."""

from typing import TypeAlias

from msgspec import Struct

from remuda.objects.problems import path_steps

Scalar: TypeAlias = bool | int | float | str | None


class ScalarNode(Struct, frozen=True, gc=False):
    """Text, a number, true, false or nothing."""

    line: int
    column: int
    value: Scalar


class BrokenNode(Struct, frozen=True, gc=False):
    """Something that was reported already; whoever meets it stays silent."""

    line: int
    column: int


class ListNode(Struct, frozen=True):
    """A list."""

    line: int
    column: int
    items: "list[Node]"


class MapNode(Struct, frozen=True):
    """A mapping, in the order it was written."""

    line: int
    column: int
    entries: "dict[str, Entry]"


class Entry(Struct, frozen=True):
    """One key of a mapping: where it stands, and its value."""

    line: int
    column: int
    node: "Node"


Node: TypeAlias = ScalarNode | BrokenNode | ListNode | MapNode


def place_of(root: Node, path: str) -> tuple[int, int]:
    """Line and column of the value at `path`, or of the last key on the way to it that exists."""
    node, place = root, (root.line, root.column)
    for step in path_steps(path):
        if isinstance(node, MapNode) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, place = entry.node, (entry.line, entry.column)
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            place = node.line, node.column
        else:
            return place
    return (node.line, node.column) if isinstance(node, ScalarNode) else place
