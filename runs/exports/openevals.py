"""openevals: an evaluator made by `create_llm_as_judge` that asks with our own messages, fences and reply format."""

from __future__ import annotations

from string import Template

from ...judges import response_format
from .judge_module import fill_module, module_differences, stem
from .source_text import json_literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_RESERVED = (
    "attachments",
    "config",
    "feedback_key",
    "langsmith_extra",
    "ls_framework",
    "return_raw_outputs",
    "run_name",
    "scorer",
)
"""Arguments of openevals and of LangSmith's tracing, which the prompt never sees."""

_STRUCTURED = (
    "openevals asks for the reply as structured output: with the provider's JSON schema, or as a tool call where "
    "LangChain's model class prefers one; Judgewright asks for JSON in the reply's text."
)

_MODULE = Template('''\
"""$origin

$decision. Written by Judgewright for openevals.
"""

import hashlib
import json
import re

from openevals.llm import create_llm_as_judge

$user_text

$messages

SCHEMA = $schema

$reading

def evaluator(judge, **options):
    """Return an evaluator of rows.

    Args:
        judge: A LangChain chat model; or an OpenAI client, and then `model="NAME"` beside it.
        options: More for `create_llm_as_judge`, such as `structured_output_kwargs`.
    """

    def asked(inputs=None, outputs=None, reference_outputs=None, **row):
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return messages({**given, **row})

    ask = create_llm_as_judge(prompt=asked, judge=judge, feedback_key=NAME, output_schema=SCHEMA, **options)

    def evaluate(**row):
        """Return the feedback on one row, given by its fields; raise ValueError where the reply has no grade."""
        score, reasons = read_reply(json.dumps(ask(**row)))
        told = {"positive": score >= THRESHOLD, "version": VERSION}
        return {"key": NAME, "score": score, "comment": reasons, "metadata": told}

    return evaluate
''')


def write(context: ExportContext) -> ExportedFiles:
    """Write the module.

    Raises:
        Refused: The judge replies in prose, or openevals takes one of its fields for itself.
    """
    prompt, name = context.prompt, f"{stem(context.prompt)}_openevals"
    form = response_format(prompt)
    if form is None:
        raise Refused("openevals asks every model for a JSON object; this judge replies in prose")
    for field in prompt.inputs:
        if field in _RESERVED:
            raise Refused(f"openevals keeps the field {field!r} for itself")
    schema = {"title": "verdict", "description": f"The verdict of the judge {prompt.name}."}
    schema |= form["json_schema"]["schema"]
    text = fill_module(_MODULE, context, schema=json_literal(schema))
    fields = ", ".join(f"{field}=..." for field in prompt.inputs)
    return ExportedFiles(
        files={f"{name}.py": text},
        own_fences=True,
        differences=(_STRUCTURED, *module_differences(context)),
        scores=ScoreMap.of_grades(context, "The score is the judge's own grade."),
        usage=(
            f"from langchain_openai import ChatOpenAI\n"
            f"from {name} import evaluator\n"
            f'evaluator(ChatOpenAI(model="MODEL", temperature=0))({fields})'
        ),
    )


TARGET = Target(
    name="openevals", tool="openevals 0.2", write=write, check="openevals.py", requires=("openevals>=0.2.2,<0.3",)
)
