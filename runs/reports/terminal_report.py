"""What a person reads of a benchmark and of each event of a run, printed from templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...judges import Benchmark
from ...judges.metrics import headline_metrics
from ...judges.metrics.macro_average import MacroMean
from ...optimize.events import Benchmarked, DecisionRecord, RunEvent
from ..actions.first_figure import FirstFigure, first_figure
from .first_sentence import first_sentences
from .numbers import ordered_metrics
from .printing import Payload, say_template
from .tables import brief_of, metric_line


def say_benchmark(
    benchmark: Benchmark,
    *,
    title: str,
    brief: bool = False,
    headline: bool = False,
    summary: FirstFigure | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print a benchmark: sentences, what was scored, the confusion table and the metrics.

    Args:
        benchmark: What was measured.
        title: Of what.
        brief: Whether it is a part of the rows, of which a few metrics are printed and no confusion
            table.
        headline: Whether the four metrics of `headline_metrics` are printed, and how to see the
            others.
        summary: What is said first; what the benchmark alone tells unless given.
        notes: What is to be known of the rows and of the calls.
    """
    _say_measured(
        benchmark.to_json(),
        title=title,
        brief=brief,
        headline=headline,
        summary=summary,
        notes=notes,
    )


def _say_measured(
    body: Payload,
    *,
    title: str,
    brief: bool = False,
    headline: bool = False,
    in_run: bool = False,
    summary: FirstFigure | None = None,
    notes: Sequence[str] = (),
) -> None:
    names: Sequence[str] = ordered_metrics(body["metrics"])
    if brief:
        names = [name for name in brief_of(body) if name in names]
    elif headline:
        names = headline_metrics(names)
    metrics = {name: body["metrics"][name] for name in names}
    say_template(
        "benchmark",
        title=title,
        body={"warning": "", **body},
        sentences=() if brief else first_sentences((summary or first_figure(body)).to_json()),
        in_run=in_run,
        first_notes=notes,
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
    if isinstance(event, Benchmarked):
        title = "1. Benchmark: the judge as it is, on training and validation rows"
        _say_measured(event.benchmark, title=title, in_run=True)
    elif event.kind in _PRINTED:
        say_template(event.kind, event=event)


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
