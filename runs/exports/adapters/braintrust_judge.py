"""The judge in `judge.json` as a scorer for Braintrust, or as a classifier where it names a
label.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from autoevals import Score, Scorer
from braintrust import Classification, wrap_openai
from openai import OpenAI

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


class Asked:
    """Asks a model at any endpoint that speaks the OpenAI protocol.

    Args:
        model: Its name there.
        client: An OpenAI client; made from OPENAI_API_KEY and OPENAI_BASE_URL, and traced, unless
            given.
        output_is: The input that is the task's output; the case's input, or its metadata, hold the
            others.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """

    def __init__(self, model, client=None, output_is=None, parameters=None):
        self.model = model
        self.client = client or wrap_openai(OpenAI())
        self.output_is = output_is
        self.parameters = parameters or {}
        self.__name__ = JUDGE.name

    def _ask(self, output, inputs, metadata):
        row = {**(metadata or {}), **(inputs if isinstance(inputs, Mapping) else {})}
        if self.output_is is not None:
            row[self.output_is] = output
        return JUDGE.ask(self.client, self.model, row, self.parameters)


class JudgeScorer(Asked, Scorer):
    """For `Eval(scores=[...])`; scores run from 0 at the lowest grade to 1 at the highest."""

    def _name(self):
        return JUDGE.name

    def _run_eval_sync(self, output=None, expected=None, input=None, metadata=None, **_):
        """Judge one case; without a grade the score is None, which Braintrust leaves out."""
        try:
            grade, reasons = self._ask(output, input, metadata)
        except ValueError as problem:
            return Score(name=JUDGE.name, score=None, metadata={"unscored": str(problem)})
        details = {"grade": grade, "positive": JUDGE.positive(grade), "reason": reasons}
        return Score(name=JUDGE.name, score=JUDGE.share(grade), metadata=details)


class JudgeClassifier(Asked):
    """For `Eval(classifiers=[...])`."""

    def __call__(self, output=None, expected=None, input=None, metadata=None, **_):
        """Judge one case; a reply without a label gives no classification."""
        try:
            grade, reasons = self._ask(output, input, metadata)
        except ValueError:
            return None
        return Classification(id=JUDGE.label(grade), name=JUDGE.name, metadata={"reason": reasons})


Judge = JudgeClassifier if JUDGE.chooses else JudgeScorer
