"""Profiles: what the needs of a fleet require of a machine, each once, and how many units fit on each kind."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet.kinds import Kinds
from remuda.model.labels import Requirement
from remuda.model.units import FleetNeed, Separation, Spread

Ints = NDArray[np.int64]
#: More units than this on one machine make no difference, and keep products of costs and units in 64 bits.
MOST_UNITS = 100_000


class Profile(Struct, frozen=True):
    """What equal needs have in common: requirements, the unit, and how units lie to each other."""

    requirements: tuple[Requirement, ...]
    unit: tuple[tuple[str, int], ...]
    same: str = ""
    spread: Spread | None = None
    separation: Separation | None = None
    #: the need is a sum, and `unit` is the largest there is
    by_sum: bool = False

    @property
    def is_plain(self) -> bool:
        """True when any machine that fits will do, wherever it is."""
        return not (self.same or self.by_sum) and self.is_level

    @property
    def is_level(self) -> bool:
        """True when its units may lie anywhere among the domains it may be in."""
        return self.spread is None and (self.separation is None or not self.separation.key)


class Profiles:
    """
    The distinct profiles, numbered, with the table of fits: profile × kind → units that fit on one machine.

    The table is brought up to date when kinds or profiles were added, and kept else.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.all: list[Profile] = []
        self.plain: NDArray[np.bool_] = np.zeros(0, np.bool_)
        #: profile × kind; 0 where the kind does not match or is too small
        self.fit: Ints = np.zeros((0, 0), np.int64)
        #: profile × resource
        self.unit: Ints = np.zeros((0, 0), np.int64)
        self._numbers: dict[Profile, int] = {}
        self._at = (-1, -1)

    def number(self, need: FleetNeed) -> int:
        """The number of a need's profile, new if there is none like it."""
        profile = Profile(
            tuple(sorted(need.requirements, key=str)),
            tuple(sorted(need.unit.items())),
            need.same,
            need.spread,
            need.separation,
            need.count is None,
        )
        number = self._numbers.get(profile)
        if number is None:
            number = self._numbers[profile] = len(self.all)
            self.all.append(profile)
            for resource in need.unit:
                self.kinds.resource(resource)
        return number

    def extend(self, profiles: Sequence[Profile]) -> None:
        """Go on with profiles that were numbered elsewhere."""
        for profile in profiles:
            self._numbers[profile] = len(self.all)
            self.all.append(profile)

    def tables(self) -> None:
        """Bring `fit`, `unit` and `plain` up to date."""
        at = (self.kinds.revision, len(self.all))
        if self._at == at:
            return
        self.kinds.columns()
        self.plain = np.array([profile.is_plain for profile in self.all], np.bool_)
        self.unit = np.array(
            [[dict(profile.unit).get(name, 0) for name in self.kinds.resources] for profile in self.all],
            np.int64,
        ).reshape(len(self.all), len(self.kinds.resources))
        self.fit = np.array([self._fits(number) for number in range(len(self.all))], np.int64).reshape(
            len(self.all), len(self.kinds)
        )
        self._at = at

    def matches(self, requirements: Sequence[Requirement]) -> NDArray[np.bool_]:
        """Which kinds meet all of the requirements."""
        mask = np.ones(len(self.kinds), np.bool_)
        for requirement in requirements:
            mask &= self.kinds.matching(requirement)
        return mask

    def _fits(self, number: int) -> Ints:
        profile = self.all[number]
        mask = self.matches(profile.requirements)
        for key in (profile.same, profile.spread.key if profile.spread else "", profile.separation.key if profile.separation else ""):  # fmt: skip
            if key:
                mask &= self.kinds.domains(key)[0] >= 0
        units = np.full(len(self.kinds), MOST_UNITS, np.int64)
        for resource, used in enumerate(self.unit[number].tolist()):
            if used:
                np.minimum(units, self.kinds.allocatable[:, resource] // used, out=units)
        if profile.separation is not None and not profile.separation.key:
            np.minimum(units, profile.separation.most, out=units)
        units[~mask] = 0
        return units
