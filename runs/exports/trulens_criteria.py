"""The second file of a TruLens export: a judge's criteria for TruLens' own metric, which words the rest itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from .judge_module import graded_examples, literal, number_text, raw_threshold, scale_text
from .python_text import plain, python_text
from .target import ExportContext, Refused

CRITERIA_DIFFERENCE = (
    "The *_criteria.py file hands criteria, anchors and demonstrations' grades to TruLens' own metric. TruLens writes "
    "the role, the guidelines and the answer format, fences nothing, turns tabs into spaces, and for groundedness "
    "splits the statement into sentences, drops those a first call finds trivial, and averages the others' scores: its "
    "figures are not those of the gate."
)


_CRITERIA = Template('''\
"""The criteria of $title in TruLens' own metric.

$origin.
$decision.
Written by Judgewright. This is another judge than the one that was measured: TruLens adds its own role, wording and
answer format. Its scores are scaled to 0..1.
"""

from trulens.core import Metric

THRESHOLD = $threshold
"""A score at or above it is positive."""

CRITERIA = $criteria

EXAMPLES = $examples
"""Inputs and grades."""


def make_metric(provider, **options):
    """Return `provider.$method` with the judge's criteria, scale and demonstrations.

    Args:
        provider: The model, as any TruLens LLM provider.
        options: What `Metric` takes besides, `selectors` above all.
    """
    return Metric(
        implementation=provider.$method,
        name="$name",
        criteria=CRITERIA,
        examples=EXAMPLES or None,
        min_score_val=$low,
        max_score_val=$high,
        temperature=0.0,
        **options,
    )
''')


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A metric of TruLens that asks what one of our judges asks."""

    judge: str
    """How the judge's name begins."""
    method: str
    arguments: Mapping[str, str]
    """Our field to its argument."""


FEEDBACKS = (
    Feedback(
        judge="groundedness",
        method="groundedness_measure_with_cot_reasons",
        arguments={"source": "source", "statement": "statement"},
    ),
    Feedback(
        judge="context_relevance",
        method="context_relevance_with_cot_reasons",
        arguments={"query": "question", "passage": "context"},
    ),
    Feedback(
        judge="answer_relevance",
        method="relevance_with_cot_reasons",
        arguments={"query": "prompt", "answer": "response"},
    ),
)
OUTPUT_SPACES = ((0, 1), (0, 3), (0, 10))
"""The scales that TruLens' own metrics accept."""


def trulens_criteria(handover: ExportContext) -> str:
    """Return a module that gives TruLens' own metric our criteria, anchors and demonstrations.

    Raises:
        Refused: TruLens has no such metric, or not this scale.
    """
    prompt, scale = handover.prompt, handover.prompt.scale
    feedback = next((f for f in FEEDBACKS if prompt.name.startswith(f.judge)), None)
    if feedback is None or set(feedback.arguments) != set(prompt.inputs):
        raise Refused("TruLens has no metric of its own that asks the same")
    if scale.kind not in ("graded", "binary") or (scale.low, scale.high) not in OUTPUT_SPACES:
        raise Refused(f"TruLens' own metrics have no scale {scale.describe()}")
    examples = "".join(
        "    (\n        {\n"
        + "".join(f"            {literal(feedback.arguments[n])}: {python_text(row[n], 12)},\n" for n in prompt.inputs)
        + f"        }},\n        {grade:g},\n    ),\n"
        for row, grade in graded_examples(prompt)
    )
    return _CRITERIA.substitute(
        title=prompt.name,
        origin=plain(handover.origin),
        decision=f"Positive at a grade of {raw_threshold(handover):g} or above",
        threshold=number_text((raw_threshold(handover) - scale.low) / (scale.high - scale.low)),
        criteria=python_text("\n\n".join(filter(None, (prompt.criteria.strip(), scale_text(prompt)))), 0),
        examples=f"[\n{examples}]" if examples else "[]",
        method=feedback.method,
        name=prompt.name,
        low=str(scale.low),
        high=str(scale.high),
    )
