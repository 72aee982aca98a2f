"""The rules for a failed attempt: whether it was billed, when it is tried again, when a request is
given up.
"""

from __future__ import annotations

import math
import random

from ..errors import ModelError, UnreachedError
from .model import Completion

OUTAGE = 10
"""So many requests given up in a row, without one success between them, mean that the endpoint is
down.
"""

LATE_TRIES = 3
"""Tries that may go without an answer in time; each takes long, and the same request is as long."""

UNREACHED_TRIES = 4
"""Tries of an endpoint that never answered: its address is more likely wrong than its server busy.
"""

NO_MODEL = 3
"""Web pages and the like before anything else, after which nothing else is expected from this
address.
"""

_BACKOFF_BASE = 0.5
"""Seconds before the first retry, at most; doubled with each."""
_BACKOFF_CAP = 30.0
_POISON = 3
"""Equal server errors in a row after which a request counts as the cause."""
_SHOWN = 300
"""Characters of a reply that an error shows."""
_PATIENCE = 100.0
"""Seconds for a reply from which on the usual timeout may not do."""
_ROOM = 4096
"""Tokens that leave most reasoning models room for a verdict."""
_RATE_LIMITED = {429, 529}
_OVERLOADED = {503, 529}
"""Server errors that say nothing about the request."""


def backoff(rng: random.Random, tries: int) -> float:
    """Return the seconds to wait after so many tries: exponential with full jitter (Brooker
    2015).
    """
    # Full jitter: requests that failed together must not come back together.
    return rng.uniform(0.0, min(_BACKOFF_CAP, _BACKOFF_BASE * 2 ** (tries - 1)))


def refused(error: ModelError) -> bool:
    """Return whether the endpoint had too many requests, or asked for a pause."""
    return error.retryable and (error.status in _RATE_LIMITED or bool(error.retry_after))


def free_of_charge(error: ModelError) -> bool:
    """Return whether nobody bills for this failure: it never arrived, or it was refused before any
    work.
    """
    status = error.status or 0
    turned_away = (
        300 <= status < 500 or status in _OVERLOADED or error.refused_parameter is not None
    )
    return turned_away or isinstance(error, UnreachedError)


def poisonous(error: ModelError, times: int) -> bool:
    """Return whether the same fault so many times in a row, while others succeed, is the request's
    own.

    A server that says it is overloaded says nothing about the request; one that breaks, or answers
    garbage, may.
    """
    status = error.status or 0
    breaks = status == 200 or (status >= 500 and status not in _OVERLOADED)
    return breaks and times >= _POISON


def redirected(error: ModelError) -> bool:
    """Return whether the endpoint named another address; it may do so for one request and answer
    others.
    """
    return 300 <= (error.status or 0) < 400


def given_up(error: ModelError, tries: int) -> ModelError:
    """Return the error a request ends with."""
    message = str(error)
    if error.retryable and tries > 1:
        message += f" (given up after {tries} tries)"
    return ModelError(message, retryable=error.retryable, status=error.status, hint=error.hint)


def closed(error: ModelError) -> ModelError:
    """Return the error that ends an ask because the endpoint wants a longer pause than a request
    may take.
    """
    return ModelError(
        f"the endpoint takes no requests for another {error.retry_after or 0:,.0f} s: {error}",
        status=error.status,
        retry_after=error.retry_after,
        fatal=True,
        hint=(
            "go on then with the same command, or `runs resume`: what was answered is not asked"
            " again"
        ),
    )


def outage(error: ModelError) -> ModelError:
    """Return the error that ends an ask because nothing gets through any more."""
    message = f"{OUTAGE} requests in a row were given up; the last: {error}"
    resume = (
        "go on when the endpoint answers, with the same command or `runs resume`: nothing answered"
        " is asked again"
    )
    if not error.retryable:
        resume = (
            "`judgewright models test NAME` asks one question and shows the answer; nothing was"
            " answered so far"
        )
    return ModelError(message, status=error.status, fatal=True, hint=error.hint or resume)


def too_late(base_url: str, seconds: float) -> ModelError:
    """Return the error of a try that was not answered in time."""
    hint = (
        "raise `timeout` of the model in models.yaml, or ask for less at a time: --max-tokens of a"
        " verdict, optimizer_max_tokens there of other replies, --concurrency 1"
    )
    return ModelError(
        f"no answer from {base_url} within {seconds:g} s", retryable=True, late=True, hint=hint
    )


def no_model(error: ModelError) -> ModelError:
    """Return the error that ends an ask because what answers seems to be no model."""
    hint = (
        error.hint
        or "check the base URL: something else than a model may answer there, such as a sign-on page"  # noqa: E501
    )
    return ModelError(str(error), status=error.status, fatal=True, hint=hint)


def no_room(cut: int, replies: int, limit: int | None, last: Completion) -> ModelError:
    """Return the error that ends an ask because most of a judge's first replies were cut.

    Args:
        cut: How many were.
        replies: Of so many.
        limit: Tokens that the last reply was allowed.
        last: The reply to it.
    """
    where = "their limit" if limit is None else f"{limit:,} tokens"
    thought = ""
    if last.reasoning_tokens:
        thought = f"; in the last, {last.reasoning_tokens:,} went into reasoning"
    room = max(_ROOM, 4 * (limit or 0))
    slow = ""
    if last.latency > 0 and (seconds := room * last.latency / max(1, last.tokens_out)) > _PATIENCE:
        slow = f", with a `timeout` there of {math.ceil(seconds / 60) * 60} at the speed of these"
    return ModelError(
        f"{cut} of the judge's first {replies} replies were cut at {where}{thought}; the rest was"
        " not sent",
        status=200,
        fatal=True,
        hint=(
            f"leave it room to think: --max-tokens {room} (JudgeSettings(max_tokens={room}) in"
            f" Python), or max_tokens of the model in models.yaml{slow}; the replies so far are"
            " kept"
        ),
    )


def not_read(unreadable: int, replies: int, last: Completion, why: str) -> ModelError:
    """Return the error that ends an ask because most of a judge's first replies have no readable
    verdict.

    Args:
        unreadable: How many have none.
        replies: Of so many.
        last: The last of them.
        why: What is wrong with it.
    """
    start = " ".join(last.text.split())[:_SHOWN]
    cure = (
        "where it answers in words, say in the judge where its verdict stands (reply, reply_mark)"
    )
    if (last.fingerprint or "").startswith("simulated-"):
        cure = (
            "the simulated model replies in JSON or in lines such as `Score: 2`, and in no form of"
            " your own: measure this judge with a real model"
        )
    return ModelError(
        f"{unreadable} of the judge's first {replies} replies cannot be read; the rest was not"
        f" sent. The last begins {start!r}: {why}",
        status=200,
        fatal=True,
        hint=(
            f"{cure}; --max-unreadable 20 asks about all rows all the same, and reads the replies"
            " so far again, unpaid"
        ),
    )
