"""Remuda keeps the right machines ready for CI jobs and pods, and can always say why."""

__version__ = "0.1.0"
