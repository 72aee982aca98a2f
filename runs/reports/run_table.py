"""One line about each run, whatever its kind: what it was about, how it ended, what changed and
what it cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import JudgewrightError
from ...optimize.events import JudgeMeasured
from ..actions.run_summary import RunSummary, read_run
from ..store.calls import CallSummary
from ..store.journal import RunRecord
from ..store.workspace import Workspace

SORTED_BY = ("started", "data", "judge", "model", "target", "change", "cost")
"""What the table may be sorted by."""
SHOWN_METRICS = ("f1", "accuracy_grades")
"""The metric that stands for a benchmark: the first of these that it has."""
Json = Mapping[str, Any]  # Any: JSON
CountCalls = Callable[[RunRecord], CallSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run in a table of runs."""

    info: RunRecord
    about: str
    """The objective, or what was asked; or why the run cannot be read."""
    data: str = ""
    """The name of the data file."""
    judge: str = ""
    """`name@version`, as far as it is known."""
    model: str = ""
    target: str = ""
    """The metric that the run is about."""
    value: Json | None = None
    """The metric as a benchmark found it."""
    change: Json | None = None
    """How the metric changed on the gate's rows."""
    outcome: str = ""
    """What the gate said, or nothing."""
    settled: str = ""
    """What a person said, or nothing."""
    cost: float | None = 0.0
    """US dollars; None where a price is unknown."""
    tokens: int = 0
    simulated: bool = False

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what a list of runs says of it, beside its record."""
        return {
            "data": self.data,
            "judge": self.judge,
            "model": self.model,
            "metric": self.target,
            "value": self.value and dict(self.value),
            "change": self.change and dict(self.change),
            "outcome": self.outcome,
            "settled": self.settled,
            "simulated": self.simulated,
        }

    @property
    def comparable(self) -> bool:
        """Whether the run has verdicts on rows that may be shown, to be compared with another
        run's.
        """
        measured = self.info.kind == "bench" and self.value is not None
        return measured or (
            self.info.kind == "optimize" and self.info.state != "failed" and bool(self.judge)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """Which lines are wanted, and in which order."""

    words: str = ""
    """All of them must occur in a line."""
    kind: str = ""
    outcome: str = ""
    data: str = ""
    tag: str = ""
    sort: str = "started"
    rising: bool = False


def describe_run(
    workspace: Workspace, info: RunRecord, count_calls: CountCalls | None = None
) -> RunLine:
    """Say in a line what a run was about, how it ended and what it cost; a damaged run is listed as
    such.

    Args:
        workspace: Where it is.
        info: The run.
        count_calls: See `read_run`.
    """
    try:
        run = read_run(workspace, info.run_id, count_calls)
        last = run.reviews[-1] if run.reviews else None
        taken = last.gated if last and last.verb == "accepted" else None
        return _describe(run, read_run(workspace, taken, count_calls) if taken else run)
    except JudgewrightError as error:
        return RunLine(info=info, about=f"cannot be read: {error}")


def choose_lines(lines: Iterable[RunLine], query: TableQuery) -> list[RunLine]:
    """Return the lines that a query asks for, in its order; runs without a figure come last either
    way.
    """
    words = query.words.casefold().split()
    chosen: list[RunLine] = []
    for line in lines:
        called = (line.info.run_id, line.info.name, *line.info.tags)
        text = " ".join(
            (*called, line.about, line.data, line.judge, line.model, line.settled)
        ).casefold()
        fits = (
            query.kind in ("", line.info.kind)
            and query.outcome in ("", line.outcome)
            and query.data in ("", line.data)
            and query.tag in ("", *line.info.tags)
        )
        if fits and all(word in text for word in words):
            chosen.append(line)
    with_figure = [line for line in chosen if _key(line, query.sort) is not None]
    with_figure.sort(
        key=lambda line: (_key(line, query.sort), line.info.created), reverse=not query.rising
    )
    return [*with_figure, *(line for line in chosen if _key(line, query.sort) is None)]


def _key(line: RunLine, sort: str) -> float | str | None:
    if sort == "change":
        return None if line.change is None else float(line.change["difference"])
    if sort == "cost":
        return line.cost
    texts = {"data": line.data, "judge": line.judge, "model": line.model, "target": line.target}
    return texts.get(sort, line.info.created) or None


def _describe(run: RunSummary, gated: RunSummary) -> RunLine:
    """Describe a run by what the gate said last: in a run of its own where some hunks of it were
    accepted.
    """
    info, config = run.record, run.record.config
    answer, started, measured = run.answer, run.started, run.last(JudgeMeasured)
    decision = gated.answer.decision if gated.answer is not None else run.decision
    review = run.reviews[-1] if run.reviews else None
    evidence = decision.evidence if decision is not None else None
    data, judge, model = _subject(run)
    target, value = "", None
    if started is not None:
        target = started.objective.target
    elif answer is not None:
        target = answer.objective.target
    elif measured is not None:
        target = next((name for name in SHOWN_METRICS if name in measured.benchmark["metrics"]), "")
        value = measured.benchmark["metrics"].get(target)
    return RunLine(
        info=info,
        about=_about(run),
        data=data,
        judge=judge,
        model=model,
        target=target,
        value=value,
        change=evidence.target if evidence is not None else None,
        outcome=decision.outcome if decision and not run.only_measured else "",
        settled=f"{review.verb} by {review.who}" if review else "",
        cost=run.calls.known_cost,
        tokens=run.calls.tokens,
        simulated=run.simulated or str(config.get("model", "")).startswith("simulated"),
    )


def _about(run: RunSummary) -> str:
    config = run.record.config
    if run.record.kind == "optimize":
        return str(config.get("objective", ""))
    if run.answer is not None:
        return run.answer.objective.text
    return str(config.get("question", "")) if isinstance(config.get("question"), str) else ""


def _subject(run: RunSummary) -> tuple[str, str, str]:
    """Return the name of the data file, the judge and the model, as far as they are known."""
    config, measured = run.record.config, run.last(JudgeMeasured)
    if run.started is not None:
        return run.started.data, run.started.judge, run.started.model
    if run.answer is not None:
        answer = run.answer
        return answer.data, f"{answer.before} → {answer.after}", answer.model or ""
    name, version = (str(config.get(key) or "") for key in ("judge", "version"))
    judge = f"{name}@{version}" if name and version and "@" not in name else name
    if run.record.kind == "optimize":
        judge = f"{run.before.name}@{run.before.version}"
    if measured is not None:
        return measured.data, judge, measured.model
    stored = config.get("data")
    data = Path(stored).name if isinstance(stored, str) else ""
    return data, judge, str(config.get("model", "") or "")
