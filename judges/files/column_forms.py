"""Files of conversations and of pairs, which no judge reads as they are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import orjson

from .column_names import SURE, concept_score, has_mark, name_table, words_of_name
from .records import Cell


def form_of(header: Sequence[str], cells: Mapping[str, Sequence[Cell]]) -> str:
    """Return what can be done with a file of conversations or of pairs; empty for one of rows."""
    for name in header:
        turns = [_is_turns(cell) for cell in cells[name] if cell not in (None, "")]
        if turns and sum(turns) > len(turns) / 2:
            return (
                f"the column {name!r} holds conversations, and a judge reads one row for each"
                " answer: write one row per answer to be judged, the answer as one column, what"
                " was said before it as another"
            )
    sides = _pair_of(header)
    if sides is None:
        return ""
    return (
        f"the columns {sides[0]!r} and {sides[1]!r} are a pair of answers to choose between, and a"
        " judge grades one answer: write two rows for each pair, the better one with label 1, the"
        " other with 0, and the same group_id"
    )


def _is_turns(cell: Cell) -> bool:
    if not isinstance(cell, str) or not cell.startswith("["):
        return False
    try:
        turns = orjson.loads(cell)
    except orjson.JSONDecodeError:
        return False
    speakers = ({"role", "content"}, {"from", "value"}, {"role", "parts"}, {"speaker", "text"})
    return bool(turns) and all(
        isinstance(turn, dict) and any(keys <= turn.keys() for keys in speakers) for turn in turns
    )


def _pair_of(header: Sequence[str]) -> tuple[str, str] | None:
    by_words = {words_of_name(name): name for name in header}
    if ("chosen",) in by_words and ("rejected",) in by_words:
        return by_words["chosen",], by_words["rejected",]
    if not any(has_mark(words, name_table().preference) for words in by_words):
        return None
    for first, second in itertools.combinations(by_words, 2):
        differing = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
        if len(first) != len(second) or len(differing) != 1:
            continue
        marks = sorted(differing[0])
        rest = tuple(word for word in first if word not in marks)
        is_answer = max(concept_score(rest, one) for one in ("answer", "statement")) if rest else 0
        if marks in (["a", "b"], ["1", "2"], ["0", "1"], ["left", "right"]) and is_answer >= SURE:
            return by_words[first], by_words[second]
    return None
