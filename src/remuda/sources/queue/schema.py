"""
The queue's own tables, version by version; see `remuda.ledger.schema`.

An attempt carries the identity of the store under which its machine was given the job, because the number of a job
and an attempt is unique within one identity only.
"""

from remuda.ledger.schema import Tables

_V1 = """
CREATE TABLE IF NOT EXISTS jobs (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  class        TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  priority     INTEGER NOT NULL,
  spec         BLOB    NOT NULL,
  retries      INTEGER NOT NULL,
  attempt      INTEGER NOT NULL DEFAULT 0,
  machine      TEXT,
  submitted_at INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  cancelled    INTEGER NOT NULL DEFAULT 0,
  idempotency  TEXT    UNIQUE
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_waiting ON jobs (class, priority DESC, id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS jobs_running ON jobs (machine) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS jobs_ended ON jobs (changed_at) WHERE state NOT IN ('waiting', 'running');

CREATE TABLE IF NOT EXISTS attempts (
  job         INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  machine     TEXT    NOT NULL,
  claimed_at  INTEGER NOT NULL,
  finished_at INTEGER,
  status      TEXT,
  exit_code   INTEGER,
  detail      TEXT,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS workers (
  machine  TEXT    PRIMARY KEY,
  uses     INTEGER NOT NULL DEFAULT 0,
  closed   INTEGER NOT NULL DEFAULT 0,
  since    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

_V2 = """
ALTER TABLE attempts ADD COLUMN store TEXT NOT NULL DEFAULT ''
"""

_V3 = """
ALTER TABLE attempts ADD COLUMN output_bytes INTEGER
"""

#: a job whose state cannot be read has failed: nobody knows whether it ran, and `jobs retry` runs it again;
#: a running job whose attempt was lost gets one that counts as lost with its machine, so that it ends
_REPAIR = """
UPDATE jobs SET state = 'failed'
  WHERE state NOT IN ('waiting', 'running', 'succeeded', 'failed', 'cancelled') OR state = 'running' AND machine IS NULL;
DELETE FROM attempts WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = job);
INSERT INTO attempts (job, attempt, machine, claimed_at)
  SELECT id, attempt, machine, changed_at FROM jobs
  WHERE state = 'running' AND NOT EXISTS (SELECT 1 FROM attempts AS a WHERE a.job = id AND a.attempt = jobs.attempt)
"""

TABLES = Tables("queue", (_V1, _V2, _V3), _REPAIR)
