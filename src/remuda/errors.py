"""
Every error Remuda raises on purpose, as one tree.

    RemudaError                what, where and how to fix, in one sentence or several
    ├── BadInput               the caller's words are wrong: exit code 2, nothing was changed
    │   └── NotFound           what the caller names does not exist
    ├── Unavailable            something needed is not there now: a retry may help
    └── InvariantError         a bug of ours: it names the entity and its story, and stops the loop that met it

A domain outcome (a refused action, a pool held at its ceiling) is a value, never an exception.
"""


class RemudaError(Exception):
    """Base of all errors with a message meant for a person."""


class BadInput(RemudaError):
    """What the caller gave is wrong; the message says what would be right."""


class Unavailable(RemudaError):
    """Something this needs is not there now."""


class InvariantError(RemudaError):
    """A rule that must always hold does not: a bug, to be reported with its message."""


class NotFound(BadInput):
    """What the caller names does not exist."""
