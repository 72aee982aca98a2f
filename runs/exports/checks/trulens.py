"""Run a TruLens export on a fake provider: `trulens.py EXPORT CASES ANSWER`."""

import json
import logging
import re
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from script_shared import load_module, read_cases, score_or_none, write_answer
from trulens.core import TruSession
from trulens.feedback.dummy.provider import DummyProvider

SENT = []
REPLY = [""]


class FakeProvider(DummyProvider):
    """Keeps what it would send, and answers with REPLY."""

    def _create_chat_completion(self, prompt=None, messages=None, response_format=None, **options):
        SENT.append(messages)
        return REPLY[0]


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
                content = placeholder.sub(lambda match, row=row: row[match.group()[2:-2]], message["content"])
                expected.append({**message, "content": content})
            if prompt.render(**row).messages != expected:
                raise SystemExit(f"the registry renders row {number} differently")
    return f"registry.json: stored as {stored} and rendered {len(rows)} rows"


def main():
    """Check the metric, and the registry's entry where there is one."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    provider = FakeProvider(error_prob=0, loading_prob=0, freeze_prob=0, overloaded_prob=0, delay=0, rpm=1e6)
    module = load_module(folder, "*_trulens.py")
    metric = module.make_metric(provider)
    REPLY[0] = cases["replies"][0]
    rendered, scores, notes = [], [], []
    for row in cases["rows"]:
        SENT.clear()
        metric(**row)
        rendered.append(SENT[-1])
    for REPLY[0] in cases["replies"]:
        # Whatever a metric raises, TruLens takes for a failure.
        scores.append(score_or_none(lambda: metric(**cases["rows"][0])[0], refusal=Exception))
    if (folder / "registry.json").is_file():
        notes.append(check_registry(module, folder, cases["rows"]))
    write_answer(f"trulens {version('trulens-core')}", rendered, scores, notes)


main()
