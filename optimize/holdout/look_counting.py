"""How looks are counted: which earlier looks, measurements and opened rows count for a holdout that
is to be opened.

A holdout is its rows and not its name. What counts is the share of it that is met again, or the
share of the other one that is: neither a cut nor filler makes a fresh holdout of old rows. A
smaller overlap is told and not counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import InputError, WorkspaceError
from .bank_rows import BANKED
from .ledger import (
    ASKED,
    SHARED,
    GateOutcome,
    History,
    Look,
    LookRecord,
    LookRequest,
    Measured,
    alpha_of_look,
    version_of,
)
from .row_fingerprints import Overlap, RowFingerprints
from .sides import SeenRows


def requested_look(history: History, request: LookRequest) -> Look:
    """Return the look that is wanted: the one this run has begun with these prompts, else the next.

    Its number is 1 and the earlier looks at rows of this holdout, whatever the prompts, and those
    that compared this pair, whatever the rows. Each other prompt that was measured on these rows
    counts as a look of its own; the one in use and the candidate itself do not. Looks are counted
    anew only where the old prompt is one that this holdout accepted: what was tried before that was
    about another prompt.
    """
    for record in history.records:
        if record.look.asks_as(request):
            return record.look
    opened = ""
    alike: list[str] = []
    memory = history.memory(request.run_id)
    if memory is not None:
        opened = memory.opened.get(request.holdout, "")
        if request.holdout in memory.alike:
            alike.append(memory.alike[request.holdout])
    shares = {request.holdout: math.inf}
    for other in _sharing(history, request.holdout):
        shares[other.holdout] = other.share
        if not other.counts:
            alike.append(other.describe())
    at_rows, pieces, paired = _earlier_looks(history.records, request, shares)
    own = sum(record.look.holdout == request.holdout for record in at_rows)
    carried = len(at_rows) - own + pieces
    measured = _measured(
        history, request, {holdout for holdout, share in shares.items() if share > SHARED}
    )
    number = own + carried + len(paired) + len(measured) + 1
    return Look(
        **{name: getattr(request, name) for name in ASKED},
        number=number,
        alpha=alpha_of_look(number),
        carried=carried,
        paired=len(paired),
        measured=len(measured),
        opened=opened,
        alike=tuple(alike),
        spent=(*(_describe(record) for record in (*at_rows, *paired)), *measured),
    )


def _earlier_looks(
    records: Iterable[LookRecord], request: LookRequest, shares: Mapping[str, float]
) -> tuple[list[LookRecord], int, list[LookRecord]]:
    """Return the earlier looks at these rows, how many those at a few of them count for, and other
    runs' of this pair.

    Holdouts with a few of its rows each, such as many thin pieces, count as a look a twentieth that
    they add up to.
    """
    earlier: list[LookRecord] = []
    for record in records:
        look = record.look
        # A recheck on another model has a line of its own, which spends nothing of this one.
        if look.line != request.line:
            continue
        if _accepts_old(record, request):
            earlier = [one for one in earlier if not _forgotten(one.look, look.holdout, request)]
            if look.holdout in shares:
                continue
        earlier.append(record)
    at_rows = [one for one in earlier if shares.get(one.look.holdout, 0.0) > SHARED]
    elsewhere = [one for one in earlier if shares.get(one.look.holdout, 0.0) <= SHARED]
    counted = {request.run_id, *(one.look.run_id for one in at_rows)}
    of_pair = {one.look.run_id: one for one in elsewhere if one.look.compared == request.compared}
    few = sum(shares.get(name, 0.0) for name in {one.look.holdout for one in elsewhere})
    pieces = max(0, math.ceil(round(few / SHARED, 6)) - 1)
    return at_rows, pieces, [one for run_id, one in of_pair.items() if run_id not in counted]


def _describe(record: LookRecord) -> str:
    return f"{record.look.purpose} in run {record.look.run_id} ({record.outcome or 'begun'})"


def _forgotten(look: Look, accepted_on: str, request: LookRequest) -> bool:
    """Whether an accept of the prompt in use ends what a look counts for; not if that was about
    this prompt already.
    """
    about_it = version_of(look.before) == version_of(request.before)
    return accepted_on in (look.holdout, request.holdout) and not about_it


def _accepts_old(record: LookRecord, request: LookRequest) -> bool:
    """Whether the prompt in use was accepted by this look."""
    after = version_of(record.look.after)
    return record.outcome == "accepted" and after == version_of(request.before)


def _measured(history: History, request: LookRequest, holdouts: set[str]) -> list[str]:
    """Say of each other prompt that was measured on the holdout's rows since the last accept by
    which command it was.

    A prompt that was in use at an earlier look, or has had one, is counted there. A recheck on
    another model is on a line of its own, of which nothing was measured.
    """
    if request.line:
        return []
    since = 0
    counted = {request.before, request.after, *request.known_as}
    for number, record in enumerate(history.records, 1):
        if record.look.holdout not in holdouts:
            continue
        if _accepts_old(record, request):
            since = number
        look = record.look
        counted |= {version_of(look.before), version_of(look.after), *look.compared}
    mine = _sealed(history.memories, request.holdout)
    # A prompt may have been measured piece by piece; three rows to try an endpoint are no look.
    pieces: dict[tuple[str, bytes], Measured] = {}
    for one in history.measured:
        if one.looks >= since and one.version not in counted:
            pieces[one.version, one.rows.hash] = one
    opened = [memory.open for memory in history.memories if request.holdout in memory.sealed]
    overlaps = {one.rows.hash: _overlap(mine, one.rows, opened) for one in pieces.values()}
    shared, by = Counter[str](), dict[str, str]()
    for (version, rows_hash), one in pieces.items():
        shared[version] += overlaps[rows_hash]
        by.setdefault(version, one.by)
    return [
        f"{by[version]} of {version}"
        for version, rows in shared.items()
        if rows > SHARED * mine.rows
    ]


def _overlap(
    mine: RowFingerprints, theirs: RowFingerprints, opened: Sequence[RowFingerprints]
) -> int:
    """Count the rows that were measured and are in a holdout; what was open beside it, word for
    word, is none of it.
    """
    name = (mine.hash, theirs.hash, *(part.hash for part in opened))
    if name not in _OVERLAPS:
        shared = mine.shared_with(theirs).rows
        beside = [theirs.rows_in(part) for part in opened] if shared else []
        _OVERLAPS[name] = min([shared, *(theirs.rows - rows for rows in beside)])
    return _OVERLAPS[name]


_OVERLAPS: dict[tuple[bytes, ...], int] = {}
"""What `_overlap` has counted: a run asks several times, of parts that may be large."""


@dataclass(frozen=True, slots=True)
class _Sharing:
    """Another holdout that was looked at and has some of the same rows."""

    holdout: str
    overlap: Overlap
    share: float
    """What the two have in common of the rows or the groups of the smaller one."""

    @property
    def counts(self) -> bool:
        """Whether that is more than a few."""
        return self.share > SHARED

    def describe(self) -> str:
        """Say that the overlap is too small to count."""
        rows = f"{self.overlap.rows:,} {'row' if self.overlap.rows == 1 else 'rows'}"
        return (
            f"{rows} of a holdout that was looked at before stand here, maybe edited: too few to"
            " count those looks"
        )


def _sharing(history: History, holdout: str) -> list[_Sharing]:
    """Return the other holdouts looked at that hold some of the same rows.

    A group that the same run sealed in another part as well is not held by that holdout.
    """
    mine = _sealed(history.memories, holdout)
    looked_at = (
        {record.look.holdout for record in history.records} - {holdout} if mine.rows else set[str]()
    )
    sharing: dict[str, _Sharing] = {}
    for memory in history.memories:
        for name in sorted((looked_at & memory.sealed.keys()) - sharing.keys()):
            theirs = memory.sealed[name]
            sealed_too = [part for other, part in memory.sealed.items() if other != name]
            overlap = mine.shared_with(theirs, unless=sealed_too)
            if overlap.rows:
                rows, groups = min(mine.rows, theirs.rows), min(mine.n_groups, theirs.n_groups)
                sharing[name] = _Sharing(
                    name, overlap, max(overlap.rows / rows, overlap.groups / groups)
                )
    return list(sharing.values())


def _sealed(memories: Iterable[SeenRows], holdout: str) -> RowFingerprints:
    for memory in memories:
        if holdout in memory.sealed:
            return memory.sealed[holdout]
    return RowFingerprints()


def remember_rows(memories: Sequence[SeenRows], seen: SeenRows, *, allow_opened: bool) -> SeenRows:
    """Say of each sealed part how many of its rows an earlier run saw; a few that are only much
    alike are let pass.

    Of a split that was made given what was open before, all that are only much alike are.

    Raises:
        InputError: There are such rows, and that is not allowed.
    """
    opened: dict[str, str] = {}
    alike: dict[str, str] = {}
    for name, rows in seen.sealed.items() if memories else ():
        overlaps = (
            _Opened.of_memory(rows, memory, edited_too=seen.sides is None) for memory in memories
        )
        worst = max(overlaps, key=lambda one: one.rank)
        if worst.refused:
            opened[name] = worst.describe()
        elif worst.overlap.rows:
            alike[name] = worst.describe()
    if opened and not allow_opened:
        raise InputError(
            f"{next(iter(opened.values()))}; a prompt may have been tuned on them",
            hint=(
                "decide on rows no run has seen: that run's own data and split, or fresh labels;"
                " with --allow-opened the decision says it"
            ),
        )
    return replace(seen, opened=opened, alike=alike)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """How many rows of a sealed part an earlier run saw."""

    run_id: str
    of: int
    overlap: Overlap
    edited: bool
    """Whether they are known by their fingerprints alone."""
    refused: bool

    @classmethod
    def of_memory(cls, rows: RowFingerprints, memory: SeenRows, *, edited_too: bool) -> _Opened:
        sealed = tuple(memory.sealed.values())
        by_key = rows.met_in(memory.open, unless=sealed)
        by_print = rows.edited_in(memory.open, unless=sealed)
        edited = by_print.rows > by_key.rows
        overlap = by_print if edited else by_key
        refused = by_key.rows > 0 or (edited_too and by_print.rows > SHARED * rows.rows)
        return cls(
            run_id=memory.run_id, of=rows.rows, overlap=overlap, edited=edited, refused=refused
        )

    @property
    def rank(self) -> tuple[bool, int]:
        return self.refused, self.overlap.rows

    def describe(self) -> str:
        """Say how many rows were open to which run, or bank of cases."""
        groups = f"{self.overlap.groups:,} {'group' if self.overlap.groups == 1 else 'groups'}"
        seen = "were open to" if not self.edited else "are, though edited, rows that were open to"
        who = "a bank of" if self.run_id.startswith(BANKED) else "run"
        return (
            f"{self.overlap.rows:,} of the {self.of:,} sealed rows (in {groups}) {seen} {who}"
            f" {self.run_id}"
        )


def require_allowed(look: Look, max_looks: int) -> None:
    """Refuse a look beyond the last one.

    Raises:
        InputError: The message asks for fresh labels.
    """
    if look.number > max_looks:
        raise InputError(
            f"the holdout {look.holdout[:12]} has had {max_looks} looks since the last accept; it"
            " needs fresh labels",
            hint="label new rows and use them as the holdout; this one can tell nothing more",
        )


def require_open(record: LookRecord | None, look: Look, outcome: GateOutcome) -> bool:
    """Return whether a look is still to be concluded; False when it was, in the same way.

    Args:
        record: What the ledger has of it.
        look: The look.
        outcome: What it is to be concluded with.

    Raises:
        WorkspaceError: It was never begun, or was concluded otherwise.
    """
    named = f"look {look.number} on holdout {look.holdout[:12]}"
    if record is None:
        raise WorkspaceError(f"{named} was never begun; nothing can conclude it")
    if record.outcome not in (None, outcome):
        raise WorkspaceError(
            f"{named} was concluded {record.outcome!r}; it cannot become {outcome!r}"
        )
    return record.outcome is None
