"""lm-evaluation-harness: a metric of tasks that sends the judge's own messages, and a task that
judges rows.
"""

from __future__ import annotations

from string import Template

from .message_templates import fill_module, module_differences, stem
from .source_text import comment_text, literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_MODULE = Template('''\
"""$origin

The judge as metrics of the lm-evaluation-harness, written by Judgewright. $decision.

In a task of your own: `process_results: !function $name.process_results`, and the metrics of $name.yaml. Documents have
the judge's inputs by name; `judge_FIELD` in place of `process_results` puts the model's answer in that input's place.
"""

$imports
import os
from pathlib import Path

import datasets
from openai import OpenAI

$user_text

$messages

$reading

MODEL = os.environ.get("JUDGE_MODEL", $model)
"""Who judges, at OPENAI_BASE_URL with OPENAI_API_KEY."""

LOW, HIGH = $low, $high
"""The judge's lowest and highest grade."""


def judged(row, *, model=None, client=None, **parameters):
    """Return the metrics of one row; a reply without a grade counts as unscored and in no mean.

    Args:
        row: The judge's inputs by name.
        model: Who judges; MODEL unless given.
        client: An OpenAI client; made from the environment unless given.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
    """
    completion = (client or OpenAI()).chat.completions.create(
        model=model or MODEL, messages=messages(row), **settings(**parameters)
    )
    try:
        grade, _ = read_completion(completion)
    except ValueError:
        return {f"{NAME}_unscored": 1.0}
    return {NAME: grade, f"{NAME}_positive": float(grade >= THRESHOLD), f"{NAME}_unscored": 0.0}


def process_results(doc, results):
    """Judge a document as it stands, whatever the model answered."""
    return judged(doc)


def _judge_answer(field):
    def process(doc, results):
        return judged({**doc, field: results[0]})

    return process


for _field in INPUTS:
    globals()[f"judge_{_field}"] = _judge_answer(_field)


def rows(path="rows.jsonl", **_):
    """Return the rows of a JSONL file as the harness wants a data set."""
    lines = Path(path).read_text(encoding="utf-8").split("\\n")
    return {"test": datasets.Dataset.from_list([json.loads(line) for line in lines if line.strip()])}


def doc_to_text(doc):
    """Return what the evaluated model is asked; the task that judges rows makes nothing of its answer."""
    return "-"
''')  # noqa: E501

_TASK = Template("""\
# $origin
# Judges the rows of a file: JUDGE_MODEL=$model lm_eval --model dummy --include_path . --tasks ${name}_rows
task: ${name}_rows
custom_dataset: !function $name.rows
test_split: test
output_type: generate_until
doc_to_text: !function $name.doc_to_text
doc_to_target: ""
process_results: !function $name.process_results
metric_list:
  - metric: $judge
    aggregation: mean
    higher_is_better: true
  - metric: ${judge}_positive
    aggregation: mean
    higher_is_better: true
  - metric: ${judge}_unscored
    aggregation: mean
    higher_is_better: false
metadata:
  version: "$version"
  path: rows.jsonl
""")  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the module and the task.

    Raises:
        Refused: The judge chooses a label, which is no number that a metric averages.
    """
    prompt, scale = context.prompt, context.prompt.scale
    if scale.kind == "choice":
        raise Refused(
            f"{prompt.name} chooses one of {', '.join(scale.labels)}: a metric of the harness is a"
            " number"
        )
    name = f"{stem(prompt)}_lmeval"
    low, high, model = str(scale.low), str(scale.high), literal(context.model)
    module = fill_module(_MODULE, context, name=name, model=model, low=low, high=high)
    origin = comment_text(context.origin)
    asked = comment_text(context.model)
    task = _TASK.substitute(
        origin=origin, name=name, judge=prompt.name, version=prompt.version, model=asked
    )
    return ExportedFiles(
        files={f"{name}.py": module, f"{name}.yaml": task},
        own_fences=True,
        differences=(
            *module_differences(context),
            "An unscored row counts in the metric that ends in _unscored and in no mean.",
        ),
        scores=ScoreMap.of_grades(
            context, "The metric of the judge's name is its grade; that in _positive decides."
        ),
        usage=(
            f"JUDGE_MODEL={context.model} lm_eval --model dummy --include_path . --tasks"
            f" {name}_rows"
        ),
    )


TARGET = Target(
    name="lmeval",
    tool="lm-evaluation-harness 0.4",
    write=write,
    check="lmeval.py",
    requires=("lm-eval>=0.4.12,<0.5", "openai>=2.20,<4"),
)
