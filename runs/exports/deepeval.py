"""DeepEval: a metric that sends the judge's own messages, and the judge as a GEval in DeepEval's words."""

from __future__ import annotations

from string import Template

from ...judges import JudgePrompt
from .judge_module import (
    calibration_difference,
    fill_module,
    literal,
    number_text,
    prose_difference,
    raw_threshold,
    stem,
)
from .python_text import plain, python_text
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

PLACES = {
    "input": ("question", "query", "input", "prompt"),
    "actual_output": ("statement", "answer", "response", "output", "actual_output", "interpretation"),
    "retrieval_context": ("source", "context", "contexts", "passages", "passage", "paragraph", "document", "documents"),
    "expected_output": ("gold_answer", "reference", "expected_output"),
}
"""Where an input stands in a test case, by its name; each place once, the first input that fits."""

_MODULE = Template('''\
"""$origin

A DeepEval metric written by Judgewright. $decision.
"""

import asyncio
import hashlib
import json
import re

from deepeval.metrics import BaseMetric
from openai import OpenAI

$user_text

$messages

$reading

LOW, HIGH = $low, $high
"""The judge's lowest and highest grade; scores run from 0 to 1 between them."""

PLACES = {$places}
"""Where each input stands in a test case; one that its metadata name is taken from there."""


def row_of(test_case):
    """Return the judge's inputs of a test case; several pieces of retrieval context are joined by an empty line."""
    row = {}
    for name, place in PLACES.items():
        value = (test_case.metadata or {}).get(name)
        if value is None and place is not None:
            value = getattr(test_case, place)
        if value is None:
            raise ValueError(f"the test case has no {name}: give it as {place or 'metadata'}")
        row[name] = value if isinstance(value, str) else "\\n\\n".join(map(str, value))
    return row


class Judge(BaseMetric):
    """The judge as a DeepEval metric: a score from 0 to 1 against a threshold; a reply without a grade is an error."""

    def __init__(self, model, client=None, base_url=None, threshold=(THRESHOLD - LOW) / (HIGH - LOW), parameters=None):
        """Take a model at any endpoint that speaks the OpenAI protocol.

        Args:
            model: Its name there.
            client: An OpenAI client; made from base_url and OPENAI_API_KEY unless given.
            threshold: The least score that passes; the judge's own unless given.
            parameters: What else the request says, such as seed or response_format; temperature is 0 unless given.
        """
        self.model = self.evaluation_model = model  # DeepEval copies a metric by the names of these arguments
        self.client = client
        self.base_url = base_url
        self.threshold = threshold
        self.parameters = {"temperature": 0.0, **(parameters or {})}

    def measure(self, test_case, *args, **kwargs):
        """Judge a test case."""
        self.score = self.reason = self.success = self.error = None
        client = self.client or OpenAI(base_url=self.base_url)
        reply = client.chat.completions.create(
            model=self.model, messages=messages(row_of(test_case)), **self.parameters
        ).choices[0]
        if reply.finish_reason in ("length", "content_filter"):
            raise ValueError(f"the reply ended by {reply.finish_reason}")
        grade, self.reason = read_reply(reply.message.content or "")
        self.score = (grade - LOW) / (HIGH - LOW)
        self.success = self.is_successful()
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        """Judge a test case in a thread of its own."""
        return await asyncio.to_thread(self.measure, test_case)

    @property
    def __name__(self):
        return NAME
''')

_GEVAL = Template('''\
"""$origin

The judge as a DeepEval GEval, written by Judgewright; the second-best form: DeepEval's words around our criteria.
"""

from deepeval.metrics import GEval
from deepeval.metrics.g_eval import Rubric
from deepeval.test_case import SingleTurnParams

STEPS = [
    $steps,
]
"""Given as they are; DeepEval asks no model to write steps from criteria."""

RUBRIC = [
$rubric]


def judge(model, **options):
    """Return the metric on a model of DeepEval's, or the name of one."""
    return GEval(
        name=$name,
        evaluation_steps=STEPS,
        rubric=RUBRIC,
        evaluation_params=[$parameters],
        model=model,
        threshold=$threshold,
        **options,
    )
''')


def write(handover: ExportContext) -> ExportedFiles:
    """Write the metric, and beside it a GEval where the scale has anchors on whole grades from 0 to 10.

    Raises:
        Refused: The judge chooses a label, which is no number to hold against a threshold.
    """
    prompt, scale = handover.prompt, handover.prompt.scale
    if scale.kind == "choice":
        raise Refused(
            f"{prompt.name} chooses one of {', '.join(scale.labels)}: a DeepEval metric is a number against a threshold"
        )
    name, places = f"{stem(prompt)}_deepeval", places_of(prompt)
    shown = ", ".join(f"{literal(field)}: {literal(place) if place else None}" for field, place in places.items())
    module = fill_module(_MODULE, handover, low=str(scale.low), high=str(scale.high), places=shown)
    differences = [*calibration_difference(handover), *prose_difference(prompt)]
    files = {f"{name}.py": module}
    anchors = [scale.anchors.get(_shown(prompt, int(grade)), "") for grade in scale.levels]
    whole = scale.kind != "probability" and scale.low >= 0 and scale.high <= 10
    if not (whole and all(anchors)) or None in places.values():
        differences.append(
            "There is no GEval: it needs whole grades from 0 to 10 with an anchor for each, and inputs with a place in "
            "a DeepEval test case."
        )
    else:
        files[f"{stem(prompt)}_geval.py"] = _geval(handover, places, anchors)
        differences.append(
            f"{stem(prompt)}_geval.py is the second-best form: DeepEval writes its own prompt around system text, "
            "criteria and anchors, asks for its own fields score and reason in place of the judge's reply, leaves out "
            "the judge's template and demonstrations, shows retrieval context as a Python list, and weighs grades by "
            "token probabilities where its model gives them."
        )
    filled = dict.fromkeys(place for place in ("input", *places.values()) if place)  # a test case has an input anyway
    given = ", ".join(f"{place}=[...]" if place == "retrieval_context" else f"{place}=..." for place in filled)
    return ExportedFiles(
        files=files,
        exact=True,
        calibrated=True,
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap(
            low=0.0,
            high=1.0,
            how="Scores run from 0 at the lowest grade to 1 at the highest, and so does the threshold.",
        ),
        usage=(
            f"from deepeval.test_case import LLMTestCase\nfrom {name} import Judge\n"
            f"score = Judge(MODEL, base_url=URL).measure(LLMTestCase({given}))"
        ),
    )


def places_of(prompt: JudgePrompt) -> dict[str, str | None]:
    """Return where each input stands in a test case; None for one that only its metadata can hold."""
    out: dict[str, str | None] = {}
    for name in prompt.inputs:
        fits = next((place for place, names in PLACES.items() if name in names), None)
        out[name] = None if fits in out.values() else fits
    return out


def _geval(handover: ExportContext, places: dict[str, str | None], anchors: list[str]) -> str:
    prompt, scale = handover.prompt, handover.prompt.scale
    steps = "\n\n".join(part for part in (prompt.system.strip(), prompt.criteria.strip()) if part)
    threshold = raw_threshold(handover)
    rubric = "".join(
        f"    Rubric(\n        score_range=({grade}, {grade}),\n        expected_outcome={_text(text)},\n    ),\n"
        for grade, text in enumerate(anchors, start=scale.low)
    )
    return _GEVAL.substitute(
        origin=plain(handover.origin),
        steps=python_text(steps, 4),
        rubric=rubric,
        name=literal(prompt.name),
        parameters=", ".join(f"SingleTurnParams.{place.upper()}" for place in places.values() if place),
        threshold=f"({number_text(threshold)} - {scale.low}) / ({scale.high} - {scale.low})",
    )


def _text(text: str) -> str:
    return python_text(text, 8) if "\n" in text else literal(text)


def _shown(prompt: JudgePrompt, grade: int) -> str:
    return prompt.scale.labels[grade] if prompt.scale.labels else str(grade)


TARGET = Target(
    name="deepeval",
    tool="DeepEval 4.3",
    write=write,
    probe="deepeval.py",
    requires=("deepeval==4.3.1",),
)
