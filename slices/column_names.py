"""What the name of a column gives away: a label, or the output of a judge. All that is only guessed
stands here.

A guess can be wrong, so it can be taken back (`--keep`); what the data show (`leaks.py`) cannot.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from .slice import Predicate

_LABELS = (
    "label label_* *_label *_label_* labels gold gold_* annotation* *_annotation human human_*"
    " hallucinated_* error_type error_text n_spans implicit_true_only negative_kind worst_label"
    " best_label conditional_idk"
)
LABEL_NAMES = tuple(_LABELS.split())
"""Names that bear a label by convention, matched against each part of dotted names."""
_VERDICTS = "*_guess *_confidence judge_* verdict verdicts score rl_f rb_llm rb_agg"
VERDICT_NAMES = tuple(_VERDICTS.split())
"""Names that bear a verdict by convention, matched alike."""
DIFFICULTY_NAMES = ("*_uncertain", "*_agree", "*_agreement")
"""Of those, last parts that tell how hard a row was for people, not what they decided."""

BY_NAME = "its name says that a judge gave it"
NAME_REASON = f"{BY_NAME}; --keep COLUMN searches it all the same"

_CONFIDENCES = "confidence confidences certainty logprob logprobs"
_CONFIDENCE_WORDS = frozenset(_CONFIDENCES.split())
"""Words that leave a name an output whatever follows them, such as `confidence_ask`; but for
`of`.
"""
_OUTPUTS = (
    "probability probabilities prob probs score scores verdict verdicts prediction predictions"
    " predicted pred judgement judgment judgements judgments guess"
)
_OUTPUT_WORDS = _CONFIDENCE_WORDS.union(_OUTPUTS.split())
"""Words that name an output of a judge."""
_OBJECTS = "detector detectors judges grader graders evaluator evaluators"
_OBJECT_WORDS = _OUTPUT_WORDS.union(_OBJECTS.split())
"""Words of an object's name that make all that it holds an output, such as
`other_detectors.minicheck`.
"""
_DERIVED = (
    "bin bins binned bucket buckets band range level decile deciles quartile quintile quantile"
    " percentile rank raw token tokens calibrated normalized normalised norm scaled rounded mean"
    " avg max min std pct percent value"
)
_DERIVED_WORDS = frozenset(_DERIVED.split())
"""Words after such a word that leave it an output: `confidence_bin`, and not `score_type`."""
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def convention_reason(name: str) -> str | None:
    """Say that a column bears a label or a verdict by convention, judging by its name; None where
    it does not.
    """
    parts = name.lower().split(".")
    if any(fnmatchcase(parts[-1], pattern) for pattern in DIFFICULTY_NAMES):
        return None
    for pattern in (*LABEL_NAMES, *VERDICT_NAMES):
        if _matches(parts, (pattern,)):
            return f"its name bears a label or a verdict by convention ({pattern})"
    return None


def names_an_output(name: str) -> bool:
    """Whether a column's name alone says that a judge gave its values.

    The last word counts, but for words such as `bin`: `gpt4_score` and `confidence_bin` are
    outputs; `score_type` and `confidence_of_source` are not. A confidence is one whatever follows,
    such as `confidence_ask`. So is everything inside an object of that name, such as
    `verdicts.gpt4`.
    """
    parts = name.split(".")
    lower = [part.lower() for part in parts]
    if _matches(lower, LABEL_NAMES):
        return False
    if _matches(lower, VERDICT_NAMES):
        return True
    for part in parts[:-1]:
        if not _OBJECT_WORDS.isdisjoint((part.lower(), *_words(part))):
            return True
    words = _words(parts[-1])
    for word, following in pairwise((*words, "")):
        if word in _CONFIDENCE_WORDS and following != "of":
            return True
    while len(words) > 1 and (words[-1] in _DERIVED_WORDS or words[-1].isdecimal()):
        words.pop()
    return bool(words) and words[-1] in _OUTPUT_WORDS


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(_CAMEL.sub("_", name))]


def named_outputs(predicate: Predicate) -> tuple[str, ...]:
    """Return the columns of a slice whose names say that a judge gave them."""
    return tuple(filter(names_an_output, predicate.columns))


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(part, pattern) for part in parts for pattern in patterns)
