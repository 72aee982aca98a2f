"""What every event of a run is, and the one of a measurement: a bench needs no other, and the rest
take as long to load as it takes to measure a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .event_fields import write_fields

FORMAT = 2
"""Of today's payloads; 1 are those of November 2026."""
Json = Mapping[str, Any]
"""Any: figures as the module that measured them writes them, by the `to_json` of its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One event of a run."""

    kind: ClassVar[str]
    """As the journal has it."""
    format: int = FORMAT
    """Of the payload that it was read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeMeasured(RunEvent):
    """A judge was measured in a run of its own; no row's text is kept, only what leads to its
    answers again.
    """

    kind = "measured"
    judge: str
    """`name@version`."""
    model: str
    endpoint: str
    simulated: bool
    settings: Json
    """Of the model, as far as they change an answer."""
    data: str
    """The name of the rows."""
    data_hash: str
    rows: int
    sealed: int
    """How many of the rows were sealed when their figures were told."""
    benchmark: Json
    """As `Benchmark.to_json` writes it."""
    by: Mapping[str, Json]
    """The same on each value of the column that was asked for."""
    bins: tuple[Json, ...]
    """The reliability curve, as `Bin.to_json` writes it; empty without probabilities."""
    checks: Json
    """What else was asked, by name: repeats, annotators, planted instructions."""
    notes: tuple[str, ...]
    summary: Json | None = None
    """What is said first of it; None in earlier versions."""


def write_event(event: RunEvent) -> dict[str, Any]:  # Any: JSON
    """Return the payload of an event; one that was read comes out as it was."""
    return write_fields(event, event.format)
