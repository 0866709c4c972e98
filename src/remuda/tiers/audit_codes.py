"""What each finding of an audit of tiers means, and its sentences: what is, what should be, how to fix it."""

#: code → (meaning, what is, what should be, fix)
FINDINGS: dict[str, tuple[str, str, str, str]] = {}
