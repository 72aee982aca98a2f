"""Run a TruLens export with its OpenAI provider, and store its prompt: `trulens.py EXPORT CASES
ANSWER`.
"""

import json
import logging
import re
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from script_shared import ask_cases, load_module, read_cases, write_answer
from trulens.core import TruSession
from trulens.providers.openai import OpenAI


def check_registry(module, folder, rows):
    """Store the prompt in a registry of its own and render every row from it."""
    entry = json.loads((folder / "registry.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{Path(scratch) / 'registry.sqlite'}"
        stored = module.push(folder, url, label="staging")
        prompt = TruSession(database_url=url).get_prompt(module.NAME, label="staging")
        for number, row in enumerate(rows, start=1):
            placeholder = re.compile("|".join(r"\{\{" + name + r"\}\}" for name in row))
            expected = []
            for message in entry["version"]["messages"]:
                content = placeholder.sub(
                    lambda match, row=row: row[match.group()[2:-2]], message["content"]
                )
                expected.append({**message, "content": content})
            if prompt.render(**row).messages != expected:
                raise SystemExit(f"the registry renders row {number} differently")
    return f"registry.json: stored as {stored} and rendered {len(rows)} rows"


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
    if (folder / "registry.json").is_file():
        notes.append(check_registry(module, folder, cases["rows"]))
    write_answer(f"trulens {version('trulens-core')}", notes, outcomes=ask_cases(cases, ask))


main()
