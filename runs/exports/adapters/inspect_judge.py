"""The judge in `judge.json` as a scorer for Inspect AI.

inspect eval THIS_FILE -T rows=rows.jsonl --model none --model-role grader=MODEL
"""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import Score, frequency, mean, scorer, stderr
from inspect_ai.solver import solver

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)
ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
METRICS = [frequency(JUDGE.labels)] if JUDGE.chooses else [mean(), stderr()]


@scorer(metrics=METRICS, name=JUDGE.name)
def judge(model=None, output=None, parameters=None):
    """Grade samples; a sample whose reply has no grade is unscored.

    Args:
        model: The grading model; whichever has the role `grader` unless given.
        output: The input that is the evaluated model's output; the sample's metadata hold the
            others.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """
    settings = JUDGE.settings(**(parameters or {}))
    names = {"temperature", "max_tokens", "seed", "top_p"} & settings.keys()
    own = {name: settings.pop(name) for name in names}
    config = GenerateConfig(**own, extra_body=settings or None)

    async def score(state, target):
        row = dict(state.metadata)
        if output is not None:
            row[output] = state.output.completion
        grader = get_model(model) if model is not None else get_model(role="grader")
        messages = [ROLES[one["role"]](content=one["content"]) for one in JUDGE.messages(row)]
        reply = await grader.generate(messages, config=config)
        ending = "tool_calls" if reply.message.tool_calls else reply.stop_reason
        try:
            grade, reasons = JUDGE.read_reply(reply.completion, ending)
        except ValueError as problem:
            return Score.unscored(reason="grader_failed", explanation=str(problem))
        return Score(
            value=JUDGE.label(grade) if JUDGE.chooses else grade,
            explanation=reasons or reply.completion,
            metadata={"positive": JUDGE.positive(grade), "reply": reply.completion},
        )

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
        return Sample(input=record[JUDGE.inputs[0]], id=record.get("id"), metadata=record)

    return Task(dataset=json_dataset(rows, sample), solver=as_given(), scorer=judge())
