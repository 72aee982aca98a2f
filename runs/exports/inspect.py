"""Inspect AI: a scorer that sends the judge's own messages, and the judge as a template for `model_graded_qa`."""

from __future__ import annotations

import re
from string import Template

from ...judges import JudgePrompt, OutputScale
from .judge_module import calibration_difference, fill_module, literal, prose_difference, stem
from .python_text import plain, python_text
from .target import ExportContext, ExportedFiles, ScoreMap, Target
from .template_parts import TemplatePart, template_messages
from .template_syntaxes import f_string

FIXED_NAMES = ("question", "answer", "criterion", "instructions")
"""Variables that `model_graded_qa` fills itself, whatever the metadata of a sample say."""

_SCORER = Template('''\
"""$origin

A scorer for Inspect AI written by Judgewright. $decision.

    inspect eval $file -T rows=rows.jsonl --model none --model-role grader=MODEL
"""

import hashlib
import json
import re

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import $names
from inspect_ai.solver import solver

$user_text

$messages

$reading

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[$metrics], name=NAME)
def judge(model=None, output=None):
    """Grade samples; a sample whose reply has no grade is unscored.

    Args:
        model: The grading model; whichever has the role `grader` unless given.
        output: The input that is the evaluated model's output; the sample's metadata hold the others.
    """

    async def score(state, target):
        row = dict(state.metadata)
        if output is not None:
            row[output] = state.output.completion
        grader = get_model(model) if model is not None else get_model(role="grader")
        reply = await grader.generate([ROLES[m["role"]](content=m["content"]) for m in messages(row)])
        try:
            if reply.stop_reason != "stop":
                raise ValueError(f"the reply ended by {reply.stop_reason}")
            grade, reasons = read_reply(reply.completion)
        except ValueError as problem:
            return Score.unscored(reason="grader_failed", explanation=str(problem))
        metadata = $metadata
        return Score(value=$value, explanation=reasons or reply.completion, metadata=metadata)

    return score


@solver
def as_given():
    """Leave the sample as it is: the rows hold what is to be judged."""

    async def solve(state, generate):
        return state

    return solve


@task
def judge_rows(rows="rows.jsonl"):
    """Judge each row of a JSONL file with the inputs by name."""

    def sample(record):
        return Sample(input=record[INPUTS[0]], id=record.get("id"), metadata=record)

    return Task(dataset=json_dataset(rows, sample), solver=as_given(), scorer=judge())
''')

_GRADED_QA = Template('''\
"""$origin

The judge as a template for Inspect AI's model_graded_qa, written by Judgewright; the second-best form.

    inspect eval $file -T rows=rows.jsonl --model none --model-role grader=MODEL
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import solver

TEMPLATE = $template

GRADE_PATTERN = $pattern
"""Its one group is the grade."""

RENAMED = {$renamed}
"""Inputs whose names model_graded_qa uses itself, and what the template calls them."""


@solver
def as_given():
    """Leave the sample as it is: the rows hold what is to be judged."""

    async def solve(state, generate):
        return state

    return solve


@task
def judge_rows(rows="rows.jsonl"):
    """Judge each row of a JSONL file with the inputs by name."""

    def sample(record):
        metadata = {RENAMED.get(name, name): value for name, value in record.items()}
        return Sample(input=record["$first"], id=record.get("id"), metadata=metadata)

    scorer = model_graded_qa(template=TEMPLATE, grade_pattern=GRADE_PATTERN)
    return Task(dataset=json_dataset(rows, sample), solver=as_given(), scorer=scorer)
''')


def write(handover: ExportContext) -> ExportedFiles:
    """Write the scorer with a task, and beside it a task for `model_graded_qa`."""
    prompt, scale = handover.prompt, handover.prompt.scale
    file, choice = f"{stem(prompt)}_inspect.py", scale.kind == "choice"
    files = {
        file: fill_module(
            _SCORER,
            handover,
            file=file,
            names="Score, frequency, scorer" if choice else "Score, mean, scorer, stderr",
            metrics=f"frequency({literal(scale.labels)})" if choice else "mean(), stderr()",
            value=f"{literal(scale.labels)}[int(grade)]" if choice else "grade",
            metadata='{"reply": reply.completion}'
            if choice
            else '{"positive": grade >= THRESHOLD, "reply": reply.completion}',
        )
    }
    differences = [*calibration_difference(handover), *prose_difference(prompt)]
    if choice or prompt.examples:
        why = "its metrics take a label that is not a number for wrong" if choice else "it sends one user message"
        differences.append(f"There is no file for model_graded_qa: {why}.")
    else:
        second = f"{stem(prompt)}_graded_qa.py"
        files[second] = _graded_qa(handover, second)
        differences.append(
            f"{second} is the second-best form: there Inspect sends system and user text as one user message, turns "
            "[BEGIN DATA] and [END DATA] in row text into [BEGIN-DATA] and [END-DATA], takes the last match of a "
            "pattern for the grade, calls the mean of the grades accuracy, and knows no threshold."
        )
    how = "its label; our grade is the place in the list" if choice else "the judge's grade, unaltered"
    return ExportedFiles(
        files=files,
        exact=True,
        calibrated=True,
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap(low=float(scale.low), high=float(scale.high), how=f"The value of the score is {how}."),
        usage=f"inspect eval {file} -T rows=rows.jsonl --model none --model-role grader=openai/MODEL",
    )


def _graded_qa(handover: ExportContext, file: str) -> str:
    prompt = handover.prompt
    taken = [name for name in prompt.inputs if name in FIXED_NAMES]
    renamed = {name: _free(f"row_{name}", prompt) for name in taken}
    segments: list[TemplatePart] = []
    for message in template_messages(prompt):
        segments += [*(["\n\n"] if segments else []), *message.segments]
    return _GRADED_QA.substitute(
        origin=plain(handover.origin),
        file=file,
        template=python_text(f_string(segments, renamed), 0),
        pattern=repr(grade_pattern(prompt)),
        renamed=", ".join(f'"{name}": "{other}"' for name, other in renamed.items()),
        first=prompt.inputs[0],
    )


def _free(name: str, prompt: JudgePrompt) -> str:
    while name in prompt.inputs:
        name += "_"
    return name


def grade_pattern(prompt: JudgePrompt) -> str:
    """Return a pattern whose one group is the grade of a reply: the last that stands behind the score's name."""
    names = [name for name, kind in prompt.reply_schema.items() if kind == "score"] or ["score"]
    quote = '"' if prompt.reply_schema else r"[\"*_`]*"
    named = "|".join(map(re.escape, names))
    return rf"(?is).*(?<!\w){quote}(?:{named}){quote}\s*[:=]\s*[\"*_`]*({_values(prompt.scale)})(?![\w.]*\w)"


def _values(scale: OutputScale) -> str:
    if scale.kind == "probability":
        return r"0?\.[0-9]+|[01](?:\.0+)?|0\.[0-9]+"
    words = [*scale.labels, *(["yes", "no", "true", "false"] if scale.kind == "binary" else [])]
    numbers = [str(int(grade)) for grade in scale.levels]
    return "|".join(re.escape(word) for word in sorted(dict.fromkeys([*words, *numbers]), key=len, reverse=True))


TARGET = Target(
    name="inspect",
    tool="Inspect AI 0.3",
    write=write,
    probe="inspect_task.py",
    requires=("inspect-ai==0.3.285",),
)
