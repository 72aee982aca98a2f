"""`score --metric anls`: written answers held against the gold ones, letter by letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import Estimate
from ...judges.files import TextAnswers, load_text_answers
from ...judges.metrics import anls
from ..reports.terminal_report import number, say_undefined
from ..terminal import inline, say, say_table

METRIC = "anls"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """ANLS of a file's answers, and per value of a column where one was asked for."""

    answers: TextAnswers
    estimate: Estimate
    by: str | None
    parts: Mapping[str, Estimate]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return n, what was left out, the metric, and the values of the column."""
        out: dict[str, Any] = {  # Any: JSON
            "n": len(self.answers.answers),
            "unscored": {"missing": self.answers.unscored} if self.answers.unscored else {},
            "unlabelled": self.answers.unlabelled,
            "metrics": {METRIC: self.estimate.to_json()},
            "reading": list(self.answers.notes),
        }
        if self.by is not None:
            parts = {value: {"n": part.n, "metrics": {METRIC: part.to_json()}} for value, part in self.parts.items()}
            out["by"] = parts
        return out


def score_texts(path: Path, *, gold: str, answer: str, group: str | None, by: str | None) -> TextScore:
    """Measure the answers of a file; see `load_text_answers`."""
    answers = load_text_answers(path, gold=gold, answer=answer, group=group, by=by)
    positions: dict[str, list[int]] = {}
    for i, value in enumerate(answers.by):
        positions.setdefault(value, []).append(i)
    parts = {value: answers.only(positions[value]) for value in sorted(positions)}
    return TextScore(
        answers=answers,
        estimate=anls(answers.answers, answers.gold, answers.groups),
        by=by,
        parts={value: anls(part.answers, part.gold, part.groups) for value, part in parts.items()},
    )


def say_text_score(score: TextScore, *, title: str) -> None:
    """Print the figure with its interval, and a line for each value of the column."""
    for note in score.answers.notes:
        say(f"note: {note}")
    say(f"\n{inline(title)}")
    left_out = f"{score.answers.unscored:,} unscored, {score.answers.unlabelled:,} without a gold answer"
    say(f"  {len(score.answers.answers):,} answers compared, {left_out}")
    lines = {METRIC: score.estimate} | {f"{score.by} = {value}": part for value, part in score.parts.items()}
    say_table(("metric", "value", "95 % interval", "n"), [_line(name, part) for name, part in lines.items()])
    say_undefined((name, part.to_json()) for name, part in lines.items())


def _line(name: str, estimate: Estimate) -> tuple[str, str, str, str]:
    missing = estimate.low is None or estimate.high is None
    interval = "" if missing else f"{estimate.low:.3f} .. {estimate.high:.3f}"
    return name, number(estimate.value), interval, f"{estimate.n:,}"
