"""What `score` prints: one judge, a leaderboard, texts held against the gold ones, published
figures computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...judges import Estimate, JudgedDataset
from ...judges.metrics.leaderboard import ALPHA, Entry, Leaderboard, Pair
from ...judges.published import STATUSES, Line, PublishedRow
from ..actions.score import Score
from .numbers import number, p_value, signed, span
from .printing import Payload, say_template
from .terminal_report import say_benchmark, say_macro

BESIDE = ("f1", "precision", "recall", "kappa", "off_by_one", "auroc")
"""Metrics that stand beside the one judges are ranked by, where a judge has them and nothing
published says others.
"""


def say_score(score: Score, *, title: str) -> None:
    """Print one judge's figures, and a line for each value of the column."""
    notes = score.judged.dataset.notes
    say_benchmark(score.benchmark.to_json(), title=title, summary=score.summary, notes=notes)
    if score.by is None:
        return
    say_macro(score.macro, column=score.by)
    names = ("f1", "precision", "recall", "kappa")
    lines: list[tuple[str, ...]] = []
    for value, part in score.parts.items():
        f1, *others = (part.metrics.get(name) for name in names)
        counts = f"{part.n:,}", f"{sum(part.unscored.values()):,}"
        lines.append((value, *counts, _figure(f1), span(f1), *map(_figure, others)))
    figures = [
        (f"{name} of {value}", part.metrics[name].to_json())
        for name in names
        for value, part in score.parts.items()
    ]
    say_template("score_parts", lines=lines, figures=figures)


def say_leaderboard(board: Leaderboard, judges: Mapping[str, JudgedDataset]) -> None:
    """Print judges from best to worst with their distance from the best, and published figures
    under them.
    """
    notes = {name: judged.dataset.notes for name, judged in judges.items()}
    first = next(iter(notes.values()), ())
    shared = [note for note in first if all(note in others for others in notes.values())]
    alone = []
    for name, texts in notes.items():
        alone += [f"{name}: {note}" for note in texts if note not in shared]
    best = board.entries[0].name if board.entries else ""
    layout = _Layout.of(board)
    tied = [name for name, pair in board.against(best).items() if pair.p_holm >= ALPHA]
    say_template(
        "leaderboard",
        board=board,
        first_notes=[*shared, *alone],
        head=layout.head,
        lines=layout.lines(board),
        figures=list(layout.measured(board)),
        marks=_marks(board.published),
        best=best,
        apart=sum(pair.p_holm < ALPHA for pair in board.pairs),
        level=f"{ALPHA:.0%}",
        tied=tied,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Which columns a leaderboard has."""

    metric: str
    beside: tuple[str, ...]
    unscored: bool
    pairs: Mapping[str, Pair]
    """The best judge's, by the name of the other."""

    @classmethod
    def of(cls, board: Leaderboard) -> _Layout:
        measured = {name for entry in board.entries for name in entry.benchmark.metrics}
        printed = dict.fromkeys(name for row in board.published for name in row.metrics)
        names = printed or [name for name in BESIDE if name in measured]
        return cls(
            metric=board.metric,
            beside=tuple(name for name in names if name != board.metric),
            unscored=any(entry.benchmark.unscored for entry in board.entries),
            pairs=board.against(board.entries[0].name) if board.entries else {},
        )

    @property
    def head(self) -> tuple[str, ...]:
        unscored = ("unscored",) if self.unscored else ()
        behind = ("behind the best", "p (Holm)") if self.pairs else ()
        return ("", "judge", self.metric, "95 % interval", "n", *unscored, *self.beside, *behind)

    def lines(self, board: Leaderboard) -> list[tuple[str, ...]]:
        marks = _marks(board.published)
        measured = [self._entry(entry) for entry in board.entries]
        return measured + [
            self._published(row, marks[row.data, row.source]) for row in board.published
        ]

    def measured(self, board: Leaderboard) -> Iterator[tuple[str, Payload]]:
        """Yield the figures of the judges that were measured, each by its metric and judge."""
        for entry in board.entries:
            figures = {self.metric: entry.figure} | {
                name: entry.benchmark.metrics.get(name) for name in self.beside
            }
            for name, estimate in figures.items():
                if estimate is not None:
                    yield f"{name} of {entry.name}", estimate.to_json()

    def _entry(self, entry: Entry) -> tuple[str, ...]:
        metrics = entry.benchmark.metrics
        pair = self.pairs.get(entry.name)
        behind: tuple[str, ...] = ("", "") if self.pairs else ()
        if pair is not None:
            low, high = signed(pair.change.low), signed(pair.change.high)
            spread = "" if pair.change.low is None else f" [{low}, {high}]"
            behind = (f"{signed(pair.change.difference)}{spread}", p_value(pair.p_holm))
        return (
            "-" if entry.rank is None else str(entry.rank),
            f"{entry.name}{' [SIMULATED]' if entry.benchmark.simulated else ''}",
            _figure(entry.figure),
            span(entry.figure),
            f"{entry.benchmark.n:,}",
            *((f"{sum(entry.benchmark.unscored.values()):,}",) if self.unscored else ()),
            *(_figure(metrics.get(name)) for name in self.beside),
            *behind,
        )

    def _published(self, row: PublishedRow, mark: int) -> tuple[str, ...]:
        name = f"{row.evaluator} [{mark}]"
        figures = [str(row.metrics.get(metric, "")) for metric in (self.metric, *self.beside)]
        gaps = ("",) * (3 if self.unscored else 2)
        return (
            "published",
            name,
            figures[0],
            *gaps,
            *figures[1:],
            *(("", "") if self.pairs else ()),
        )


def _marks(published: Sequence[PublishedRow]) -> dict[tuple[str, str], int]:
    places = dict.fromkeys((row.data, row.source) for row in published)
    return {source: i for i, source in enumerate(places, 1)}


def say_expected(lines: Sequence[Line]) -> None:
    """Print figures computed again beside the published ones, file by file."""
    files: dict[str, list[Line]] = {}
    for line in lines:
        files.setdefault(line.file, []).append(line)
    counts = Counter(line.status for line in lines)
    say_template(
        "expected",
        files=files,
        tables={file: list(map(_expected_line, of)) for file, of in files.items()},
        equal=counts["equal"],
        total=len(lines),
        rest=[f"{counts[status]} {status}" for status in STATUSES[1:] if counts[status]],
    )


def _expected_line(line: Line) -> tuple[str, ...]:
    ours = f"{line.ours:.6f}" if isinstance(line.ours, float) else _several(line.ours)
    difference = (
        ""
        if line.difference is None
        else f"{line.difference:+.6f}".replace("-0.000000", "+0.000000")
    )
    return (
        line.figure,
        _several(line.published),
        _several(line.computed),
        ours,
        difference,
        line.status,
    )


def _several(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _figure(estimate: Estimate | None) -> str:
    return "" if estimate is None else number(estimate.value)
