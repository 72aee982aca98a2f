"""promptfoo: an `llm-rubric` assertion whose prompt is the judge's messages, and the grader that
reads its replies.
"""

from __future__ import annotations

import math
from typing import Any

import orjson
import yaml

from ...judges import JudgePrompt
from .adapter import JUDGE_FILE, adapter_text, calibration_notes, judge_body, reader
from .carried_cases import chooser_files
from .source_text import comment_text, json_text
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, jinja

CONFIG, RUBRIC, GRADER = "promptfooconfig.yaml", "rubric.json", "promptfoo_grader.mjs"
READER = "reply_reading.mjs"
PROMPT = "promptfoo_prompt.py"
"""What makes the messages of a judge with cases, in place of the rubric."""
_RESERVED = ("output", "rubric", "env")
"""Variables that promptfoo sets itself where a rubric is rendered."""
_HOW = {
    "probability": "The score is the grade itself, a probability.",
    "graded": "The score is the grade brought from {low}..{high} to 0..1, linearly.",
    "binary": "The score is 0 or 1.",
    "choice": "The score is the label's place in {labels}, from 0 to 1; it orders nothing else.",
}
_DIFFERENCES = (
    (
        "promptfoo changes a test's variables before the judge sees them: text that starts with"
        " `file://` is replaced by that file, `{{name}}` in it by the variable of that name, and"
        " one line break at its end is taken off."
    ),
    (
        "promptfoo reads an output under test that is JSON and writes it anew; give it as a"
        " variable to keep it as it is."
    ),
    (
        "A row without a verdict fails its test with the score 0, which promptfoo's averages count;"
        " its summary has it among the failures and says `0 errors`. The test's own reason says"
        " that there is no verdict."
    ),
)
_PYTHON = """\
# Python 3.11 or newer chooses the decided cases; PROMPTFOO_PYTHON names another than `python`
"""
_COMMENT = """\
# {origin}
# Written by Judgewright for promptfoo. {how}
# The decision stands in `threshold`: without it every reply that can be read would pass.
# Put your prompts, providers and tests here. A test needs the variables {fields};
# where it has no `{last}`, the output under test stands for it. The model that judges is the inner
# `provider`; --no-cache may not reach it, PROMPTFOO_CACHE_ENABLED=false does.
"""


def write_promptfoo(context: ExportContext) -> ExportedFiles:
    """Write the configuration, the rubric and the grader.

    Raises:
        Refused: A field has a name that promptfoo sets itself.
    """
    prompt, scale = context.prompt, context.prompt.scale
    for field in prompt.inputs:
        if field in _RESERVED:
            raise Refused(f"promptfoo sets the variable {field!r} itself; rename the field")
    labels = ", ".join(scale.labels)
    how = _HOW[scale.kind].format(low=scale.low, high=scale.high, labels=labels)
    scores = ScoreMap.of(context, how, shares=True)
    probability = scale.kind == "probability"
    return ExportedFiles(
        files={
            CONFIG: _comment(context, how) + _config(context, scores),
            **_prompt_files(prompt),
            JUDGE_FILE: json_text(judge_body(context)),
            GRADER: adapter_text(GRADER),
            READER: adapter_text(READER),
        },
        own_fences=prompt.cases is not None,
        differences=(*_DIFFERENCES, *(calibration_notes(context) if probability else ())),
        scores=scores,
        unscored="counted as 0",
        usage=(
            f"{'' if prompt.cases is None else _PYTHON}"
            "# in promptfooconfig.yaml: your prompts, providers and tests, and the model that"
            " judges\nnpx promptfoo@0.123 validate -c promptfooconfig.yaml\nnpx promptfoo@0.123"
            " eval -c promptfooconfig.yaml"
        ),
    )


def _prompt_files(prompt: JudgePrompt) -> dict[str, str]:
    """Return what makes the messages: a rubric, or a function where cases are chosen by the row."""
    if prompt.cases is not None:
        return {PROMPT: adapter_text(PROMPT), **reader(), **chooser_files(prompt)}
    last = prompt.inputs[-1]
    rename = {last: f"{last} if {last} is defined else output"}
    # Nunjucks reads what Jinja reads.
    return {RUBRIC: json_text(chat_messages(template_messages(prompt), jinja, rename))}


def _comment(context: ExportContext, how: str) -> str:
    inputs = context.prompt.inputs
    return _COMMENT.format(
        origin=comment_text(context.origin),
        how=comment_text(how),
        fields=", ".join(inputs),
        last=inputs[-1],
    )


def _config(context: ExportContext, scores: ScoreMap) -> str:
    name, version = context.prompt.name, context.prompt.version
    # Through JSON and back, so that no part is in it twice: YAML would write the second as an
    # alias.
    request: dict[str, Any] = orjson.loads(orjson.dumps(context.request))  # Any: YAML
    # Where promptfoo knows the response format, it parses the reply itself, and fails at a fence
    # round it.
    options = {"temperature", "max_tokens", "seed", "top_p"} & request.keys()
    # promptfoo sends a temperature and a limit of its own where none is given, unless told not to.
    # It puts what a model thought before its reply, unless told not to.
    model: dict[str, Any] = {"omitDefaults": True, "showThinking": False}
    model |= {setting: request.pop(setting) for setting in sorted(options)}
    if request:
        model["passthrough"] = request
    threshold = scores.threshold
    if threshold is None:
        threshold = math.nextafter(1.0, 2.0)  # promptfoo passes over a threshold that is not finite
    judging = {"id": f"openai:chat:{context.model}", "config": model}
    defaults = {
        "rubricPrompt": f"file://{RUBRIC}" if context.prompt.cases is None else f"{name}@{version}",
        "provider": {"id": f"file://{GRADER}", "config": {"provider": judging}},
    }
    assertion = {
        "type": "llm-rubric",
        "value": f"{name}@{version}",
        "metric": name,
        "threshold": threshold,
    }
    body = {
        "description": f"{name}@{version}",
        "prompts": [f"{{{{{context.prompt.inputs[-1]}}}}}"],
        "providers": ["echo"],
        "defaultTest": {"options": defaults, "assert": [assertion]},
    }
    return yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=110)


PROMPTFOO = Target(
    name="promptfoo",
    tool="promptfoo 0.123",
    check="promptfoo.mjs",
    requires=("promptfoo@0.122 - 0.123", "node@22", "@libsql/linux-x64-gnu@0.5.29"),
    runtime="node",
    write=write_promptfoo,
)
