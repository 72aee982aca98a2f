"""Measure test cases with an export for DeepEval, over the OpenAI client: `deepeval.py EXPORT CASES ANSWER`."""

import asyncio
import os
from importlib.metadata import version

from script_shared import ask_cases, load_module, read_cases, write_answer

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0", "ERROR_REPORTING": "0"}
os.environ["OPENAI_API_KEY"] = "none"

import openai
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase


def test_case(row, places):
    """Return a test case with each input in its place."""
    arguments, metadata = {"input": "-"}, {}
    for name, place in places.items():
        if place is None:
            metadata[name] = row[name]
        else:
            arguments[place] = [row[name]] if place == "retrieval_context" else row[name]
    return LLMTestCase(**arguments, metadata=metadata or None)


def main():
    """Check the metric."""
    folder, cases = read_cases()
    module = load_module(folder, "*_deepeval.py")

    client = openai.OpenAI()

    def ask(url, row):
        at = client.with_options(base_url=url)
        (metric,) = copy_metrics([module.Judge(cases["model"], client=at)])  # as evaluate() does
        score = asyncio.run(metric.a_measure(test_case(row, module.PLACES)))
        return score, metric.is_successful()

    write_answer(f"deepeval {version('deepeval')}", outcomes=ask_cases(cases, ask))


main()
