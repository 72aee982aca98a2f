"""OpenAI graders: the legacy JSON of `score_model` and `label_model`, checked against the client's own types."""

from __future__ import annotations

import math
from typing import Any

from ...judges import OutputScale
from .source_text import json_text
from .target import ExportContext, ExportedFiles, Refused, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, double_brace

MODEL = "MODEL"
"""Stands where the grading model goes; a judge gated on the simulated one names none."""

_DIFFERENCES = (
    "OpenAI fills the template and runs the model on its own servers: what was checked is that its client's types take "
    "the JSON, and that filling `{{item.field}}` by replacement gives the judge's messages.",
    "The grader adds its own request for a number or a label to the messages, whatever form of reply they ask for; "
    "confidence and the other fields of the judge's reply are lost, and of the request only the sampling arrives, with "
    "labels not even that.",
    "OpenAI documents graders and evals as legacy; check that the service still takes new ones.",
)


def write(context: ExportContext) -> ExportedFiles:
    """Write the grader, and an eval that uses it with the decision's threshold.

    Raises:
        Refused: Low numbers of the judge are good; a grader takes a high one for good, and cannot turn them.
    """
    prompt = context.prompt
    if prompt.scale.low_is_good:
        raise Refused(
            f"OpenAI's graders take the number of {prompt.name!r} as it stands and pass high ones, and its low ones "
            "are good",
            hint="export it as python, which reads its replies itself",
        )
    grader_file, eval_file = f"{prompt.name}.grader.json", f"{prompt.name}.eval.json"
    grader = _grader(context)
    criterion = dict(grader)
    if grader["type"] == "score_model":
        criterion["pass_threshold"] = _finite_threshold(context)
    fields = {field: {"type": "string"} for field in prompt.inputs}
    item = {"type": "object", "properties": fields, "required": list(prompt.inputs)}
    evaluation = {
        "name": f"{prompt.name}@{prompt.version}",
        "data_source_config": {"type": "custom", "item_schema": item, "include_sample_schema": False},
        "testing_criteria": [criterion],
        "metadata": {"origin": context.origin[:512], "rule": context.rule.version},
    }
    usage = (
        "import json\nfrom openai import OpenAI\n"
        f'body = json.load(open("{eval_file}"))\n'
        f'body["testing_criteria"][0]["model"] = "{context.model}"\n'
        "made = OpenAI().evals.create(**body)  # each item of the data has the fields "
        f"{', '.join(prompt.inputs)}"
    )
    texts = [part for message in template_messages(prompt) for part in message.parts if isinstance(part, str)]
    return ExportedFiles(
        files={grader_file: json_text(grader), eval_file: json_text(evaluation)},
        exact=False,
        carries=tuple(texts),
        differences=(*_DIFFERENCES, _decision_difference(context)),
        usage=usage,
    )


def _grader(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return a `label_model` where the judge answers with a label, else a `score_model` on the judge's own scale."""
    prompt, scale = context.prompt, context.prompt.scale
    rename = {name: f"item.{name}" for name in prompt.inputs}
    model = str(context.provenance.get("gated_on") or "").partition("@")[0]
    common = {
        "name": prompt.name,
        "model": MODEL if context.simulated or not model else model,
        "input": chat_messages(template_messages(prompt), double_brace, rename),
    }
    if _labelled(scale):
        passing = [label for grade, label in enumerate(scale.labels) if grade >= context.rule.threshold]
        return {"type": "label_model", **common, "labels": list(scale.labels), "passing_labels": passing}
    names = {"temperature": "temperature", "seed": "seed", "top_p": "top_p", "max_tokens": "max_completions_tokens"}
    sampling = {names[name]: value for name, value in context.request.items() if name in names}
    return {"type": "score_model", **common, "range": [scale.low, scale.high], "sampling_params": sampling}


def _labelled(scale: OutputScale) -> bool:
    return bool(scale.labels)


def _finite_threshold(context: ExportContext) -> float:
    """Return the threshold as JSON can write it; just above the scale where the rule takes nothing for positive."""
    threshold = context.raw_threshold
    if math.isfinite(threshold):
        return threshold
    return math.nextafter(context.prompt.scale.high, math.inf)


def _decision_difference(context: ExportContext) -> str:
    scale, rule = context.prompt.scale, context.rule
    if _labelled(scale):
        return "The decision stands in `passing_labels`."
    threshold = f"{_finite_threshold(context):.6g}"
    sentence = f"The decision stands in `pass_threshold` of the eval ({threshold}); the grader alone has none."
    if rule.calibration is not None and scale.kind == "probability":
        sentence += f" It is the raw probability from which the calibrated one reaches {rule.threshold:g}."
    return sentence


TARGET = Target(name="openai", tool="OpenAI graders (legacy)", write=write, check="openai.py")
