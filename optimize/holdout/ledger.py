"""The ledger of looks: how often a holdout has been opened, what each look may spend, and which
rows were open before.

Every decision on a holdout teaches something about it. So that many tries do not add up to an
accident, look t since the last accept is tested at alpha_t = alpha * 6 / (pi^2 t^2); over all t
these sum to alpha (alpha spending by the Basel series). An accept starts the count anew: the
accepted prompt is a new null hypothesis. A look is entered before the rows are opened, so that one
that was cut off counts too. It counts where any of its rows are met again, whatever the prompts,
and where its two prompts are compared again, whatever the rows.

A holdout is its rows and not its name: each run says which rows it sees and which are sealed to it.
Rows that some run saw are no holdout any more, and looks at other holdouts with more than a few of
the same groups count here too. A look is any prompt other than the one in use measured on sealed
rows: `bench` and its like say which they measured, and each counts when the next prompt is gated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...judges import Dataset, DecisionRule, JudgePrompt, Splits, split_dataset
from ...judges.splits import Part, Side
from ..outcome import GateOutcome
from .bank_rows import BANKED
from .row_fingerprints import RowFingerprints, group_fingerprints, open_to_hash
from .sides import SeenRows, Sides, known_sides

ALPHA = 0.05
"""What all looks between two accepts spend together."""

MAX_LOOKS = 20
"""Looks on a holdout since the last accept after which fresh labels are asked for."""

SHARED = 0.05
"""Share of a holdout's groups from which another holdout with them counts as the same one."""


def alpha_of_look(number: int, *, alpha: float = ALPHA) -> float:
    """Return what look `number` (from 1) spends: alpha * 6 / (pi^2 t^2), which sums to alpha over
    all looks.
    """
    if number < 1:
        raise ValueError(f"look {number!r}: looks are counted from 1")
    return alpha * 6.0 / (math.pi**2 * number**2)


def judge_id(prompt: JudgePrompt, rule: DecisionRule | None) -> str:
    """Return the version under which a look knows a prompt: with its rule, where it has one of its
    own.
    """
    return prompt.version if rule is None else f"{prompt.version}+{rule.version}"


def version_of(judge: str) -> str:
    """Return the version of the prompt in what `judge_id` returned."""
    return judge.partition("+")[0]


def compared(before: str, after: str) -> tuple[str, str]:
    """Return by which versions a pair of judges is known again: without rules, unless they are all
    that differs.
    """
    versions = version_of(before), version_of(after)
    return (before, after) if versions[0] == versions[1] else versions


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLook:
    """Which holdout is to be opened, for which decision."""

    holdout: str
    """Content hash of the holdout rows."""
    run_id: str
    purpose: str = "gate"
    """Which command looks, such as `gate` or `recheck`."""
    before: str
    """Version of the prompt in use."""
    after: str
    """Version of the candidate."""
    line: str = ""
    """Whose looks it counts among: a model's own where an accepted prompt is rechecked on it."""
    pair: tuple[str, str] | None = None
    """By which names its judges are known again on other rows, where their versions are of these
    rows alone.
    """

    @property
    def compared(self) -> tuple[str, str]:
        """Which two it compares, under whatever rules."""
        return self.pair or compared(self.before, self.after)

    def asks_as(self, other: AskedLook) -> bool:
        """Whether the same run asks for the same decision; a pair is only another name of it."""
        return all(getattr(self, name) == getattr(other, name) for name in ASKED if name != "pair")


ASKED = tuple(AskedLook.__dataclass_fields__)
"""The names of its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRequest(AskedLook):
    """A look that is wanted."""

    known_as: tuple[str, ...] = ()
    """Other versions under which either was measured, such as those of its verdict file; they are
    no other prompts.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Look(AskedLook):
    """The permit to open one holdout for one decision."""

    number: int
    """Position among the looks on this holdout since the last accept, from 1."""
    alpha: float
    """Level of this look's test; it is spent whatever the outcome."""
    carried: int = 0
    """Looks at other holdouts with the same rows that are counted in `number`."""
    paired: int = 0
    """Looks of other runs at other rows that compared this pair, which are counted in `number`."""
    measured: int = 0
    """Other prompts that were measured on these rows before, which are counted in `number`."""
    opened: str = ""
    """How many rows were open to an earlier run, where that was allowed; empty where none were."""
    alike: tuple[str, ...] = ()
    """Of which earlier rows there are too few here to count, edited ones included."""
    spent: tuple[str, ...] = ()
    """Which looks and measurements are counted in `number`, in words."""

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Look:  # Any: JSON
        """Read what `asdict` wrote; an earlier version lacks the later fields."""
        values = {name: fields[name] for name in cls.__dataclass_fields__ if name in fields}
        before, after = values.get("pair") or (None, None)
        pair = None if before is None else (before, after)
        lists = {name: tuple(values.get(name, ())) for name in ("alike", "spent")}
        return cls(**{**values, **lists, "pair": pair})

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the decision has to say beside its reason."""
        cautions = []
        if self.opened:
            cautions.append(
                f"{self.opened}, as was allowed: the figures flatter a prompt that was tuned on"
                " them"
            )
        if self.carried:
            looks = f"{self.carried} {'look' if self.carried == 1 else 'looks'}"
            cautions.append(
                f"{looks} at other holdouts with some or all of these rows counted as looks at"
                " this one"
            )
        if self.paired:
            looks = f"{self.paired} {'look' if self.paired == 1 else 'looks'}"
            pair = "" if self.pair is None else f", known by their names {' and '.join(self.pair)},"
            cautions.append(
                f"{looks} at the same two judges{pair} on other rows counted as looks at this one"
            )
        if self.measured:
            prompts = (
                "1 other prompt was"
                if self.measured == 1
                else f"{self.measured} other prompts were"
            )
            cautions.append(f"{prompts} measured on these rows before; each counted as a look")
        return (*cautions, *self.alike)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """A look as the ledger keeps it; outcome and reason are None while it has not been
    concluded.
    """

    look: Look
    outcome: GateOutcome | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A prompt whose figures on some rows were seen, such as by `bench`; on sealed rows that is a
    look.
    """

    version: str
    """Of the prompt; of a verdict file by what it says."""
    by: str
    """Which command told the figures."""
    rows: RowFingerprints
    looks: int
    """How many looks at any holdout had been begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that a ledger knows, in order."""

    records: Sequence[LookRecord] = ()
    memories: Sequence[SeenRows] = ()
    measured: Sequence[Measured] = ()

    def memory(self, run_id: str) -> SeenRows | None:
        """Return what a run has entered of its rows, or None."""
        return next((one for one in self.memories if one.run_id == run_id), None)

    def record(self, look: Look) -> LookRecord | None:
        """Return a look's record, or None if it has not been begun."""
        return next((one for one in self.records if one.look == look), None)

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """Return every look on a holdout, in order."""
        return tuple(one for one in self.records if one.look.holdout == holdout)


class Ledger(Protocol):
    """Where runs say which rows they see, and looks are entered before the rows are opened."""

    def history(self) -> History:
        """Return all that was entered."""
        ...

    def remember(self, seen: SeenRows, *, allow_opened: bool = False) -> None:
        """Enter, once for a run, which rows it sees and which are sealed to it.

        Args:
            seen: What the run sees; asking again for the same run changes nothing.
            allow_opened: Whether sealed parts may hold rows that an earlier run saw; the decision
                says so.

        Raises:
            InputError: They do, and that was not allowed; nothing is entered.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def begin(self, request: LookRequest) -> Look:
        """Enter a look, durably, before the holdout is opened.

        The same run asking again with the same prompts goes on with its look and spends no other.

        Raises:
            InputError: The looks on this holdout are spent; fresh labels are needed.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def measured(self, version: str, rows: RowFingerprints, *, by: str) -> None:
        """Enter that a prompt's figures on some rows were seen; entering the same again does
        nothing.

        Args:
            version: Of the prompt, or of a verdict file.
            rows: What it was measured on.
            by: Which command showed the figures.
        """
        ...

    def conclude(self, look: Look, *, outcome: GateOutcome, reason: str) -> None:
        """Enter what the look decided; entering the same again does nothing.

        Raises:
            WorkspaceError: The look was never begun, or was concluded otherwise.
        """
        ...


def split_with_memory(
    history: History,
    run_id: str | None,
    dataset: Dataset,
    shares: Sequence[float] | None,
    *,
    allow_opened: bool = False,
    near_duplicates: bool = True,
) -> Splits:
    """Split rows as a run has split them, or will: groups that were in a part before stay in it.

    Args:
        history: What the ledger has.
        run_id: The run; None for one that is only planned.
        dataset: Its rows.
        shares: See `split_dataset`.
        allow_opened: Whether rows may be sealed that were open before: then all groups are split as
            if they were new.
        near_duplicates: See `split_dataset`.

    Raises:
        InputError: See `split_dataset`.
    """
    memories, memory = history.memories, history.memory(run_id or "")
    if memory is None:
        placed: Mapping[str, set[Side]] = {} if allow_opened else known_sides(memories, dataset)
        parts = split_dataset(
            dataset, shares=shares, near_duplicates=near_duplicates, placed=placed
        )
        banked = [memory for memory in memories if memory.run_id.startswith(BANKED)]
        count = sum(map(bool, known_sides(banked, dataset).values())) if banked and placed else 0
        if count:
            groups = "group has" if count == 1 else "groups have"
            note = f"{count:,} {groups} stood in a bank of decided cases and are open for ever"
            parts = replace(parts, notes=(*parts.notes, note))
        return parts
    # An earlier version remembered no names and split by content alone, which is done again.
    placed = memory.sides.placed(dataset) if memory.sides else {}
    parts = split_dataset(dataset, shares=shares, near_duplicates=near_duplicates, placed=placed)
    return (
        replace(parts, notes=memory.sides.notes) if memory.sides and memory.sides.notes else parts
    )


def seen_rows(run_id: str, parts: Splits) -> SeenRows:
    """Return what a run with this split sees: training and validation are open, holdout and final
    sealed.
    """
    rows: dict[Part, Dataset] = {"train": parts.training, "validation": parts.validation}
    for part in (parts.holdout, parts.final):
        rows["holdout" if part is parts.holdout else "final"] = open_to_hash(part)
    groups = group_fingerprints(*rows.values())
    sealed: dict[str, RowFingerprints] = {}
    for part in (rows["holdout"], rows["final"]):
        if len(part):
            sealed[part.content_hash] = RowFingerprints.of(part, known=groups)
    return SeenRows(
        run_id=run_id,
        open=RowFingerprints.of(parts.training, parts.validation, known=groups),
        sealed=sealed,
        sides=Sides.of(rows, groups, parts.notes),
    )
