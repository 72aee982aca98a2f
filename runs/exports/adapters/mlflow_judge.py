"""The judge in `judge.json` as a scorer for MLflow, and the prompt for its registry."""

import json
import sys
from pathlib import Path

import mlflow
from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import scorer
from openai import OpenAI

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


def value_of(grade):
    """Return the value of MLflow's feedback: the label of a choice, True or False, or the grade."""
    if JUDGE.chooses:
        return JUDGE.label(grade)
    if JUDGE.kind == "binary":
        return bool(grade)
    return int(grade) if JUDGE.kind == "graded" else grade


def positive(value):
    """Whether a feedback's value counts as positive."""
    return JUDGE.positive(value)


def row_of(inputs, outputs, expectations):
    """Return the judge's fields from a row of MLflow: by name from its dictionaries, the last one
    from plain outputs.
    """
    row = {}
    for part in (expectations, inputs, outputs):
        row |= part if isinstance(part, dict) else {}
    if outputs is not None and not isinstance(outputs, dict):
        row[JUDGE.inputs[-1]] = str(outputs)
    return row


def make_scorer(model, *, base_url=None, client=None, parameters=None):
    """Return the judge as a scorer for `mlflow.genai.evaluate`.

    Args:
        model: Its name at an endpoint that speaks OpenAI's protocol, or as MLflow writes it,
            openai:/your-model.
        base_url: The endpoint's address, such as https://host/v1; the client's own unless given.
        client: An OpenAI client; made from base_url and OPENAI_API_KEY unless given.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """
    name = model.removeprefix("openai:/")
    if ":/" in name:
        raise ValueError(
            f"{model}: name an endpoint of this provider that speaks OpenAI's protocol, with"
            " base_url"
        )
    client = client or OpenAI(base_url=base_url)
    options = {} if JUDGE.chooses else {"pass_if": positive}

    @scorer(name=JUDGE.name, **options)
    def judge(inputs=None, outputs=None, expectations=None):
        # MLflow's own judges wrap the prompt in words of theirs and lose how a reply ended.
        row = row_of(inputs, outputs, expectations)
        grade, reason = JUDGE.ask(client, name, row, parameters or {})
        return Feedback(
            name=JUDGE.name,
            value=value_of(grade),
            rationale=reason,
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=model),
            metadata={"judge": f"{JUDGE.name}@{JUDGE.version}"},
        )

    return judge


def push(tracking_uri, *, alias=None):
    """Register the prompt beside this file at an MLflow server, and return its address, such as
    prompts:/NAME/1.

    Args:
        tracking_uri: Such as http://localhost:5000 or sqlite:///mlflow.db.
        alias: An alias to set on it, such as staging; none unless given.
    """
    entry = json.loads(Path(__file__).with_name("prompt.json").read_text(encoding="utf-8"))
    mlflow.set_tracking_uri(tracking_uri)
    prompt = mlflow.genai.register_prompt(**entry)
    if alias is not None:
        mlflow.genai.set_prompt_alias(JUDGE.name, alias=alias, version=prompt.version)
    return prompt.uri
