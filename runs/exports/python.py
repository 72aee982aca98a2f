"""Plain Python: a module with the judge's messages and the reading of its replies, and nothing to install."""

from __future__ import annotations

import sys
from keyword import iskeyword
from pprint import pformat
from string import Template

from ...judges import response_format
from .judge_module import fill_module, module_differences, stem
from .source_text import literal
from .target import ExportContext, ExportedFiles, ScoreMap, Target

_MODULE = Template('''\
"""$origin

A judge written by Judgewright. $decision.
"""

import hashlib
import json
import re

RESPONSE_FORMAT = $response_format

$user_text

$messages

$reading

def positive(grade):
    """Return the decision for a grade."""
    return grade >= THRESHOLD
''')


def write(context: ExportContext) -> ExportedFiles:
    """Write the module."""
    prompt = context.prompt
    name = stem(prompt)
    # A module of one of these names could not be imported, or would be imported in place of Python's own.
    if iskeyword(name) or name in sys.stdlib_module_names:
        name = f"judge_{name}"
    form = pformat(response_format(prompt), sort_dicts=False, width=100)
    fields = ", ".join(f"{literal(field)}: ..." for field in prompt.inputs)
    return ExportedFiles(
        files={f"{name}.py": fill_module(_MODULE, context, response_format=form)},
        own_fences=True,
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, "`read_reply` returns the judge's grade."),
        usage=(
            f"import {name}\n"
            f"reply = client.chat.completions.create(model=MODEL, messages={name}.messages({{{fields}}}))\n"
            f"grade, reasons = {name}.read_reply(reply.choices[0].message.content)"
        ),
    )


TARGET = Target(name="python", tool="Python", write=write, check="plain.py")
