"""Evaluate rows with an export for Phoenix over a wire that leads nowhere: `phoenix.py EXPORT CASES ANSWER`."""

import asyncio
import logging
import sys
from importlib.metadata import version
from types import SimpleNamespace

import httpx
from phoenix.client.types import PromptVersion
from phoenix.evals import LLM
from script_shared import chat_transport, fixed_fences, load_module, read_cases, write_answer

logging.disable(logging.CRITICAL)


def fake_llm(sent, reply):
    """Return an LLM of Phoenix's whose requests are kept in `sent` and answered with `reply[0]`."""
    transport = chat_transport(sent, reply)
    return LLM(
        provider="openai",
        model="gpt-fake",  # a name that begins otherwise would have its system message in the role developer
        api_key="none",
        base_url="http://nowhere/v1",
        sync_client_kwargs={"http_client": httpx.Client(transport=transport)},
        async_client_kwargs={"http_client": httpx.AsyncClient(transport=transport)},
    )


def check_stored(module, cases, rendered):
    """Push to a client that only keeps what it is given, and fill that as Phoenix's client does."""
    versions = []

    def create(*, name, version):
        versions.append(version)

    module.push("gpt-fake", client=SimpleNamespace(prompts=SimpleNamespace(create=create)))
    stored = PromptVersion._loads(versions[0]._dumps())  # what the store would give back
    for number, (row, messages) in enumerate(zip(cases["rows"], rendered, strict=True), start=1):
        if any("{{" in text for text in row.values()):
            continue
        filled = [dict(message) for message in stored.format(variables=row).messages]
        if filled != fixed_fences(messages, cases["judge"]["inputs"]):
            sys.exit(f"the stored prompt: row {number} renders as another text")


def main():
    """Check the evaluator and the stored prompt."""
    folder, cases = read_cases()
    rows = cases["rows"]
    module = load_module(folder, "*_phoenix.py")
    sent, reply = [], [cases["replies"][0]]
    judge = module.Judge(fake_llm(sent, reply))
    for row in rows:
        judge.evaluate(row)
    rendered, scores, notes = list(sent), [], []
    for reply[0] in cases["replies"]:
        (score,) = judge.evaluate(rows[0])
        (async_score,) = asyncio.run(judge.async_evaluate(rows[0]))
        if score.score != async_score.score:
            sys.exit("evaluate and async_evaluate differ")
        scores.append(score.score)
    if hasattr(module, "push"):
        check_stored(module, cases, rendered)
        notes.append("rows whose text holds {{ were not put into the stored prompt: its client would fill them too")
    tool = f"phoenix evals {version('arize-phoenix-evals')}, client {version('arize-phoenix-client')}"
    write_answer(tool, rendered, scores, notes)


main()
