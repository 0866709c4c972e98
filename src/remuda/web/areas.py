"""Very many things as a map: areas in groups, each as large as its number, in the colours of what they are doing."""

from collections.abc import Sequence

from msgspec import Struct


class Look(Struct, frozen=True):
    """One thing that they may be doing, and the name of its colour in the style."""

    name: str
    colour: str


class Area(Struct, frozen=True):
    """Things that lie together: to which group they belong, how many there are of each look, and where they are shown alone."""

    group: str
    name: str
    counts: Sequence[int]
    link: str = ""

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts)


class AreaMap(Struct, frozen=True):
    """
    A map that the page's script draws on a canvas: squares, each for one thing or for so many that all have room.

    It costs the same for a thousand things and a million. The areas of a group come one after another.
    """

    title: str
    #: one of them, and more
    unit: str
    units: str
    #: what groups and areas are, for the headings of the table that says the same
    group: str
    area: str
    looks: tuple[Look, ...]
    areas: tuple[Area, ...]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(area.total for area in self.areas)

    @property
    def seen(self) -> list[tuple[int, Look, int]]:
        """The looks that occur: place, look, and how many have it."""
        sums = [sum(area.counts[place] for area in self.areas) for place in range(len(self.looks))]
        return [(place, look, sums[place]) for place, look in enumerate(self.looks) if sums[place]]
