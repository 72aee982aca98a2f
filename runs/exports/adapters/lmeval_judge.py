"""The judge in `judge.json` as metrics of the lm-evaluation-harness.

In a task of your own: `process_results: !function THIS_MODULE.process_results`, and the metrics of
the YAML file beside it. Documents have the judge's inputs by name; `judge_FIELD` in place of
`process_results` puts the model's answer in that input's place.
"""

import json
import os
import sys
from pathlib import Path

import datasets
from openai import OpenAI

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


def judged(row, *, model=None, client=None, **parameters):
    """Return the metrics of one row; a reply without a grade counts as unscored and in no mean.

    Args:
        row: The judge's inputs by name.
        model: Who judges, at OPENAI_BASE_URL with OPENAI_API_KEY; JUDGE_MODEL unless given.
        client: An OpenAI client; made from the environment unless given.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """
    model = model or os.environ.get("JUDGE_MODEL", "your-model")
    try:
        grade, _ = JUDGE.ask(client or OpenAI(), model, row, parameters)
    except ValueError:
        return {f"{JUDGE.name}_unscored": 1.0}
    return {
        JUDGE.name: grade,
        f"{JUDGE.name}_positive": float(JUDGE.positive(grade)),
        f"{JUDGE.name}_unscored": 0.0,
    }


def process_results(doc, results):
    """Judge a document as it stands, whatever the model answered."""
    return judged(doc)


def _judge_answer(field):
    def process(doc, results):
        return judged({**doc, field: results[0]})

    return process


for _field in JUDGE.inputs:
    globals()[f"judge_{_field}"] = _judge_answer(_field)


def rows(path="rows.jsonl", **_):
    """Return the rows of a JSONL file as the harness wants a data set."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return {"test": datasets.Dataset.from_list([json.loads(one) for one in lines if one.strip()])}


def doc_to_text(doc):
    """Return what the evaluated model is asked; the task that judges rows makes nothing of its
    answer.
    """
    return "-"
