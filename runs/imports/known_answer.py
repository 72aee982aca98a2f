"""What is known of a prompt's answer: by its own words, by its file beside them, and by what the
user says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ...judges import InputError, OutputScale
from .file_facts import FileFacts, ordered_by_scores
from .foreign_judge import AddOptions, ForeignJudge
from .label_order import in_order
from .stated_answer import Question, StatedAnswer, ask_for_order, named_scale, read_answer
from .stated_fields import json_fields
from .stated_order import order_by_passing
from .stated_scale import of_numbers, with_halves

_NAMED_FIELD = re.compile(
    r"\b(boolean|integer|number|score|rating|label|verdict) (?:field |key |property )?(?:called"
    r"|named) [\"'`](\w+)[\"'`]",
    re.IGNORECASE,
)
"""The one field of an answer that is named outside the words that ask for it."""
_SET_TO_TRUE = re.compile(
    r"\b(?:set|put|setze|mets|pon)\s+(?:the\s+)?[\"'`]?(?P<set>\w+)[\"'`]?\s+(?:field\s+)?(?:to|as|auf|à|en|a)\s+[\"'`]?(?:true|false)\b"
    r"|[\"'`]?\b(?P<is>pass(?:ed)?)[\"'`]?\s*(?:is|=|:|must be|should"
    r" be)\s*[\"'`]?(?:true|false)\b",
    re.IGNORECASE,
)
"""Words on a field that is true or false: "set pass to true only if ..."."""


def known_answer(judge: ForeignJudge, asks: str, whole: str, options: AddOptions) -> StatedAnswer:
    labels, facts = options.labels, judge.beside
    if judge.labels and not labels and not options.choice:
        labels = (
            in_order(judge.labels, whole) or ordered_by_scores(judge.labels, facts.scores) or ()
        )
    if not json_fields(asks) and re.search(r"\bjson\b", asks, re.IGNORECASE):
        asks += "".join(f'\n{{"{name}": {kind}}}' for kind, name in _NAMED_FIELD.findall(whole)[:1])
    beside = _schema_beside(judge, asks)
    if beside:
        asks += f"\nJSON: {beside}"
    verdict = options.verdict or (judge.verdict if judge.verdict in json_fields(asks) else None)
    answer = read_answer(asks, whole, () if options.choice else labels, verdict)
    scale, questions = answer.scale, answer.questions
    if scale is None and facts.numbers and not labels and not judge.labels:
        scale, questions = of_numbers(facts.numbers), ()
    if (
        facts.labels
        and not labels
        and not judge.labels
        and all(q.option != "verdict" for q in questions)
    ):
        scale, questions = _with_labels_beside(scale, questions, facts, whole)
    if options.choice and not options.labels:
        raise InputError("--choice needs the labels", hint="--labels A,B,C --choice")
    if options.choice:
        scale = OutputScale(kind="choice", labels=options.labels, threshold=1.0)
    own = (
        scale is not None and scale.kind == "binary" and "score" not in json_fields(asks)
    )  # promptfoo's "pass"
    own = own and judge.verdict == "" and not judge.reply_schema
    if judge.scale and options.verdict in (None, judge.verdict) and not labels and not own:
        scale = judge.scale
    if options.scale:
        scale = options.scale
    if judge.labels and not labels and not options.scale and not options.choice:
        scale, questions = None, (ask_for_order(judge.labels),)
    elif scale is not None:
        questions = tuple(question for question in questions if question.option == "verdict")
    listed = (
        questions[0].labels if scale is None and len(questions) == 1 and not options.choice else ()
    )
    if ordered := order_by_passing(listed, whole, facts):
        scale, questions = named_scale(ordered), ()
    schema = dict(judge.reply_schema) if judge.reply_schema is not None else answer.reply_schema
    names = {label.casefold() for label in scale.labels} if scale else set[str]()
    if judge.reply_schema and names == {"true", "false"} and (truth := _SET_TO_TRUE.search(whole)):
        field = truth["set"] or truth["is"]
        schema = {field if kind == "score" else name: kind for name, kind in schema.items()}
    if scale is not None and not options.scale and not labels:
        scale = with_halves(scale, f"{whole}\n{asks}")
    told = answer.told and not beside
    return replace(answer, scale=scale, questions=questions, reply_schema=schema, told=told)


def _schema_beside(judge: ForeignJudge, text: str) -> str:
    """Return the answer's fields that a file asks for beside its prompt; empty where the prompt
    names some itself.
    """
    if judge.reply_schema is not None or not judge.beside.answer_fields or json_fields(text):
        return ""
    return _as_object(judge.beside.answer_fields)


def _as_object(fields: Mapping[str, str]) -> str:
    """Write fields as the object that a prompt would show; `a.b` is a field of the object `a`."""
    written: dict[str, str] = {}
    inner: dict[str, dict[str, str]] = {}
    for path, said in fields.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = said
            said = _as_object(inner[name])
        written[name] = said
    return "{" + ", ".join(f'"{name}": {said}' for name, said in written.items()) + "}"


def _with_labels_beside(
    scale: OutputScale | None, questions: tuple[Question, ...], facts: FileFacts, whole: str
) -> tuple[OutputScale | None, tuple[Question, ...]]:
    """Return the scale with the labels that the file names beside the prompt, or the question for
    their order.
    """
    labels = facts.labels
    ordered = ordered_by_scores(labels, facts.scores) or in_order(labels, whole)
    if scale is None:
        return (named_scale(ordered), ()) if ordered else (None, (ask_for_order(labels),))
    if {label.casefold() for label in scale.labels} == {label.casefold() for label in labels}:
        by_scores = ordered_by_scores(labels, facts.scores)
        return (named_scale(by_scores) if by_scores else scale), questions
    if scale.labels and all(
        label.casefold() not in {other.casefold() for other in scale.labels} for label in labels
    ):
        return scale, questions  # labels of something else in the file
    return (None, (ask_for_order(labels),)) if scale.labels else (scale, questions)


def ask_for_threshold(words: str, labels: tuple[str, ...]) -> Question:
    """Ask from which grade a row passes, where the words do not fit a scale on which more is
    better.
    """
    text = (
        f"which grades pass, as it says {words!r:.80}? (--threshold N, or --labels with the worst"
        " first)"
    )
    return Question("threshold", text, labels, words)


def with_threshold(scale: OutputScale, options: AddOptions) -> OutputScale:
    if options.threshold is None:
        return scale
    if options.threshold in scale.labels:
        return replace(scale, threshold=float(scale.labels.index(options.threshold)))
    try:
        return replace(scale, threshold=scale.written(float(options.threshold)))
    except ValueError:
        known = ", ".join(scale.labels) or f"a number from {scale.low} to {scale.high}"
        raise InputError(
            f"the threshold {options.threshold!r} is not on the scale", hint=known
        ) from None
