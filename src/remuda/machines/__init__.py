"""Drivers that start and stop real things on this host: one for each technology, used by every job alike."""
