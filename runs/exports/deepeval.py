"""DeepEval: a metric that sends the judge's own messages."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from ...judges import JudgePrompt
from .message_templates import example_row, fill_module, literal, module_differences, stem
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

PLACES = {
    "input": ("question", "query", "input", "prompt"),
    "actual_output": (
        "statement",
        "answer",
        "response",
        "output",
        "actual_output",
        "interpretation",
    ),
    "retrieval_context": (
        "source",
        "context",
        "contexts",
        "passages",
        "passage",
        "paragraph",
        "document",
        "documents",
    ),
    "expected_output": ("gold_answer", "reference", "expected_output"),
}
"""Where an input stands in a test case, by its name; each place once, the first input that fits."""

_MODULE = Template('''\
"""$origin

A DeepEval metric written by Judgewright. $decision.
"""

import asyncio
$imports

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
    """The judge as a DeepEval metric: a score from 0 to 1 against a threshold.

    A reply without a grade leaves `score` None and says why in `error`; such a row does not pass.
    """

    def __init__(self, model, client=None, base_url=None, threshold=(THRESHOLD - LOW) / (HIGH - LOW), parameters=None):
        """Take a model at any endpoint that speaks the OpenAI protocol.

        Args:
            model: Its name there.
            client: An OpenAI client; made from base_url and OPENAI_API_KEY unless given.
            threshold: The least score that passes; the judge's own unless given.
            parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        """
        self.model = self.evaluation_model = model  # DeepEval copies a metric by the names of these arguments
        self.client = client
        self.base_url = base_url
        self.threshold = threshold
        self.parameters = parameters

    def measure(self, test_case, *args, **kwargs):
        """Judge a test case."""
        self.score = self.reason = self.success = self.error = None
        client = self.client or OpenAI(base_url=self.base_url)
        completion = client.chat.completions.create(
            model=self.model, messages=messages(row_of(test_case)), **settings(**(self.parameters or {}))
        )
        try:
            grade, self.reason = read_completion(completion)
        except Unreadable as problem:  # raised, it would end DeepEval's evaluate() for all other rows
            self.error, self.success = str(problem), False
            return None
        self.score = (grade - LOW) / (HIGH - LOW)
        self.success = self.is_successful()
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        """Judge a test case in a thread of its own."""
        return await asyncio.to_thread(self.measure, test_case)

    @property
    def __name__(self):
        return NAME
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the metric.

    Raises:
        Refused: The judge chooses a label, which is no number to hold against a threshold.
    """
    prompt, scale = context.prompt, context.prompt.scale
    if scale.kind == "choice":
        raise Refused(
            f"{prompt.name} chooses one of {', '.join(scale.labels)}: a DeepEval metric is a number"
            " against a threshold"
        )
    name, places = f"{stem(prompt)}_deepeval", places_of(prompt)
    items = []
    for field, place in places.items():
        items.append(f"{literal(field)}: {literal(place) if place else None}")
    module = fill_module(
        _MODULE, context, low=str(scale.low), high=str(scale.high), places=", ".join(items)
    )
    return ExportedFiles(
        files={f"{name}.py": module},
        own_fences=True,
        differences=(
            (
                "A row without a verdict has no score and an error, and counts as not passed in"
                " DeepEval's rate of passes."
            ),
            *module_differences(context),
        ),
        scores=ScoreMap.of_shares(
            context,
            "Scores run from 0 at the lowest grade to 1 at the highest, and so does the threshold.",
        ),
        usage=(
            f"from deepeval.test_case import LLMTestCase\nfrom {name} import Judge\n"
            f"test_case = LLMTestCase({_arguments(prompt, places)})\n"
            f'score = Judge("{context.model}").measure(test_case)  # OPENAI_API_KEY, and base_url='
            " for another endpoint"
        ),
    )


def places_of(prompt: JudgePrompt) -> dict[str, str | None]:
    """Return where each input stands in a test case; None for one that only its metadata can
    hold.
    """
    places: dict[str, str | None] = {}
    for name in prompt.inputs:
        place = next((place for place, names in PLACES.items() if name in names), None)
        places[name] = None if place in places.values() else place
    return places


def _arguments(prompt: JudgePrompt, places: Mapping[str, str | None]) -> str:
    """Return the arguments of a test case as the usage shows them."""
    arguments = {
        "input": 'input="..."'
    }  # DeepEval asks for an input even where the judge reads none
    for place in places.values():
        if place:
            arguments[place] = (
                f'{place}=["..."]' if place == "retrieval_context" else f'{place}="..."'
            )
    if None in places.values():
        arguments["metadata"] = (
            f"metadata={example_row([name for name, place in places.items() if place is None])}"
        )
    return ", ".join(arguments.values())


TARGET = Target(
    name="deepeval",
    tool="DeepEval 4.3",
    write=write,
    check="deepeval.py",
    requires=("deepeval>=4.2,<4.4",),
)
