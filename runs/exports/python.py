"""Plain Python: a module with the judge's messages and the reading of its replies, and nothing to
install.
"""

from __future__ import annotations

import sys
from keyword import iskeyword
from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .target import ExportContext, ExportedFiles, ScoreMap, Target

_MODULE = Template('''\
"""$origin

A judge written by Judgewright. $decision.
"""

$imports

$user_text

$messages

$reading

def request(row, **parameters):
    """Return the arguments of `chat.completions.create` for a row, all but the model; None leaves a part out."""
    return {"messages": messages(row), **settings(**parameters)}


def positive(grade):
    """Return the decision for a grade."""
    return grade >= THRESHOLD
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the module."""
    prompt = context.prompt
    name = stem(prompt)
    # A module of one of these names could not be imported, or would be imported in place of
    # Python's own.
    if iskeyword(name) or name in sys.stdlib_module_names:
        name = f"judge_{name}"
    return ExportedFiles(
        files={f"{name}.py": fill_module(_MODULE, context)},
        own_fences=True,
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, "`read_reply` returns the judge's grade."),
        usage=(
            f"from openai import OpenAI\nimport {name}\n"
            f"asked = {name}.request({example_row(prompt.inputs)})\n"
            f'completion = OpenAI().chat.completions.create(model="{context.model}", **asked)\n'
            f"grade, reasons = {name}.read_completion(completion)"
        ),
    )


TARGET = Target(
    name="python", tool="Python", write=write, check="plain.py", bundled=("openai>=2.20,<4",)
)
