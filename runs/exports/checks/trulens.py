"""Run a TruLens export with its OpenAI provider, and store its prompt: `trulens.py EXPORT CASES
ANSWER`.
"""

import logging
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from script_shared import ask_cases, load_module, read_cases, require_rendered, write_answer
from trulens.core import TruSession
from trulens.providers.openai import OpenAI


def check_registry(module, rows):
    """Store the prompt in a registry of its own and render rows from it."""
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{Path(scratch) / 'registry.sqlite'}"
        stored = module.push(url, label="staging")
        prompt = TruSession(database_url=url).get_prompt(module.JUDGE.name, label="staging")
        require_rendered(module, rows, lambda row: prompt.render(**row).messages)
    return f"prompt.json: stored as {stored} and rendered"


def main():
    """Check the metric, and the registry's entry where there is one."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    module = load_module(folder, "*_trulens.py")

    def ask(url, row):
        provider = OpenAI(model_engine=cases["model"], base_url=url, api_key="none", rpm=1e6)
        score, _ = module.make_metric(provider)(**row)
        return score, module.positive(score)

    notes = []
    if (folder / "prompt.json").is_file():
        notes.append(check_registry(module, cases["rows"]))
    write_answer(f"trulens {version('trulens-core')}", notes, outcomes=ask_cases(cases, ask))


main()
