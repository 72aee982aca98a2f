"""What `score` prints: one judge, a leaderboard, texts held against the gold ones, published
figures computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...judges import Estimate, JudgedDataset
from ...judges.leaderboard import ALPHA, Entry, Leaderboard, Pair
from ...judges.published import STATUSES, Line, PublishedRow
from ..actions.score import Score
from ..terminal import inline, say, say_table
from .numbers import number, p_value, signed, span
from .printing import Payload, undefined
from .terminal_report import say_benchmark, say_macro

BESIDE = ("f1", "precision", "recall", "kappa", "off_by_one", "auroc")
"""Metrics that stand beside the one judges are ranked by, where a judge has them and nothing
published says others.
"""


def say_score(score: Score, *, title: str) -> None:
    """Print one judge's figures, and a line for each value of the column."""
    for note in score.judged.dataset.notes:
        say(f"note: {note}")
    say_benchmark(score.benchmark, title=title)
    if score.by is None:
        return
    say_macro(score.macro, column=score.by)
    head = ("value", "n", "unscored", "f1", "95 % interval", "precision", "recall", "kappa")
    shown = ("f1", "precision", "recall", "kappa")
    lines: list[tuple[str, ...]] = []
    for value, part in score.parts.items():
        f1, *others = (part.metrics.get(name) for name in shown)
        counts = f"{part.n:,}", f"{sum(part.unscored.values()):,}"
        lines.append((value, *counts, _figure(f1), span(f1), *map(_figure, others)))
    say_table(head, lines)
    parts = [
        (value, part.metrics[name], name) for name in shown for value, part in score.parts.items()
    ]
    _say_undefined((f"{name} of {value}", estimate.to_json()) for value, estimate, name in parts)


def say_leaderboard(board: Leaderboard, judges: Mapping[str, JudgedDataset]) -> None:
    """Print judges from best to worst with their distance from the best, and published figures
    under them.
    """
    notes = [judged.dataset.notes for judged in judges.values()]
    shared = [
        note for note in (notes[0] if notes else ()) if all(note in others for others in notes)
    ]
    alone = [
        f"{name}: {n}"
        for name, judged in judges.items()
        for n in judged.dataset.notes
        if n not in shared
    ]
    for note in shared + alone:
        say(f"note: {note}")
    best = board.entries[0].name if board.entries else ""
    layout = _Layout.of(board)
    say("")
    say_table(layout.head, layout.lines(board), left=2)
    _say_undefined(layout.measured(board))
    _say_published(board)
    _say_pairs(board, best)
    for note in board.notes:
        say(f"  note: {note}")


def _say_published(board: Leaderboard) -> None:
    for (data, source), mark in _marks(board.published).items():
        say(f"  [{mark}] {data}; {source}")
    for row in board.published:
        if row.remark:
            say(f"  note: {row.evaluator}: {row.remark}")
    if board.published:
        say(
            "  published: measured by others on rows we have not seen; such figures have no rank"
            " and no interval"
        )


def _say_pairs(board: Leaderboard, best: str) -> None:
    if not board.pairs:
        return
    apart = [pair for pair in board.pairs if pair.p_holm < ALPHA]
    level = (
        f"{len(apart)} of {len(board.pairs)} pairs differ in {board.metric} at {ALPHA:.0%}, all"
        " pairs held together"
    )
    say(f"\n  {level} (Holm); the rest may be chance")
    against = board.against(best)
    tied = [name for name, pair in against.items() if pair.p_holm >= ALPHA]
    if tied:
        say(f"  not told apart from {best}: {', '.join(tied)}")


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
        wanted = printed or [name for name in BESIDE if name in measured]
        return cls(
            metric=board.metric,
            beside=tuple(name for name in wanted if name != board.metric),
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
    return {place: i for i, place in enumerate(places, 1)}


def say_expected(lines: Sequence[Line], *, verbose: bool = False) -> None:
    """Print figures computed again beside the published ones, file by file."""
    for file in dict.fromkeys(line.file for line in lines):
        mine = [line for line in lines if line.file == file]
        rows = sorted({line.n for line in mine if line.n is not None})
        say(f"\n{file}  (n = {', '.join(f'{n:,}' for n in rows) or 'none'})")
        head = ("figure", "published", "computed", "ours", "difference", "status")
        say_table(head, [_expected_line(line) for line in mine])
        for line in mine:
            if line.remark:
                say(f"  {line.status}: {line.figure}: {line.remark}")
        if verbose:
            say("  definitions:")
            for line in mine:
                named = ""
                if line.rule is not None:
                    rule = ", ".join(
                        f"{key} {_several(value)}" for key, value in line.rule.to_json().items()
                    )
                    named = f" (rule: {rule})"
                say(f"    {line.figure}: {line.definition or 'none is stated'}{named}")
    counts = Counter(line.status for line in lines)
    rest = "".join(f", {counts[status]} {status}" for status in STATUSES[1:] if counts[status])
    say(f"\n{counts['equal']} of {len(lines)} figures equal to the digits that were printed{rest}")
    say(
        "difference is ours less the published figure, or less the computed one where none was"
        " published"
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


def _say_undefined(figures: Iterable[tuple[str, Payload]]) -> None:
    for line in undefined(figures):
        say(f"  {inline(line)}")
