"""Run a TruLens export on a fake provider: `trulens.py EXPORT CASES OUT`."""

import importlib.util
import json
import logging
import re
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from trulens.core import TruSession
from trulens.feedback.dummy.provider import DummyProvider

SENT = []
ANSWER = [""]


class Provider(DummyProvider):
    """Keeps what it would send, and answers with what stands in ANSWER."""

    def _create_chat_completion(self, prompt=None, messages=None, response_format=None, **options):
        SENT.append(messages)
        return ANSWER[0]


def load(path: Path):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score(metric, row: dict) -> float | None:
    """Return a metric's score for a row; None where it failed."""
    try:
        return metric(**row)[0]
    except Exception as error:  # noqa: BLE001  # whatever a metric raises, the tool takes for a failure
        print(f"no score: {error}", file=sys.stderr)
        return None


def check_registry(module, folder: Path, rows: list[dict]) -> str:
    """Store the prompt in a registry of its own and render every row from it."""
    entry = json.loads((folder / "registry.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{Path(scratch) / 'registry.sqlite'}"
        stored = module.push(folder, url, label="staging")
        resolved = TruSession(database_url=url).get_prompt(module.NAME, label="staging")
        for i, row in enumerate(rows):
            places = re.compile("|".join(r"\{\{" + name + r"\}\}" for name in row))
            wanted = [
                {**m, "content": places.sub(lambda found, row=row: row[found.group()[2:-2]], m["content"])}
                for m in entry["version"]["messages"]
            ]
            if resolved.render(**row).messages != wanted:
                raise SystemExit(f"the registry renders row {i + 1} differently")
    return f"registry.json: stored as {stored} and rendered {len(rows)} rows"


def main() -> None:
    """Write what was found as JSON."""
    folder, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    provider = Provider(error_prob=0, loading_prob=0, freeze_prob=0, overloaded_prob=0, delay=0, rpm=1e6)
    (path,) = folder.glob("*_trulens.py")
    module = load(path)
    metric = module.make_metric(provider)
    rendered, scores = [], []
    for row in told["rows"]:
        SENT.clear()
        ANSWER[0] = told["replies"][0]
        metric(**row)
        rendered.append(SENT[-1])
    for reply in told["replies"]:
        ANSWER[0] = reply
        scores.append(score(metric, told["rows"][0]))
    notes = []
    if (folder / "registry.json").is_file():
        notes.append(check_registry(module, folder, told["rows"]))
    found = {"tool": f"trulens {version('trulens-core')}", "rendered": rendered, "scores": scores, "notes": notes}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
