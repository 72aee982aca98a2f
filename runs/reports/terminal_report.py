"""What a person reads of a benchmark and of each event of a run, printed from templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...judges.metrics import headline_metrics
from ..actions.first_figure import FirstFigure, first_figure
from .few_labels import few_labels, label_command
from .first_sentence import first_sentences
from .numbers import ordered_metrics
from .printing import Payload, say_template
from .tables import brief_of, metric_line

if TYPE_CHECKING:
    from ...judges.metrics.macro_average import MacroMean
    from ...optimize.events import DecisionRecord, RunEvent
    from ..actions.reach import Reach


def say_benchmark(
    body: Payload,
    *,
    title: str,
    brief: bool = False,
    headline: bool = False,
    in_run: bool = False,
    summary: FirstFigure | None = None,
    notes: Sequence[str] = (),
    data: str = "",
) -> None:
    """Print a benchmark: sentences, what was scored, the confusion table and the metrics.

    Args:
        body: What was measured, as `Benchmark.to_json` writes it.
        title: Of what.
        brief: Whether it is a part of the rows, of which a few metrics are printed and no confusion
            table.
        headline: Whether the four metrics of `headline_metrics` are printed, and how to see the
            others.
        in_run: Whether it is an event of a run.
        summary: What is said first; what the benchmark alone tells unless given.
        notes: What is to be known of the rows and of the calls.
        data: The file of the rows.
    """
    names: Sequence[str] = ordered_metrics(body["metrics"])
    if brief:
        names = [name for name in brief_of(body) if name in names]
    elif headline:
        names = headline_metrics(names)
    metrics = {name: body["metrics"][name] for name in names}
    figure = (summary or first_figure(body)).to_json()
    reach = figure["reach"]
    say_template(
        "benchmark",
        title=title,
        body={"warning": "", **body},
        sentences=first_sentences(figure) if not brief else (),
        in_run=in_run,
        first_notes=notes,
        few=few_labels(reach) if reach else (),
        command=label_command(reach, data) if reach else "",
        brief=brief,
        headline=headline,
        why=", ".join(f"{n} {reason}" for reason, n in body["unscored"].items()),
        metrics=metrics,
        lines=[metric_line(name, metric) for name, metric in metrics.items()],
    )


def say_macro(means: Mapping[str, MacroMean], *, column: str) -> None:
    """Print the means over the values of a column, each with how many values it is over, and what
    it leaves out.
    """
    lines = []
    for name, mean in means.items():
        *figures, n = metric_line(name, mean.to_json())
        lines.append((*figures, f"{mean.values:,} of {mean.of:,}", n))
    say_template("macro_means", means=means, column=column, lines=lines)


def say_event(event: RunEvent) -> None:
    """Print one event of a run; a kind that is not for people prints nothing."""
    from ...optimize.events import Benchmarked

    if isinstance(event, Benchmarked):
        title = "1. Benchmark: the judge as it is, on training and validation rows"
        say_benchmark(event.benchmark, title=title, in_run=True)
    elif event.kind in _PRINTED:
        say_template(event.kind, event=event)


def say_run() -> Callable[[RunEvent], None]:
    """Return what prints the events of a run, and once its judge is measured, before a search is
    paid for, what its labels can show where they are few.
    """
    from ...optimize.events import Benchmarked, RowsSplit, SearchStarted, Started, ThresholdTuned

    before: dict[str, RunEvent] = {}

    def say_next(event: RunEvent) -> None:
        say_event(event)
        before[event.kind] = event
        if not isinstance(event, ThresholdTuned) or SearchStarted.kind in before:
            return  # earlier versions chose a threshold at the end
        started, split, measured = (
            before.get(one.kind) for one in (Started, RowsSplit, Benchmarked)
        )
        if (
            isinstance(started, Started)
            and isinstance(split, RowsSplit)
            and isinstance(measured, Benchmarked)
        ):
            from ..actions.reach import reach_in_run

            say_few(reach_in_run(measured.benchmark, split, started.objective))

    return say_next


def say_few(reach: Reach | None, *, data: str = "") -> None:
    """Print what few labels can show, and what to label next; nothing where they are not few."""
    if reach is not None:
        body = asdict(reach)
        say_template("few_labels", few=few_labels(body), command=label_command(body, data))


def say_nothing(event: RunEvent) -> None:
    """Listen to a run without printing; the JSON object comes at its end."""


def say_verdict(decision: DecisionRecord, *, simulated: bool) -> None:
    """Print a gate's decision in a few lines: the outcome, and what the sealed rows say of each
    metric.

    Args:
        decision: The gate's, or that nothing was sent to it.
        simulated: Whether a simulated model answered.
    """
    say_template("verdict", decision=decision, is_simulated=simulated)


_PRINTED = frozenset(
    {
        *("started", "split", "slice", "loss", "validation", "step", "survivor", "chance"),
        *("decision", "threshold", "everything", "decided"),
    }
)
"""Kinds of events that have a template of their name."""
