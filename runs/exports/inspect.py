"""Inspect AI: a scorer that sends the judge's own messages."""

from __future__ import annotations

from string import Template

from .message_templates import fill_module, literal, module_differences, stem
from .reply_forms import NO_REASON
from .target import ExportContext, ExportedFiles, ScoreMap, Target

_SCORER = Template('''\
"""$origin

A scorer for Inspect AI written by Judgewright. $decision.

    inspect eval $file -T rows=rows.jsonl --model none --model-role grader=MODEL
"""

$imports

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import $names
from inspect_ai.solver import solver

$user_text

$messages

$reading

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[$metrics], name=NAME)
def judge(model=None, output=None, parameters=None):
    """Grade samples; a sample whose reply has no grade is unscored.

    Args:
        model: The grading model; whichever has the role `grader` unless given.
        output: The input that is the evaluated model's output; the sample's metadata hold the others.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
    """
    told = settings(**(parameters or {}))
    known = {name: told.pop(name) for name in ("temperature", "max_tokens", "seed", "top_p") if name in told}
    config = GenerateConfig(**known, extra_body=told or None)

    async def score(state, target):
        row = dict(state.metadata)
        if output is not None:
            row[output] = state.output.completion
        grader = get_model(model) if model is not None else get_model(role="grader")
        reply = await grader.generate([ROLES[m["role"]](content=m["content"]) for m in messages(row)], config=config)
        try:
            ending = "tool_calls" if reply.message.tool_calls else reply.stop_reason
            grade, reasons = read_reply(reply.completion, ending)
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
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the scorer with a task."""
    prompt, scale = context.prompt, context.prompt.scale
    file = f"{stem(prompt)}_inspect.py"
    if scale.kind == "choice":
        parts = {
            "names": "Score, frequency, scorer",
            "metrics": f"frequency({literal(scale.labels)})",
            "value": f"{literal(scale.labels)}[int(grade)]",
            "metadata": '{"reply": reply.completion}',
        }
        how = "The value of the score is its label; our grade is the place in the list."
    else:
        parts = {
            "names": "Score, mean, scorer, stderr",
            "metrics": "mean(), stderr()",
            "value": "grade",
            "metadata": '{"positive": grade >= THRESHOLD, "reply": reply.completion}',
        }
        how = "The value of the score is the judge's grade, unaltered."
    return ExportedFiles(
        files={file: fill_module(_SCORER, context, file=file, **parts)},
        own_fences=True,
        differences=(
            *module_differences(context),
            (
                "Inspect calls the end of a reply `unknown` where the endpoint gives no reason for"
                " it, or one that Inspect does not know; such a reply is unscored there."
            ),
            (
                "Inspect asks models of newer names through OpenAI's Responses API, which is"
                " another request, unless the model is given `responses_api: false`, as in the line"
                " that uses it."
            ),
        ),
        unread=(NO_REASON,),
        scores=ScoreMap.of_grades(context, how),
        usage=(
            f"inspect eval {file} -T rows=rows.jsonl --model none --model-role "
            f"'grader={{model: openai/{context.model}, model_args: {{responses_api: false}}}}'"
        ),
    )


TARGET = Target(
    name="inspect",
    tool="Inspect AI 0.3",
    write=write,
    check="inspect.py",
    requires=("inspect-ai>=0.3.270,<0.4", "openai>=3.4,<4"),
)
