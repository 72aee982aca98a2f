"""OpenAI graders: the legacy JSON of `score_model` and `label_model`, checked against the client's own types."""

from __future__ import annotations

import math
from typing import Any

import orjson

from ...judges import OutputScale
from .judge_module import raw_threshold
from .target import ExportContext, ExportedFiles, Target
from .template_parts import template_messages
from .template_syntaxes import double_brace

MODEL = "MODEL"
"""Stands where the grading model goes; a judge gated on the simulated one names none."""

_DIFFERENCES = (
    "OpenAI fills the template and runs the model on its own servers: what was checked is that its client's types take "
    "the JSON, and that filling `{{item.field}}` by replacement gives the judge's messages.",
    "The grader adds its own request for a number or a label to the messages, whatever form of reply they ask for; "
    "confidence and the other fields of the judge's reply are lost.",
    "OpenAI documents graders and evals as legacy; check that the service still takes new ones.",
)


def write(handover: ExportContext) -> ExportedFiles:
    """Write the grader, and an eval that uses it with the decision's threshold."""
    prompt = handover.prompt
    names = f"{prompt.name}.grader.json", f"{prompt.name}.eval.json"
    grader = _grader(handover)
    criterion = grader if grader["type"] == "label_model" else {**grader, "pass_threshold": _finite(handover)}
    fields = {field: {"type": "string"} for field in prompt.inputs}
    item = {"type": "object", "properties": fields, "required": list(prompt.inputs)}
    whole = {
        "name": f"{prompt.name}@{prompt.version}",
        "data_source_config": {"type": "custom", "item_schema": item, "include_sample_schema": False},
        "testing_criteria": [criterion],
        "metadata": {"origin": handover.origin[:512], "rule": handover.rule.version},
    }
    usage = (
        f'body = json.load(open("{names[1]}"))  # put the grading model in place of {MODEL}\n'
        "made = OpenAI().evals.create(**body)  # each item of the data has the fields "
        f"{', '.join(prompt.inputs)}"
    )
    return ExportedFiles(
        files={names[0]: _json(grader), names[1]: _json(whole)},
        exact=False,
        calibrated=True,
        carries=tuple(s for m in template_messages(prompt) for s in m.segments if isinstance(s, str)),
        differences=(*_DIFFERENCES, *_passing(handover)),
        usage=usage,
    )


def _grader(handover: ExportContext) -> dict[str, Any]:  # Any: JSON
    """A `label_model` where the judge answers with a label, else a `score_model` on the judge's own scale."""
    prompt, scale = handover.prompt, handover.prompt.scale
    rename = {name: f"item.{name}" for name in prompt.inputs}
    common = {
        "name": prompt.name,
        "model": _model(handover),
        "input": [{"role": m.role, "content": double_brace(m.segments, rename)} for m in template_messages(prompt)],
    }
    if _labelled(scale):
        passing = [label for place, label in enumerate(scale.labels) if place >= handover.rule.threshold]
        return {"type": "label_model", **common, "labels": list(scale.labels), "passing_labels": passing}
    sampling = {"temperature": 0}
    return {"type": "score_model", **common, "range": [scale.low, scale.high], "sampling_params": sampling}


def _labelled(scale: OutputScale) -> bool:
    """Whether the judge answers with one of its labels."""
    return scale.kind == "choice" or (scale.kind == "binary" and bool(scale.labels))


def _model(handover: ExportContext) -> str:
    gated = str(handover.provenance.get("gated_on") or "").partition("@")[0]
    return gated if gated and not handover.simulated else MODEL


def _finite(handover: ExportContext) -> float:
    """The threshold as JSON can write it; just above the scale where the rule takes nothing for positive."""
    found = raw_threshold(handover)
    return found if math.isfinite(found) else math.nextafter(handover.prompt.scale.high, math.inf)


def _passing(handover: ExportContext) -> tuple[str, ...]:
    scale, calibrated = handover.prompt.scale, handover.rule.calibration is not None
    if _labelled(scale):
        return ("The decision stands in `passing_labels`.",)
    told = f"The decision stands in `pass_threshold` of the eval ({_finite(handover):.6g}); the grader alone has none."
    if calibrated and scale.kind == "probability":
        told += f" It is the raw probability from which the calibrated one reaches {handover.rule.threshold:g}."
    return (told,)


def _json(body: object) -> str:
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"


TARGET = Target(name="openai", tool="OpenAI graders (legacy)", write=write, probe="openai.py")
