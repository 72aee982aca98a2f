"""Lexical features of a focus text against a ground text: all that the simulated judge sees of a
row.

Groundedness looks for a statement (focus) in its source (ground); relevance looks for a query
(focus) in a passage or an answer (ground); correctness looks for the gold answer (focus) in the
answer (ground).
"""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .rules import Kind, Rules, TaskName, compiled

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,:]\d+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(
    r"[;:]\s+|,?\s+(?:but|while|although|whereas|which|who|because)\s+|,\s+(?:and\s+)?|\s+and\s+"
)
_MARKERS = re.compile(r"(?m)^\s*\d{1,2}[.)]\s|\[\d{1,3}\]")
_SUFFIXES = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ingly", ""),
    ("edly", ""),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What was found in one pair of texts; every number lies in [0, 1]."""

    values: tuple[float, ...]
    """In the order of `FEATURES`."""
    evidence: str
    """The sentence of the ground text that shares most with the focus."""
    missing: tuple[str, ...]
    """Numbers and names of the focus that the ground does not have."""
    digest: bytes
    """Identifies the two texts; the row's share of the noise hangs on it."""

    def __getitem__(self, name: str) -> float:
        return self.values[FEATURES.index(name)]


FEATURES = (
    "coverage",  # weighted share of the focus's content words found anywhere in the ground
    "window",  # the same within three neighbouring sentences, clause by clause
    "weakest",  # the same for the clause that is backed worst
    "bigram",  # share of the focus's neighbouring content words that are neighbours in the ground
    "paraphrase",  # found together, in other words
    "scattered",  # found, but not together
    "loose",  # found, but without any wording in common
    "partial",  # one clause is backed and another is not
    "numbers",  # the ground lacks numbers of the focus: 0 for none, above a half for one, 1 for all
    "names",  # the same for names
    "flipped",  # a negation or an opposite on one side only
    "abstains",  # the judged text says that it does not know
    "kind_match",  # what the question word asks for is there
    "kind_miss",  # it is not
    "short",  # the ground is a few words
    "long",  # the ground is long
    "echo",  # share of the ground's content words that stand in the focus
    "planted",  # the judged texts tell the judge what to answer
    # the first sentence of the ground holds the focus word for word; read for gold answers alone
    "verbatim",
)


class Reader:
    """Turns pairs of texts into features, and remembers them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._lexicon = rules.lexicon
        self._key = lru_cache(maxsize=1 << 17)(self._key_of)
        self._antonyms = [(self._key(a), self._key(b)) for a, b in rules.lexicon.antonyms]
        self._functional = {self._key(w) for w in rules.lexicon.functional}
        self._cache: dict[bytes, Features] = {}
        self._lock = threading.Lock()

    def features(self, task: TaskName, focus: str, ground: str) -> Features:
        """Return the features of a pair; the first sight of it costs most."""
        digest = hashlib.blake2b(
            f"{task}\0{len(focus)}\0{focus}\0{ground}".encode("utf-8", "replace"), digest_size=16
        )
        key = digest.digest()
        features = self._cache.get(key)
        if features is None:
            limits = self._rules.limits
            features = self._read(
                task, focus[: limits["focus_chars"]], ground[: limits["ground_chars"]], key
            )
            # Two threads may read the same pair; only the eviction must not run twice at once.
            with self._lock:
                while len(self._cache) >= limits["cached_pairs"]:
                    self._cache.pop(next(iter(self._cache)))
                self._cache[key] = features
        return features

    def _read(self, task: TaskName, focus: str, ground: str, digest: bytes) -> Features:
        rules, shape = self._rules.tasks[task], self._rules.shape
        if rules.lines:
            focus = self._narrowed(focus, ground)
        parsed_focus = _Focus(focus, self)
        parsed_ground = _Ground(ground, parsed_focus, self)
        coverage, window, weakest, strongest = parsed_ground.cover(parsed_focus)
        bigram = coverage
        if parsed_focus.bigrams:
            bigram = len(parsed_focus.bigrams & parsed_ground.bigrams) / len(parsed_focus.bigrams)
        missing_numbers = [key for key in parsed_focus.numbers if key not in parsed_ground.present]
        missing_names = [key for key in parsed_focus.names if key not in parsed_ground.present]
        judged = focus if rules.judged == "focus" else ground
        match, miss = self._kind(task, focus, ground, parsed_ground)
        features = {
            "coverage": coverage,
            "window": window,
            "weakest": weakest,
            "bigram": bigram,
            "paraphrase": window * (1.0 - bigram),
            "scattered": max(0.0, coverage - window),
            "loose": coverage if bigram < 0.2 else 0.0,
            "partial": float(strongest >= 0.6 and weakest < 0.45),
            "numbers": _lacking(len(missing_numbers), len(parsed_focus.numbers)),
            "names": _lacking(len(missing_names), len(parsed_focus.names)),
            "flipped": float(
                window >= shape["window_for_flip"] and self._flipped(parsed_focus, parsed_ground)
            ),
            "abstains": float(self._lexicon.abstains.search(judged[:400]) is not None),
            "kind_match": match,
            "kind_miss": miss,
            "short": max(0.0, 1.0 - parsed_ground.words / shape["short_words"]),
            "long": min(1.0, parsed_ground.words / shape["long_words"]),
            "echo": parsed_ground.echo,
            "planted": float(self._lexicon.planted.search(judged) is not None),
            "verbatim": float("verbatim" in rules.base and _holds(ground, focus)),
        }
        values = tuple(features[name] for name in FEATURES)
        missing = tuple(parsed_focus.surface[key] for key in (*missing_numbers, *missing_names)[:6])
        return Features(values=values, evidence=parsed_ground.best, missing=missing, digest=digest)

    def _narrowed(self, focus: str, ground: str) -> str:
        """Return the first line and the one other line of which the ground has the largest share of
        words.

        A definition lists examples of what is sought, and one of them is enough.
        """
        first, *others = [line for line in focus.splitlines() if line.strip()] or [""]
        if not others:
            return first
        ground_keys = set(self.keys(ground))
        shares: list[float] = []
        for line in others:
            keys = set(self.keys(line))
            shares.append(len(keys & ground_keys) / max(1, len(keys)))
        return f"{first}\n{others[shares.index(max(shares))]}"

    def _flipped(self, parsed_focus: _Focus, parsed_ground: _Ground) -> bool:
        keys = {self._key(word) for word in _TOKEN.findall(parsed_ground.best)}
        focus_negated, ground_negated = (
            self._negated(parsed_focus.text),
            self._negated(parsed_ground.best),
        )
        if (focus_negated & keys) - ground_negated or (
            ground_negated & parsed_focus.weights.keys()
        ) - focus_negated:
            return True
        for one, other in self._antonyms:
            if one in parsed_focus.weights and other in keys and one not in keys:
                return True
            if other in parsed_focus.weights and one in keys and other not in keys:
                return True
        return False

    def _negated(self, text: str) -> set[str]:
        """Return the content words that stand shortly behind a negation."""
        words = _TOKEN.findall(text)
        reach = int(self._rules.shape["negation_reach"])
        negated: set[str] = set()
        for i, word in enumerate(words):
            lower = word.lower().replace("’", "'")
            if lower in self._lexicon.negators or lower.endswith("n't"):
                negated.update(self._key(following) for following in words[i + 1 : i + 1 + reach])
        # The key of an empty word.
        negated.discard("")
        return negated

    def _kind(
        self, task: TaskName, focus: str, ground: str, parsed_ground: _Ground
    ) -> tuple[float, float]:
        """Return whether the ground holds (1, 0), lacks (0, 1) or need not hold (0, 0) the kind
        asked for.
        """
        kind = self.kind_of(focus)
        short = (
            task == "answer_relevance" and parsed_ground.words <= self._rules.shape["short_words"]
        )
        if not self._rules.tasks[task].asks or (kind is None and not short):
            return 0.0, 0.0
        if kind is None:
            return 0.5, 0.0
        present = (
            compiled(kind.evidence).search(ground if short else parsed_ground.around) is not None
        )
        if short:
            present = present and _plausible_short(kind, ground)
        return float(present), float(not present)

    def kind_of(self, query: str) -> Kind | None:
        """Return the kind of thing a query asks for, or None."""
        return next(
            (kind for kind in self._rules.kinds if compiled(kind.asks).search(query[:400])), None
        )

    def keys(self, text: str) -> list[str]:
        """Return the content words of a text as stems, in order."""
        return [key for word in _TOKEN.findall(text) if (key := self._key(word))]

    def _weight(self, key: str) -> float:
        """Longer words say more; numbers say most; words that only shape a question say little."""
        if key in self._functional:
            return self._rules.shape["functional_weight"]
        return 1.5 if key[0].isdigit() else min(2.0, 0.6 + 0.12 * len(key))

    def _key_of(self, word: str) -> str:
        lower = word.lower().replace("’", "'")
        if lower in self._lexicon.numbers:
            return self._lexicon.numbers[lower]
        if lower[0].isdigit():
            return lower.replace(",", "").removesuffix(".0").removesuffix(".00")
        # "i'm" and "they've" are as empty as "i" and "they".
        empty = lower in self._lexicon.negators or lower.split("'")[0] in self._lexicon.stopwords
        return "" if empty else stem(lower)


def _lacking(missing: int, parsed_focus: int) -> float:
    return 0.5 + 0.5 * missing / parsed_focus if missing else 0.0


def _holds(text: str, phrase: str) -> bool:
    """Whether the first sentence of a text has a phrase word for word; `yes` and `no` have no
    content words to find.
    """
    words = [word.lower() for word in _TOKEN.findall(phrase)]
    first = next((part for part in _SENTENCE.split(text[: len(phrase) + 400].strip()) if part), "")
    text_words = [word.lower() for word in _TOKEN.findall(first)]
    if not words:
        return False
    # Between separators, so that a match cannot begin or end inside a word.
    return f"\0{chr(0).join(words)}\0" in f"\0{chr(0).join(text_words)}\0"


def stem(word: str) -> str:
    """Cut the commonest English endings off a lower-case word."""
    word = word.removesuffix("'s").removesuffix("'")
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)] + instead
            break
    else:
        if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
            word = word[:-1]
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _plausible_short(kind: Kind, answer: str) -> bool:
    if kind.name == "choice":
        return True
    text = answer.strip().lower()
    if text.rstrip(".!") in ("yes", "no"):
        return False
    return kind.name not in ("person", "place") or not text[:1].isdigit()


class _Focus:
    """The text that is looked for: its content words, clauses, numbers and names."""

    def __init__(self, text: str, reader: Reader) -> None:
        key_of = reader._key
        text = _MARKERS.sub(" ", text)
        self.text = text
        self.surface: dict[str, str] = {}
        self.numbers: list[str] = []
        self.names: list[str] = []
        self.bigrams: set[tuple[str, str]] = set()
        self.clauses: list[list[str]] = []
        least = int(reader._rules.shape["clause_words"])
        for sentence in _SENTENCE.split(text):
            words = _TOKEN.findall(sentence)
            self._note_names(words, key_of)
            self.bigrams.update(pairwise(reader.keys(sentence)))
            self._note_clauses(sentence, least, key_of)
        self.weights: dict[str, float] = {}
        for clause in self.clauses:
            for key in clause:
                if key not in self.weights:
                    self.weights[key] = reader._weight(key)
        self.numbers = [key for key in self.weights if key[0].isdigit()]

    def _note_names(self, words: list[str], key_of) -> None:
        for i, word in enumerate(words):
            if not word[0].isupper() or len(word) < 2:
                continue
            inside = i > 0 or (len(words) > 1 and words[1][0].isupper())
            key = key_of(word)
            if inside and key and not key[0].isdigit() and key not in self.names:
                self.names.append(key)
                self.surface.setdefault(key, word)

    def _note_clauses(self, sentence: str, least: int, key_of) -> None:
        fresh = True
        for part in _CLAUSE.split(sentence):
            keys = []
            for word in _TOKEN.findall(part):
                if key := key_of(word):
                    keys.append(key)
                    self.surface.setdefault(key, word)
            if not keys:
                continue
            if not fresh and (len(keys) < least or len(self.clauses[-1]) < least):
                self.clauses[-1].extend(keys)
            else:
                self.clauses.append(keys)
            fresh = False


class _Ground:
    """The text that is searched: where it has the focus's words."""

    def __init__(self, text: str, parsed_focus: _Focus, reader: Reader) -> None:
        index = {key: i for i, key in enumerate(parsed_focus.weights)}
        sentences = [sentence for sentence in _SENTENCE.split(text) if sentence]
        hits: list[tuple[int, int]] = []
        self.bigrams: set[tuple[str, str]] = set()
        seen: set[str] = set()
        self.words = 0
        for at, sentence in enumerate(sentences):
            keys = reader.keys(sentence)
            self.words += len(keys)
            seen.update(keys)
            before = ""
            for key in keys:
                if key in index:
                    hits.append((index[key], at))
                    if before:
                        self.bigrams.add((before, key))
                    before = key
                else:
                    before = ""
        self._index = index
        self.present = index.keys() & seen
        self.echo = len(self.present) / len(seen) if seen else 0.0
        self._grid = np.zeros((len(index), max(1, len(sentences))), np.float64)
        for row, column in hits:
            self._grid[row, column] = 1.0
        self._weights = np.fromiter(parsed_focus.weights.values(), np.float64, len(index))
        self.best = self.around = ""
        scores = self._weights @ self._grid if index else np.zeros(1)
        best = int(scores.argmax())
        if sentences and scores[best] > 0:
            self.best = sentences[best][:400]
            self.around = " ".join(
                sentence[:600] for sentence in sentences[max(0, best - 1) : best + 2]
            )

    def cover(self, parsed_focus: _Focus) -> tuple[float, float, float, float]:
        """Return coverage anywhere, in the best windows, of the weakest and of the strongest
        clause.
        """
        total = float(self._weights.sum())
        if not total:
            return 0.0, 0.0, 0.0, 0.0
        coverage = float(self._weights @ self._grid.max(axis=1)) / total
        # A window is a sentence with its neighbours; a word counts once in it.
        near: npt.NDArray[np.float64] = self._grid.copy()
        near[:, 1:] += self._grid[:, :-1]
        near[:, :-1] += self._grid[:, 1:]
        np.minimum(near, 1.0, out=near)
        parts = np.zeros((len(parsed_focus.clauses), len(self._index)))
        for i, clause in enumerate(parsed_focus.clauses):
            for key in clause:
                parts[i, self._index[key]] = parsed_focus.weights[key]
        sizes = parts.sum(axis=1)
        backed = (parts @ near).max(axis=1) / sizes
        return (
            coverage,
            float(backed @ sizes / sizes.sum()),
            float(backed.min()),
            float(backed.max()),
        )
