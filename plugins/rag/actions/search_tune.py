"""Read pairs, features and judge labels from files, and tune a search on them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ....judges import DataError, FloatArray, InputError, JudgedDataset, Verdict, write_beside
from ....judges.files import VerdictColumns, load_judges
from ....judges.retrieval import Encode
from ..annotation.collection import PASSAGE_NAMES, QUERY_NAMES, first_of
from ..search import (
    SearchTable,
    SearchTuning,
    TuneSettings,
    text_features,
    tune_search,
)
from .read_pairs import PairColumns, PairLine, read_pairs, same_text

Count = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFiles:
    """What a search table is read from."""

    pairs: Sequence[Path]
    """Files of pairs, with people's labels."""
    verdicts: Sequence[Path]
    """Verdict files of a judge on these pairs."""
    score: str = "score"
    """Their column of the judge's grade."""
    features: Sequence[str] = ()
    """Columns of the pairs that hold a feature."""
    label: str = "label"
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """The column of `query`, `document`, `query_id` or `document_id`, where it is called otherwise.
    """
    text_features: bool = True
    """Whether features are built from the texts, where there are texts."""
    encode: Encode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedFiles:
    """A tuning, and how the files were read."""

    tuning: SearchTuning
    simulated: bool
    """Whether a simulated judge gave the labels."""
    judges: tuple[str, ...]
    judged_pairs: int
    judged_queries: int
    labelled_pairs: int
    labelled_queries: int
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `search tune --json` prints."""
        counts = {
            "simulated": self.simulated,
            "judges": list(self.judges),
            "judged_pairs": self.judged_pairs,
            "judged_queries": self.judged_queries,
            "labelled_pairs": self.labelled_pairs,
            "labelled_queries": self.labelled_queries,
        }
        return counts | self.tuning.to_json() | {"notes": list(self.notes)}


def run_search_tuning(files: SearchFiles, settings: TuneSettings, *, count: Count) -> TunedFiles:
    """Tune a search; see `tune_search`.

    Raises:
        InputError: The files do not fit each other, or there is too little to tune on.
        DataError: A file, or any of its lines, cannot be used.
    """
    if not files.verdicts:
        raise InputError(
            "judge labels are needed", hint="give --verdicts FILE, such as `bench --out` writes"
        )
    notes: list[str] = []
    numbers = dict.fromkeys(files.features, "--feature COLUMN")
    pair_columns = PairColumns(columns=files.columns, label=files.label, numbers=numbers)
    pairs = [pair for path in files.pairs for pair in read_pairs(path, pair_columns, notes)]
    grades: list[list[float]] = [[] for _ in pairs]
    simulated = False
    judges: list[str] = []
    for path in files.verdicts:
        for name, judged in load_judges(
            path, VerdictColumns(score=files.score, require_labels=False)
        ).items():
            simulated = simulated or judged.simulated
            judges.append(judged.model or name)
            notes.append(_join(pairs, grades, judged, path))
    repeated = sum(len(pair_grades) > 1 for pair_grades in grades)
    if repeated:
        notes.append(
            f"pairs with several grades of the judge, of which the mean counts: {repeated:,}"
        )
    table = _table(pairs, grades, files, notes, count)
    tuning = tune_search(table, settings, count=lambda done, total: count("settings", done, total))
    return TunedFiles(
        tuning=tuning,
        simulated=simulated,
        judges=tuple(dict.fromkeys(judges)),
        judged_pairs=int((~np.isnan(table.judge)).sum()),
        judged_queries=int(table.graded_by_judge.sum()),
        labelled_pairs=int((~np.isnan(table.human)).sum()),
        labelled_queries=int(table.graded_by_people.sum()),
        notes=tuple(notes),
    )


def write_fusion(tuned: TunedFiles, path: Path) -> None:
    """Write the weights that were tuned on all judged queries, as JSON."""
    body = tuned.tuning.fusion.to_json() | {
        "simulated": tuned.simulated,
        "judges": list(tuned.judges),
    }
    write_beside(path, json.dumps(body, indent=2) + "\n")


def _join(
    pairs: Sequence[PairLine], grades: Sequence[list[float]], judged: JudgedDataset, path: Path
) -> str:
    """Give pairs the judge's grades, by their ids, or by their texts where no id is the same."""
    by_id: dict[str, list[int]] = {}
    by_texts: dict[tuple[str, str], list[int]] = {}
    for i, pair in enumerate(pairs):
        by_id.setdefault(pair.id, []).append(i)
        if pair.texts:
            by_texts.setdefault(_texts(*pair.texts), []).append(i)
    ids = {row.id for row in judged.dataset.rows}
    with_ids = bool(ids & by_id.keys())
    joined = alone = 0
    for row, answer in zip(judged.dataset.rows, judged.answers, strict=True):
        if not isinstance(answer, Verdict):
            continue
        texts = [first_of(names, tuple(row.inputs)) for names in (QUERY_NAMES, PASSAGE_NAMES)]
        theirs = _texts(*(row.inputs[name] for name in texts if name)) if all(texts) else None
        matches = by_id.get(row.id, []) if with_ids else by_texts.get(theirs or ("", ""), [])
        alone += not matches
        for i in matches:
            pair = pairs[i]
            if theirs and pair.texts and _texts(*pair.texts) != theirs:
                raise DataError(
                    f"{path}: the verdict on {row.id!r} is about other texts than {pair.place} has",
                    hint="give the file that was judged, or judge it again",
                )
            grades[i].append(answer.score)
            joined += 1
    if not joined:
        raise DataError(
            f"{path}: none of its verdicts is about one of the pairs",
            hint=(
                "verdicts and pairs are joined by id, or by the texts of query and passage where no"
                " id is the same"
            ),
        )
    how = "ids" if with_ids else "texts"
    rest = f"; {alone:,} verdicts are about other pairs" if alone else ""
    return f"{path.name}: {joined:,} pairs have the judge's grade, joined by {how}{rest}"


def _texts(query: str, passage: str) -> tuple[str, str]:
    return same_text(query), same_text(passage)


def _table(
    pairs: Sequence[PairLine],
    grades: Sequence[list[float]],
    files: SearchFiles,
    notes: list[str],
    count: Count,
) -> SearchTable:
    codes: dict[str, int] = {}
    query = np.array([codes.setdefault(pair.query, len(codes)) for pair in pairs], np.int64)
    columns: dict[str, FloatArray] = {
        name: np.array([pair.numbers.get(name, math.nan) for pair in pairs])
        for name in files.features
    }
    if files.text_features:
        without = sum(pair.texts is None for pair in pairs)
        if without:
            notes.append(f"no features are built from texts, which {without:,} pairs lack")
        else:
            built = _built(pairs, files, count)
            for name in built.keys() & columns.keys():
                raise InputError(f"two features are called {name!r}", hint="rename the column")
            columns |= built
    return SearchTable(
        queries=tuple(codes),
        query=query,
        documents=tuple(pair.document for pair in pairs),
        features=tuple(columns),
        values=np.stack(list(columns.values()), axis=1) if columns else np.zeros((len(pairs), 0)),
        human=np.array([math.nan if pair.label is None else pair.label for pair in pairs]),
        judge=np.array([fmean(pair_grades) if pair_grades else math.nan for pair_grades in grades]),
    )


def _built(pairs: Sequence[PairLine], files: SearchFiles, count: Count) -> dict[str, FloatArray]:
    queries: dict[str, int] = {}
    passages: dict[str, int] = {}
    of: list[tuple[int, int]] = []
    for pair in pairs:
        query, text = pair.texts or ("", "")
        of.append(
            (queries.setdefault(query, len(queries)), passages.setdefault(text, len(passages)))
        )
    at = np.array(of, np.int64)
    return text_features(
        list(queries),
        list(passages),
        at[:, 0],
        at[:, 1],
        encode=files.encode,
        count=lambda done, total: count("features", done, total),
    )
