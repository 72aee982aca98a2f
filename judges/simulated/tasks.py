"""The simulated model's answers to tasks other than judging: split, pick out, rank, define.

Each task is known by the sentence its system message opens with. The answers follow from the words of the
request alone, and are plausible rather than good: clauses for claims, shared words for relevance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import orjson

from .fields import FieldFinder
from .rules import Rules
from .text import stem

Fields = Mapping[str, str]

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(r";\s+|,\s+(?:and|but|while|whereas|although)\s+")
_LEAST_CLAUSE = 4
"""Words a clause must have to be a claim of its own."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBERED = re.compile(r"(?m)^\[(\d{1,6})\] ?(.*)$")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_INSTRUCTION = re.compile(r"(?s)\[\[ ## basic_instruction ## \]\]\n(.*?)\n\s*(?:\[\[ ## |Respond with the )")
_TALK = (
    "sure certainly course great question thank thanks hello hope help happy feel free ask let know here following "
    "summary answer provide please anything else further information"
)
_TALK_KEYS = frozenset(stem(word) for word in _TALK.split())
_MOST_EXAMPLES = 6


def basic_instruction(system: str, user: str) -> str | None:
    """Return the instruction that DSPy's MIPROv2 wants another of; None where this is no such request."""
    found = _INSTRUCTION.search(user) if "`proposed_instruction`" in system else None
    return found[1].strip() if found else None


class TaskWriter:
    """Answers the requests that `judges/instruction.py` makes."""

    def __init__(self, rules: Rules, finder: FieldFinder) -> None:
        self._stopwords = rules.lexicon.stopwords
        self._finder = finder

    def write(self, system: str, user: str) -> str | None:
        """Return the reply as JSON; None where the request is none of these tasks."""
        opening = system.lstrip().partition(".")[0].strip().lower()
        task = self._tasks().get(opening)
        if task is None:
            return None
        return orjson.dumps(task({block.name: block.text for block in self._finder.fences(user)})).decode()

    def _tasks(self) -> dict[str, Callable[[Fields], dict[str, object]]]:
        return {
            "you split a response into claims": self._split,
            "you pick out trivial claims": self._trivial,
            "you rank passages by their relevance to a search query": self._rank,
            "you define relevance for a search query": self._define,
            "you improve a definition of relevance": self._improve,
        }

    def _split(self, fields: Fields) -> dict[str, object]:
        sentences = (_BULLET.sub("", s).strip() for s in _SENTENCE.split(fields.get("response", "")))
        return {"claims": [claim for sentence in sentences if sentence for claim in _clauses(sentence)]}

    def _trivial(self, fields: Fields) -> dict[str, object]:
        claims = _numbered(fields.get("claims", ""))
        return {"trivial": [number for number, claim in claims if self._says_nothing(claim)]}

    def _says_nothing(self, claim: str) -> bool:
        words = _WORD.findall(claim)
        named = any(w[0].isupper() and len(w) > 1 for w in words[1:])
        known = "know" in claim.lower() and re.search(r"n['’]t\b|\bnot\b", claim.lower())
        return not (named or known or any(c.isdigit() for c in claim) or set(self._keys(claim)) - _TALK_KEYS)

    def _rank(self, fields: Fields) -> dict[str, object]:
        wanted = set(self._keys(fields.get("query", "")))
        shares = [
            (-len(wanted & set(self._keys(text))) / max(1, len(wanted)), n)
            for n, text in _numbered(fields.get("passages", ""))
        ]
        return {"ranking": [number for _, number in sorted(shares)]}

    def _define(self, fields: Fields) -> dict[str, object]:
        query = " ".join(fields.get("query", "").split())
        words = self._content(query)[:_MOST_EXAMPLES]
        meaning = f"The searcher wants to know: {query} A passage must deal with {_listed(words)}."
        return {"meaning": meaning, "examples": [f"statements about {word}" for word in words]}

    def _improve(self, fields: Fields) -> dict[str, object]:
        definition = fields.get("definition", "")
        known = {*self._keys(definition), *self._keys(fields.get("query", ""))}
        texts = [text for _, text in _numbered(fields.get("passages", ""))]
        # How many passages have a word, not how often one passage repeats it.
        words = (word for text in texts for word in self._content(text))
        seen = Counter(word for word in words if not word.isdigit() and stem(word) not in known)
        fresh = [word for word, _ in sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))][:_MOST_EXAMPLES]
        kept = [text.lstrip("- ") for text in re.findall(r"(?m)^(?:- |\d+\. )(.+)$", definition)]
        meaning = definition.partition("\n")[0] or self._define(fields)["meaning"]
        return {"meaning": meaning, "examples": [*kept, *(f"statements about {word}" for word in fresh)]}

    def _content(self, text: str) -> list[str]:
        words = (word.lower() for word in _WORD.findall(text))
        return [w for w in dict.fromkeys(words) if len(w) > 2 and w not in self._stopwords]

    def _keys(self, text: str) -> list[str]:
        return [stem(word) for word in self._content(text)]


def _clauses(sentence: str) -> list[str]:
    """Cut a sentence at its clauses where every part is long enough to stand alone; never inside quotation marks."""
    parts = _CLAUSE.split(sentence)
    if any(len(part.split()) < _LEAST_CLAUSE or part.count('"') % 2 for part in parts):
        return [sentence]
    return [part.strip() for part in parts]


def _numbered(text: str) -> list[tuple[int, str]]:
    return [(int(number), body) for number, body in _NUMBERED.findall(text)]


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "what the query names"
