"""Score rows with an export for Opik on a fake model, with no server: `opik.py EXPORT CASES ANSWER`."""

import asyncio
import logging
import os
import sys
from importlib.metadata import version

from script_shared import fixed_fences, load_module, read_cases, score_or_none, write_answer

os.environ |= {"OPIK_TRACK_DISABLE": "true", "OPIK_ANALYTICS_ENABLE": "false", "OPIK_SENTRY_ENABLE": "false"}
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from opik.api_objects.prompt import ChatPromptTemplate
from opik.evaluation.models import OpikBaseModel
from opik.exceptions import MetricComputationError

logging.disable(logging.CRITICAL)


class FakeModel(OpikBaseModel):
    """A model of Opik's kind that keeps what it is sent and answers with `reply`."""

    def __init__(self, reply):
        super().__init__("fake")
        self.sent, self.reply = [], reply

    def generate_string(self, input, response_format=None, **kwargs):
        raise NotImplementedError

    def generate_provider_response(self, messages, **kwargs):
        raise NotImplementedError

    def generate_chat_completion(self, messages, response_format=None, **kwargs):
        self.sent.append(messages)
        return {"role": "assistant", "content": self.reply}

    async def agenerate_chat_completion(self, messages, response_format=None, **kwargs):
        return self.generate_chat_completion(messages)


class FakeClient:
    """Keeps the prompt that is pushed."""

    def create_chat_prompt(self, **options):
        self.options = options


def check_prompt(module, cases, rendered):
    """Push the prompt, and render it in Opik's own template."""
    client = FakeClient()
    module.push(client)
    template = ChatPromptTemplate(client.options["messages"], template_type=client.options["type"])
    for number, (row, messages) in enumerate(zip(cases["rows"], rendered, strict=True), start=1):
        if template.format(row) != fixed_fences(messages, cases["judge"]["inputs"]):
            sys.exit(f"the stored prompt: row {number} renders as another text")


def main():
    """Check the metric and the stored prompt."""
    folder, cases = read_cases()
    rows, replies = cases["rows"], cases["replies"]
    module = load_module(folder, "*_opik.py")
    model = FakeModel(replies[0])
    metric = module.Judge(model, track=False)
    for row in rows:
        metric.score(**row, an_unknown_column="ignored")
    rendered, scores = list(model.sent), []
    for model.reply in replies:
        score = score_or_none(lambda: asyncio.run(metric.ascore(**rows[0])).value, refusal=MetricComputationError)
        scores.append(score)
    check_prompt(module, cases, rendered)
    write_answer(f"opik {version('opik')}", rendered, scores)


main()
