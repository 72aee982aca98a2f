"""Turn annotations into training data for embeddings: a label matrix, and triplets with hard
negatives.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....judges import InputError, OutputScale, write_beside
from ....judges.files import infer_scale
from ..annotation import (
    AnnotatedPair,
    MinedPairs,
    MiningSettings,
    matrix_of,
    mine_pairs,
    text_key,
    write_matrix,
)
from .read_pairs import PairColumns, PairLine, read_pairs

COLUMNS = ("anchor", "positive", "negative")
"""What a line of training data has, in the order in which sentence-transformers reads columns."""
RELEVANCE = ("probability", "score")
"""Columns of the judge's score, the first that a pair has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFiles:
    """What training data are made from."""

    paths: Sequence[Path]
    verdict: str = "verdict"
    """The column of the judge's decision, 0 or 1."""
    label: str = "label"
    label_threshold: float | None = None
    """From which grade on people call a pair relevant; the middle of their scale where nobody says
    so.
    """
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    judge_only: bool = False
    """Whether people's labels are left aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPairs:
    """What was read and what was mined."""

    lines: tuple[PairLine, ...]
    annotated: tuple[AnnotatedPair, ...]
    mined: MinedPairs
    settings: MiningSettings
    simulated: bool
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `search pairs --json` prints."""
        counts = Counter(pair.relevant for pair in self.annotated)
        return {
            "lines": len(self.lines),
            "queries": self.mined.queries,
            "relevant": counts[True],
            "not_relevant": counts[False],
            "undecided": counts[None],
            "by_people": sum(pair.human is not None for pair in self.annotated),
            "pairs": len(self.mined.pairs),
            "triplets": len(self.mined.triplets),
            "left_out": {
                "doubtful": self.mined.doubtful,
                "known_positives": self.mined.known,
                "queries_without_positive": self.mined.without_positive,
                "positives_without_negative": self.mined.without_negative,
            },
            "below": self.settings.below,
            "simulated": self.simulated,
            "notes": list(self.notes),
        }


def make_training_pairs(files: PairFiles, settings: MiningSettings) -> TrainingPairs:
    """Read annotations and mine them.

    Raises:
        InputError: A file has no texts, or neither decisions nor labels.
        DataError: A file, or any of its lines, cannot be used.
    """
    notes: list[str] = []
    optional = (files.verdict, *RELEVANCE)
    pair_columns = PairColumns(
        columns=files.columns, label=files.label, label_needed=False, optional=optional
    )
    lines = [line for path in files.paths for line in read_pairs(path, pair_columns, notes)]
    bare = next((line for line in lines if line.texts is None), None)
    if bare is not None:
        raise InputError(
            f"{bare.place}: the pair lacks the text of its query or its document",
            hint=(
                "training needs both; --column query=COLUMN and --column document=COLUMN name them"
            ),
        )
    for line in lines:
        if line.numbers.get(files.verdict, 0.0) not in (0.0, 1.0):
            raise InputError(
                f"{line.place}, field {files.verdict!r}: {line.numbers[files.verdict]:g} is no"
                " decision (0 or 1)",
                hint="name the column of the decisions with --verdict COLUMN",
            )
    grades = [] if files.judge_only else [line.label for line in lines if line.label is not None]
    if not grades and not any(files.verdict in line.numbers for line in lines):
        raise InputError(
            f"no pair has a decision in column {files.verdict!r}, nor a label in {files.label!r}",
            hint=(
                "judge the pairs first (`annotate --out`), or name the column with --verdict COLUMN"
            ),
        )
    scale = infer_scale(grades, files.label_threshold) if grades else None
    if scale is not None:
        notes.append(f"people's labels are read as {scale.describe()}")
    top = max((line.numbers.get("score", 0.0) for line in lines), default=1.0)
    if top > 1.0:
        notes.append(
            f"the judge's score is taken as a share of {top:g}, where there is no probability"
        )
    annotated = tuple(_annotated(line, files, scale, max(top, 1.0)) for line in lines)
    return TrainingPairs(
        lines=tuple(lines),
        annotated=annotated,
        mined=mine_pairs(annotated, settings),
        settings=settings,
        simulated=any(line.simulated for line in lines),
        notes=tuple(notes),
    )


def _annotated(
    line: PairLine, files: PairFiles, scale: OutputScale | None, top: float
) -> AnnotatedPair:
    query, document = line.texts or ("", "")
    relevance = line.numbers.get("probability")
    if relevance is None and "score" in line.numbers:
        relevance = line.numbers["score"] / top
    verdict = line.numbers.get(files.verdict)
    return AnnotatedPair(
        query=query,
        document=document,
        human=None if scale is None or line.label is None else scale.positive(line.label),
        judge=None if verdict is None else verdict == 1.0,
        relevance=relevance,
    )


def write_training(pairs: TrainingPairs, path: Path) -> int:
    """Write triplets as JSON Lines, and return how many.

    Raises:
        InputError: There is nothing to write.
    """
    triplets = pairs.mined.triplets
    if not triplets:
        raise InputError(
            f"there are no triplets: {pairs.mined.without_positive} of {pairs.mined.queries}"
            f" queries have no relevant document, {pairs.mined.without_negative} positives no"
            " negative",
            hint="annotate more pairs a query, or raise --below",
        )
    objects = (dict(zip(COLUMNS, line, strict=True)) for line in triplets)
    write_beside(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in objects))
    return len(triplets)


def write_pair_matrix(pairs: TrainingPairs, path: Path) -> None:
    """Write the label matrix of all decided pairs; the same text under several ids of a query is
    one of them.
    """
    entries: dict[tuple[str, str], tuple[str, str, bool, bool]] = {}
    for line, pair in zip(pairs.lines, pairs.annotated, strict=True):
        if pair.relevant is None:
            continue
        key = text_key(pair.query), text_key(pair.document)
        before = entries.get(key)
        human = pair.human is not None
        if before is None:
            entries[key] = (line.query, line.document, pair.relevant, human)
        else:
            entries[key] = (*before[:2], before[2] or pair.relevant, before[3] or human)
    write_matrix(matrix_of(entries.values()), path)
