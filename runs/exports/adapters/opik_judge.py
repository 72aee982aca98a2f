"""The judge in `judge.json` as a metric of Opik, and the chat prompt for its prompt library."""

import json
import sys
from pathlib import Path

import opik
from opik.evaluation.metrics import base_metric, score_result
from opik.evaluation.models import OpikBaseModel, base_model, models_factory
from opik.exceptions import MetricComputationError

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


class Judge(base_metric.BaseMetric):
    """A metric; a reply without a grade fails, as Opik's own metrics do, and is no zero."""

    def __init__(self, model=None, name=JUDGE.name, track=True, project_name=None, **parameters):
        """Take a model of Opik's kind, or a name that Opik hands to LiteLLM with the parameters.

        Args:
            model: The model, or its name.
            name: What the metric is called.
            track: Whether Opik records its calls.
            project_name: Where.
            parameters: What LiteLLM takes besides, such as api_base; what the request says
                otherwise than the judge does, where None leaves a part of it out.
        """
        super().__init__(name=name, track=track, project_name=project_name)
        own = isinstance(model, OpikBaseModel)
        self.model = model if own else models_factory.get(model, track=track)
        self.parameters = parameters

    def score(self, **row):
        """Judge one row: its inputs by name; other names are ignored."""
        request = self._request(row)
        with base_model.get_provider_response(model_provider=self.model, **request) as completion:
            return self._result(completion)

    async def ascore(self, **row):
        """Judge one row with the model's own asynchronous call."""
        response = base_model.aget_provider_response(
            model_provider=self.model, **self._request(row)
        )
        async with response as completion:
            return self._result(completion)

    def _request(self, row):
        if missing := [name for name in JUDGE.inputs if name not in row]:
            raise MetricComputationError(f"{JUDGE.name} needs {', '.join(missing)}")
        return JUDGE.request(row, **self.parameters)

    def _result(self, completion):
        try:
            grade, reasons = JUDGE.read_completion(completion)
        except ValueError as problem:
            raise MetricComputationError(str(problem)) from problem
        if JUDGE.chooses:
            details = {"value": grade, "category_name": JUDGE.label(grade)}
        else:
            decided = {"grade": grade, "positive": JUDGE.positive(grade)}
            details = {"value": JUDGE.share(grade), "metadata": decided}
        return score_result.ScoreResult(name=self.name, reason=reasons, **details)


def push(client=None, *, name=JUDGE.name, **options):
    """Store the chat prompt that lies beside this file in Opik's prompt library, for people to read
    and try.

    Args:
        client: An opik.Opik(); made from the Opik configuration unless given.
        name: What it is called there.
        options: What else create_chat_prompt takes, such as tags or project_name.
    """
    messages = json.loads(Path(__file__).with_name("prompt.json").read_text(encoding="utf-8"))
    return (client or opik.Opik()).create_chat_prompt(
        name=name,
        messages=messages,
        type=opik.PromptType.JINJA2,
        metadata={
            "judgewright": JUDGE.version,
            "threshold": JUDGE.threshold,
            "request": JUDGE.defaults,
            "origin": JUDGE.origin,
        },
        **options,
    )
