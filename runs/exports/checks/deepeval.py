"""Measure test cases with an export for DeepEval on fake models: `deepeval.py EXPORT CASES OUT`."""

import asyncio
import importlib.util
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0", "ERROR_REPORTING": "0"}

from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase


def load(file):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fake_client(sent, reply):
    """Something shaped like an OpenAI client that keeps messages in `sent` and answers with `reply[0]`."""

    def create(*, messages, **parameters):
        sent.append(messages)
        message = SimpleNamespace(content=reply[0])
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_case(row, places):
    """A test case with each input in its place."""
    given, metadata = {"input": "-"}, {}
    for name, place in places.items():
        if place is None:
            metadata[name] = row[name]
        else:
            given[place] = [row[name]] if place == "retrieval_context" else row[name]
    return LLMTestCase(**given, metadata=metadata or None)


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    judge, rows = told["judge"], told["rows"]
    module = load(next(given.glob("*_deepeval.py")))
    sent, reply = [], [told["replies"][0]]
    (metric,) = copy_metrics([module.Judge("fake", client=fake_client(sent, reply))])  # as evaluate() does
    for row in rows:
        metric.measure(test_case(row, module.PLACES))
    rendered, scores = list(sent), []
    for reply[0] in told["replies"]:
        try:
            score = asyncio.run(metric.a_measure(test_case(rows[0], module.PLACES)))
        except ValueError:
            score = None
        scores.append(score)
        low, high, threshold = (judge["scale"][part] for part in ("low", "high", "threshold"))
        if judge["scale"]["kind"] == "probability":
            threshold = module.THRESHOLD  # a calibration is folded into it
        if score is not None and metric.is_successful() != (low + score * (high - low) >= threshold - 1e-9):
            sys.exit(f"score {score} is decided otherwise than at {threshold}")
    found = {"tool": f"deepeval {version('deepeval')}", "rendered": rendered, "scores": scores, "notes": []}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
