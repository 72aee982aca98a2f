"""Measure test cases with an export for DeepEval on a fake client: `deepeval.py EXPORT CASES ANSWER`."""

import asyncio
import os
import sys
from importlib.metadata import version
from types import SimpleNamespace

from script_shared import load_module, read_cases, score_or_none, write_answer

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0", "ERROR_REPORTING": "0"}

from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase


def fake_client(sent, reply):
    """Return something shaped like an OpenAI client that keeps messages in `sent` and answers with `reply[0]`."""

    def create(*, messages, **parameters):
        sent.append(messages)
        message = SimpleNamespace(content=reply[0])
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_case(row, places):
    """Return a test case with each input in its place."""
    arguments, metadata = {"input": "-"}, {}
    for name, place in places.items():
        if place is None:
            metadata[name] = row[name]
        else:
            arguments[place] = [row[name]] if place == "retrieval_context" else row[name]
    return LLMTestCase(**arguments, metadata=metadata or None)


def check_decision(metric, score, scale, threshold):
    """Stop unless DeepEval passes what the judge's rule takes for positive."""
    grade = scale["low"] + score * (scale["high"] - scale["low"])
    if metric.is_successful() != (grade >= threshold - 1e-9):
        sys.exit(f"score {score} is decided otherwise than at {threshold}")


def main():
    """Check the metric."""
    folder, cases = read_cases()
    scale, rows = cases["judge"]["scale"], cases["rows"]
    module = load_module(folder, "*_deepeval.py")
    sent, reply = [], [cases["replies"][0]]
    (metric,) = copy_metrics([module.Judge("fake", client=fake_client(sent, reply))])  # as evaluate() does
    for row in rows:
        metric.measure(test_case(row, module.PLACES))
    rendered, scores = list(sent), []
    # A calibration is folded into the module's threshold.
    threshold = module.THRESHOLD if scale["kind"] == "probability" else scale["threshold"]
    for reply[0] in cases["replies"]:
        score = score_or_none(lambda: asyncio.run(metric.a_measure(test_case(rows[0], module.PLACES))))
        scores.append(score)
        if score is not None:
            check_decision(metric, score, scale, threshold)
    write_answer(f"deepeval {version('deepeval')}", rendered, scores)


main()
