"""The workspace's record of calls: every attempt before it is sent, every request with its reply under its hash.

Completions belong to the workspace: what one run has paid for, every other gets for nothing. Failures
and spending belong to the run. Keys and headers never come here; an endpoint is kept without the
credentials its address may carry.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import orjson

from ...judges import WorkspaceError
from ...judges.models import Completion, FailedCall, OpenAttempt, Request, RequestFrame, Spending, TokenLogprob
from .database import Database
from .schema import now

LOOKUP = 500
"""Keys in one SELECT."""

_AT_ONCE = 64
"""Writes in one statement."""

IN_DOUBT = "('sent', 'lost')"
"""States of an attempt that may have been charged although no answer was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSummary:
    """What one run did, counted."""

    done: int
    """Calls this run paid for and kept."""
    attempts: int
    failed: int
    """Calls this run gave up."""
    in_doubt: int
    """Attempts that were sent and never answered: in flight now, cut off by a kill, or timed out."""
    not_charged: int
    repeated: int
    """Attempts entered for a call that had been answered before; always 0 unless a promise is broken."""
    damaged: int
    """Replies found changed on disk since this record was opened; they are asked again."""
    cost: float
    """US dollars, of those with a known price."""
    unpriced: int
    """Answered calls without a known price."""
    tokens: int

    @property
    def known_cost(self) -> float | None:
        """US dollars for all answered calls; None where one of them has no known price."""
        return None if self.unpriced else self.cost


@dataclass(slots=True)
class _CallWrite:
    """One write about one call, queued; it is done alone or, with others of its kind, in one statement."""

    kind: Literal["enter", "keep", "other"]
    key: bytes
    row: tuple[Any, ...]  # Any: SQL values
    """What the statement for many takes of it."""
    alone: Callable[[sqlite3.Connection], None]
    future: Future[None]


class CallStore:
    """A `CallRecord` in the workspace database, for one run.

    Writes that come while another is being committed go into the next commit together, and attempts that are entered
    and replies that are kept each in one statement: with one for each call, SQLite would cost more than the call.

    Args:
        same_budget: Runs whose calls count in `spending` as well.
    """

    def __init__(self, database: Database, run_id: str, *, same_budget: Collection[str] = ()) -> None:
        self._database = database
        self._run_id = run_id
        self._same_budget = {run_id, *same_budget}
        self._damaged: set[bytes] = set()
        self._lock = threading.Lock()
        self._pending: list[_CallWrite] = []
        self._queued = False
        """Whether the database has a flush that will take what is pending."""
        self._open: dict[bytes, int] = {}
        """Where the open attempt stands, of those that this store has entered."""
        self._frames: dict[tuple[str, str], tuple[RequestFrame, bytes]] = {}
        """The frame of the last request to an endpoint and model, with its hash."""

    @property
    def damaged(self) -> int:
        """How many replies were found changed on disk since this record was opened."""
        return len(self._damaged)

    def recent(self, *, endpoint: str, model: str, n: int = 200) -> list[tuple[Request, Completion]]:
        """Return the workspace's newest calls of a model, newest first; of a request, only its parameters.

        Args:
            endpoint: Its base URL.
            model: Its name there.
            n: How many calls of any model are looked at.
        """
        calls: list[tuple[Request, Completion]] = []
        for asked, content in self._database.read(_RECENT, (n,)):
            body = orjson.loads(asked)
            if (body.get("endpoint"), body.get("model")) != (_without_credentials(endpoint), model):
                continue
            request = Request(
                messages=(),
                max_tokens=body.get("max_tokens"),
                top_logprobs=body.get("top_logprobs"),
                response_format=body.get("response_format"),
            )
            calls.append((request, _load(content)))
        return calls

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """See `CallRecord.lookup`; a reply whose hash does not fit is treated as absent and counted in `damaged`."""
        found: dict[bytes, Completion | FailedCall] = {}
        for start in range(0, len(keys), LOOKUP):
            part = keys[start : start + LOOKUP]
            found.update(self._completions(part))
            # A failure wins over a later success elsewhere: a resumed run must see what it saw before.
            found.update(self._failures(part))
        return found

    def sent(self, key: bytes, *, reserved_cost: float | None, reserved_tokens: int) -> Future[None]:
        """See `CallRecord.sent`."""
        row = (key, key in self._damaged, reserved_cost, reserved_tokens)

        def enter(connection: sqlite3.Connection) -> None:
            self._open.update(self._enter(connection, [row]))

        return self._submit("enter", key, row, enter)

    def adopt(self, keys: Sequence[bytes]) -> Mapping[bytes, OpenAttempt]:
        """See `CallRecord.adopt`."""
        attempts: dict[bytes, OpenAttempt] = {}

        def take_over(connection: sqlite3.Connection) -> None:
            for key in keys:
                last = connection.execute(_OPEN, (key,)).fetchone()
                if last is not None:
                    seq, cost, tokens, owner = last
                    own = owner == self._run_id
                    attempts[key] = OpenAttempt(reserved_cost=cost, reserved_tokens=tokens, own=own)
                    connection.execute("UPDATE attempt SET run_id = ? WHERE seq = ?", (self._run_id, seq))

        self._database.submit(take_over).result()
        return attempts

    def done(self, key: bytes, completion: Completion, *, request: Request, endpoint: str, model: str) -> Future[None]:
        """See `CallRecord.done`; a call that was answered before keeps its first answer, which has been used."""
        content = _dump(completion)
        frame, text = self._frame(request, endpoint, model)
        row = (
            key,
            request.purpose,
            frame,
            text,
            content,
            _body_hash(key, content),
            completion.tokens_in,
            completion.tokens_out,
            completion.tokens_cached,
            completion.cost,
            completion.extra.get("price"),
            completion.model_returned,
            completion.fingerprint,
        )

        def keep(connection: sqlite3.Connection) -> None:
            tokens = completion.tokens_in + completion.tokens_out
            self._settle(connection, key, "done", cost=completion.cost, tokens=tokens)
            if key in self._damaged:
                connection.execute("UPDATE call SET state = 'failed' WHERE key = ?", (key,))
            self._insert(connection, [row])

        # A damaged reply is replaced, which the statement for many does not do.
        return self._submit("other" if key in self._damaged else "keep", key, row, keep)

    def _frame(self, request: Request, endpoint: str, model: str) -> tuple[tuple[bytes, bytes, bytes] | None, bytes]:
        """Return a request's frame, as a row with its hash, and its text; of one without messages all as text."""
        if not request.messages:
            body = {"endpoint": _without_credentials(endpoint), "model": model, **request.body()}
            return None, orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
        frame, digest = self._frames.get((endpoint, model), (None, b""))
        if frame is None or not frame.fits(request):
            frame = RequestFrame.of(request, endpoint=_without_credentials(endpoint), model=model)
            digest = hashlib.blake2b(b"\0".join((frame.head, frame.tail)), digest_size=16).digest()
            self._frames[endpoint, model] = frame, digest
        return (digest, frame.head, frame.tail), orjson.dumps(request.messages[-1].content)

    def not_charged(self, key: bytes) -> Future[None]:
        """See `CallRecord.not_charged`."""

        def settle(connection: sqlite3.Connection) -> None:
            self._settle(connection, key, "not_charged", cost=0.0, tokens=0)

        return self._submit("other", key, (), settle)

    def failed(self, key: bytes, failure: FailedCall) -> Future[None]:
        """See `CallRecord.failed`; an attempt still open then may have been charged and stays in doubt."""

        def give_up(connection: sqlite3.Connection) -> None:
            at = now()
            connection.execute(_FAIL, (self._run_id, key, failure.message, failure.status, at))
            _execute(connection, _LOSE, (at, self._run_id), [(key,)])

        return self._submit("other", key, (), give_up)

    def _submit(
        self,
        kind: Literal["enter", "keep", "other"],
        key: bytes,
        row: tuple[Any, ...],  # Any: SQL values
        alone: Callable[[sqlite3.Connection], None],
    ) -> Future[None]:
        write = _CallWrite(kind, key, row, alone, Future())
        with self._lock:
            self._pending.append(write)
            queued, self._queued = self._queued, True
        if not queued:
            batch: list[_CallWrite] = []
            try:
                flush = self._database.submit(lambda connection: self._flush(connection, batch))
            except WorkspaceError as error:
                self._fail(self._take(), error)
                raise
            flush.add_done_callback(lambda flush: self._flushed(flush, batch))
        return write.future

    def _take(self) -> list[_CallWrite]:
        with self._lock:
            batch, self._pending = self._pending, []
            self._queued = False
        return batch

    def _flush(self, connection: sqlite3.Connection, batch: list[_CallWrite]) -> Mapping[bytes, int]:
        """Do all that is pending, in the writer's thread; return where new attempts stand."""
        batch.extend(self._take())
        if len({write.key for write in batch}) < len(batch):
            # Somebody did not wait for a write before the next one about the same call: their order counts.
            for write in batch:
                write.alone(connection)
            return {}
        for write in batch:
            if write.kind == "other" or (write.kind == "keep" and write.key not in self._open):
                write.alone(connection)
        kept = [write for write in batch if write.kind == "keep" and write.key in self._open]
        for start in range(0, len(kept), _AT_ONCE):
            self._keep(connection, kept[start : start + _AT_ONCE])
        opened: dict[bytes, int] = {}
        entered = [write.row for write in batch if write.kind == "enter"]
        for start in range(0, len(entered), _AT_ONCE):
            opened.update(self._enter(connection, entered[start : start + _AT_ONCE]))
        return opened

    def _flushed(self, flush: Future[Mapping[bytes, int]], batch: Sequence[_CallWrite]) -> None:
        """Tell whoever waits; of a batch that failed each write is tried alone, so that one spoils no other."""
        error = flush.exception()
        if error is None:
            for write in batch:
                if write.kind != "enter":
                    self._open.pop(write.key, None)
            self._open.update(flush.result())
            for write in batch:
                write.future.set_result(None)
            return
        if not batch:  # it never began
            batch = self._take()
        for write in batch:
            self._open.pop(write.key, None)
            if len(batch) == 1:
                self._fail(batch, error)
                return
            try:
                self._database.submit(write.alone).add_done_callback(partial(_pass_on, write.future))
            except WorkspaceError as refusal:
                self._fail([write], refusal)

    def _fail(self, writes: Sequence[_CallWrite], error: BaseException) -> None:
        for write in writes:
            write.future.set_exception(error)

    def _enter(self, connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> Mapping[bytes, int]:
        """Enter attempts of different calls, and return where they stand."""
        at = now()
        _execute(connection, _LOSE, (at, self._run_id), [row[:1] for row in rows])
        return dict(_execute(connection, _ENTER, (self._run_id, at), rows).fetchall())

    def _keep(self, connection: sqlite3.Connection, writes: Sequence[_CallWrite]) -> None:
        """Keep the replies of calls whose attempts this store has entered."""
        settled: list[tuple[int, float | None, int]] = []
        for write in writes:
            _, _, _, _, _, _, tokens_in, tokens_out, _, cost, *_ = write.row
            settled.append((self._open[write.key], cost, tokens_in + tokens_out))
        if _execute(connection, _SETTLE_MANY, (now(),), settled).rowcount != len(writes):
            raise WorkspaceError("an attempt cannot be settled: it has been settled before")
        self._insert(connection, [write.row for write in writes])

    def _insert(self, connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write answered calls, and the frames of their requests."""
        at = now()
        frames: set[tuple[bytes, bytes, bytes]] = set()
        values: list[tuple[Any, ...]] = []
        for key, purpose, frame, *more in rows:
            digest = None
            if frame is not None:
                frames.add(frame)
                digest = frame[0]
            values.append((key, purpose, digest, *more))
        connection.executemany("INSERT OR IGNORE INTO request_frame (hash, head, tail) VALUES (?, ?, ?)", frames)
        _execute(connection, _INSERT, (self._run_id, at, at), values)

    def find_damaged(self) -> tuple[int, list[str]]:
        """Read every reply of the workspace; return how many there are, and which do not fit their hash."""
        replies, last = 0, 0
        damaged: list[str] = []
        while part := self._database.read(_REPLIES, (last, LOOKUP)):
            for _, key, content, stored in part:
                if not isinstance(content, bytes) or _body_hash(key, content) != stored:
                    damaged.append(f"the reply to call {key.hex()[:16]} was changed")
            replies, last = replies + len(part), part[-1][0]
        return replies, damaged

    def spending(self) -> Spending:
        """See `CallRecord.spending`; attempts in flight now count as in doubt until they are settled."""
        row = self._database.read(_SPENDING, (json.dumps([*self._same_budget]),))[0]
        return Spending(settled_cost=row[0], settled_tokens=row[1], in_doubt_cost=row[2], in_doubt_tokens=row[3])

    def summary(self) -> CallSummary:
        """Count this run's calls and attempts, those of earlier sessions included."""
        spent = self._database.read(_SUMMARY, (self._run_id,))[0]
        failed = self._database.read("SELECT count(*) FROM failure WHERE run_id = ?", (self._run_id,))[0][0]
        attempts, done, in_doubt, not_charged, repeated, cost, unpriced, tokens = spent
        return CallSummary(
            done=done,
            attempts=attempts,
            failed=failed,
            in_doubt=in_doubt,
            not_charged=not_charged,
            repeated=repeated,
            damaged=self.damaged,
            cost=cost,
            unpriced=unpriced,
            tokens=tokens,
        )

    def _completions(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion]:
        sql = f"SELECT key, response_json, body_hash FROM call WHERE state = 'done' AND key IN ({_marks(keys)})"  # noqa: S608 - question marks only
        found: dict[bytes, Completion] = {}
        for key, content, stored in self._database.read(sql, keys):
            if isinstance(content, bytes) and _body_hash(key, content) == stored:
                found[key] = _load(content)
            else:
                self._damaged.add(key)
        return found

    def _failures(self, keys: Sequence[bytes]) -> Mapping[bytes, FailedCall]:
        sql = f"SELECT key, message, status FROM failure WHERE run_id = ? AND key IN ({_marks(keys)})"  # noqa: S608 - question marks only
        rows = self._database.read(sql, (self._run_id, *keys))
        return {key: FailedCall(message=message, status=status) for key, message, status in rows}

    def _settle(
        self, connection: sqlite3.Connection, key: bytes, state: str, *, cost: float | None, tokens: int
    ) -> None:
        settled = connection.execute(_SETTLE, (state, cost, tokens, now(), key, self._run_id))
        if settled.rowcount != 1:
            raise WorkspaceError(f"call {key.hex()[:16]} cannot be settled: no attempt of it has been entered")


_RECENT = """
SELECT request.request_json, response_json FROM call JOIN request USING (seq)
WHERE call.state = 'done' ORDER BY call.seq DESC LIMIT ?
"""
_LOSE = """
UPDATE attempt SET state = 'lost', settled = ? WHERE state = 'sent' AND run_id = ? AND key IN (VALUES {rows})
"""
_ENTER = """
INSERT INTO attempt (key, run_id, state, repeated, reserved_cost, reserved_tokens, created)
SELECT column1, ?1, 'sent', NOT column2 AND EXISTS (SELECT 1 FROM call WHERE key = column1 AND state = 'done'),
    column3, column4, ?2
FROM (VALUES {rows}) WHERE column1 IS NOT NULL RETURNING key, seq
"""
_OPEN = """
SELECT seq, reserved_cost, reserved_tokens, run_id FROM attempt
WHERE key = ? AND state = 'sent' ORDER BY seq DESC LIMIT 1
"""
_SETTLE = """
UPDATE attempt SET state = ?, cost = ?, tokens = ?, settled = ?
WHERE seq = (SELECT max(seq) FROM attempt WHERE key = ? AND run_id = ? AND state = 'sent')
"""
_SETTLE_MANY = """
UPDATE attempt SET state = 'done', cost = v.column2, tokens = v.column3, settled = ? FROM (VALUES {rows}) AS v
WHERE attempt.seq = v.column1 AND attempt.state = 'sent'
"""
_INSERT = """
INSERT INTO call (run_id, created, finished, state, attempts, http_status, key, purpose, frame, request_json,
    response_json, body_hash, tokens_in, tokens_out, tokens_cached, cost, price, model_returned, system_fingerprint)
SELECT ?1, ?2, ?3, 'done', 1, 200, v.* FROM (VALUES {rows}) AS v WHERE v.column1 IS NOT NULL
ON CONFLICT (key) DO UPDATE SET state = 'done', http_status = 200, finished = excluded.finished,
    response_json = excluded.response_json, body_hash = excluded.body_hash, tokens_in = excluded.tokens_in,
    tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached, cost = excluded.cost,
    price = excluded.price, model_returned = excluded.model_returned, system_fingerprint = excluded.system_fingerprint
WHERE call.state != 'done'
"""
_FAIL = "INSERT OR REPLACE INTO failure (run_id, key, message, status, created) VALUES (?, ?, ?, ?, ?)"
_REPLIES = """
SELECT seq, key, response_json, body_hash FROM call WHERE seq > ? AND state = 'done' ORDER BY seq LIMIT ?
"""
_SPENDING = f"""
SELECT coalesce(sum(cost) FILTER (WHERE state = 'done'), 0.0),
    coalesce(sum(tokens) FILTER (WHERE state = 'done'), 0),
    coalesce(sum(reserved_cost) FILTER (WHERE state IN {IN_DOUBT}), 0.0),
    coalesce(sum(reserved_tokens) FILTER (WHERE state IN {IN_DOUBT}), 0)
FROM attempt WHERE run_id IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - a constant of ours
_SUMMARY = f"""
SELECT count(*), count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state IN {IN_DOUBT}),
    count(*) FILTER (WHERE state = 'not_charged'), coalesce(sum(repeated), 0),
    coalesce(sum(cost) FILTER (WHERE state = 'done'), 0.0), count(*) FILTER (WHERE state = 'done' AND cost IS NULL),
    coalesce(sum(tokens) FILTER (WHERE state = 'done'), 0)
FROM attempt WHERE run_id = ?
"""  # noqa: S608 - a constant of ours


def _execute(
    connection: sqlite3.Connection, statement: str, common: Sequence[Any], rows: Sequence[tuple[Any, ...]]
) -> sqlite3.Cursor:
    """Run a statement once over rows; NULLs fill them up to a power of two, so that SQLite compiles few statements."""
    n = 1 << (len(rows) - 1).bit_length()
    values = [*common]
    for row in rows:
        values += row
    values += [None] * (len(rows[0]) * (n - len(rows)))
    return connection.execute(_many(statement, len(rows[0]), n), values)


@lru_cache(maxsize=64)
def _many(statement: str, width: int, n: int) -> str:
    row = f"(?{', ?' * (width - 1)})"
    return statement.replace("{rows}", ", ".join([row] * n))


def _pass_on(future: Future[None], done: Future[None]) -> None:
    error = done.exception()
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _marks(keys: Sequence[bytes]) -> str:
    return ",".join("?" * len(keys))


def _body_hash(key: bytes, content: bytes) -> bytes:
    """Hash a reply together with its key, so that a reply under the wrong key is noticed too."""
    return hashlib.blake2b(key + content, digest_size=16).digest()


def _without_credentials(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if "@" not in parts.netloc and not parts.query:
        return endpoint
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _dump(completion: Completion) -> bytes:
    """Write a completion as JSON; a log-probability of minus infinity becomes null."""
    body = {
        "text": completion.text,
        "finish_reason": completion.finish_reason,
        "refusal": completion.refusal,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "tokens_cached": completion.tokens_cached,
        "model_returned": completion.model_returned,
        "fingerprint": completion.fingerprint,
        "logprobs": [(t.token, _finite(t.logprob), [(a, _finite(p)) for a, p in t.top]) for t in completion.logprobs],
        "dropped": completion.dropped,
        "cost": completion.cost,
        "latency": completion.latency,
        "extra": dict(completion.extra),
    }
    try:
        return orjson.dumps(body)
    except TypeError:
        # Half of a surrogate pair, which UTF-8 cannot hold: what has been paid for is kept all the same.
        return json.dumps(body).encode("ascii")


def _load(content: bytes) -> Completion:
    body: dict[str, Any]  # Any: what `_dump` wrote, its hash has been verified
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = json.loads(content)
    tokens = tuple(
        TokenLogprob(t, _infinite(p), tuple((a, _infinite(q)) for a, q in top)) for t, p, top in body.pop("logprobs")
    )
    dropped = tuple(body.pop("dropped"))
    # The record answers at once, whatever the wire took then.
    return Completion(**{**body, "latency": 0.0}, logprobs=tokens, dropped=dropped, recorded=True)


def _finite(logprob: float) -> float | None:
    return logprob if math.isfinite(logprob) else None


def _infinite(logprob: float | None) -> float:
    return -math.inf if logprob is None else logprob
