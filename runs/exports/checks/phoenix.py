"""Evaluate rows with an export for Phoenix over a wire that leads nowhere: `phoenix.py EXPORT CASES OUT`."""

import asyncio
import importlib.util
import json
import logging
import re
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import httpx
from phoenix.client.types import PromptVersion
from phoenix.evals import LLM

logging.disable(logging.CRITICAL)


def load(file):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wire(sent, reply):
    """An LLM of Phoenix's whose requests are kept in `sent` and answered with `reply[0]`."""

    def answer(request):
        sent.append(json.loads(request.content)["messages"])
        message = {"role": "assistant", "content": reply[0]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "0", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
        return httpx.Response(200, json=body)

    transport = httpx.MockTransport(answer)
    return LLM(
        provider="openai",
        model="gpt-fake",  # a name that begins otherwise would have its system message in the role developer
        api_key="none",
        base_url="http://nowhere/v1",
        sync_client_kwargs={"http_client": httpx.Client(transport=transport)},
        async_client_kwargs={"http_client": httpx.AsyncClient(transport=transport)},
    )


def fixed_fences(messages, inputs):
    """The messages with fixed tags as fences; each that shows a row has a tag of its own."""
    out = []
    for message in messages:
        found = re.search(f"<{inputs[0]}-([0-9a-f]{{8}})>\n", message["content"]) if message["role"] == "user" else None
        tag = f"-{found.group(1)}>" if found else ">"
        out.append(message | {"content": message["content"].replace(tag, ">")})
    return out


def check_stored(module, told, wanted):
    """Push to a client that only keeps what it is given, and fill that as Phoenix's client does."""
    kept = []

    def create(*, name, version):
        kept.append(version)

    module.push("gpt-fake", client=SimpleNamespace(prompts=SimpleNamespace(create=create)))
    (version,) = kept
    again = PromptVersion._loads(version._dumps())  # what the store would give back
    for number, (row, messages) in enumerate(zip(told["rows"], wanted, strict=True), start=1):
        if any("{{" in text for text in row.values()):
            continue
        got = [dict(m) for m in again.format(variables=row).messages]
        if got != messages:
            sys.exit(f"the stored prompt: row {number} renders as another text")


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    rows, inputs = told["rows"], told["judge"]["inputs"]
    module = load(next(given.glob("*_phoenix.py")))
    sent, reply = [], [told["replies"][0]]
    judge = module.Judge(wire(sent, reply))
    for row in rows:
        judge.evaluate(row)
    rendered, scores = list(sent), []
    for reply[0] in told["replies"]:
        ((first,), (second,)) = judge.evaluate(rows[0]), asyncio.run(judge.async_evaluate(rows[0]))
        if first.score != second.score:
            sys.exit("evaluate and async_evaluate differ")
        scores.append(first.score)
    wanted = [fixed_fences(messages, inputs) for messages in rendered]
    notes = []
    if hasattr(module, "push"):
        check_stored(module, told, wanted)
        notes.append("rows whose text holds {{ were not put into the stored prompt: its client would fill them too")
    tool = f"phoenix evals {version('arize-phoenix-evals')}, client {version('arize-phoenix-client')}"
    found = {"tool": tool, "rendered": rendered, "scores": scores, "notes": notes}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
