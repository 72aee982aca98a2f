"""The errors of a slice by cause, and a rightly judged row to hold each against."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..judges import BoolArray, FloatArray, JudgedDataset
from .passages import quotations, quoted_in, unmatched

MOST_GROUPS = 6
_SPLIT_FROM = 8
"""Errors from which on a group is split by its wording."""
_EACH = 5
"""Errors of one part of a split group, on average."""
_MOST_PARTS = 3
_FEATURES = 1_000
_CLUSTERED = 500
"""Errors that are clustered; the others join the nearest part."""
_COMPARED = 1_000
"""Rightly judged rows that errors are compared with."""
_WORDS = 5
"""Words that name a group."""
_NOTHING = re.compile(
    r"(?i)\b(?:nothing|none|not found|no (?:evidence|support|mention|passage)|not"
    r" (?:mentioned|stated|in the))\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Errors of one kind that seem to have one cause."""

    kind: str
    """`false positive`, `false negative`, `grade off`, or a pair of classes."""
    cause: str
    """What the judge's own words have in common, as a clause."""
    words: tuple[str, ...]
    """The words that tell the group from the other errors; empty where none do."""
    rows: tuple[int, ...]
    """Positions among the scored rows, the costliest first."""


def kinds_of_error(judged: JudgedDataset) -> dict[str, BoolArray]:
    """Return which scored rows are errors of each kind, shape (n,) each.

    Two of a decision, and where people and judge grade alike a right decision with another grade;
    else pairs of classes, the commonest first.
    """
    if judged.scale.kind == "choice":
        pairs = Counter(
            zip(
                judged.label[judged.wrong].tolist(),
                judged.score[judged.wrong].tolist(),
                strict=True,
            )
        )
        names = judged.scale.labels
        return {
            f"{names[int(label)]!r} called {names[int(score)]!r}": (
                (judged.label == label) & (judged.score == score)
            )
            for (label, score), _ in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
        }
    kinds = {
        "false positive": judged.predicted & ~judged.positive,
        "false negative": ~judged.predicted & judged.positive,
    }
    if judged.same_scale:
        kinds["grade off"] = ~judged.wrong & (judged.label != judged.score)
    return kinds


def group_errors(
    judged: JudgedDataset, losses: FloatArray, member: BoolArray, *, focus: str
) -> tuple[ErrorGroup, ...]:
    """Group errors: by kind, by what the judge could point to, and large groups by the wording of
    its reasons.

    Args:
        judged: Judged rows.
        losses: Of each scored row; shape (n,).
        member: Which scored rows to group; shape (n,).
        focus: The input that the others are held against.

    Returns:
        The groups with the largest share of the loss first; small ones beyond `MOST_GROUPS` are
        joined by kind.
    """
    groups: list[ErrorGroup] = []
    for kind, of_kind in kinds_of_error(judged).items():
        by_cause: dict[str, list[int]] = {}
        positions: list[int] = np.flatnonzero(of_kind & member).tolist()
        for i in positions:
            cause = _cause(judged, i, focus)
            lacking = unmatched(judged.rows[i], focus)
            if lacking:
                cause += f", and the {focus} has a {lacking} that no other text of the row has"
            by_cause.setdefault(cause, []).append(i)
        for cause, rows in by_cause.items():
            for part in _by_wording(judged, rows, focus):
                rows = _costliest(judged, losses, part, focus)
                groups.append(ErrorGroup(kind=kind, cause=cause, words=(), rows=rows))
    groups.sort(key=lambda group: (-losses[list(group.rows)].sum(), judged.rows[group.rows[0]].id))
    return _with_words(judged, _joined(judged, losses, groups, focus), focus)


def _cause(judged: JudgedDataset, i: int, focus: str) -> str:
    rationale = judged.verdicts[i].rationale
    if not rationale.strip():
        return "the judge gives no reasons"
    if any(quoted_in(judged.rows[i], quote, focus) for quote in quotations(rationale)):
        return "the judge quotes a passage that is in the row"
    if _NOTHING.search(rationale):
        return "the judge says that it found nothing"
    return "the judge points to no passage that is in the row"


def _by_wording(judged: JudgedDataset, rows: Sequence[int], focus: str) -> list[list[int]]:
    """Split a large group by the words of the judge's reasons."""
    parts = min(_MOST_PARTS, len(rows) // _EACH)
    if len(rows) < _SPLIT_FROM or parts < 2:
        return [list(rows)]
    counted = _tfidf(
        [_wording(judged, i, focus) for i in rows], min_df=2, max_df=0.8, max_features=_FEATURES
    )
    if counted is None:
        return [list(rows)]
    from sklearn.cluster import AgglomerativeClustering  # pyright: ignore[reportMissingTypeStubs]

    table: FloatArray = counted[0].toarray()
    # Ward keeps parts from being one row and all the rest; its time grows with the square of the
    # rows.
    ward: Any = AgglomerativeClustering(n_clusters=parts, linkage="ward")
    labels: list[int] = ward.fit_predict(table[:_CLUSTERED]).tolist()
    means = np.array(
        [table[: len(labels)][np.array(labels) == label].mean(axis=0) for label in range(parts)]
    )
    labels += np.argmax(table[len(labels) :] @ means.T, axis=1).tolist()
    return [
        [i for i, label in zip(rows, labels, strict=True) if label == part] for part in range(parts)
    ]


def _wording(judged: JudgedDataset, i: int, focus: str) -> str:
    """The judge's own words: its reasons without what it quotes of the row."""
    lines = judged.verdicts[i].rationale.splitlines()
    return " ".join(line for line in lines if not quoted_in(judged.rows[i], line, focus))


def _costliest(
    judged: JudgedDataset, losses: FloatArray, rows: Sequence[int], focus: str
) -> tuple[int, ...]:
    """Order rows by their loss; the second row of a document or text comes after the first ones of
    all others.
    """
    order = sorted(rows, key=lambda i: (-losses[i], judged.rows[i].id))
    seen: Counter[str] = Counter()
    places: dict[int, int] = {}
    for i in order:
        keys = {f"group {judged.rows[i].group_key}", f"text {judged.rows[i].inputs.get(focus)}"}
        places[i] = max(seen[key] for key in keys)
        seen.update(keys)
    return tuple(sorted(order, key=lambda i: places[i]))


def _joined(
    judged: JudgedDataset, losses: FloatArray, groups: list[ErrorGroup], focus: str
) -> list[ErrorGroup]:
    """Join the small groups of a kind beyond the largest ones; every kind keeps a group of its
    own.
    """
    kinds = dict.fromkeys(group.kind for group in groups)
    room = max(MOST_GROUPS - len(kinds), 0)
    largest, rest = groups[:room], groups[room:]
    for kind in kinds:
        others = [group for group in rest if group.kind == kind]
        if len(others) == 1:
            largest.append(others[0])
        elif others:
            rows = [i for group in others for i in group.rows]
            largest.append(
                ErrorGroup(
                    kind=kind,
                    cause="of several causes",
                    words=(),
                    rows=_costliest(judged, losses, rows, focus),
                )
            )
    return largest


def _with_words(
    judged: JudgedDataset, groups: Sequence[ErrorGroup], focus: str
) -> tuple[ErrorGroup, ...]:
    """Name each group by the words that it has more of than the errors on the whole."""
    if len(groups) < 2:
        return tuple(groups)
    texts = [_wording(judged, i, focus) for group in groups for i in group.rows]
    counted = _tfidf(texts, min_df=2, max_df=0.6, stop_words="english")
    if counted is None:
        return tuple(groups)
    table: FloatArray = counted[0].toarray()
    names = counted[1]
    named: list[ErrorGroup] = []
    first = 0
    for group in groups:
        own: FloatArray = table[first : first + len(group.rows)].mean(axis=0) - table.mean(axis=0)
        first += len(group.rows)
        order: list[int] = np.argsort(-np.round(own, 9), kind="stable")[:_WORDS].tolist()
        named.append(replace(group, words=tuple(names[k] for k in order if own[k] > 0)))
    return tuple(named)


def rows_by_loss(
    groups: Sequence[ErrorGroup], losses: FloatArray, most: int
) -> list[tuple[int, int]]:
    """Choose which errors to show: each group gets rows in proportion to its share of the loss
    (D'Hondt's method).

    Args:
        groups: The largest share first.
        losses: Of each scored row; shape (n,).
        most: How many rows at most.

    Returns:
        Pairs of a group's number, from 1, and a position among the scored rows, in the order in
        which they were chosen.
    """
    chosen: list[tuple[int, int]] = []
    taken = [0] * len(groups)
    shares = [float(losses[list(group.rows)].sum()) for group in groups]
    while len(chosen) < most:
        open_groups = [k for k, group in enumerate(groups) if taken[k] < len(group.rows)]
        if not open_groups:
            break
        k = max(open_groups, key=lambda k: (shares[k] / (taken[k] + 1), -k))
        chosen.append((k + 1, groups[k].rows[taken[k]]))
        taken[k] += 1
    return chosen


def contrasts(judged: JudgedDataset, errors: Sequence[int], inside: BoolArray) -> dict[int, int]:
    """Return for errors a row that the judge rightly decided as it wrongly decided this one.

    A rule against the error has to leave that row as it is. It is the row whose texts have most of
    what the judge gave as its reason for the error, so that the reason alone does not tell the two
    apart. Taken from outside the slice, it tells a rule that holds in the slice from one that holds
    everywhere. No row stands beside two errors.

    Args:
        judged: Judged rows.
        errors: Positions among the scored rows, the most important first.
        inside: Whether each scored row is in the slice; shape (n,).
    """
    right: list[int] = np.flatnonzero(~judged.wrong & ~inside).tolist()
    if len(right) < len(errors):
        right = np.flatnonzero(~judged.wrong).tolist()
    right = right[:_COMPARED]
    if not errors or not right:
        return {}
    texts = [" ".join(judged.rows[i].inputs.values()) for i in right]
    counted = _tfidf([*texts, *(_pointed_at(judged, i) for i in errors)])
    if counted is None:
        return {}
    similarity: FloatArray = (counted[0][len(right) :] @ counted[0][: len(right)].T).toarray()
    decided = judged.score if judged.scale.kind == "choice" else judged.predicted
    beside: dict[int, int] = {}
    for k, error in enumerate(errors):
        near: FloatArray = similarity[k]
        order: list[int] = np.argsort(-np.round(near, 9), kind="stable").tolist()
        taken = set(beside.values())
        for j in order:
            if right[j] not in taken and decided[right[j]] == decided[error]:
                beside[error] = right[j]
                break
    return beside


def _pointed_at(judged: JudgedDataset, i: int) -> str:
    """Return what the judge quotes in its reasons, else its reasons, else the texts of the row."""
    rationale = judged.verdicts[i].rationale
    return " ".join(quotations(rationale)) or rationale or " ".join(judged.rows[i].inputs.values())


def _tfidf(
    texts: Sequence[str], **options: object
) -> tuple[Any, list[str]] | None:  # Any: a sparse matrix
    """Return the TF-IDF of texts, shape (texts, words), and the words; None where there are no
    words.
    """
    from sklearn.feature_extraction.text import (  # pyright: ignore[reportMissingTypeStubs]
        TfidfVectorizer,
    )

    counter: Any = TfidfVectorizer
    vectorizer = counter(sublinear_tf=True, **options)
    try:
        table = vectorizer.fit_transform(texts)
    except ValueError:  # not one word is left
        return None
    return table, [str(word) for word in vectorizer.get_feature_names_out()]
