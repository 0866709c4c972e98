"""How many examples a property gets."""

from hypothesis import settings

#: of a property that does not say, in CI
USUAL = 100


def examples(count: int) -> settings:
    """So many examples in CI; in proportion fewer in `make quick` and more in `make soak`, by the profile in force."""
    return settings(max_examples=max(1, count * settings().max_examples // USUAL))
