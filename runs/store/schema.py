"""The tables of a workspace, as ordered upgrades from an empty file.

An upgrade that has been released is never edited: a later change is a new script at the end.
Times are UTC in ISO 8601; money is in US dollars; hashes are BLAKE2b.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ...judges.files.write_beside import draft_beside


@dataclass(frozen=True, slots=True)
class Migration:
    """One upgrade: a name for messages, and SQL statements that run in one transaction.

    They are SQLite's; another store takes them in its own words for the types.
    """

    name: str
    script: str


_SPINE = """
CREATE TABLE run (
    seq INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'failed')),
    config_json TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL
);

-- Rows are appended under a counter; the 32-byte key stands in an index of its own, which is several
-- times quicker than a table ordered by the key.
CREATE TABLE call (
    seq INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE CHECK (length(key) = 32),
    run_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    request_json BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'failed')),
    attempts INTEGER NOT NULL,
    response_json BLOB,
    body_hash BLOB,
    http_status INTEGER,
    tokens_in INTEGER,
    tokens_out INTEGER,
    tokens_cached INTEGER,
    cost REAL,
    price TEXT,
    model_returned TEXT,
    system_fingerprint TEXT,
    created TEXT NOT NULL,
    finished TEXT
);

CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY,
    call INTEGER NOT NULL REFERENCES call (seq),
    run_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'not_charged', 'lost')),
    repeated INTEGER NOT NULL CHECK (repeated IN (0, 1)),
    reserved_cost REAL,
    reserved_tokens INTEGER NOT NULL,
    cost REAL,
    tokens INTEGER,
    created TEXT NOT NULL,
    settled TEXT
);
CREATE INDEX attempt_by_call ON attempt (call);
CREATE INDEX attempt_by_run ON attempt (run_id);

CREATE TABLE failure (
    run_id TEXT NOT NULL,
    key BLOB NOT NULL,
    message TEXT NOT NULL,
    status INTEGER,
    created TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) WITHOUT ROWID;

CREATE TABLE event (
    run_id TEXT NOT NULL REFERENCES run (run_id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload_json TEXT NOT NULL,
    created TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY,
    holdout TEXT NOT NULL,
    entry_json TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE INDEX ledger_by_holdout ON ledger (holdout);

CREATE TABLE ledger_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    entries INTEGER NOT NULL,
    hash BLOB NOT NULL
);
"""  # noqa: E501

_KNOWN_ROWS = """
-- The keys of the rows that runs saw or sealed, by their hash, which the ledger's entries name.
CREATE TABLE known_rows (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    body BLOB NOT NULL
);
"""

_ROW_PRINTS = """
-- Fingerprints of the texts of the same rows, by which edited ones are known again; named by the ledger's entries too.
CREATE TABLE row_prints (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    body BLOB NOT NULL
);
"""  # noqa: E501

_LABELS = """
-- What people said of rows, one record a key press; none is ever changed: a correction and an undo are records too.
CREATE TABLE label (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL REFERENCES run (run_id),
    action TEXT NOT NULL CHECK (action IN ('label', 'skip', 'undo')),
    row_key BLOB NOT NULL CHECK (length(row_key) = 8),
    row_id TEXT NOT NULL,
    "group" TEXT NOT NULL,
    label REAL,
    reason TEXT NOT NULL,
    annotator TEXT NOT NULL,
    seconds REAL NOT NULL,
    created TEXT NOT NULL,
    probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
    design TEXT NOT NULL,
    replaces INTEGER REFERENCES label (seq)
);
CREATE INDEX label_by_queue ON label (queue);
"""  # noqa: E501

_REQUEST_FRAMES = """
-- The JSON of requests around the text of their last message: system message, schema and settings of a judge, once.
-- A call that names a frame has only that text, as a JSON string, in its request_json.
CREATE TABLE request_frame (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 16),
    head BLOB NOT NULL,
    tail BLOB NOT NULL
) WITHOUT ROWID;
ALTER TABLE call ADD COLUMN frame BLOB REFERENCES request_frame (hash);
CREATE VIEW request AS
    SELECT seq, key, purpose, state,
        CASE WHEN frame IS NULL THEN request_json ELSE CAST(head || request_json || tail AS BLOB) END AS request_json
    FROM call LEFT JOIN request_frame ON request_frame.hash = call.frame;

-- An attempt is entered before it is sent, its call once it is answered: so the request is written once. Since then
-- the attempts are counted here alone, and call.attempts is 1.
CREATE TABLE new_attempt (
    seq INTEGER PRIMARY KEY,
    key BLOB NOT NULL CHECK (length(key) = 32),
    run_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'not_charged', 'lost')),
    repeated INTEGER NOT NULL CHECK (repeated IN (0, 1)),
    reserved_cost REAL,
    reserved_tokens INTEGER NOT NULL,
    cost REAL,
    tokens INTEGER,
    created TEXT NOT NULL,
    settled TEXT
);
INSERT INTO new_attempt
    SELECT attempt.seq, call.key, attempt.run_id, attempt.state, repeated, reserved_cost, reserved_tokens, attempt.cost,
        tokens, attempt.created, settled
    FROM attempt JOIN call ON call.seq = attempt.call ORDER BY attempt.seq;
DROP TABLE attempt;
ALTER TABLE new_attempt RENAME TO attempt;
CREATE INDEX attempt_by_run ON attempt (run_id);
CREATE INDEX open_attempt ON attempt (key) WHERE state = 'sent';
"""  # noqa: E501

_SIDES = """
-- Which part each group of a split is in, by hashes of its name and of its first row; named by the ledger's entries.
CREATE TABLE side (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    body BLOB NOT NULL
);
"""  # noqa: E501

_LEASES = """
-- The processes that send calls for a run, and the driver that gives these out. One whose beat stands still is dead to
-- the others, whatever any clock says. A worker writes which pace (requests a second) it has learned; its driver writes
-- among how many workers it shares, how many requests it may have in flight, at which pace, and that it is to stop.
CREATE TABLE worker (
    owner TEXT PRIMARY KEY,
    driver TEXT,
    run_id TEXT NOT NULL,
    place TEXT NOT NULL,
    beat INTEGER NOT NULL,
    pace REAL,
    sharing INTEGER NOT NULL,
    in_flight INTEGER,
    share REAL,
    stopping INTEGER NOT NULL CHECK (stopping IN (0, 1))
);

-- Who alone may send a call, from before it is sent until it is answered or given up.
CREATE TABLE lease (
    key BLOB PRIMARY KEY CHECK (length(key) = 32),
    owner TEXT NOT NULL REFERENCES worker (owner)
);
CREATE INDEX lease_by_owner ON lease (owner);

-- What a shard of calls has cost, however many processes worked on it.
ALTER TABLE attempt ADD COLUMN shard TEXT;
CREATE INDEX attempt_by_shard ON attempt (shard) WHERE shard IS NOT NULL;
"""  # noqa: E501

_BANKS = """
-- Banks of decided cases that are too large for the text of a judge, by their version, which texts of judges name.
CREATE TABLE bank (
    version TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
"""  # noqa: E501

_RUN_NAMES = """
-- What people call a run, wherever an id stands, and the tags to find it by, with spaces between them.
CREATE TABLE run_name (
    run_id TEXT PRIMARY KEY REFERENCES run (run_id),
    name TEXT UNIQUE,
    tags TEXT NOT NULL
);
"""  # noqa: E501

MIGRATIONS: tuple[Migration, ...] = (
    Migration("spine", _SPINE),
    Migration("known rows", _KNOWN_ROWS),
    Migration("row prints", _ROW_PRINTS),
    Migration("labels", _LABELS),
    Migration("request frames", _REQUEST_FRAMES),
    Migration("sides", _SIDES),
    Migration("leases", _LEASES),
    Migration("banks", _BANKS),
    Migration("run names", _RUN_NAMES),
)
"""Every upgrade in order; a file's `user_version` says how many of them it has."""


def version_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return a file's format and how many tables and indices it has."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return version, connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def upgrade(connection: sqlite3.Connection, migrations: Sequence[Migration], *, since: int) -> None:
    """Run the upgrades that a file of format `since` lacks, all of them or none.

    Raises:
        sqlite3.Error: A statement failed; the file is as it was.
    """
    scripts = "".join(f"{migration.script};" for migration in migrations)
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE; {scripts} PRAGMA user_version={since + len(migrations)}; COMMIT;"
        )
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Copy a database to a file that appears under its name only when it is whole."""
    draft = draft_beside(target)
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(draft)) as copy:
            connection.backup(copy)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def stamp() -> str:
    """Return the time in UTC, fit for a file name."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")


def now() -> str:
    """Return the time in UTC as the tables keep it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
