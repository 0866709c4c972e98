"""Decisions of a fleet as they are recorded, row by row, and read again by `why` and `replay`."""
