"""Judge rows with an export for Ragas over a wire that leads nowhere: `ragas.py EXPORT CASES ANSWER`."""

import asyncio
import os
import sys

from script_shared import chat_transport, load_module, read_cases, write_answer

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

import httpx
import openai
import ragas


def fake_client(sent, reply):
    """Return an OpenAI client whose requests are kept in `sent` and answered with `reply[0]`."""
    http = httpx.Client(transport=chat_transport(sent, reply))
    return openai.OpenAI(api_key="none", base_url="http://nowhere/v1", http_client=http, max_retries=0)


def main():
    """Check the metric."""
    folder, cases = read_cases()
    rows, labels = cases["rows"], cases["judge"]["scale"]["labels"]
    module = load_module(folder, "*_ragas.py")
    sent, reply = [], [cases["replies"][0]]
    metric = module.Judge(model="fake", client=fake_client(sent, reply))
    for row in rows:
        metric.score(**row)
    rendered, scores = list(sent), []
    for reply[0] in cases["replies"]:
        value = asyncio.run(metric.ascore(**rows[0])).value
        problem = None if value is None else metric.validate_result_value(value)
        if problem:
            sys.exit(problem)
        scores.append(labels.index(value) if isinstance(value, str) else value)
    write_answer(f"ragas {ragas.__version__}", rendered, scores)


main()
