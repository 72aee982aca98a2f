"""Judge rows with an export for Ragas, over the OpenAI client: `ragas.py EXPORT CASES ANSWER`."""

import asyncio
import os
import sys

from script_shared import ask_cases, load_module, read_cases, write_answer

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

import openai
import ragas


def main():
    """Check the metric."""
    folder, cases = read_cases()
    labels = cases["judge"]["scale"]["labels"]
    module = load_module(folder, "*_ragas.py")

    client = openai.OpenAI(api_key="none")

    def ask(url, row):
        metric = module.Judge(model=cases["model"], client=client.with_options(base_url=url))
        result = asyncio.run(metric.ascore(**row))
        if result.value is None:
            return None, None
        problem = metric.validate_result_value(result.value)
        if problem:
            sys.exit(problem)
        if isinstance(result.value, str):
            return labels.index(result.value), None
        return result.value, module.positive(result)

    write_answer(f"ragas {ragas.__version__}", outcomes=ask_cases(cases, ask))


main()
