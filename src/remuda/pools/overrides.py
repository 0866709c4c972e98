"""What operators set by hand, kept in the store until it is cleared."""

import msgspec

from remuda.ledger.record import decode
from remuda.ledger.sql import Database
from remuda.model.times import Instant
from remuda.pools.decide.model import Override

_PREFIX = "override/"
_NONE = Override()


def overrides(db: Database) -> dict[str, Override]:
    """Pool name → its override."""
    rows = db.execute("SELECT name, data FROM settings WHERE name LIKE 'override/%' ORDER BY name").fetchall()
    return {name.removeprefix(_PREFIX): decode(data, Override, f"the {name}") for name, data in rows}


def set_override(db: Database, pool: str, override: Override, now: Instant) -> None:
    """Keep an override; an empty one is cleared."""
    if override == _NONE:
        db.execute("DELETE FROM settings WHERE name = ?", (_PREFIX + pool,))
    else:
        db.execute(
            "INSERT INTO settings VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET data = excluded.data, set_at = excluded.set_at",
            (_PREFIX + pool, msgspec.msgpack.encode(override), now),
        )
