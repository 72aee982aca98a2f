"""Evaluate rows with an export for Phoenix over its OpenAI provider: `phoenix.py EXPORT CASES
ANSWER`.
"""

import asyncio
import logging
import sys
from importlib.metadata import version
from types import SimpleNamespace

from phoenix.client.types import PromptVersion
from phoenix.evals import LLM
from script_shared import ask_cases, load_module, read_cases, require_rendered, write_answer

logging.disable(logging.CRITICAL)


def check_stored(module, cases):
    """Push to a client that only keeps what it is given, and fill that as Phoenix's client does."""
    versions = []

    def create(*, name, version):
        versions.append(version)

    module.push("gpt-fake", client=SimpleNamespace(prompts=SimpleNamespace(create=create)))
    stored = PromptVersion._loads(versions[0]._dumps())  # what the store would give back

    def render(row):
        return [dict(message) for message in stored.format(variables=row).messages]

    require_rendered(module, cases["rows"], render)


def main():
    """Check the evaluator and the stored prompt."""
    folder, cases = read_cases()
    module = load_module(folder, "*_phoenix.py")

    def ask(url, row):
        judge = module.Judge(
            LLM(provider="openai", model=cases["model"], api_key="none", base_url=url)
        )
        (score,) = judge.evaluate(row)
        (async_score,) = asyncio.run(judge.async_evaluate(row))
        if score.score != async_score.score:
            sys.exit("evaluate and async_evaluate differ")
        return score.score, score.label == "positive"

    notes = []
    if module.PROMPT_FILE.is_file():
        check_stored(module, cases)
        notes.append(
            "rows whose text holds {{ were not put into the stored prompt: its client would fill"
            " them too"
        )
    tool = (
        f"phoenix evals {version('arize-phoenix-evals')}, client {version('arize-phoenix-client')}"
    )
    write_answer(tool, notes, outcomes=ask_cases(cases, ask))


main()
