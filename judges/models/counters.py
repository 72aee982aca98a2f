"""Counters: the requests of one `Client.ask` with their outcomes, its progress, and the client's
totals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import BudgetSpent, ModelError
from .budget import Reservation
from .ignored import ignored_parameters
from .model import Completion, Purpose, Request
from .retries import no_room, not_read

Outcome = Completion | ModelError | BudgetSpent

ASKERS: Mapping[str, str] = {
    "judge": "the judge",
    "optimizer": "the optimizer",
    "loss": "the loss writer",
    "reading": "the reading of the objective",
}
"""Who a reply is for, in words."""

FIRST_REPLIES = 20
"""Replies of a judge after which it is clear whether its limit of tokens leaves room for verdicts.
"""
MOST_CUT = 10
"""So many of them cut at the limit mean that it does not."""
MOST_UNREADABLE = 10
"""So many of them without a readable verdict are taken; the rest is not paid for where there are
more.
"""


@dataclass(slots=True, eq=False)
class Call:
    """One distinct request of an `ask`, and how far it has come."""

    key: bytes
    request: Request | None
    """None where it has to be made again before it is sent, and once it has its outcome."""
    positions: list[int]
    """Where it stands among the requests that were asked; equal ones are one call."""
    purpose: Purpose = "judge"
    token_limit: int | None = None
    outcome: Outcome | None = None
    tries: int = 0
    deadline: float = 0.0
    """When it is given up, by the clock; 0 before the first attempt."""
    reservation: Reservation | None = None
    last_status: int | None = None
    same_status: int = 0
    """How often in a row it failed with `last_status`."""
    successes_before: int = 0
    """Requests that had been answered when this one was first sent."""
    sent_limit: int | None = None
    """Tokens of the reply, as it was sent last."""
    again: bool = False
    """Whether it asks once more for a reply that was cut, with more room."""

    def request_by(self, make: Callable[[int], Request]) -> Request:
        """Return its request, made again from its position where that has to be."""
        if self.request is None:
            self.request = make(self.positions[0])
        return self.request


@dataclass(slots=True)
class ClientStats:
    """What a client has done since it was made."""

    requests: int = 0
    recorded: int = 0
    """Requests with a cached answer, or answered by an equal request of the same `ask`."""
    calls: int = 0
    """Completions made."""
    attempts: int = 0
    retries: int = 0
    failed: int = 0
    """Requests given up, those given up earlier in the run included."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """US dollars of the completions made, as far as their price is known."""
    price_known: bool = True
    dropped: set[str] = field(default_factory=set)
    """Parameters that were asked for and that the endpoint refuses, also when cached replies were
    made.
    """
    ignored: Counter[str] = field(default_factory=Counter)
    """Parameters that replies made now show to be ignored, and in how many."""
    notes: dict[str, None] = field(default_factory=dict)
    """What the person should know of the endpoint and its files, each once and in order."""
    speed: float | None = None
    """Tokens a second that the model writes, where that is known."""
    first_replies: int = 0
    """Replies of a judge, counted up to `FIRST_REPLIES`."""
    first_cut: int = 0
    """Those of them that were cut at the limit of tokens."""
    first_unreadable: int = 0
    """Those of them without a readable verdict."""

    def with_those_of(self, others: Sequence[ClientStats]) -> ClientStats:
        """Return the sum of these counts and those of other clients; itself without others."""
        if not others:
            return self
        every = (self, *others)
        return replace(
            self,
            **{name: sum(getattr(one, name) for one in every) for name in _SUMMED},
            price_known=all(one.price_known for one in every),
            dropped=set().union(*(one.dropped for one in every)),
            ignored=sum((one.ignored for one in every), Counter[str]()),
            notes={note: None for one in every for note in one.notes},
        )


_SUMMED = ("requests", "recorded", "calls", "failed", "tokens_in", "tokens_out", "cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far `Client.ask` has come; all but `cost` and `tokens` count requests."""

    done: int
    total: int
    failed: int
    recorded: int
    """Answered from the call record, without a new call."""
    cost: float | None
    """US dollars spent by this `ask`; None where a price is unknown."""
    tokens: int
    note: str = ""
    """What is waited for, where replies come from a batch."""
    asked: str = ""
    """The model and its address."""
    speed: float | None = None
    """Tokens a second that it writes."""
    again: int = 0
    """Requests that were done and are open once more: their reply was cut, more room is given."""


Watch = Callable[[str, Progress], None]
"""Told what is being done, and how far it is."""


def unwatched(doing: str, progress: Progress) -> None:
    """Tell nobody how far long work is."""


@dataclass(slots=True)
class Counters:
    """How far one `ask` has come: requests, dollars, tokens."""

    total: int
    stats: ClientStats
    asked: str = ""
    done: int = 0
    failed: int = 0
    recorded: int = 0
    cost: float = 0.0
    price_known: bool = True
    tokens: int = 0
    again: int = 0
    unreadable: Callable[[Completion], str] | None = None
    """Says why a reply of the judge cannot be read; empty where it can."""
    most_unreadable: int = MOST_UNREADABLE
    in_vain: ModelError | None = None
    """Why the rest of a judge's requests is not worth paying for: most first replies were cut, or
    are unreadable.
    """

    def progress(self) -> Progress:
        """Return how far it has come."""
        return Progress(
            done=self.done,
            total=self.total,
            failed=self.failed,
            recorded=self.recorded,
            cost=self.cost if self.price_known else None,
            tokens=self.tokens,
            asked=self.asked,
            speed=self.stats.speed,
            again=self.again,
        )

    def count(self, call: Call) -> None:
        """Count a call that has its outcome; equal requests beyond the first cost nothing."""
        self.done += len(call.positions)
        if isinstance(call.outcome, Completion):
            free = len(call.positions)
            if not call.outcome.recorded:
                free -= 1
            self.recorded += free
            self.stats.recorded += free
            self.stats.dropped.update(call.outcome.dropped)
            if call.purpose == "judge" and not call.again:
                self._watch_first(call.token_limit, call.outcome)
        else:
            self.failed += len(call.positions)
            self.stats.failed += len(call.positions)

    def reopen(self, call: Call) -> None:
        """Take back what `count` counted: the call's cut reply is asked for again."""
        self.done -= len(call.positions)
        self.again += len(call.positions)
        if isinstance(call.outcome, Completion):
            free = len(call.positions) - (not call.outcome.recorded)
            self.recorded -= free
            self.stats.recorded -= free

    def _watch_first(self, limit: int | None, reply: Completion) -> None:
        stats = self.stats
        if self.in_vain is not None or stats.first_replies >= FIRST_REPLIES:
            return
        stats.first_replies += 1
        why = self.unreadable(reply) if self.unreadable else ""
        stats.first_cut += reply.finish_reason == "length"
        stats.first_unreadable += bool(why)
        if stats.first_cut >= MOST_CUT:
            self.in_vain = no_room(stats.first_cut, stats.first_replies, limit, reply)
        elif stats.first_unreadable > self.most_unreadable:
            self.in_vain = not_read(stats.first_unreadable, stats.first_replies, reply, why)
        if self.in_vain is not None:
            # Whoever asks again has changed what was in the way.
            stats.first_replies = stats.first_cut = stats.first_unreadable = 0

    def charge(self, request: Request, completion: Completion) -> None:
        """Count the dollars and tokens of a completion that was made now, and what it ignored."""
        if completion.cost is None:
            self.price_known = self.stats.price_known = False
        else:
            self.cost += completion.cost
            self.stats.cost += completion.cost
        self.tokens += completion.tokens_in + completion.tokens_out
        self.stats.calls += 1
        self.stats.tokens_in += completion.tokens_in
        self.stats.tokens_out += completion.tokens_out
        self.stats.ignored.update(ignored_parameters(request, completion))
