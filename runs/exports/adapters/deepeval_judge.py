"""The judge in `judge.json` as a metric of DeepEval."""

import asyncio
import sys
from pathlib import Path

from deepeval.metrics import BaseMetric
from openai import OpenAI

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import Unreadable, joined, judge_beside

JUDGE = judge_beside(__file__)
USUAL_NAMES = {
    "input": "question query input prompt",
    "actual_output": "statement answer response output actual_output interpretation",
    "retrieval_context": "source context contexts passages passage paragraph document documents",
    "expected_output": "gold_answer reference expected_output",
}
"""What a judge usually calls each part of a test case."""


def places_of(inputs):
    """Return where each input stands in a test case: each part once, for the first that fits; None
    for one that only the metadata can hold.
    """
    places = {}
    for name in inputs:
        part = next((part for part, names in USUAL_NAMES.items() if name in names.split()), None)
        places[name] = None if part in places.values() else part
    return places


PLACES = places_of(JUDGE.inputs)


def row_of(test_case):
    """Return the judge's inputs of a test case; what its metadata name is taken from there."""
    row = {}
    for name, part in PLACES.items():
        value = (test_case.metadata or {}).get(name)
        if value is None and part is not None:
            value = getattr(test_case, part)
        if value is None:
            raise ValueError(f"the test case has no {name}: give it as {part or 'metadata'}")
        row[name] = joined(value)
    return row


class Judge(BaseMetric):
    """A metric whose score runs from 0 at the lowest grade to 1 at the highest.

    A reply without a grade leaves `score` None and says why in `error`; such a row does not pass.
    """

    def __init__(self, model, client=None, base_url=None, threshold=None, parameters=None):
        """Take a model at any endpoint that speaks the OpenAI protocol.

        Args:
            model: Its name there.
            client: An OpenAI client; made from base_url and OPENAI_API_KEY unless given.
            threshold: The least score that passes; the judge's own unless given.
            parameters: What the request says otherwise than the judge does; None leaves a part of
                it out.
        """
        # DeepEval copies a metric by the names of these arguments.
        self.model = self.evaluation_model = model
        self.client = client
        self.base_url = base_url
        self.threshold = JUDGE.share(JUDGE.threshold) if threshold is None else threshold
        self.parameters = parameters

    def measure(self, test_case, *args, **kwargs):
        """Judge a test case."""
        self.score = self.reason = self.success = self.error = None
        client, row = self.client or OpenAI(base_url=self.base_url), row_of(test_case)
        try:
            grade, self.reason = JUDGE.ask(client, self.model, row, self.parameters or {})
        except Unreadable as problem:
            # Raised, it would end DeepEval's evaluate() for all other rows.
            self.error, self.success = str(problem), False
            return None
        self.score = JUDGE.share(grade)
        self.success = self.is_successful()
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        """Judge a test case in a thread of its own."""
        return await asyncio.to_thread(self.measure, test_case)

    @property
    def __name__(self):
        return JUDGE.name
