"""The workspace's record of calls: every attempt before it is sent, every request with its reply
under its hash.

Completions belong to the workspace: what one run has paid for, every other gets for nothing.
Failures and spending belong to the run. Keys and headers never come here; an endpoint is kept
without the credentials its address may carry.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from ...judges import WorkspaceError
from ...judges.models import (
    Completion,
    FailedCall,
    OpenAttempt,
    Request,
    Spending,
    TokenLogprob,
)
from .database import Database
from .request_json import RequestFrame
from .schema import now
from .writer import Connection

LOOKUP = 500
"""Keys in one SELECT."""

_IN_DOUBT = "('sent', 'lost')"
"""States of an attempt that may have been charged although no answer was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSummary:
    """What one run did, counted."""

    done: int = 0
    """Calls this run paid for and kept."""
    attempts: int = 0
    failed: int = 0
    """Calls this run gave up."""
    in_doubt: int = 0
    """Attempts that were sent and never answered: in flight now, cut off by a kill, or timed out.
    """
    not_charged: int = 0
    repeated: int = 0
    """Attempts entered for a call that had been answered before; always 0 unless a promise is
    broken.
    """
    damaged: int = 0
    """Replies found changed on disk since this record was opened; they are asked again."""
    cost: float = 0.0
    """US dollars, of those with a known price."""
    unpriced: int = 0
    """Answered calls without a known price."""
    tokens: int = 0

    @property
    def known_cost(self) -> float | None:
        """US dollars for all answered calls; None where one of them has no known price."""
        return None if self.unpriced else self.cost


class CallStore:
    """A `CallRecord` in the workspace database, for one run.

    Args:
        same_budget: Runs whose calls count in `spending` as well.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        *,
        same_budget: Collection[str] = (),
    ) -> None:
        self._database = database
        self._run_id = run_id
        self._same_budget = {run_id, *same_budget}
        self._damaged: set[bytes] = set()
        self._frames: dict[tuple[str, str], tuple[RequestFrame, bytes]] = {}
        """The frame of the last request to an endpoint and model, with its hash."""

    def recent(
        self, *, endpoint: str, model: str, n: int = 200
    ) -> list[tuple[Request, Completion]]:
        """Return the workspace's newest calls of a model, newest first; of a request, only its
        parameters.

        Args:
            n: How many calls of any model are looked at.
        """
        calls: list[tuple[Request, Completion]] = []
        for request_json, content in self._database.read(_RECENT, (n,)):
            body = orjson.loads(request_json)
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
        """See `CallRecord.lookup`; a reply whose hash does not fit is treated as absent and counted
        in `damaged`.
        """
        outcomes: dict[bytes, Completion | FailedCall] = {}
        for start in range(0, len(keys), LOOKUP):
            part = keys[start : start + LOOKUP]
            outcomes.update(self._completions(part))
            # A failure wins over a later success elsewhere: a resumed run must see what it saw
            # before.
            outcomes.update(self._failures(part))
        return outcomes

    def recorded(self, calls: Collection[str]) -> set[str]:
        """Return which of some calls need not be asked again in this run: they are answered, or it
        gave them up.

        Args:
            calls: The first half of each key, in hexadecimal digits.
        """
        failed = self._database.read("SELECT key FROM failure WHERE run_id = ?", (self._run_id,))
        given_up = {key[:16].hex() for (key,) in failed}
        recorded: set[str] = set()
        for call in calls:
            first = bytes.fromhex(call)
            if call in given_up or self._database.read(
                _ANSWERED, (first + bytes(16), first + b"\xff" * 16)
            ):
                recorded.add(call)
        return recorded

    def sent(
        self, key: bytes, *, reserved_cost: float | None, reserved_tokens: int
    ) -> Future[None]:
        """See `CallRecord.sent`."""
        damaged = key in self._damaged

        def enter(connection: Connection) -> None:
            at = now()
            connection.execute(_LOSE, (at, self._run_id, key))
            connection.execute(
                _ENTER, (self._run_id, at, key, damaged, key, reserved_cost, reserved_tokens)
            )

        return self._database.submit(enter)

    def adopt(self, keys: Sequence[bytes]) -> Mapping[bytes, OpenAttempt]:
        """See `CallRecord.adopt`."""
        attempts: dict[bytes, OpenAttempt] = {}

        def take_over(connection: Connection) -> None:
            for key in keys:
                last = connection.execute(_OPEN, (key,)).fetchone()
                if last is not None:
                    seq, cost, tokens, owner = last
                    own = owner == self._run_id
                    attempts[key] = OpenAttempt(reserved_cost=cost, reserved_tokens=tokens, own=own)
                    connection.execute(
                        "UPDATE attempt SET run_id = ? WHERE seq = ?", (self._run_id, seq)
                    )

        self._database.submit(take_over, alone="open attempts").result()
        return attempts

    def done(
        self, key: bytes, completion: Completion, *, request: Request, endpoint: str, model: str
    ) -> Future[None]:
        """See `CallRecord.done`; a call that was answered before keeps its first answer, which has
        been used.
        """
        content = _dump(completion)
        frame, text = self._frame(request, endpoint, model)
        damaged = key in self._damaged

        def keep(connection: Connection) -> None:
            tokens, at = completion.tokens_in + completion.tokens_out, now()
            if not completion.recorded:
                at = self._settle(connection, key, "done", cost=completion.cost, tokens=tokens)
            if damaged:
                connection.execute("UPDATE call SET state = 'failed' WHERE key = ?", (key,))
            if frame is not None:
                connection.execute(_FRAME, frame)
            row = (
                self._run_id,
                at,
                at,
                key,
                request.purpose,
                frame and frame[0],
                text,
                content,
                _body_hash(key, content),
                completion.tokens_in,
                completion.tokens_out,
                completion.tokens_cached,
                completion.cost,
                completion.extra.get("price"),
                _column(completion.model_returned),
                _column(completion.fingerprint),
            )
            connection.execute(_INSERT, row)

        return self._database.submit(keep)

    def _frame(
        self, request: Request, endpoint: str, model: str
    ) -> tuple[tuple[bytes, bytes, bytes] | None, bytes]:
        """Return a request's frame, as a row with its hash, and its text; of one without messages
        all as text.
        """
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

        def settle(connection: Connection) -> None:
            self._settle(connection, key, "not_charged", cost=0.0, tokens=0)

        return self._database.submit(settle)

    def failed(self, key: bytes, failure: FailedCall) -> Future[None]:
        """See `CallRecord.failed`; an attempt still open then may have been charged and stays in
        doubt.
        """

        return self._database.submit(lambda connection: self._give_up(connection, key, failure))

    def find_damaged(self) -> tuple[int, list[str]]:
        """Read every reply of the workspace; return how many there are, and which do not fit their
        hash.
        """
        replies, last = 0, 0
        damaged: list[str] = []
        while part := self._database.read(_REPLIES, (last, LOOKUP)):
            for _, key, content, stored in part:
                if not isinstance(content, bytes) or _body_hash(key, content) != stored:
                    damaged.append(f"the reply to call {key.hex()[:16]} was changed")
            replies, last = replies + len(part), part[-1][0]
        return replies, damaged

    def spending(self) -> Spending:
        """See `CallRecord.spending`; attempts in flight now count as in doubt until they are
        settled.
        """
        runs = sorted(self._same_budget)
        return read_spending(self._database, f"run_id IN ({_marks(runs)})", runs)

    def last_failure(self) -> str:
        """Return what was said of the call that was given up last; empty where none was."""
        sql = "SELECT message FROM failure WHERE run_id = ? ORDER BY created DESC LIMIT 1"
        rows = self._database.read(sql, (self._run_id,))
        return rows[0][0] if rows else ""

    def summary(self) -> CallSummary:
        """Count this run's calls and attempts, those of earlier sessions included."""
        failed = "SELECT count(*) FROM failure WHERE run_id = ?"
        counts = self._database.read(_SUMMARY, (self._run_id,))[0]
        return CallSummary(
            **dict(zip(_COUNTED, counts, strict=True)),
            failed=self._database.read(failed, (self._run_id,))[0][0],
            damaged=len(self._damaged),
        )

    def _completions(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion]:
        sql = f"SELECT key, response_json, body_hash FROM call WHERE state = 'done' AND key IN ({_marks(keys)})"  # noqa: E501, S608
        completions: dict[bytes, Completion] = {}
        for key, content, stored in self._database.read(sql, keys):
            if isinstance(content, bytes) and _body_hash(key, content) == stored:
                # The record answers at once, whatever the wire took then.
                completions[key] = replace(_load(content), latency=0.0)
            else:
                self._damaged.add(key)
        return completions

    def _failures(self, keys: Sequence[bytes]) -> Mapping[bytes, FailedCall]:
        sql = (
            f"SELECT key, message, status FROM failure WHERE run_id = ? AND key IN ({_marks(keys)})"  # noqa: S608 - question marks only
        )
        rows = self._database.read(sql, (self._run_id, *keys))
        return {key: FailedCall(message=message, status=status) for key, message, status in rows}

    def _give_up(self, connection: Connection, key: bytes, failure: FailedCall) -> None:
        at = now()
        connection.execute(_FAIL, (self._run_id, key, _column(failure.message), failure.status, at))
        connection.execute(_LOSE, (at, self._run_id, key))

    def _settle(
        self, connection: Connection, key: bytes, state: str, *, cost: float | None, tokens: int
    ) -> str:
        """Settle the attempt last entered; return the time."""
        at = now()
        if connection.execute(_SETTLE, (state, cost, tokens, at, key, self._run_id)).rowcount != 1:
            raise WorkspaceError(
                f"call {key.hex()[:16]} cannot be settled: no attempt of it has been entered"
            )
        return at


_RECENT = """
SELECT request.request_json, response_json FROM call JOIN request USING (seq)
WHERE call.state = 'done' ORDER BY call.seq DESC LIMIT ?
"""
_ANSWERED = "SELECT 1 FROM call WHERE key BETWEEN ? AND ? AND state = 'done' LIMIT 1"
_LOSE = """
UPDATE attempt SET state = 'lost', settled = ? WHERE state = 'sent' AND run_id = ? AND key = ?
"""
_ENTER = """
INSERT INTO attempt (run_id, created, key, state, repeated, reserved_cost, reserved_tokens)
VALUES (?, ?, ?, 'sent',
    CASE WHEN ? = 0 AND EXISTS (SELECT 1 FROM call WHERE key = ? AND state = 'done') THEN 1 ELSE 0 END, ?, ?)
"""  # noqa: E501
_OPEN = """
SELECT seq, reserved_cost, reserved_tokens, run_id FROM attempt
WHERE key = ? AND state = 'sent' ORDER BY seq DESC LIMIT 1
"""
_SETTLE = """
UPDATE attempt SET state = ?, cost = ?, tokens = ?, settled = ?
WHERE seq = (SELECT max(seq) FROM attempt WHERE key = ? AND run_id = ? AND state = 'sent')
"""
_FRAME = "INSERT INTO request_frame (hash, head, tail) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_INSERT = """
INSERT INTO call (run_id, created, finished, state, attempts, http_status, key, purpose, frame, request_json,
    response_json, body_hash, tokens_in, tokens_out, tokens_cached, cost, price, model_returned, system_fingerprint)
VALUES (?, ?, ?, 'done', 1, 200, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET state = 'done', http_status = 200, finished = excluded.finished,
    response_json = excluded.response_json, body_hash = excluded.body_hash, tokens_in = excluded.tokens_in,
    tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached, cost = excluded.cost,
    price = excluded.price, model_returned = excluded.model_returned, system_fingerprint = excluded.system_fingerprint
WHERE call.state != 'done'
"""  # noqa: E501
_FAIL = """
INSERT INTO failure (run_id, key, message, status, created) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id, key) DO UPDATE SET message = excluded.message, status = excluded.status,
    created = excluded.created
"""
_REPLIES = """
SELECT seq, key, response_json, body_hash FROM call WHERE seq > ? AND state = 'done' ORDER BY seq LIMIT ?
"""  # noqa: E501
_SPENDING = f"""
SELECT coalesce(sum(cost) FILTER (WHERE state = 'done'), 0.0),
    coalesce(sum(tokens) FILTER (WHERE state = 'done'), 0),
    coalesce(sum(reserved_cost) FILTER (WHERE state IN {_IN_DOUBT}), 0.0),
    coalesce(sum(reserved_tokens) FILTER (WHERE state IN {_IN_DOUBT}), 0)
FROM attempt
"""  # noqa: S608 - a constant of ours
_COUNTED = ["attempts", "done", "in_doubt", "not_charged", "repeated", "cost", "unpriced", "tokens"]
_SUMMARY = f"""
SELECT count(*), count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state IN {_IN_DOUBT}),
    count(*) FILTER (WHERE state = 'not_charged'), coalesce(sum(repeated), 0),
    coalesce(sum(cost) FILTER (WHERE state = 'done'), 0.0), count(*) FILTER (WHERE state = 'done' AND cost IS NULL),
    coalesce(sum(tokens) FILTER (WHERE state = 'done'), 0)
FROM attempt WHERE run_id = ?
"""  # noqa: E501, S608


def read_spending(database: Database, where: str, values: Sequence[object]) -> Spending:
    """Return what some attempts have cost, and may have cost."""
    row = database.read(f"{_SPENDING} WHERE {where}", values)[0]
    return Spending(
        settled_cost=row[0], settled_tokens=row[1], in_doubt_cost=row[2], in_doubt_tokens=row[3]
    )


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _column(text: str | None) -> str | None:
    """Return what an endpoint said as every store can hold it: PostgreSQL's texts have no zero
    byte.
    """
    return text and text.replace("\0", "\ufffd")


def _body_hash(key: bytes, content: bytes) -> bytes:
    """Hash a reply together with its key, so that a reply under the wrong key is noticed too."""
    return hashlib.blake2b(key + content, digest_size=16).digest()


def _without_credentials(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if "@" not in parts.netloc and not parts.query:
        return endpoint
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _dump(completion: Completion) -> bytes:
    """Write a completion as JSON, in which a log-probability of minus infinity is null."""
    body = {
        "text": completion.text,
        "finish_reason": completion.finish_reason,
        "refusal": completion.refusal,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "tokens_cached": completion.tokens_cached,
        "model_returned": completion.model_returned,
        "fingerprint": completion.fingerprint,
        "logprobs": [(t.token, t.logprob, t.top) for t in completion.logprobs],
        "dropped": completion.dropped,
        "cost": completion.cost,
        "latency": completion.latency,
        "extra": dict(completion.extra),
    }
    try:
        return orjson.dumps(body)
    except TypeError:
        # Half of a surrogate pair, which UTF-8 cannot hold: what has been paid for is kept all the
        # same.
        return json.dumps(body).encode("ascii")


def _load(content: bytes) -> Completion:
    body: dict[str, Any]  # Any: what `_dump` wrote, its hash has been verified
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = json.loads(content)
    body["logprobs"] = tuple(
        [
            TokenLogprob(t, _infinite(p), tuple((a, _infinite(q)) for a, q in top))
            for t, p, top in body["logprobs"]
        ]
    )
    body["dropped"] = tuple(body["dropped"])
    return Completion(**body, recorded=True)


def _infinite(logprob: float | None) -> float:
    return -math.inf if logprob is None else logprob
