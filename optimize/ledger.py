"""The ledger of looks: how often a holdout has been opened, what each look may spend, and which rows were open before.

Every decision on a holdout teaches something about it. So that many tries do not add up to an accident,
look t since the last accept is tested at alpha_t = alpha * 6 / (pi^2 t^2); over all t these sum to alpha
(alpha spending by the Basel series). An accept starts the count anew: the accepted prompt is a new
null hypothesis. A look is entered before the rows are opened, so that one that was cut off counts too.

A holdout is its rows and not its name: each run says which rows it sees and which are sealed to it. Rows that some
run saw are no holdout any more, and looks at other holdouts with more than a few of the same groups count here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..judges import InputError, Splits, WorkspaceError
from .known_rows import KnownRows, known_sealed

ALPHA = 0.05
"""What all looks between two accepts spend together."""

MAX_LOOKS = 20
"""Looks on a holdout since the last accept after which fresh labels are asked for."""

SHARED = 0.05
"""Share of a holdout's groups from which another holdout with them counts as the same one."""

LookOutcome = Literal["accepted", "refused", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The permit to open one holdout for one decision."""

    holdout: str
    """Content hash of the holdout rows."""
    number: int
    """Position among the looks on this holdout since the last accept, from 1."""
    alpha: float
    """Level of this look's test; it is spent whatever the outcome."""
    run_id: str
    purpose: str
    """Which command looks, such as `gate` or `recheck`."""
    before: str
    """Version of the prompt in use."""
    after: str
    """Version of the candidate."""
    line: str = ""
    """Whose looks it is counted among: a model's own where an accepted prompt is rechecked on it, else all others."""
    carried: int = 0
    """Looks at other holdouts with the same rows that are counted in `number`."""
    opened: str = ""
    """How many of the rows were open to an earlier run, where that was allowed; empty where none were."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What has to be said with the decision."""
        said = []
        if self.opened:
            said.append(f"{self.opened}, as was allowed: the figures flatter a prompt that was tuned on them")
        if self.carried:
            looks = f"{self.carried} {'look' if self.carried == 1 else 'looks'}"
            said.append(f"{looks} at other holdouts with some of these rows counted as looks at this one")
        return tuple(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """A look as the ledger keeps it; outcome and reason are None while it has not been concluded."""

    look: Look
    outcome: LookOutcome | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMemory:
    """Which rows a run sees, and which are sealed to it."""

    run_id: str
    open: KnownRows
    sealed: Mapping[str, KnownRows]
    """By the content hash of each sealed part."""
    opened: Mapping[str, str]
    """What is to be said of sealed parts with rows that were open before, by their content hash."""


class Ledger(Protocol):
    """Where runs say which rows they see, and looks are entered before the rows are opened."""

    def remember(
        self, run_id: str, *, open: KnownRows, sealed: Mapping[str, KnownRows], allow_opened: bool = False
    ) -> RowMemory:
        """Enter, once for a run, which rows it sees and which are sealed to it.

        Args:
            run_id: The run; asking again for it changes nothing.
            open: The rows anybody in it may look at, such as training and validation.
            sealed: The rows of each sealed part, by its content hash.
            allow_opened: Whether sealed parts may hold rows that an earlier run saw; the decision then says so.

        Raises:
            InputError: They do, and that was not allowed; nothing is entered.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def begin(
        self, holdout: str, *, run_id: str, before: str, after: str, purpose: str = "gate", line: str = ""
    ) -> Look:
        """Enter a look, durably, before the holdout is opened.

        The same run asking again with the same prompts goes on with its look and spends no other.

        Raises:
            InputError: The looks on this holdout are spent; fresh labels are needed.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """Enter what the look decided; saying the same again does nothing.

        Raises:
            WorkspaceError: The look was never begun, or was concluded otherwise.
        """
        ...

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """Return every look on a holdout, in order."""
        ...


def remember_split(ledger: Ledger, run_id: str, parts: Splits, *, allow_opened: bool = False) -> RowMemory:
    """Enter a run's split: training and validation are open, holdout and final sealed. See `Ledger.remember`."""
    sealed = {part.content_hash: known_sealed(part) for part in (parts.holdout, parts.final) if len(part)}
    opened = KnownRows.of(parts.train, parts.validation)
    return ledger.remember(run_id, open=opened, sealed=sealed, allow_opened=allow_opened)


class MemoryLedger:
    """A ledger that lives as long as the process; for notebooks and tests, where nothing is at stake."""

    def __init__(self, *, max_looks: int = MAX_LOOKS) -> None:
        self._max_looks = max_looks
        self._records: list[LookRecord] = []
        self._memories: list[RowMemory] = []

    def remember(
        self, run_id: str, *, open: KnownRows, sealed: Mapping[str, KnownRows], allow_opened: bool = False
    ) -> RowMemory:
        """See `Ledger.remember`."""
        memory = find_memory(self._memories, run_id)
        if memory is None:
            opened = find_opened(self._memories, sealed, allowed=allow_opened)
            memory = RowMemory(run_id=run_id, open=open, sealed=dict(sealed), opened=opened)
            self._memories.append(memory)
        return memory

    def begin(
        self, holdout: str, *, run_id: str, before: str, after: str, purpose: str = "gate", line: str = ""
    ) -> Look:
        """See `Ledger.begin`."""
        asked = LookAsked(holdout=holdout, run_id=run_id, before=before, after=after, purpose=purpose, line=line)
        look = look_asked(self._records, self._memories, asked)
        if find_look(self._records, look) is None:
            require_allowed(look, self._max_looks)
            self._records.append(LookRecord(look=look))
        return look

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""
        if require_open(self._records, look, outcome):
            position = [record.look for record in self._records].index(look)
            self._records[position] = LookRecord(look=look, outcome=outcome, reason=reason)

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """See `Ledger.looks`."""
        return tuple(record for record in self._records if record.look.holdout == holdout)


def alpha_of_look(number: int, *, alpha: float = ALPHA) -> float:
    """Return what look `number` (from 1) spends: alpha * 6 / (pi^2 t^2), which sums to alpha over all looks."""
    if number < 1:
        raise ValueError(f"look {number!r}: looks are counted from 1")
    return alpha * 6.0 / (math.pi**2 * number**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAsked:
    """A look that is asked for; its fields are those of `Look`."""

    holdout: str
    run_id: str
    before: str
    after: str
    purpose: str
    line: str


def look_asked(records: Sequence[LookRecord], memories: Sequence[RowMemory], asked: LookAsked) -> Look:
    """Return the look that is asked for: the one this run has begun with these prompts, else the next.

    Looks are counted anew only where the old prompt is one that this holdout accepted: what was tried before
    that was about another prompt. A look that goes on from any other prompt counts all earlier ones. Of other
    holdouts with the same rows that one counts which has had the most looks.

    Args:
        records: Every look at any holdout, in order.
        memories: Which rows each run saw and sealed.
        asked: The question.
    """
    identity = (asked.run_id, asked.before, asked.after, asked.purpose, asked.line)
    for record in records:
        look = record.look
        known = (look.run_id, look.before, look.after, look.purpose, look.line)
        if look.holdout == asked.holdout and known == identity:
            return look
    own, carried = _spent(records, asked, asked.holdout)
    others = [sum(_spent(records, asked, other)) for other in _sharing(records, memories, asked.holdout)]
    most = max([own + carried, *others])
    memory = find_memory(memories, asked.run_id)
    return Look(
        holdout=asked.holdout,
        number=most + 1,
        alpha=alpha_of_look(most + 1),
        run_id=asked.run_id,
        purpose=asked.purpose,
        before=asked.before,
        after=asked.after,
        line=asked.line,
        carried=most - own,
        opened=memory.opened.get(asked.holdout, "") if memory else "",
    )


def _spent(records: Iterable[LookRecord], asked: LookAsked, holdout: str) -> tuple[int, int]:
    """Count the looks at one holdout that bear on what is asked, and those that it took over itself."""
    count = carried = 0
    for record in records:
        look = record.look
        if look.line != asked.line:
            continue
        here = look.holdout in (holdout, asked.holdout)
        if here and record.outcome == "accepted" and look.after == asked.before:
            count = carried = 0
        elif look.holdout == holdout:
            count, carried = count + 1, max(carried, look.carried)
    return count, carried


def _sharing(records: Iterable[LookRecord], memories: Sequence[RowMemory], holdout: str) -> list[str]:
    """Return the other holdouts looked at that hold more than a few of the same groups.

    A group that stands, word for word, in what the same run sealed beside the other holdout is not held by that one.
    """
    mine = next((memory.sealed[holdout] for memory in memories if holdout in memory.sealed), KnownRows())
    least = SHARED * len(mine.groups)
    looked = {record.look.holdout for record in records} - {holdout}
    found = []
    for memory in memories:
        for name in sorted(looked & memory.sealed.keys()):
            met = mine.met_in(memory.sealed[name], unless=_joined(memory, without=name))
            if met.groups > least:
                found.append(name)
    return found


def _joined(memory: RowMemory, *, without: str = "") -> KnownRows:
    """Return all that a run sealed, but for one part, as one."""
    return KnownRows(tuple(group for name, rows in memory.sealed.items() if name != without for group in rows.groups))


def find_memory(memories: Iterable[RowMemory], run_id: str) -> RowMemory | None:
    """Return what a run has entered, or None."""
    return next((memory for memory in memories if memory.run_id == run_id), None)


def find_opened(memories: Sequence[RowMemory], sealed: Mapping[str, KnownRows], *, allowed: bool) -> dict[str, str]:
    """Say of each sealed part how many of its rows an earlier run saw; parts without any are left out.

    Raises:
        InputError: There are such rows, and that is not allowed.
    """
    found: dict[str, str] = {}
    for name, rows in sealed.items():
        most = ""
        worst = 0
        for memory in memories:
            met = rows.met_in(memory.open, unless=_joined(memory))
            if met.rows > worst:
                worst = met.rows
                groups = f"{met.groups:,} {'group' if met.groups == 1 else 'groups'}"
                most = f"{met.rows:,} of the {rows.rows:,} sealed rows (in {groups}) were open to run {memory.run_id}"
        if most:
            found[name] = most
    if found and not allowed:
        raise InputError(
            f"{next(iter(found.values()))}; a prompt may have been tuned on them",
            hint="decide on rows no run has seen: that run's own data and split, or fresh labels; with --allow-opened "
            "the decision says it",
        )
    return found


def find_look(records: Sequence[LookRecord], look: Look) -> LookRecord | None:
    """Return a look's record, or None if it has not been begun."""
    return next((record for record in records if record.look == look), None)


def require_allowed(look: Look, max_looks: int) -> None:
    """Refuse a look beyond the last one.

    Raises:
        InputError: The message asks for fresh labels.
    """
    if look.number > max_looks:
        raise InputError(
            f"the holdout {look.holdout[:12]} has had {max_looks} looks since the last accept; it needs fresh labels",
            hint="label new rows and use them as the holdout; this one can tell nothing more",
        )


def require_open(records: Sequence[LookRecord], look: Look, outcome: LookOutcome) -> bool:
    """Return whether a look is still to be concluded; False when it was, in the same way.

    Raises:
        WorkspaceError: It was never begun, or was concluded otherwise.
    """
    record = find_look(records, look)
    named = f"look {look.number} on holdout {look.holdout[:12]}"
    if record is None:
        raise WorkspaceError(f"{named} was never begun; nothing can conclude it")
    if record.outcome not in (None, outcome):
        raise WorkspaceError(f"{named} was concluded {record.outcome!r}; it cannot become {outcome!r}")
    return record.outcome is None
