"""What a chart over time shows, as data: the page draws it, and a table says the same to who cannot see it."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from remuda.model.times import Instant

#: rows of the table beside a chart
MOST_ROWS = 24


class Series(Struct, frozen=True, omit_defaults=True):
    """One line: its name, the name of its colour in the style, and its value at each moment; None is a gap."""

    name: str
    colour: str
    values: Sequence[int | float | None]
    is_area: bool = False
    is_dashed: bool = False


class Level(Struct, frozen=True, omit_defaults=True):
    """A value that is the same all the time, as a limit is; unlike the values of lines it is not multiplied."""

    name: str
    colour: str
    value: int | float
    is_dashed: bool = False


class Chart(Struct, frozen=True, omit_defaults=True):
    """
    Lines over the same moments. Between two moments a value is what it was at the first.

    Moments in equal steps may be a `range`. The units `bytes` and `millicores` are written as Kubernetes does, `$` and `%`
    as everybody; any other is a word that stands behind a value.
    """

    title: str
    unit: str
    times: Sequence[Instant]
    series: tuple[Series, ...]
    #: what is said of each moment when one points at it
    notes: tuple[str, ...] = ()
    is_small: bool = False
    levels: tuple[Level, ...] = ()
    #: moments at which something happened
    marks: tuple[Instant, ...] = ()
    #: what the values of lines are multiplied with, so that large ones are sent with few digits
    scale: int | float = 1
    #: each line is drawn on top of the one before, as an area
    is_stacked: bool = False
    #: moments are since a beginning, and not of a day
    is_elapsed: bool = False
    #: the time that is drawn, from and to; that of the moments by default
    span: tuple[Instant, Instant] | None = None
    #: what it says, in a sentence
    summary: str = ""

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.times or not self.series

    @property
    def drawing(self) -> "Chart":
        """What the script draws: all but the words around it."""
        return structs.replace(self, summary="")

    @property
    def last(self) -> list[tuple[str, int | float | None]]:
        """The last value of each line, and each level."""
        lines = [(line.name, self._value(line, -1) if line.values else None) for line in self.series]
        return [*lines, *((level.name, level.value) for level in self.levels)]

    def rows(self, most: int = MOST_ROWS) -> Iterator[tuple[Instant, tuple[int | float | None, ...]]]:
        """Some moments, evenly chosen, with the value of each line: what the chart says, for a table."""
        count = len(self.times)
        few = min(count, most)
        for place in dict.fromkeys(n * (count - 1) // max(1, few - 1) for n in range(few)):
            yield self.times[place], tuple(self._value(line, place) for line in self.series)

    def _value(self, line: Series, place: int) -> int | float | None:
        value = line.values[place]
        return None if value is None else value * self.scale
