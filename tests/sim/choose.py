"""
`python -m tests.sim.choose [COUNT]`: the fewest of so many hostile histories of a fleet that show what all of them do.

Histories change with the code. When the ones that were chosen show less than others, the test that lives them takes longer,
since it goes on with others for as long as these show something new; then it is time to choose anew, which takes minutes.
"""

import sys
import time
from collections.abc import Collection
from itertools import combinations

from remuda.sim.fleet_history import simulate
from remuda.sim.fleet_scenario import Request
from remuda.sim.fleet_situations import Situations


class _Shown(Situations):
    """All that one history shows, whatever others did."""

    def __init__(self) -> None:
        super().__init__(wholly=1)
        self.shown: set[tuple[str, ...]] = set()

    def add(self, codes: Collection[str]) -> bool:
        self.shown |= {(code,) for code in codes} | set(combinations(sorted(codes), 2))
        return super().add(codes)


def chosen(shown: dict[int, set[tuple[str, ...]]], cost_s: dict[int, float]) -> list[int]:
    """Seeds that together show everything, first those that add most for what they cost."""
    left = set[tuple[str, ...]]().union(*shown.values())
    seeds = []
    while left:
        seeds.append(max(shown, key=lambda seed: len(shown[seed] & left) / cost_s[seed]))
        left -= shown[seeds[-1]]
    return seeds


def main(count: int) -> None:
    """Live through the histories and print the seeds."""
    shown, cost_s = {}, {}
    for seed in range(count):
        situations, began = _Shown(), time.process_time()
        simulate(Request(seed), situations=situations)
        shown[seed], cost_s[seed] = situations.shown, time.process_time() - began
        sys.stderr.write(f"\r{seed + 1} of {count}")
    sys.stdout.write(f"\n{chosen(shown, cost_s)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 240)
