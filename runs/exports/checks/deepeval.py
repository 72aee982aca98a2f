"""Measure test cases with an export for DeepEval, over the OpenAI client: `deepeval.py EXPORT CASES
ANSWER`.
"""

import asyncio
import os
from importlib.metadata import version

from script_shared import ask_cases, averaged, load_module, many_cases, read_cases, write_answer

os.environ |= {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "ERROR_REPORTING": "0",
}
os.environ["OPENAI_API_KEY"] = "none"

import openai
from deepeval import evaluate
from deepeval.evaluate.configs import CacheConfig, DisplayConfig
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase


def test_case(row, places):
    """Return a test case with each input in its place."""
    arguments, metadata = {"input": "-"}, {}
    for name, part in places.items():
        if part is None:
            metadata[name] = row[name]
        else:
            arguments[part] = [row[name]] if part == "retrieval_context" else row[name]
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
        if score is None:
            raise ValueError(metric.error)
        return score, metric.is_successful()

    class AtCase(module.Judge):
        """Asks about each test case at an endpoint of its own."""

        def measure(self, test_case, *args, **kwargs):
            self.client = client.with_options(base_url=test_case.name)
            return super().measure(test_case, *args, **kwargs)

    def evaluate_many():
        """Return the average of the scores that `evaluate` gives; DeepEval itself shows a rate of
        passes.
        """
        tests = []
        for url, row in many_cases(cases):
            tests.append(test_case(row, module.PLACES))
            tests[-1].name = url
        quiet = DisplayConfig(show_indicator=False, print_results=False)
        cache = CacheConfig(write_cache=False, use_cache=False)
        evaluated = evaluate(
            tests, metrics=[AtCase(cases["model"])], display_config=quiet, cache_config=cache
        )
        scores = [one.score for result in evaluated.test_results for one in result.metrics_data]
        scored = [score for score in scores if score is not None]
        return sum(scored) / len(scored)

    write_answer(
        f"deepeval {version('deepeval')}",
        outcomes=ask_cases(cases, ask),
        many=averaged("evaluate()", evaluate_many),
    )


main()
