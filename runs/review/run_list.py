"""One line about each run, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import JudgewrightError
from ..store.journal import RunRecord
from .app_state import AppState


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run in the list."""

    info: RunRecord
    about: str
    outcome: str
    """What the gate said, or nothing."""
    settled: str
    """What a person said, or nothing."""
    cost: str
    tokens: int
    simulated: bool


def describe(desk: AppState, info: RunRecord) -> Line:
    """Say in a line what a run was about, how it ended and what it cost; a damaged run is listed as such."""
    try:
        view = desk.view(info.run_id)
    except JudgewrightError as error:
        about = f"cannot be read: {error}"
        return Line(info=info, about=about, outcome="", settled="", cost="", tokens=0, simulated=False)
    last = view.last
    decision = last.get("decision") or last.get("gated", {}).get("decision", {})
    decided = last.get("decided")
    return Line(
        info=info,
        about=_about(info, judge=last.get("started", {}).get("judge", "")),
        outcome=str(decision.get("outcome", "")),
        settled=f"{decided['verb']} by {decided['who']}" if decided else "",
        cost=view.cost,
        tokens=view.calls.tokens,
        simulated=view.simulated,
    )


def _about(info: RunRecord, *, judge: str) -> str:
    config = info.config
    if info.kind == "optimize":
        return f"{judge or 'not begun'}: {config['objective']}"
    named = str(config.get("judge", ""))
    version = str(config.get("version", ""))
    return f"{named}@{version}" if named and version and "@" not in named else named or str(config.get("objective", ""))
