"""Which of two classes, the good or the bad one, a judge calls positive; it is read from the judge
itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...judges import JudgePrompt
from .lexicon import Worth, worth_of

_GOOD_NAME = re.compile(
    r"grounded|faithful|relevan|correct|accura|helpful|support|answerab|factual|truth|quality|safe|valid|useful|coheren"
)
_BAD_NAME = re.compile(
    r"hallucin|toxic|harm|bias|unsafe|unsupported|ungrounded|error|violat|jailbreak|spam|refus|wrong|leak"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polarity:
    """What the judge's positive class is."""

    positive: Worth
    words: tuple[str, str]
    """The positive and the negative class as the judge's scale words them."""

    @classmethod
    def of(cls, prompt: JudgePrompt) -> Polarity | None:
        """Read it from the anchors and labels, else from the name, else from the criteria; None
        where these do not say.

        A judge that chooses among labels has no positive class.
        """
        scale = prompt.scale
        if scale.kind == "choice":
            return None
        low, high = _end(prompt, first=True), _end(prompt, first=False)
        positive = _differing(worth_of(high), worth_of(low)) or _of_name(prompt.name)
        positive = positive or worth_of(prompt.system) or worth_of(prompt.criteria)
        if positive is None:
            return None
        best, worst = ("grounded, relevant, correct or so", "not so")
        if positive == "bad":
            best, worst = worst, best
        return cls(positive=positive, words=(high or best, low or worst))


def _end(prompt: JudgePrompt, *, first: bool) -> str:
    """Return what the lowest or the highest grade means."""
    scale = prompt.scale
    grade = scale.low if first else scale.high
    label = scale.labels[0 if first else -1] if scale.labels else ""
    return scale.anchors.get(str(grade)) or scale.anchors.get(label) or label


def _differing(high: Worth | None, low: Worth | None) -> Worth | None:
    """Return the worth of the positive class by both ends of a scale; None where they say the same,
    or nothing.
    """
    if high == low:
        return None
    if high is not None:
        return high
    return "good" if low == "bad" else "bad"


def _of_name(name: str) -> Worth | None:
    good, bad = _GOOD_NAME.search(name.lower()), _BAD_NAME.search(name.lower())
    if (good is None) == (bad is None):
        return None
    return "good" if good else "bad"
