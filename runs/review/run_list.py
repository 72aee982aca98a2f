"""One line about each run, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import JudgewrightError
from ..actions.run_summary import RunSummary
from ..reports.numbers import price
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


def describe(state: AppState, info: RunRecord) -> Line:
    """Say in a line what a run was about, how it ended and what it cost; a damaged run is listed as such."""
    try:
        return _describe(state.read(info.run_id))
    except JudgewrightError as error:
        about = f"cannot be read: {error}"
        return Line(info=info, about=about, outcome="", settled="", cost="", tokens=0, simulated=False)


def _describe(run: RunSummary) -> Line:
    decision = run.decision
    if run.answer is not None:
        decision = run.answer.decision
    review = run.reviews[-1] if run.reviews else None
    return Line(
        info=run.record,
        about=_about(run.record, judge=run.started.judge if run.started else ""),
        outcome=decision.outcome if decision else "",
        settled=f"{review.verb} by {review.who}" if review else "",
        cost=price(run.calls.known_cost),
        tokens=run.calls.tokens,
        simulated=run.simulated,
    )


def _about(info: RunRecord, *, judge: str) -> str:
    config = info.config
    if info.kind == "optimize":
        return f"{judge or 'not begun'}: {config['objective']}"
    named = str(config.get("judge", ""))
    version = str(config.get("version", ""))
    return f"{named}@{version}" if named and version and "@" not in named else named or str(config.get("objective", ""))
