"""promptfoo: an `llm-rubric` assertion whose prompt is the judge's messages, and the grader that
reads its replies.
"""

from __future__ import annotations

import math
from string import Template
from typing import Any

import orjson
import yaml

from ...judges import OutputScale
from .promptfoo_grader import READER, promptfoo_grader, reply_reader
from .source_text import comment_text, json_text
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, jinja

_RESERVED = ("output", "rubric", "env")
"""Variables that promptfoo sets itself where a rubric is rendered."""

_DIFFERENCES = (
    (
        "promptfoo changes a test's variables before the judge sees them: text that starts with"
        " `file://` is replaced by that file, and `{{name}}` in it by the variable of that name."
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

_CONFIG = Template("""\
# $origin
# Written by Judgewright for promptfoo. $how
# The decision stands in `threshold`: without it every reply that can be read would pass.
# Put your prompts, providers and tests here. A test needs the variables $fields;
# where it has no `$last`, the output under test stands for it. The model that judges is the inner `provider`;
# --no-cache may not reach it, PROMPTFOO_CACHE_ENABLED=false does.
""")  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the configuration, the rubric and the grader.

    Raises:
        Refused: A field has a name that promptfoo sets itself.
    """
    prompt = context.prompt
    for field in prompt.inputs:
        if field in _RESERVED:
            raise Refused(f"promptfoo sets the variable {field!r} itself; rename the field")
    rubric, grader = f"{prompt.name}.rubric.json", f"{prompt.name}.grader.mjs"
    last = prompt.inputs[-1]
    rename = {last: f"{last} if {last} is defined else output"}
    messages = chat_messages(
        template_messages(prompt), jinja, rename
    )  # Nunjucks reads what Jinja reads
    scores = ScoreMap.of_shares(context, _how_scored(prompt.scale))
    differences, rule = _DIFFERENCES, context.rule
    if rule.calibration is not None and prompt.scale.kind == "probability":
        raw = "grade" if prompt.scale.low_is_good else "probability"
        sentence = (
            f"The threshold is the raw {raw} from which the calibrated one reaches"
            f" {rule.threshold:g}."
        )
        differences = (*differences, sentence)
    return ExportedFiles(
        files={
            "promptfooconfig.yaml": _config(context, scores, rubric, grader),
            rubric: json_text(messages),
            grader: promptfoo_grader(context),
            READER: reply_reader(),
        },
        differences=differences,
        scores=scores,
        unscored="counted as 0",
        usage=(
            "# in promptfooconfig.yaml: your prompts, providers and tests, and the model that"
            " judges\nnpx promptfoo@0.123 validate -c promptfooconfig.yaml\nnpx promptfoo@0.123"
            " eval -c promptfooconfig.yaml"
        ),
    )


def _config(context: ExportContext, scores: ScoreMap, rubric: str, grader: str) -> str:
    prompt = context.prompt
    # Through JSON and back, so that no part is in it twice: YAML would write the second as an
    # alias.
    asked: dict[str, Any] = orjson.loads(orjson.dumps(context.request))  # Any: YAML
    # Where promptfoo knows the response format, it parses the reply itself, and fails at a fence
    # round it.
    known = {
        name: asked.pop(name)
        for name in ("temperature", "max_tokens", "seed", "top_p")
        if name in asked
    }
    # promptfoo sends a temperature and a limit of its own where none is given, unless told not to.
    model = {"omitDefaults": True, **known} | ({"passthrough": asked} if asked else {})
    threshold = scores.threshold
    if threshold is None:
        threshold = math.nextafter(1.0, 2.0)  # promptfoo passes over a threshold that is not finite
    options = {
        "rubricPrompt": f"file://{rubric}",
        "provider": {
            "id": f"file://{grader}",
            "config": {"provider": {"id": f"openai:chat:{context.model}", "config": model}},
        },
    }
    assertion = {
        "type": "llm-rubric",
        "value": f"{prompt.name}@{prompt.version}",
        "metric": prompt.name,
        "threshold": threshold,
    }
    body = {
        "description": f"{prompt.name}@{prompt.version}",
        "prompts": [f"{{{{{prompt.inputs[-1]}}}}}"],
        "providers": ["echo"],
        "defaultTest": {"options": options, "assert": [assertion]},
    }
    head = _CONFIG.substitute(
        origin=comment_text(context.origin),
        how=comment_text(scores.how),
        fields=", ".join(prompt.inputs),
        last=prompt.inputs[-1],
    )
    return head + yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=110)


def _how_scored(scale: OutputScale) -> str:
    if scale.low_is_good:
        return "The score is one minus the judge's own number, of which low is good."
    if scale.kind == "probability":
        return "The score is the judge's own probability."
    if scale.kind == "graded":
        return f"The score is the grade brought from {scale.low}..{scale.high} to 0..1, linearly."
    if scale.kind == "binary":
        return "The score is 0 or 1."
    return (
        f"The score is the label's place in {', '.join(scale.labels)}, brought to 0..1; it orders"
        " nothing else."
    )


TARGET = Target(
    name="promptfoo",
    tool="promptfoo 0.123",
    write=write,
    check="promptfoo.mjs",
    requires=("promptfoo@0.122 - 0.123", "node@22", "@libsql/linux-x64-gnu@0.5.29"),
    runtime="node",
)
