"""What a chart over time shows, as data: the page draws it, and a table says the same to who cannot see it."""

from collections.abc import Sequence

from msgspec import Struct

from remuda.model.times import Instant


class Series(Struct, frozen=True):
    """One line: its name, the name of its colour in the style, and its value at each moment; None is a gap."""

    name: str
    colour: str
    values: Sequence[int | float | None]
    is_area: bool = False
    is_dashed: bool = False


class Chart(Struct, frozen=True):
    """Lines over the same moments. Between two moments a value is what it was at the first."""

    title: str
    unit: str
    times: Sequence[Instant]
    series: tuple[Series, ...]
    #: what is said of each moment when one points at it
    notes: tuple[str, ...] = ()
    is_small: bool = False

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.times or not self.series

    @property
    def last(self) -> list[tuple[str, int | float | None]]:
        """The last value of each line."""
        return [(line.name, line.values[-1] if line.values else None) for line in self.series]
