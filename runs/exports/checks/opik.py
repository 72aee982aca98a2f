"""Score rows with an export for Opik on a fake model, with no server: `opik.py EXPORT CASES OUT`."""

import asyncio
import importlib.util
import json
import logging
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

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


def load(file):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fixed_fences(messages, inputs):
    """The messages with fixed tags as fences; each that shows a row has a tag of its own."""
    out = []
    for message in messages:
        found = re.search(f"<{inputs[0]}-([0-9a-f]{{8}})>\n", message["content"]) if message["role"] == "user" else None
        tag = f"-{found.group(1)}>" if found else ">"
        out.append(message | {"content": message["content"].replace(tag, ">")})
    return out


def check_prompt(module, told, rendered):
    """Push to a client that only keeps what it is given, and render that in Opik's own template."""
    kept = {}

    class Client:
        def create_chat_prompt(self, **options):
            kept.update(options)

    module.push(Client())
    template = ChatPromptTemplate(kept["messages"], template_type=kept["type"])
    for number, (row, messages) in enumerate(zip(told["rows"], rendered, strict=True), start=1):
        if template.format(row) != fixed_fences(messages, told["judge"]["inputs"]):
            sys.exit(f"the stored prompt: row {number} renders as another text")


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    rows, replies = told["rows"], told["replies"]
    module = load(next(given.glob("*_opik.py")))
    model = FakeModel(replies[0])
    metric = module.Judge(model, track=False)
    for row in rows:
        metric.score(**row, an_unknown_column="ignored")
    rendered, scores = list(model.sent), []
    for model.reply in replies:
        try:
            scores.append(asyncio.run(metric.ascore(**rows[0])).value)
        except MetricComputationError:
            scores.append(None)
    check_prompt(module, told, rendered)
    found = {"tool": f"opik {version('opik')}", "rendered": rendered, "scores": scores, "notes": []}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
