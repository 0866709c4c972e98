"""One row a promise: what was measured, what is promised, and under which conditions."""

from collections.abc import Sequence

from msgspec import Struct


class Row(Struct, frozen=True):
    """A measured promise. `ok` compares what was measured with what is promised."""

    name: str
    measured: str
    promised: str
    ok: bool
    conditions: str


def at_most(name: str, value: float, most: float, unit: str, conditions: str) -> Row:
    """A row where less is better."""
    return Row(name, f"{value:,.2f} {unit}", f"≤ {most:g} {unit}", value <= most, conditions)


def at_least(name: str, value: float, least: float, unit: str, conditions: str) -> Row:
    """A row where more is better."""
    return Row(name, f"{value:,.0f} {unit}", f"≥ {least:g} {unit}", value >= least, conditions)


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which that part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def print_table(rows: Sequence[Row]) -> None:
    """Print rows under headings."""
    cells = [("PROMISE", "MEASURED", "PROMISED", "", "CONDITIONS")]
    cells += [
        (row.name, row.measured, row.promised, "ok" if row.ok else "MISSED", row.conditions) for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    for line in cells:
        fixed = "  ".join(cell.ljust(width) for cell, width in zip(line[:4], widths, strict=True))
        print(f"{fixed}  {line[4]}")
