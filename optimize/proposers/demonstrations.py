"""Demonstrations out of labelled training rows: the row, and the reply a good judge gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...judges import Example, JudgedDataset, JudgePrompt, OutputScale, Row, Verdict
from .prompt_parts import grade_of, same_inputs
from .workbench import Trial

ERROR_TYPES = ("false positive", "false negative", "right positive", "right negative")
"""In the order in which they are shown; a choice's pairs of classes come as they occur, right ones
last.
"""
MAX_CHARS = 4_000
"""Characters of a demonstration's inputs; a longer row would crowd out the row that is judged."""
PEOPLE = "as people graded this row"
"""What stands in a text field where nobody gave a reason."""
SURE = 0.9
"""The confidence of a reply in people's name; one that is never unsure cannot be ranked by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A training row as a demonstration."""

    row: Row
    example: Example
    error: str
    """What the judge made of the row without it."""

    @property
    def group(self) -> str:
        """The row's group; its id where it has none."""
        return self.row.group or self.row.id


def list_demonstrations(
    prompt: JudgePrompt, train: Trial, explanation: str | None = None
) -> list[Demonstration]:
    """Return every training row that can be shown, the costliest of each error type first.

    Args:
        prompt: The judge.
        train: Training rows with its verdicts.
        explanation: The column with annotators' reasons.
    """
    judged = train.judged
    order = sorted(range(len(judged.rows)), key=lambda i: (-train.losses[i], judged.rows[i].id))
    demonstrations: list[Demonstration] = []
    for i in order:
        row, verdict = judged.rows[i], judged.verdicts[i]
        reason = str(row.meta.get(explanation) or "") if explanation else ""
        example = demonstrate(prompt, row, judged, verdict, reason=reason)
        if example is not None:
            demonstrations.append(
                Demonstration(row=row, example=example, error=_error_type(judged, i))
            )
    return demonstrations


def _error_type(judged: JudgedDataset, i: int) -> str:
    """Name what the judge made of a scored row: right or wrong, and on which side or in which
    classes.
    """
    if judged.scale.kind == "choice":
        label, chosen = (judged.scale.name(grade) for grade in (judged.label[i], judged.score[i]))
        return f"{label} called {chosen}" if judged.wrong[i] else f"right {label}"
    side = "positive" if judged.predicted[i] else "negative"
    return f"false {side}" if judged.wrong[i] else f"right {side}"


def demonstrate(
    prompt: JudgePrompt, row: Row, judged: JudgedDataset, verdict: Verdict, *, reason: str = ""
) -> Example | None:
    """Return a row with the reply a good judge gives; None where the row is too long or the reply
    cannot be written.

    The grade is people's. The reasons are the judge's where it gave that grade, else the
    annotator's.

    Args:
        prompt: Whose reply format is filled.
        row: A labelled row.
        judged: The table the row is from; its dataset knows the scale people graded on.
        verdict: What the judge said about the row.
        reason: The annotator's; empty for none.
    """
    if row.label is None or sum(map(len, same_inputs(prompt, row))) > MAX_CHARS:
        return None
    grade = human_grade(row.label, judged.dataset.labels, prompt.scale)
    right = grade == verdict.score
    fields = fields_of(
        prompt,
        grade,
        verdict.rationale if right else "",
        verdict.confidence if right else SURE,
        reason=reason,
    )
    reply = write_reply(prompt, fields)
    # A demonstration that the judge's own reader misreads would teach a wrong reply.
    if grade_of(prompt, reply) != grade:
        return None
    return Example(inputs={name: row.inputs[name] for name in prompt.inputs}, reply=reply)


def human_grade(label: float, labels: OutputScale, scale: OutputScale) -> float:
    """Return the grade on the judge's scale that a label stands for: itself, or the end of the
    scale it lies toward.
    """
    if scale.contains(label) and (scale.levels == labels.levels or scale.kind == "probability"):
        return label
    return float(scale.high if labels.positive(label) else scale.low)


def fields_of(
    prompt: JudgePrompt,
    grade: float,
    rationale: str,
    confidence: float | None,
    *,
    reason: str = "",
) -> dict[str, object]:
    """Return the fields of a reply in the order of the prompt's schema, the grade as the schema
    writes it.
    """
    texts = [name for name, kind in prompt.reply_schema.items() if kind == "text"]
    lines = rationale.split("\n")
    # The rationale of a verdict is its text fields, a line each; anything else cannot be put back.
    if len(lines) != len(texts) or not all(map(str.strip, lines)):
        lines = [" ".join(reason.split()) or PEOPLE] * len(texts)
    scale = prompt.scale
    score: object = scale.written(grade) if scale.kind == "probability" else int(grade)
    if scale.labels and scale.kind != "probability":
        score = scale.labels[int(grade)]
    if not prompt.reply_schema:
        return {"score": score}
    values: dict[str, object] = {
        "score": score,
        "confidence": SURE if confidence is None else confidence,
    }
    texts_in_order = iter(lines)
    fields: dict[str, object] = {}
    for name, kind in prompt.reply_schema.items():
        fields[name] = next(texts_in_order) if kind == "text" else values[kind]
    return fields


def write_reply(prompt: JudgePrompt, fields: Mapping[str, object]) -> str:
    """Write a reply in the prompt's format: a JSON object of its fields, or a line with the
    grade.
    """
    if prompt.reply_schema:
        return json.dumps({name: fields[name] for name in prompt.reply_schema}, ensure_ascii=False)
    return f"Score: {fields['score']}"


def pool(choices: Sequence[Demonstration], size: int) -> list[Demonstration]:
    """Return at most `size` demonstrations, in turn one of each error type that there is, one of a
    group.
    """
    other = dict.fromkeys(one.error for one in choices if one.error not in ERROR_TYPES)
    kinds = (*ERROR_TYPES, *sorted(other, key=lambda kind: kind.startswith("right ")))
    queues = [[one for one in choices if one.error == kind] for kind in kinds]
    taken: list[Demonstration] = []
    groups: set[str] = set()
    while any(queues):
        for queue in queues:
            # A row that must be passed over costs its type no turn.
            while queue and queue[0].group in groups:
                queue.pop(0)
            if queue and len(taken) < size:
                groups.add(queue[0].group)
                taken.append(queue.pop(0))
        if len(taken) >= size:
            break
    return taken
