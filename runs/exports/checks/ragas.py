"""Judge rows with an export for Ragas over a wire that leads nowhere: `ragas.py EXPORT CASES OUT`."""

import asyncio
import importlib.util
import json
import os
import sys
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

import httpx
import openai
import ragas


def load(file):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def wire(sent, reply):
    """An OpenAI client whose requests are kept in `sent` and answered with `reply[0]`."""

    def answer(request):
        sent.append(json.loads(request.content)["messages"])
        message = {"role": "assistant", "content": reply[0]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "0", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
        return httpx.Response(200, json=body)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://nowhere/v1", http_client=http, max_retries=0)


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    judge, rows = told["judge"], told["rows"]
    module = load(next(given.glob("*_ragas.py")))
    sent, reply = [], [told["replies"][0]]
    metric = module.Judge(model="fake", client=wire(sent, reply))
    for row in rows:
        metric.score(**row)
    rendered = list(sent)
    scores = []
    for reply[0] in told["replies"]:
        value = asyncio.run(metric.ascore(**rows[0])).value
        problem = None if value is None else metric.validate_result_value(value)
        if problem:
            sys.exit(problem)
        scores.append(judge["scale"]["labels"].index(value) if isinstance(value, str) else value)
    found = {"tool": f"ragas {ragas.__version__}", "rendered": rendered, "scores": scores, "notes": []}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
