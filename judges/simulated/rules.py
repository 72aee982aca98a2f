"""The simulated model's rules as typed values, read once from `rules.yaml`, and draws that depend
on text alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ..files.small_file import read_our_yaml

T = TypeVar("T")

TaskName = Literal[
    "groundedness",
    "context_relevance",
    "answer_relevance",
    "defined_relevance",
    "answer_correctness",
    "answerability",
    "interpretation_groundedness",
]


Side = Literal["fp", "fn", "even"]
"""The kind of error that costs more."""

Pattern = str
"""A regular expression, for `compiled`."""
AnyPattern = Annotated[
    re.Pattern[str],
    BeforeValidator(lambda texts: re.compile("|".join(texts), re.IGNORECASE | re.MULTILINE)),
]
"""A list of them, of which one must match."""
Words = Annotated[frozenset[str], BeforeValidator(lambda text: frozenset(text.split()))]
"""Words between spaces."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class TaskRules(_Strict):
    """One kind of judging: what is compared with what, the weights and the cuts."""

    focus: str
    ground: str
    criterion: str
    judged: Literal["focus", "ground"]
    """Which of the two is judged: an abstention counts there."""
    asks: bool
    """Whether the focus is a query, so that the kind of thing asked for can be there or not."""
    cue: Pattern | None = None
    """Names the task in criteria quoted without a row; without one the words for focus and ground
    are counted.
    """
    lines: bool = False
    """Whether the focus is a first line together with whichever one of its further lines the ground
    has most of.
    """
    cuts: tuple[float, float, float]
    base: dict[str, float]


class Blame(_Strict):
    """When an error is put down to a missing directive."""

    error: Literal["fp", "fn"]
    feature: str
    above: float
    prior: float


class Directive(_Strict):
    """One thing a prompt may ask for: how it is recognised, what it does, how a writer words it."""

    on: list[Pattern]
    off: list[Pattern]
    cues: list[str]
    """Regular expressions; compiled where something is written, which most runs never do."""
    effects: dict[TaskName, dict[str, float]]
    blame: Blame | None = None
    feedback: list[str]
    wordings: list[str]
    against: list[str]


class Lexicon(_Strict):
    """Word lists."""

    stopwords: Words
    functional: Words
    negators: Words
    numbers: dict[str, str]
    antonyms: list[tuple[str, str]]
    abstains: AnyPattern
    planted: AnyPattern


class Kind(_Strict):
    """A kind of question, and what speaks for an answer of that kind."""

    name: str
    asks: Pattern
    evidence: Pattern


class Edits(_Strict):
    """How the optimizer side draws its answers."""

    shares: dict[str, float]
    placeholders: list[str]
    harmless_sentences: list[str]
    synonyms: list[tuple[str, str]]
    useless: list[str]


class Losses(_Strict):
    """What the loss writer answers."""

    invalid_share: float
    fp: list[str]
    fn: list[str]
    even: list[str]
    invalid: list[str]
    reasons: dict[Side, str]


class Rules(_Strict):
    """Every constant, pattern and phrase of the simulated model."""

    version: str
    """Ten hexadecimal digits; another version may answer differently, so its answers are other
    calls.
    """
    limits: dict[str, int]
    """How much text is read and how much is remembered."""
    noise: dict[str, float]
    """Standard deviations on the latent scale."""
    attention: dict[str, float]
    """How instructions are heeded, and what dilutes them."""
    confidence: dict[str, float]
    """How the stated confidence grows with the distance from the cut."""
    shape: dict[str, float]
    """Lengths and thresholds of the features."""
    tasks: dict[TaskName, TaskRules]
    fields: dict[str, list[str]]
    directives: dict[str, Directive]
    negator: Pattern
    lexicon: Lexicon
    kinds: list[Kind]
    edits: Edits
    losses: Losses


@cache
def load_rules() -> Rules:
    """Read the shipped rules; the same frozen value every time."""
    return Rules.model_validate(read_our_yaml(Path(__file__).parent / "rules.yaml"))


@cache
def compiled(pattern: Pattern) -> re.Pattern[str]:
    """Compile a pattern of the rules when it is first used; case does not matter."""
    return re.compile(pattern, re.IGNORECASE)


def draw(*parts: str | bytes | int) -> float:
    """Return a number in [0, 1) that depends on nothing but these parts."""
    return int.from_bytes(_digest(parts)[:8], "big") / 2**64


def pick(choices: Sequence[T], *parts: str) -> T:
    """Return one of the choices; which one depends on nothing but these parts."""
    return choices[int(draw(*parts) * len(choices))]


def bell(*parts: str | bytes | int) -> float:
    """Return a number with mean 0 and variance 1, never beyond 3.47, that depends on nothing but
    these parts.

    The sum of four uniform numbers (Irwin-Hall), so that the noise is bounded.
    """
    digest = _digest(parts)
    total = sum(int.from_bytes(digest[i : i + 4], "big") for i in (0, 4, 8, 12))
    return (total / 2**32 - 2.0) * 3.0**0.5


def _digest(parts: tuple[str | bytes | int, ...]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        # With its length, so that ("ab", "c") and ("a", "bc") differ.
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()
