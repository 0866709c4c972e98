"""What each reason of the loop means, and its sentence."""

#: code → (meaning, sentence)
REASONS: dict[str, tuple[str, str]] = {}
