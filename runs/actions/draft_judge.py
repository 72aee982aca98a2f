"""Make a judge from a description and a few labelled rows, with every reply of the model recorded
in the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from ...judges import (
    CRITERIA_PLACE,
    ClientStats,
    InputError,
    JudgePrompt,
    JudgeSettings,
    OutputScale,
)
from ...judges.drafting import LabelledExample, draft_judge
from ...judges.files import WORDS
from ...judges.files.problems import Problems
from ...judges.files.records import read_records
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..imports import named_scale, reply_clause
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace

_NO_INPUTS = ("id", "group", "group_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudge:
    """A judge that a model drafted, and what that took."""

    prompt: JudgePrompt
    stats: ClientStats
    simulated: bool


def read_examples(path: Path, label: str) -> list[LabelledExample]:
    """Read labelled rows; every other column than the label, the id and the group is a field of the
    judge.

    Raises:
        DataError: The file, or a row of it, cannot be used.
    """
    problems = Problems(path)
    records = list(read_records(path, problems))
    problems.check()
    if not records:
        raise InputError(f"{path} has no rows", hint="three rows with their verdicts are enough")
    names = [name for name in records[0].fields if name not in (*_NO_INPUTS, label)]
    examples: list[LabelledExample] = []
    for record in records:
        texts = {name: _text(record.fields.get(name)) for name in (*names, label)}
        for name in (name for name, text in texts.items() if not text.strip()):
            problems.add(record.at, f"field {name!r} is empty or missing")
        examples.append(
            LabelledExample(inputs={name: texts[name] for name in names}, label=texts[label])
        )
    problems.check()
    if not names:
        raise InputError(
            f"{path} has no column besides {label!r}",
            hint="give each row the texts that are judged",
        )
    return examples


def scale_of(
    examples: Sequence[LabelledExample], labels: tuple[str, ...], scale: OutputScale | None
) -> OutputScale:
    """Return the scale of a new judge: as it is said, else by the examples' own labels.

    Raises:
        InputError: The labels do not say which is the worst, or one of them is not on the scale.
    """
    labels_seen = list(dict.fromkeys(example.label.strip() for example in examples))
    listed = ", ".join(labels_seen)
    if labels:
        scale = named_scale(labels)
    if scale is None and set(labels_seen) <= {"0", "1"}:
        scale = OutputScale(kind="binary", threshold=1.0)
    if scale is None and all(map(_number, labels_seen)):
        raise InputError(
            f"the verdicts {listed} do not say how far the scale goes", hint="say --scale 1..5@4"
        )
    if scale is None and (ordered := _ordered(labels_seen)):
        scale = named_scale(ordered)
    if scale is None:
        raise InputError(
            f"the verdicts {listed} do not say which is the worst",
            hint=f"say --labels {','.join(labels_seen)} with the worst first",
        )
    names_of_scale = {label.casefold() for label in scale.labels}
    for label in labels_seen:
        number = _number(label)
        if (
            label.casefold() not in names_of_scale
            if names_of_scale
            else number is None or not scale.low <= number <= scale.high
        ):
            raise InputError(f"the verdict {label!r} is not on the scale {scale.describe()}")
    return scale


def new_judge(
    workspace: Workspace,
    name: str,
    description: str,
    examples: Sequence[LabelledExample],
    scale: OutputScale,
    models: ModelOptions,
    environment: Environment,
) -> NewJudge:
    """Have the model draft the judge.

    Raises:
        WorldError: The endpoint, the budget or the disk stopped it, or the draft cannot be used.
    """
    config = {"model": models.model, "judge": name, "examples": len(examples)}
    settings = JudgeSettings(max_tokens=models.max_tokens)
    with start_run_client(workspace, "new", config, models, environment) as (_, client):
        draft = draft_judge(description, examples, scale, client, settings=settings)
    reply, schema = reply_clause(scale)
    by = (
        "the simulated model, so by nobody who knows the matter"
        if draft.simulated
        else models.model
    )
    prompt = JudgePrompt(
        name=name,
        system=f"{draft.role}\n\n{CRITERIA_PLACE}",
        criteria=draft.criteria,
        template="\n\n".join(
            f"{field.replace('_', ' ').capitalize()}:\n{{{{{field}}}}}"
            for field in examples[0].inputs
        ),
        reply=reply,
        reply_schema=dict(schema),
        scale=scale,
        note=(
            f"Drafted by {by}, from a description and {len(examples)} rows:"
            f" {' '.join(description.split())[:200]}"
        ),
    )
    return NewJudge(prompt=prompt, stats=client.stats, simulated=draft.simulated)


def _ordered(labels: Sequence[str]) -> list[str]:
    """Return two labels with the worse first where they are words of the table of label cells."""
    grades = {WORDS[label.casefold()]: label for label in labels if label.casefold() in WORDS}
    both = len(labels) == 2 and grades.keys() == {0.0, 1.0}
    return [grades[0.0], grades[1.0]] if both else []


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return (
        value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
    )
