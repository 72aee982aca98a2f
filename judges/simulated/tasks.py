"""Answer tasks other than judging: split into claims, find trivial ones, rank passages, define
relevance, answer.

Each task is known by the sentence its system message opens with. The answers follow from the words
of the request alone, and are plausible rather than good: clauses for claims, shared words for
relevance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
import yaml

from .fields import fences
from .rules import Rules
from .text import stem

Fields = Mapping[str, str]

_SENTENCE = r"(?<=[.!?])\s+|\n+"
_CLAUSE = r";\s+|,\s+(?:and|but|while|whereas|although)\s+"
_LEAST_CLAUSE = 4
"""Words a clause must have to be a claim of its own."""
_BULLET = r"^\s*(?:[-*•]|\d{1,2}[.)])\s+"
_NUMBERED = r"(?m)^\[(\d{1,6})\] ?(.*)$"
_WORD = r"[^\W_]+(?:['’][^\W_]+)*"
_INSTRUCTION = r"(?s)\[\[ ## basic_instruction ## \]\]\n(.*?)\n\s*(?:\[\[ ## |Respond with the )"
_TALK = (
    "sure certainly course great question thank thanks hello hope help happy feel free ask let know"
    " here following summary answer provide please anything else further information"
)
_TALK_KEYS = frozenset(stem(word) for word in _TALK.split())
_MOST_EXAMPLES = 6
_NUMBER = r"[$€£]?\d(?:[\d.,]*\d)?(?: (?:million|billion|percent))?%?"
_HOW_MANY = r"(?i)\b(?:how (?:much|many)|what (?:was|is|were|are) the|when|which year)\b"
_LEAST_SHARED = 0.5
"""The share of what is asked that a sentence has to speak of to answer it."""
_PASSAGE = r"(?m)^\[\d{1,6}\]$"


def basic_instruction(system: str, user: str) -> str | None:
    """Return the instruction that DSPy's MIPROv2 wants another of; None where this is no such
    request.
    """
    if "`proposed_instruction`" not in system:
        return None
    match = re.search(_INSTRUCTION, user)
    return match[1].strip() if match else None


_NO_READING: dict[str, object] = {
    "prompt": "",
    "places": [],
    "labels": [],
    "unordered": "",
    "scale": "",
    "threshold": "",
    "answer": "",
    "reply_fields": [],
    "verdict": "",
    "confidence": "",
    "first_words": "",
    "last_words": "",
    "open": "",
}
"""Nothing that is asked of a prompt: what it means cannot be told from its words alone."""


@cache
def _readings() -> list[dict[str, Any]]:  # Any: YAML
    text = (files("judgewright.judges.simulated") / "readings.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["readings"]


class TaskWriter:
    """Answers the requests that `judges/instruction.py` makes."""

    def __init__(self, rules: Rules) -> None:
        self._stopwords = rules.lexicon.stopwords
        self._tasks: dict[str, Callable[[Fields], dict[str, object]]] = {
            "you split a response into claims": self._split,
            "you pick out trivial claims": self._trivial,
            "you define relevance for a search query": self._define,
            "you improve a definition of relevance": self._improve,
            "you answer a question from passages": self._answer,
            "you draft the criteria of a judge": self._draft,
            "you read the prompt of a judge": self._read,
        }

    def write(self, system: str, user: str) -> str | None:
        """Return the reply as JSON; None where the request is none of these tasks."""
        opening = system.lstrip().partition(".")[0].strip().lower()
        task = self._tasks.get(opening)
        if task is None:
            return None
        return orjson.dumps(task({block.name: block.text for block in fences(user)})).decode()

    def _split(self, fields: Fields) -> dict[str, object]:
        claims: list[str] = []
        for line in re.split(_SENTENCE, fields.get("response", "")):
            sentence = re.sub(_BULLET, "", line).strip()
            if not sentence:
                continue
            parts = re.split(_CLAUSE, sentence)
            # Never cut inside quotation marks, and only where every part is long enough to stand
            # alone.
            if any(len(part.split()) < _LEAST_CLAUSE or part.count('"') % 2 for part in parts):
                claims.append(sentence)
            else:
                claims.extend(part.strip() for part in parts)
        return {"claims": claims}

    def _trivial(self, fields: Fields) -> dict[str, object]:
        claims = _numbered(fields.get("claims", ""))
        return {"trivial": [number for number, claim in claims if self._is_trivial(claim)]}

    def _is_trivial(self, claim: str) -> bool:
        if any(character.isdigit() for character in claim):
            return False
        # A capital letter behind the first word is a name.
        if any(word[0].isupper() and len(word) > 1 for word in re.findall(_WORD, claim)[1:]):
            return False
        # That something is not known is a statement about the matter.
        lower = claim.lower()
        if "know" in lower and re.search(r"n['’]t\b|\bnot\b", lower):
            return False
        return set(self._keys(claim)) <= _TALK_KEYS

    def _define(self, fields: Fields) -> dict[str, object]:
        query = " ".join(fields.get("query", "").split())
        words = self._content(query)[:_MOST_EXAMPLES]
        topics = ", ".join(words) or "what the query names"
        meaning = f"The searcher wants to know: {query} A passage must deal with {topics}."
        return {"meaning": meaning, "examples": [f"statements about {word}" for word in words]}

    def _improve(self, fields: Fields) -> dict[str, object]:
        definition = fields.get("definition", "")
        old_keys = {*self._keys(definition), *self._keys(fields.get("query", ""))}
        # How many passages have a word, not how often one passage repeats it.
        counts: Counter[str] = Counter()
        for _, text in _numbered(fields.get("passages", "")):
            for word in self._content(text):
                if not word.isdigit() and stem(word) not in old_keys:
                    counts[word] += 1
        new_words = sorted(counts, key=lambda word: (-counts[word], word))[:_MOST_EXAMPLES]
        examples = [
            text.lstrip("- ") for text in re.findall(r"(?m)^(?:- |\d+\. )(.+)$", definition)
        ]
        examples += [f"statements about {word}" for word in new_words]
        meaning = definition.partition("\n")[0] or self._define(fields)["meaning"]
        return {"meaning": meaning, "examples": examples}

    def _answer(self, fields: Fields) -> dict[str, object]:
        """Take the sentence that shares most words with the question; where a number is asked for,
        only that.
        """
        question = fields.get("question", "")
        sought = set(self._keys(question))
        # What is asked about it, without the names of things.
        question_stems = {
            stem(word) for word in re.findall(_WORD, question) if word.islower()
        } & sought
        best, quote = 0.0, ""
        for passage in re.split(_PASSAGE, fields.get("passages", ""))[1:]:
            around = len(sought & set(self._keys(passage)))
            for sentence in re.split(_SENTENCE, passage):
                own = len(question_stems & set(self._keys(sentence)))
                if own >= _LEAST_SHARED * len(question_stems) and own + around > best:
                    best, quote = own + around, sentence.strip()
        if not quote:
            return {"quote": "", "answer": ""}
        question_numbers = set(re.findall(_NUMBER, question))
        numbers = [
            number for number in re.findall(_NUMBER, quote) if number not in question_numbers
        ]
        wants_number = re.search(_HOW_MANY, question) is not None and numbers
        return {"quote": quote, "answer": numbers[0] if wants_number else quote}

    def _read(self, fields: Fields) -> dict[str, object]:
        """Answer from the table of made-up readings; of any other prompt say nothing."""
        prompt = " ".join(fields.get("prompt", "").split())
        for made_up in _readings():
            if " ".join(made_up["prompt"].split()) in prompt:
                return _NO_READING | made_up["reading"]
        return _NO_READING

    def _draft(self, fields: Fields) -> dict[str, object]:
        described = [
            part.strip()
            for part in re.split(_SENTENCE, fields.get("description", ""))
            if part.strip()
        ]
        names = fields.get("fields", "the text")
        topics = ", ".join(self._content(" ".join(described))[:_MOST_EXAMPLES])
        rules = [part if part.endswith(".") else f"{part}." for part in described]
        rules += [f"Look in {names} for what is said of {topics}."] if topics else []
        return {"role": f"You judge {names}.", "criteria": rules}

    def _content(self, text: str) -> list[str]:
        words = dict.fromkeys(word.lower() for word in re.findall(_WORD, text))
        return [word for word in words if len(word) > 2 and word not in self._stopwords]

    def _keys(self, text: str) -> list[str]:
        return [stem(word) for word in self._content(text)]


def _numbered(text: str) -> list[tuple[int, str]]:
    return [(int(number), body) for number, body in re.findall(_NUMBERED, text)]
