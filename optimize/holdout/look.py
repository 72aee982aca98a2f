"""Looks at a holdout as the ledger knows them: the permit to open it, its conclusion, and which rows a run saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .row_fingerprints import RowFingerprints

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
    """Whose looks it is counted among: a model's own where an accepted prompt is rechecked on it,
    else all others."""
    carried: int = 0
    """Looks at other holdouts with the same rows that are counted in `number`."""
    measured: int = 0
    """Other prompts that were measured on these rows before, which are counted in `number`."""
    opened: str = ""
    """How many of the rows were open to an earlier run, where that was allowed; empty where none
    were."""
    alike: tuple[str, ...] = ()
    """Of which earlier rows there are too few here to count, edited ones included."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the decision has to say beside its reason."""
        cautions = []
        if self.opened:
            cautions.append(f"{self.opened}, as was allowed: the figures flatter a prompt that was tuned on them")
        if self.carried:
            looks = f"{self.carried} {'look' if self.carried == 1 else 'looks'}"
            cautions.append(f"{looks} at other holdouts with some of these rows counted as looks at this one")
        if self.measured:
            prompts = "1 other prompt was" if self.measured == 1 else f"{self.measured} other prompts were"
            cautions.append(f"{prompts} measured on these rows before; each counted as a look")
        return (*cautions, *self.alike)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """A look as the ledger keeps it; outcome and reason are None while it has not been concluded."""

    look: Look
    outcome: LookOutcome | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRows:
    """Which rows a run sees, and which are sealed to it."""

    run_id: str
    open: RowFingerprints
    sealed: Mapping[str, RowFingerprints]
    """By the content hash of each sealed part."""
    opened: Mapping[str, str]
    """What is to be said of sealed parts with rows that were open before, by their content hash."""
    alike: Mapping[str, str] = field(default_factory=dict)
    """The same of a few rows that were not refused, as they are only much like rows that were
    open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A prompt whose figures on some rows were seen, such as by `bench`; on sealed rows that is a look."""

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
