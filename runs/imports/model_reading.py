"""A model's reading of a person's prompt: what it quotes is looked up in it, and compared with our own reading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from ...judges import InputError, JudgeSettings, OutputScale, Unfilled, ask_instruction, load_instruction
from ...judges.models import Client
from ...judges.scale import parse_label_scale
from ..exports.template_parts import Field
from .foreign_judge import AddOptions, ForeignJudge
from .stated_answer import Question
from .understand import Understood, understand


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """What a model says of a prompt, without what does not stand in it."""

    labels: tuple[str, ...] = ()
    scale: OutputScale | None = None
    threshold: str = ""
    verdict: str = ""
    criteria: str = ""
    """First and last words, as `--criteria` takes them."""
    unfounded: tuple[str, ...] = ()
    """What it quotes that does not stand in the prompt, or is no scale."""


def ask_for_reading(judge: ForeignJudge, client: Client, settings: JudgeSettings) -> ModelReading | str:
    """Have a model read a prompt; return why there is no reading where its reply cannot be used."""
    text = text_of(judge)
    (answer,) = ask_instruction(load_instruction("read_judge"), [{"prompt": text}], client, settings=settings)
    if isinstance(answer, Unfilled):
        return f"{answer.reason}: {answer.detail}"
    said = {name: answer.text(name).strip() for name in ("scale", "threshold", "verdict", "first_words", "last_words")}
    return check_reading(text, tuple(label.strip() for label in answer.texts("labels")), said)


def text_of(judge: ForeignJudge) -> str:
    """Return the messages of a prompt as one text, each field as `{name}`."""
    texts = ("".join(f"{{{p.name}}}" if isinstance(p, Field) else p for p in m.parts) for m in judge.messages)
    return "\n\n".join(texts)


def check_reading(text: str, labels: tuple[str, ...], said: Mapping[str, str]) -> ModelReading:
    """Keep of a model's reading what stands in the prompt.

    Args:
        text: The prompt.
        labels: The worst first.
        said: `scale`, `threshold`, `verdict`, `first_words` and `last_words`; empty where it is left open.
    """
    quoted = [*labels, said["verdict"], said["first_words"], said["last_words"]]
    unfounded = [words for words in quoted if words and not _stands_in(words, text)]
    scale = None
    try:
        scale = parse_label_scale(said["scale"]) if said["scale"] and not labels else None
    except InputError:
        unfounded.append(said["scale"])
    founded = [label for label in labels if label not in unfounded]
    criteria = [said["first_words"], said["last_words"]]
    whole = len(founded) == len(labels) and len(set(labels)) > 1
    return ModelReading(
        labels=tuple(founded) if whole else (),
        scale=scale,
        threshold=said["threshold"] if said["threshold"] in labels or _stands_in(said["threshold"], text) else "",
        verdict="" if said["verdict"] in unfounded else said["verdict"],
        criteria=" ... ".join(criteria) if all(words and words not in unfounded for words in criteria) else "",
        unfounded=tuple(unfounded),
    )


def settle(judge: ForeignJudge, options: AddOptions, reading: ModelReading) -> tuple[AddOptions, list[Question]]:
    """Answer what the words leave open by the model's reading; ask where the two contradict each other.

    What the person said is never asked again.
    """
    found = understand(judge, options)
    for option in ("labels", "scale", "verdict", "threshold", "criteria"):
        question = next((question for question in found.questions if question.option == option), None)
        answered = _answer(options, question, reading) if question else None
        if answered is None:
            continue
        with suppress(InputError):  # the model's answer does not fit the text
            found, options = understand(judge, answered), answered
    return options, [*found.questions, *_contradictions(found, options, reading)]


def _answer(options: AddOptions, question: Question, reading: ModelReading) -> AddOptions | None:
    """Return the options with the model's answer to a question; None where it has none, or it was given already."""
    if question.option in ("labels", "scale") and reading.labels and not options.labels:
        return replace(options, labels=reading.labels)
    if question.option in ("labels", "scale") and reading.scale and options.scale is None:
        return replace(options, scale=reading.scale)
    if question.option == "threshold" and reading.threshold and options.threshold is None:
        return replace(options, threshold=reading.threshold)
    if question.option == "verdict" and reading.verdict and options.verdict is None:
        return replace(options, verdict=reading.verdict)
    if question.option == "criteria" and reading.criteria and options.criteria is None:
        return replace(options, criteria=reading.criteria)
    return None


def _contradictions(found: Understood, options: AddOptions, reading: ModelReading) -> list[Question]:
    scale, first = found.scale, reading.criteria.partition(" ... ")[0]
    if scale is None or found.prompt is None:
        return []
    if (
        first
        and options.criteria is None
        and not any(_stands_in(w, found.prompt.criteria) for w in reading.criteria.split(" ... "))
    ):
        begun = f"{found.prompt.criteria[:40]!r}..."
        text = f"are its criteria {begun}, or as the model reads them {reading.criteria!r}? (--criteria)"
        return [Question("criteria", text)]
    if options.labels or options.scale:
        return []
    ours = ", ".join(scale.labels) or f"{scale.low}..{scale.high}"
    theirs = ", ".join(reading.labels)
    if (
        theirs
        and _folded(scale.labels) != _folded(reading.labels)
        and not (scale.kind == "binary" and not scale.labels)
    ):
        text = f"are its labels {ours}, as its words say, or as the model reads them {theirs}? (--labels, worst first)"
        return [Question("labels", text, reading.labels)]
    if reading.scale is not None and not reading.labels:
        mine, other = _ends(scale), _ends(reading.scale)
        if mine and other and mine != other:
            ends = "..".join(map(str, other))
            return [
                Question(
                    "scale", f"does it go from {ours}, the worst first, or {ends}, as the model reads it? (--scale)"
                )
            ]
    return []


def _ends(scale: OutputScale) -> tuple[str, str] | None:
    """Return the worst and the best number of a scale; None for words."""
    if scale.labels:
        numbers = all(re.fullmatch(r"-?\d+", label) for label in scale.labels)
        return (scale.labels[0], scale.labels[-1]) if numbers else None
    return str(scale.low), str(scale.high)


def _folded(labels: tuple[str, ...]) -> list[str]:
    return [label.casefold() for label in labels]


def _stands_in(words: str, text: str) -> bool:
    """Whether words stand in a text, whatever its line breaks and capitals."""
    return " ".join(words.split()).casefold() in " ".join(text.split()).casefold()
