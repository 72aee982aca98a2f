"""A model's reading of a person's prompt, of which only what stands there is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import (
    MARKED_PLACES,
    InputError,
    JudgeSettings,
    Message,
    OutputScale,
    Unfilled,
    ask_instruction,
    load_instruction,
)
from ...judges.models import Client
from ...judges.scale import BINARY, LOW_PROBABILITY, PROBABILITY, parse_label_scale
from .foreign_judge import ForeignJudge, several, text_of

_SPELLED: Mapping[str, OutputScale] = {
    "0.0..1.0": PROBABILITY,
    "1.0..0.0": LOW_PROBABILITY,
    "0..1": BINARY,
    "1..0": OutputScale(kind="binary", labels=("1", "0"), threshold=1.0),
}
_OF_JSON = ("true", "false")
"""Values that an answer in JSON may have though the prompt says only that it is a boolean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """What a model says of a prompt; quotations are spelled as they stand there."""

    places: tuple[str, ...] = ()
    """Where the texts of a row are put, as they stand in the prompt."""
    labels: tuple[str, ...] = ()
    """The worst first."""
    unordered: bool = False
    """Whether none of the labels is better than another."""
    scale: OutputScale | None = None
    threshold: str = ""
    reply_fields: tuple[str, ...] = ()
    """The fields of a JSON answer in their order; none of a text."""
    verdict: str = ""
    """The field of a JSON answer with the verdict, or the mark of one in a text."""
    confidence: str = ""
    """The field of a JSON answer with the judge's confidence."""
    unsaid: bool = False
    """Whether the prompt itself does not say how to answer."""
    criteria: str = ""
    """First and last words, as `--criteria` takes them."""
    open: str = ""
    """What the prompt leaves open of its answers, in a sentence."""
    unfounded: tuple[str, ...] = ()
    """What it quotes that does not stand in the prompt, or is no scale."""


NO_READING = ModelReading()


def reading_messages(judges: Sequence[ForeignJudge]) -> tuple[Message, ...]:
    """Return the messages with which a model is asked to read a prompt, or to tell which of several
    is the judge.
    """
    return load_instruction("read_judge").messages(_shown(judges))


def _shown(judges: Sequence[ForeignJudge]) -> dict[str, str]:
    texts = [text_of(judge) for judge in judges]
    if len(judges) > 1:
        texts = [f"{j.string}:\n{text}" for j, text in zip(judges, texts, strict=True)]
    return {"prompt": "\n\n".join(texts), "beside": judges[0].file or "nothing"}


def ask_for_reading(
    judges: Sequence[ForeignJudge], client: Client, settings: JudgeSettings
) -> tuple[ForeignJudge, ModelReading | str]:
    """Have a model read a prompt; return which of several it read, and why there is no reading
    where it cannot be used.

    Raises:
        InputError: Its reading does not tell which of several prompts is the judge.
    """
    instruction = load_instruction("read_judge")
    (answer,) = ask_instruction(instruction, [_shown(judges)], client, settings=settings)
    if isinstance(answer, Unfilled):
        return _chosen(judges, ""), f"{answer.reason}: {answer.detail}"
    judge = _chosen(judges, answer.text("prompt").strip())
    texts = {
        name: answer.text(name).strip()
        for name, kind in instruction.fields.items()
        if kind == "text"
    }
    lists = {
        name: tuple(words.strip() for words in answer.texts(name))
        for name, kind in instruction.fields.items()
        if kind == "texts"
    }
    return judge, check_reading(text_of(judge), judge.file, texts, lists)


def _chosen(judges: Sequence[ForeignJudge], name: str) -> ForeignJudge:
    """Return the prompt of a name, with a note on the others.

    Raises:
        InputError: There are several, and none of that name.
    """
    if len(judges) == 1:
        return judges[0]
    named = [judge for judge in judges if judge.string == name.rstrip(":")]
    if len(named) != 1:
        raise several(judges)
    others = ", ".join(judge.string for judge in judges if judge is not named[0])
    note = (
        f"Its file also holds {others}; the model takes {named[0].string} for the judge. --string"
        " NAME takes another."
    )
    return replace(named[0], notes=(*named[0].notes, note))


def check_reading(
    prompt: str, beside: str, texts: Mapping[str, str], lists: Mapping[str, tuple[str, ...]]
) -> ModelReading:
    """Keep of a model's reading what stands in the prompt, or in its file.

    Args:
        prompt: The prompt.
        beside: The rest of its file, as the model was shown it.
        texts: The texts that the model gives, by the fields of the instruction.
        lists: The lists that it gives.
    """
    quotes = _Quotes(f"{prompt}\n\n{beside}")
    labels = quotes.all(lists["labels"], also=_OF_JSON)
    fields = quotes.all(lists["reply_fields"], by_path=True)
    verdict, confidence = texts["verdict"], texts["confidence"]
    if lists["reply_fields"]:
        quotes.expect(verdict, verdict in fields)
        verdict = verdict if verdict in fields else ""
    elif verdict not in MARKED_PLACES:
        sides = [side for side in verdict.partition("...")[::2] if side.strip()]
        founded = "..." in verdict and bool(sides) and all(map(quotes.stands, sides))
        quotes.expect(verdict, founded)
        verdict = verdict if founded else ""
    first, last = quotes.one(texts["first_words"]), quotes.one(texts["last_words"])
    return ModelReading(
        places=tuple(row_mark for row_mark in lists["places"] if row_mark in prompt),
        labels=labels if len(set(labels)) > 1 else (),
        unordered=texts["unordered"].casefold().startswith("y"),
        scale=None if labels else quotes.scale(texts["scale"]),
        threshold=quotes.threshold(texts["threshold"], labels),
        reply_fields=fields,
        verdict=verdict,
        confidence=confidence if confidence in fields and confidence != verdict else "",
        unsaid=texts["answer"].casefold() == "unsaid" or not _Quotes(prompt).have(fields),
        criteria=f"{first} ... {last}" if first and last else "",
        open=texts["open"],
        unfounded=tuple(quotes.unfounded),
    )


class _Quotes:
    """Looks up in a text what a model quotes from it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.casefold()
        self.unfounded: list[str] = []

    def one(self, words: str) -> str:
        """Return words as the text spells them; empty where it does not have them."""
        words = words.strip()
        if not words or words in self._text:
            return words
        at = self._folded.find(words.casefold())
        if at >= 0 and len(self._folded) == len(self._text):
            return self._text[at : at + len(words)]
        self.unfounded.append(words)
        return ""

    def all(
        self, listed: Sequence[str], *, also: Sequence[str] = (), by_path: bool = False
    ) -> tuple[str, ...]:
        """Return all words of a list as the text spells them; none where one is not there.

        Args:
            listed: The words.
            also: Words that need not stand there.
            by_path: Whether words are paths such as `result.score`, of which each part stands.
        """
        spelled_words: list[str] = []
        for words in listed:
            if (
                (by_path and all(map(self.stands, words.split("."))))
                or words.casefold() in also
                or self._between(words, listed)
            ):
                spelled_words.append(words)
            elif spelled := self.one(words):
                spelled_words.append(spelled)
        return tuple(spelled_words) if len(spelled_words) == len(listed) else ()

    def _between(self, words: str, listed: Sequence[str]) -> bool:
        """Whether a grade lies between two numbers that stand in the text, as 1.5 does."""
        numbers = all(label.replace(".", "", 1).isdigit() for label in listed)
        return numbers and words not in (listed[0], listed[-1])

    def threshold(self, words: str, labels: Sequence[str]) -> str:
        """Return what passes, a label or as the text spells it, or a whole number that stands
        beside one of its: 2 where it says that 3 fails.
        """
        if words in labels:
            return words
        if words.isdecimal() and words not in self._text:
            if not any(str(int(words) + step) in self._text for step in (-1, 1)):
                self.unfounded.append(words)
            return words
        return self.one(words) or words

    def stands(self, words: str) -> bool:
        """Whether words stand in the text, whatever their capitals and blanks."""
        return "".join(words.split()).casefold() in "".join(self._folded.split())

    def have(self, fields: Sequence[str]) -> bool:
        """Whether the text has all these fields of an answer."""
        return all(self.stands(name.rpartition(".")[2]) for name in fields)

    def expect(self, words: str, founded: bool) -> None:
        """Note words that are not founded."""
        if words and not founded:
            self.unfounded.append(words)

    def scale(self, words: str) -> OutputScale | None:
        """Return the scale that words name; None where its ends do not stand in the text."""
        if not words:
            return None
        spelled = words.replace(" ", "")
        try:
            scale = _SPELLED.get(spelled) or parse_label_scale(spelled)
        except InputError:
            self.unfounded.append(words)
            return None
        ends = spelled.split("..") if scale.kind == "graded" else []
        if not all(map(self.stands, ends)):
            self.unfounded.append(words)
            return None
        return scale
