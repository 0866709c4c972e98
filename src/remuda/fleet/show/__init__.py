"""What a decision looks like to people and programs, and why a need has what it has."""
