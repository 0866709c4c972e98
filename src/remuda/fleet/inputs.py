"""What a decision on files is made on: machines, needs and a policy, and what was wrong with the rest."""

import re
from dataclasses import dataclass

from remuda.fleet.policy import Policy
from remuda.model.shapes import FleetMachine
from remuda.model.units import FleetNeed
from remuda.objects.problems import Problem

_RECORD = re.compile(r"spec\.[a-z]+\[\d+\]")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What files say, without the records that are refused."""

    machines: tuple[FleetMachine, ...]
    #: by cluster, in the order of the files
    needs: dict[str, tuple[FleetNeed, ...]]
    policy: Policy
    #: what is wrong with records that were refused
    refused: tuple[Problem, ...]
    #: what is strange about records that go on
    notes: tuple[Problem, ...]

    @property
    def refused_records(self) -> str:
        """How many records were refused, in words."""
        places = {
            (each.file, _RECORD.findall(each.path)[0], each.message.partition(":")[0])
            for each in self.refused
        }
        return f"{len(places):,} record{'s' * (len(places) != 1)}"
