"""The bounds of a pool that says nothing of them, for whoever reads its object. Pure."""

DEFAULT_MIN = 3
DEFAULT_MAX = 10


def default_min(most: int, *, has_ceiling: bool) -> int:
    """Some are kept warm, but never more than the maximum; under a ceiling nobody holds room that was not asked for."""
    return 0 if has_ceiling else min(DEFAULT_MIN, most)
