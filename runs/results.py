"""What the Python face returns: values that print as the command line does, and show as HTML in a
notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .arguments import Rows as Rows  # `Labels.write` returns it
from .arguments import load_rows
from .printed import Listed, Printed, Tabular

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..judges import Benchmark, Estimate, JudgedDataset, JudgePrompt
    from ..optimize import Event
    from ..optimize.events import DecisionRecord
    from ..slices import FoundSlice, SliceReport
    from .actions.calibrate import CalibrationRun
    from .actions.decide import Gated
    from .actions.first_figure import FirstFigure
    from .actions.plan import Plan
    from .actions.run_summary import RunSummary
    from .actions.score import Score
    from .config.place import Place
    from .reports.run_table import RunLine
    from .store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bench(Tabular):
    """A judge measured against human labels; `bench["precision"].value` is a figure."""

    title: str
    judged: JudgedDataset
    benchmark: Benchmark
    by: Mapping[str, Benchmark]
    """Per value of the column asked for."""
    open_rows: JudgedDataset
    """The rows that may be looked at one by one: all but those sealed to a run."""
    notes: tuple[str, ...]
    summary: FirstFigure
    """What `print` says first, as figures."""

    def __getitem__(self, metric: str) -> Estimate:
        """Return a metric with its interval and n.

        Raises:
            KeyError: The judge has no such metric; the message lists those it has.
        """
        if metric not in self.benchmark.metrics:
            raise KeyError(
                f"there is no metric {metric!r}; there are {', '.join(self.benchmark.metrics)}"
            )
        return self.benchmark.metrics[metric]

    _table_of: ClassVar[str] = "benchmark"

    def plot(self, metrics: Sequence[str] = (), *, ax: Axes | None = None) -> Axes:
        """Draw metrics, the four that `print` shows first unless named, with their 95 % intervals,
        on `ax` or a figure of its own, by matplotlib.

        Raises:
            InputError: There is no such metric, or matplotlib is not installed.
        """
        from .reports.figures import plot_metrics

        return plot_metrics(self.benchmark, metrics, ax, title=self.title)

    def _say(self) -> None:
        from .reports.terminal_report import say_benchmark

        say_benchmark(
            self.benchmark.to_json(),
            title=self.title,
            headline=True,
            summary=self.summary,
            notes=self.notes,
        )
        for value, part in self.by.items():
            say_benchmark(part.to_json(), title=value, brief=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Slices(Tabular):
    """The slices where a judge errs, the best target first; `slices[0].predicate` is its
    condition.
    """

    report: SliceReport
    judged: JudgedDataset
    title: str

    def __len__(self) -> int:
        return len(self.report.slices)

    def __getitem__(self, at: int) -> FoundSlice:
        return self.report.slices[at]

    def __iter__(self) -> Iterator[FoundSlice]:
        return iter(self.report.slices)

    _table_of: ClassVar[str] = "report"

    def _say(self) -> None:
        from .reports.slice_report import say_slices

        say_slices(self.report, self.judged, title=self.title)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the metric on each slice with its 95 % interval, beside that of all rows, on `ax` or
        a figure of its own, by matplotlib.

        Raises:
            InputError: matplotlib is not installed.
        """
        from .reports.figures import plot_slices

        return plot_slices(self.report, ax, simulated=self.judged.simulated)

    @property
    def target(self) -> FoundSlice | None:
        """The slice to optimize on; None where none is confirmed as a target."""
        from .actions.find_slices import advise

        number = advise(self.report).number
        return None if number is None else self.report.slices[number - 1]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GateDecision(Printed):
    """How a run, or a question to the gate, ended: what the gate decided on sealed rows, or why it
    decided nothing.
    """

    record: DecisionRecord
    """As the journal keeps it, with the evidence."""
    simulated: bool
    """Whether a simulated model answered."""

    @property
    def outcome(self) -> str:
        """See `RunOutcome`."""
        return self.record.outcome

    @property
    def reason(self) -> str:
        """Why, in a sentence."""
        return self.record.reason

    @property
    def accepted(self) -> bool:
        """Whether the new prompt may replace the old one."""
        return self.outcome == "accepted"

    def to_frame(self) -> pd.DataFrame:
        """Return one line a comparison: the target, and each guard."""
        import pandas as pd

        evidence = self.record.evidence
        changes: list[tuple[str, Mapping[str, Any]]] = []  # Any: JSON
        if evidence is not None and evidence.target is not None:
            changes.append(("target", evidence.target))
        for guard in evidence.guards if evidence is not None else ():
            if guard.change is not None:
                changes.append((f"guard, {guard.state}", guard.change))
        columns = ("metric", "before", "after", "difference", "low", "high", "p", "n", "groups")
        lines = [(role, *(change.get(name) for name in columns)) for role, change in changes]
        return pd.DataFrame(lines, columns=["role", *columns])

    def _repr_html_(self) -> str:
        from ..judges.notebook_display import SIMULATED, html_table

        title = f"{self.outcome.upper()}{SIMULATED * self.simulated}"
        return html_table(self.to_frame(), title=title, notes=[self.reason] if self.reason else ())

    def __repr__(self) -> str:
        return f"GateDecision({self.outcome}: {self.reason!r})"

    def _say(self) -> None:
        from .reports.terminal_report import say_verdict

        say_verdict(self.record, simulated=self.simulated)


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Printed):
    """What changed in a prompt."""

    unified: str
    """The unified diff, for a file or a pull request; empty where there is no new prompt."""

    def __bool__(self) -> bool:
        return bool(self.unified)

    def __str__(self) -> str:
        # On a line of its own, so that `print(run.decision, run.diff)` reads well.
        return f"\n{self.unified.rstrip() or 'there is no new prompt'}"

    def __repr__(self) -> str:
        return f"Diff({self.unified!r})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Run(Printed):
    """An optimization run: the prompt before and after, the gate's decision, and what a person
    decides about it.
    """

    run_id: str
    workspace: Path | Place
    """Its folder; of one on a server, also the server."""
    summary: RunSummary
    record: DecisionRecord
    """The gate's decision as the journal has it."""

    @property
    def decision(self) -> GateDecision:
        """What the gate decided."""
        return GateDecision(record=self.record, simulated=self.summary.simulated)

    @property
    def accepted(self) -> bool:
        """Whether the gate accepted the new prompt."""
        return self.decision.accepted

    @property
    def before(self) -> JudgePrompt:
        """The prompt the run started from."""
        return self.summary.before

    @property
    def after(self) -> JudgePrompt | None:
        """The best new prompt; None where the search found none."""
        return self.summary.after

    @property
    def diff(self) -> Diff:
        """What changed in the prompt; false where there is no new one."""
        return Diff("" if self.after is None else self.before.diff(self.after))

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything the run did, in order."""
        return self.summary.events

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the target metric of each step on rows that its prompt was not written from, on
        `ax` or a figure of its own, by matplotlib.

        Raises:
            InputError: The run measured no prompt, or matplotlib is not installed.
        """
        from .reports.figures import plot_run

        return plot_run(self.summary, ax)

    def _repr_html_(self) -> str:
        from html import escape

        from .reports.charts import trajectory

        about = f"Run {self.run_id}: {self.before.name}@{self.before.version}"
        diff = f"<pre>{escape(str(self.diff).strip())}</pre>"
        return (
            f'<div class="tex2jax_ignore mathjax_ignore"><p><b>{escape(about)}</b></p>'
            f"{self.decision._repr_html_()}{trajectory(self.summary)}{diff}</div>"
        )

    def accept(self, *, comment: str, who: str | None = None) -> JudgePrompt:
        """Adopt the new prompt: from now on its judge's name means it in this workspace.

        Args:
            who: Who decides; git's user, or else the user name, unless given.

        Raises:
            NotAccepted: The gate did not accept the prompt.
            InputError: Somebody has decided about this run already.
        """
        from .actions.accept import NotAccepted, record_review

        with self._open() as workspace:
            prompt = record_review(workspace, self.run_id, accept=True, who=who, comment=comment)
        if prompt is None:
            raise NotAccepted(f"run {self.run_id} has no prompt to adopt")
        return prompt

    def reject(self, *, comment: str, who: str | None = None) -> None:
        """Turn the new prompt down; the judge stays as it is.

        Raises:
            InputError: Somebody has decided about this run already.
        """
        from .actions.accept import record_review

        with self._open() as workspace:
            record_review(workspace, self.run_id, accept=False, who=who, comment=comment)

    def _open(self) -> Workspace:
        from .store.workspace import Workspace

        return Workspace(self.workspace)

    def __repr__(self) -> str:
        return f"Run({self.run_id!r}, {self.decision.outcome}: {self.decision.reason!r})"

    def _say(self) -> None:
        from .actions.reach import reach_of_run
        from .reports.sentences import describe_cost
        from .reports.terminal_report import say_few
        from .terminal import say

        say(f"Run {self.run_id}: {self.before.name}@{self.before.version}")
        say(f"  cost including resumes: {describe_cost(self.summary.cost)}")
        say(f"\n{self.decision}")
        say_few(reach_of_run(self.summary), data=self.summary.config.data)
        say(str(self.diff))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Tabular):
    """A decision rule fitted on validation rows, and what it changes."""

    result: CalibrationRun
    title: str

    @property
    def threshold(self) -> float:
        """From where on a score counts as positive."""
        return self.result.calibrated.rule.threshold

    _table_of: ClassVar[str] = "result.calibrated"

    def _say(self) -> None:
        from .reports.calibration_report import say_calibration

        say_calibration(self.result, title=self.title)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Gate(Tabular):
    """A decision of the gate about two judges."""

    gated: Gated
    _table_of: ClassVar[str] = "decision"

    @property
    def decision(self) -> GateDecision:
        """What the gate decided."""
        answer = self.gated.answer
        return GateDecision(record=answer.decision, simulated=answer.simulated)

    @property
    def accepted(self) -> bool:
        """Whether the second judge may replace the first."""
        return self.gated.accepted

    def __repr__(self) -> str:
        return f"Gate({self.decision.outcome}: {self.decision.reason!r}, run {self.gated.run_id!r})"

    def _say(self) -> None:
        from .reports.gate_report import say_gated

        say_gated(self.gated)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VerdictScore(Tabular):
    """Verdicts from anywhere, measured; `score["f1"].value` is a figure."""

    score: Score
    title: str

    def __getitem__(self, metric: str) -> Estimate:
        return self.score.benchmark.metrics[metric]

    _table_of: ClassVar[str] = "score.benchmark"

    def _say(self) -> None:
        from .reports.score_tables import say_score

        say_score(self.score, title=self.title)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Planned(Printed):
    """What a run would ask and cost, and which gain its gate could show; nothing was asked."""

    plan: Plan

    @property
    def cost(self) -> float | None:
        """What it is likely to cost, in US dollars; None where no price is known."""
        return self.plan.money.likely

    @property
    def smallest_gain(self) -> float | None:
        """Which gain of the target its gate would notice four times in five; None where nobody can
        say.
        """
        return self.plan.detectable.size

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `optimize --plan --json` prints."""
        return self.plan.to_json()

    def __repr__(self) -> str:
        return f"Planned({self.plan.judge}, cost={self.cost}, smallest_gain={self.smallest_gain})"

    def _say(self) -> None:
        from .reports.plan_report import say_plan

        say_plan(self.plan)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Labels(Printed):
    """A queue of rows that people label, and how far it is."""

    queue: str
    """Its run, which `judgewright label` takes."""
    workspace: Path | Place
    annotator: str
    labelled: int
    skipped: int
    left: int

    def open(self, *, browser: bool = True) -> str:
        """Open the page of the queue, where a person labels one row at a time; return its link,
        which is good until this process ends.
        """
        from .config.place import Place
        from .labels.open_page import open_queue_page

        place = Place.of(self.workspace)
        return open_queue_page(place, self.queue, self.annotator, browser=browser)

    def write(self, path: str | Path) -> Rows:
        """Write the labelled rows as `.jsonl` or `.csv`, and return them, such as for `bench`.

        Raises:
            InputError: There is no label yet, or the file's name says no format.
        """
        from .labels.export import export_labels, read_queues
        from .store.workspace import Workspace

        with Workspace(self.workspace) as workspace:
            export_labels(read_queues(workspace, [self.queue]), Path(path))
        return load_rows(path)

    def __repr__(self) -> str:
        return (
            f"Labels({self.queue!r}, {self.labelled:,} labelled, {self.skipped:,} skipped,"
            f" {self.left:,} left)"
        )

    def _say(self) -> None:
        from .terminal import say

        say(f"queue {self.queue}: {self.labelled:,} labelled, {self.skipped:,} skipped")
        if self.left:
            say(
                f"{self.left:,} rows are left: open() shows them in the browser,"
                f" `judgewright label {self.queue}` asks in the terminal"
            )


class JudgeList(tuple["JudgePrompt", ...], Listed):
    """The judges of a workspace, each in its current version."""

    __slots__ = ()
    _of = "judges"

    def to_frame(self) -> pd.DataFrame:
        """Return one line a judge."""
        import pandas as pd

        return pd.DataFrame(self._lines(), columns=["judge", "version", "inputs", "scale"])

    def _lines(self) -> list[tuple[str, str, str, str]]:
        return [(p.name, p.version, ", ".join(p.inputs), p.scale.describe()) for p in self]

    def _say(self) -> None:
        from .terminal import say_table

        say_table(("judge", "version", "inputs", "scale"), self._lines(), left=4)


class RunList(tuple["RunLine", ...], Listed):
    """The runs of a workspace, newest first; `.info` is the record of each."""

    __slots__ = ()
    _of = "runs"

    def to_frame(self) -> pd.DataFrame:
        """Return one line a run: what it is about, its figure, how it ended."""
        import pandas as pd

        lines: list[dict[str, object]] = []
        for one in self:
            value, change = one.value or {}, one.change or {}
            figures: dict[str, object] = {"value": change.get("after", value.get("value"))}
            figures |= {name: value.get(name) for name in ("low", "high")}
            figures |= {"difference": change.get("difference"), "n": (change or value).get("n")}
            about = {"run": one.info.run_id, "kind": one.info.kind, "state": one.info.state}
            said = {"judge": one.judge, "data": one.data, "model": one.model}
            how = {"outcome": one.outcome, "settled": one.settled, "simulated": one.simulated}
            lines.append({**about, **said, "metric": one.target, **figures, **how})
        return pd.DataFrame(lines)

    def _say(self) -> None:
        from .reports.run_report import say_runs

        say_runs(self)
