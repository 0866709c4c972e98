"""Small fleets that serving in order shares badly, each as well shared as the oracle can."""

import pytest
from tests.fleet.generate import PLAIN, SPECIAL
from tests.fleet.oracle import best
from tests.fleet.test_oracle import decided, draw_case, settled


@pytest.mark.parametrize("seed", [6, 12, 14, 34, 66, 83, 84, 94, 102, 128, 148, 151, 154, 159, 188, 195])
def test_every_way_to_share_a_few_machines_is_looked_at(seed: int) -> None:
    machines, needs = draw_case(seed, PLAIN)
    assert decided(machines, needs) == best(machines, needs)


@pytest.mark.parametrize(
    "seed", [6, 17, 29, 34, 47, 83, 88, 110, 133, 144, 148, 151, 172, 193, 195, 200, 207, 209, 210, 221]
)
def test_every_way_to_share_them_is_looked_at_where_domains_count(seed: int) -> None:
    machines, needs = draw_case(seed, SPECIAL)
    assert settled(machines, needs) == best(machines, needs)
