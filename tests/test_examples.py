"""The number of examples follows the profile that is in force."""

import pytest
from hypothesis import settings
from tests.examples import examples


@pytest.mark.parametrize(
    ("profile", "given", "taken"), [("ci", 150, 150), ("quick", 200, 10), ("quick", 8, 1), ("soak", 60, 1200)]
)
def test_a_profile_takes_its_share_of_examples(profile: str, given: int, taken: int) -> None:
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        assert examples(given).max_examples == taken
    finally:
        settings.load_profile(before)
