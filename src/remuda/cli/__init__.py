"""The command tree. Thin: what a command does lives with its job."""

from remuda.cli.tree import main

__all__ = ["main"]
