"""Find which rows of a dataset are sealed, and say what may be read and shown of them.

Figures of a prompt on sealed rows are a look: the ledger counts it when a prompt is next gated on
them. Single rows, errors and slices are shown from the other rows only; to show all opens the
holdout, and the ledger says so. Rows are recognised by their content, so that a copy, a part or a
verdict file of the same rows is recognised too.

Rows that a person sealed before anything was measured (`bench --seal`) are not even read, unless
`--sealed` asks for it: that is a look, whichever prompt it is about.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import BoolArray, Dataset, InputError, JudgedDataset, Verdict
from ...judges.splits import SEALED
from ...optimize.holdout.bank_rows import bank_fingerprints
from ...optimize.holdout.ledger import History, seen_rows, split_with_memory
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ...optimize.holdout.row_fingerprints import RowFingerprints, keys_of, row_keys
from ...optimize.holdout.sides import SeenRows, known_sides
from .ledger import HoldoutLedger
from .workspace import Workspace

SEAL_FIRST = "bench --seal"
"""How the ledger calls a holdout that was sealed before a run."""
SPLIT_BY = "data split"
"""How it calls what `data split` wrote."""
SEALED_WAY = "--sealed, or sealed=True in Python,"
"""How a person has rows read that were so sealed."""
_VERSION = re.compile(r".+@([0-9a-f]{12})")
_UNNAMED = "verdicts-"
"""What begins the name of a judge that only its verdicts tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Which rows of a dataset are sealed, and to which run."""

    sealed: BoolArray
    """Shape (rows,)."""
    run_id: str
    """A run's id, or the name of what `data split` wrote."""
    opened: bool
    """Whether they are shown all the same, because a person opened them."""

    @property
    def count(self) -> int:
        """How many rows are sealed."""
        return int(self.sealed.sum())

    @property
    def hides(self) -> bool:
        """Whether any row may not be shown."""
        return self.count > 0 and not self.opened

    @property
    def sealed_by(self) -> str:
        """What sealed the rows, in words."""
        if self.run_id.startswith(SEAL_FIRST):
            return f"by {SEAL_FIRST}"
        if self.run_id.startswith((SPLIT_BY, "sides.jsonl")):  # as version 0.3 calls it
            return f"by {SPLIT_BY}"
        return f"to run {self.run_id}"

    def shown(self, judged: JudgedDataset) -> JudgedDataset:
        """Return the rows that may be shown one by one."""
        return judged.only(np.flatnonzero(~self.sealed).tolist()) if self.hides else judged

    def notes(self) -> tuple[str, ...]:
        """Return a note on what is hidden, or on what was opened."""
        if not self.count:
            return ()
        of = f"{self.count:,} of the {len(self.sealed):,} rows are sealed {self.sealed_by}"
        hidden = (
            "single rows, errors and slices are shown from the others (--all opens the holdout)"
        )
        opened = "were opened for this: they are no holdout any more, and the ledger says so"
        return (f"{of} and {opened}" if self.opened else f"{of}: {hidden}",)

    def look_note(self) -> tuple[str, ...]:
        """Return a note that figures on sealed rows are a look."""
        look = "figures on sealed rows are a look: the next gate on them is stricter for it"
        return (f"{look} (the prompt in use costs none)",) if self.count else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """What is read of a dataset some rows of which a person sealed."""

    dataset: Dataset
    left_out: BoolArray
    """Which rows of the whole dataset are not read; shape (rows,)."""
    sealed: bool
    """Whether sealed rows are read, as was asked: that is a look."""
    notes: tuple[str, ...] = ()

    def of(self, judged: JudgedDataset) -> JudgedDataset:
        """Return the rows of a judged dataset that are read."""
        return (
            judged.only(np.flatnonzero(~self.left_out).tolist()) if self.left_out.any() else judged
        )

    def enter(self, workspace: Workspace, *, by: str) -> None:
        """Enter that sealed rows were read by a command that is about no one prompt; nothing where
        none were.
        """
        if self.sealed:
            ledger = HoldoutLedger(workspace.database)
            ledger.measured(self.looked_at_by(by), RowFingerprints.of(self.dataset), by=by)

    def looked_at_by(self, version: str) -> str:
        """Return under which name the ledger has what was read; of sealed rows it is no prompt's
        own.
        """
        return f"{version} on sealed rows" if self.sealed else version


def seal_first(workspace: Workspace, dataset: Dataset) -> None:
    """Set holdout and final rows aside, in the workspace, as `optimize` would: before anything is
    read of them.

    Groups that were placed before stay where they are, and new ones go out; done again it changes
    nothing.

    Args:
        workspace: Where the ledger is; it is made.

    Raises:
        InputError: The rows cannot be split.
        WorkspaceError: The ledger cannot be written.
    """
    ledger = HoldoutLedger(workspace.database)
    parts = split_with_memory(ledger.history(), None, dataset, None)
    ledger.remember(seen_rows(f"{SEAL_FIRST} ({parts.holdout.content_hash[:12]})", parts))


def read_open(
    workspace: Workspace,
    dataset: Dataset,
    *,
    sealed: bool = False,
    way: str = SEALED_WAY,
) -> ReadRows:
    """Return what may be read of a dataset: all but the rows that were sealed first.

    Args:
        sealed: Whether to read those too, which is a look.
        way: How a person has them read all the same; empty where there is no way.

    Raises:
        InputError: Every row is sealed.
        WorkspaceError: The ledger cannot be read.
    """
    mask = np.zeros(len(dataset), np.bool_)
    history = workspace.history()
    if any(memory.run_id.startswith(SEAL_FIRST) for memory in history.memories):
        mask, _ = _find_sealed(history, dataset, by=SEAL_FIRST)
    count, rows = int(mask.sum()), len(dataset)
    if not count:
        return ReadRows(dataset=dataset, left_out=mask, sealed=False)
    if sealed:
        note = (
            f"all {rows:,} rows are read, with {count:,} sealed by {SEAL_FIRST}: a look, which the"
            " next gate counts"
        )
        return ReadRows(
            dataset=dataset, left_out=np.zeros(rows, np.bool_), sealed=True, notes=(note,)
        )
    if count == rows:
        raise InputError(
            f"every row of {dataset.name} is sealed by {SEAL_FIRST}",
            hint=way and f"{way} reads them: a look",
        )
    open_rows = tuple(row for row, out in zip(dataset.rows, mask, strict=True) if not out)
    note = f"{rows - count:,} of {rows:,} rows are read, {count:,} sealed by {SEAL_FIRST}"
    if way:
        note += f" ({way} reads them too, which is a look)"
    return ReadRows(
        dataset=replace(dataset, rows=open_rows), left_out=mask, sealed=False, notes=(note,)
    )


def cost_of_measuring(workspace: Workspace, dataset: Dataset, name: str) -> tuple[str, ...]:
    """Say what figures of a prompt on labelled rows cost a later gate on them, and who spent what;
    nothing is entered.
    """
    if not any(row.label is not None for row in dataset.rows):
        return ()
    rows = RowFingerprints.of(dataset)
    history = workspace.history()
    large = HoldoutLedger(workspace.database).large_rows() if history.measured else set[bytes]()
    history = replace(
        history, measured=[one for one in history.measured if one.rows.hash not in large]
    )
    placed = any(
        rows.may_meet(part)
        for memory in history.memories
        for part in (memory.open, *memory.sealed.values())
    )
    memory = SeenRows(run_id="", sealed={"": rows}, opened={})
    request = LookRequest(holdout="", run_id="", before="", after="", purpose="gate", line="")
    look = requested_look(replace(history, memories=(*history.memories, memory)), request)
    notes = [
        f"the figures of {name} on these rows are a look: the next gate on them is stricter for it,"
        f" unless {name} is one of its two"
    ]
    if look.spent:
        notes.append(f"spent on these rows before: {'; '.join(look.spent)}")
    if not placed:
        notes.append(
            "--seal sets a holdout aside first, which bench, slices and score do not read: then"
            " these are free"
        )
    return tuple(notes)


def seal_of(workspace: Workspace, dataset: Dataset, *, show_all: bool = False, by: str) -> Seal:
    """Find the sealed rows of a dataset; with `show_all`, enter in the ledger that they were
    opened.

    Args:
        workspace: Whose runs sealed rows; one that was never written to knows of none.
        show_all: Whether the sealed rows are to be shown too.

    Raises:
        WorkspaceError: The ledger cannot be read, or written where rows are opened.
    """
    history = workspace.history()
    if not any(memory.sealed for memory in history.memories):
        return _unsealed(dataset)
    sealed, run_id = _find_sealed(history, dataset)
    seal = Seal(sealed=sealed, run_id=run_id, opened=show_all and bool(sealed.any()))
    if seal.opened:
        rows = tuple(row for row, inside in zip(dataset.rows, sealed, strict=True) if inside)
        opened = RowFingerprints.of(replace(dataset, rows=rows))
        seen = SeenRows(run_id=f"{by} --all ({opened.hash.hex()[:12]})", open=opened)
        HoldoutLedger(workspace.database).remember(seen)
    return seal


def enter_look(workspace: Workspace, version: str, dataset: Dataset, *, by: str) -> None:
    """Enter that a prompt's figures on labelled rows were seen; a workspace that was never written
    to keeps nothing.

    Raises:
        WorkspaceError: The ledger cannot be written.
    """
    if workspace.exists and any(row.label is not None for row in dataset.rows):
        HoldoutLedger(workspace.database).measured(version, RowFingerprints.of(dataset), by=by)


def seal_judges(
    workspace: Workspace,
    judges: Iterable[JudgedDataset],
    *,
    show_all: bool,
    by: str,
    sealed: bool = False,
) -> list[tuple[JudgedDataset, Seal]]:
    """Return the verdicts of several judges as far as they may be read, and enter that the figures
    of each were seen.

    See `read_open`, `seal_of` and `enter_look`; the rows of a matrix are looked up once.
    """
    if not workspace.exists:
        return [(judged, _unsealed(judged.dataset)) for judged in judges]
    ledger = HoldoutLedger(workspace.database)
    by_rows: dict[str, tuple[ReadRows, Seal, RowFingerprints]] = {}
    sealed_judges: list[tuple[JudgedDataset, Seal]] = []
    for judged in judges:
        rows = judged.dataset
        if rows.content_hash not in by_rows:
            read = read_open(workspace, rows, sealed=sealed or show_all)
            seal = seal_of(workspace, read.dataset, show_all=show_all, by=by)
            by_rows[rows.content_hash] = read, seal, RowFingerprints.of(read.dataset)
        read, seal, fingerprints = by_rows[rows.content_hash]
        ledger.measured(read.looked_at_by(version_of(judged)), fingerprints, by=by)
        sealed_judges.append((read.of(judged).noting(*read.notes), seal))
    return sealed_judges


def version_of(judged: JudgedDataset) -> str:
    """Return the version that a verdict file is of, where its column `judge` says so, else a hash
    of its verdicts.
    """
    if named := _VERSION.fullmatch(_named_in_rows(judged)) or _VERSION.fullmatch(judged.judge):
        return named[1]
    verdicts = sorted(
        (a.row_id, a.score, a.positive) for a in judged.answers if isinstance(a, Verdict)
    )
    return f"{_UNNAMED}{hashlib.blake2b(repr(verdicts).encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"  # noqa: E501


def pair_of(
    before: JudgedDataset, after: JudgedDataset, known_as: Sequence[str]
) -> tuple[str, str]:
    """Return by what two judges are known again on other rows: their versions (see `version_of`),
    else their names.
    """
    pair = zip(known_as or map(version_of, (before, after)), (before, after), strict=True)
    one, other = (side.judge if name.startswith(_UNNAMED) else name for name, side in pair)
    return one, other


def _named_in_rows(judged: JudgedDataset) -> str:
    """Return what the column `judge` says of all rows, or nothing."""
    names = {row.meta.get("judge") for row in judged.dataset.rows}
    only = names.pop() if len(names) == 1 else None
    return only if isinstance(only, str) else ""


def require_shown(seal: Seal, *, name: str, instead: str) -> None:
    """Refuse to go on where nothing is left to show.

    Args:
        seal: Which rows of the data are sealed.
        name: Of the data.
        instead: What shows something all the same.

    Raises:
        InputError: Every row is sealed.
    """
    if seal.hides and seal.sealed.all():
        raise InputError(
            f"every row of {name} is sealed {seal.sealed_by}",
            hint=f"{instead}; --all opens the holdout, and the ledger says so",
        )


def sealed_rows(workspace: Workspace, dataset: Dataset) -> BoolArray:
    """Return which rows may not stand in a bank of decided cases, shape (rows,): they, or rows of
    their groups or nearly the same ones, are sealed, and they were open to nobody.

    Args:
        workspace: Whose runs sealed rows; one that was never written to knows of none.

    Raises:
        WorkspaceError: The ledger cannot be read.
    """
    sealed = np.zeros(len(dataset), np.bool_)
    history = workspace.history()
    memories = [memory for memory in history.memories if memory.sealed]
    if not memories:
        return sealed
    sealed, _ = _find_sealed(history, dataset)
    mine, shared = bank_fingerprints(dataset), set[bytes]()
    for memory in memories:
        shared |= frozenset[bytes]().union(*map(mine.shared_keys, memory.sealed.values()))
    sides, seen = known_sides(memories, dataset), tuple(one.open for one in history.memories)
    alike = [
        bool(sides[row.group_key] & SEALED) or key in shared or not shared.isdisjoint(texts)
        for row, (key, texts) in zip(dataset.rows, keys_of(dataset), strict=True)
    ]
    return sealed | (np.array(alike, np.bool_) & ~_contained(row_keys(dataset), seen))


def any_sealed(workspace: Workspace) -> bool:
    """Return whether any run of a workspace sealed rows."""
    return any(memory.sealed for memory in workspace.history().memories)


def _unsealed(dataset: Dataset) -> Seal:
    return Seal(sealed=np.zeros(len(dataset), np.bool_), run_id="", opened=False)


def _find_sealed(history: History, dataset: Dataset, *, by: str = "") -> tuple[BoolArray, str]:
    """Return which rows some run (whose name begins so) sealed and none had open, and the last run
    that sealed any.
    """
    keys, fingerprints = row_keys(dataset), RowFingerprints.of(dataset)
    inside, outside, run_id = np.zeros(len(dataset), np.bool_), np.zeros(len(dataset), np.bool_), ""
    for memory in history.memories:
        if not any(fingerprints.may_meet(part) for part in (memory.open, *memory.sealed.values())):
            continue
        sealed, opened = _rows_of_run(keys, fingerprints, memory)
        outside |= opened
        if not memory.run_id.startswith(by):
            continue
        if (sealed & ~inside).any():
            run_id = memory.run_id
        inside |= sealed
    return inside & ~outside, run_id


def _rows_of_run(
    keys: list[bytes], fingerprints: RowFingerprints, memory: SeenRows
) -> tuple[BoolArray, BoolArray]:
    """Return which rows a run sealed, and which it had open; a row that only looks like one of both
    is neither.
    """
    sealed = _contained(keys, tuple(memory.sealed.values()))
    opened = _contained(keys, (memory.open,))
    if fingerprints.prints is None:
        return sealed, opened
    matches = [
        fingerprints.prints.met_in(part.prints)
        for part in memory.sealed.values()
        if part.prints is not None
    ]
    alike = (
        np.logical_or.reduce([met.same for met in matches])
        if matches
        else np.zeros(len(keys), np.bool_)
    )
    if memory.open.prints is not None:
        met, prints = fingerprints.prints.met_in(memory.open.prints), memory.open.prints
        same_texts = met.same & fingerprints.prints.complete_in(prints)
        opened = opened | (same_texts & ~sealed & ~alike)
        alike = alike & ~same_texts
    return sealed | (alike & ~opened), opened


def _contained(keys: list[bytes], parts: tuple[RowFingerprints, ...]) -> BoolArray:
    contained = {key for part in parts for group in part.groups for key in group.rows}
    return np.array([key in contained for key in keys], np.bool_)
