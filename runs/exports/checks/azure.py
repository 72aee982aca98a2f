"""Evaluate with an export for Azure AI Evaluation over OpenAI's clients: `azure.py EXPORT CASES
ANSWER`.
"""

import json
import logging
import math
import os
from importlib.metadata import version
from pathlib import Path

from script_shared import (
    ask_cases,
    differing,
    load_module,
    numbered_cases,
    read_cases,
    write_answer,
)

os.environ |= {"AZURE_EVALUATION_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
os.environ |= {"PF_LOGGING_LEVEL": "CRITICAL", "PF_WORKER_COUNT": "4"}

from azure.ai.evaluation import AzureOpenAIModelConfiguration, OpenAIModelConfiguration, evaluate

logging.disable(logging.CRITICAL)
PREFIX = "outputs.judge."


def outcome(result, judge):
    """Return score and decision of what an evaluator says; none where it says nothing."""
    name, labels = judge["name"], judge["scale"]["labels"]
    score = result.get(name, result.get(f"{name}_label"))
    if score is None or (isinstance(score, float) and math.isnan(score)):
        return {"score": None, "said": "no result"}
    if f"{name}_label" in result:
        return {"score": labels.index(score), "positive": None}
    return {"score": score, "positive": result[f"{name}_result"] == "pass"}


def evaluate_cases(module, cases):
    """Evaluate a file with a row for each case; the evaluator that takes a row asks the endpoint of
    its case.
    """
    numbered, inputs = numbered_cases(cases), cases["judge"]["inputs"]

    def judge_of(case):
        url = numbered[case][0]
        return module.Judge(
            OpenAIModelConfiguration(
                type="openai", model=cases["model"], api_key="none", base_url=url
            )
        )

    # Azure finds an evaluator's inputs by the names of its arguments, and the file it stands in
    row = ", ".join(f"{name}={name}" for name in inputs)
    code = f"def judge(*, at_case, {', '.join(inputs)}):\n    return judge_of(at_case)({row})\n"
    Path("judge_at_case.py").write_text(code, encoding="utf-8")
    wrapper = load_module(Path.cwd(), "judge_at_case.py")
    wrapper.judge_of = judge_of
    path = Path("rows.jsonl").absolute()
    lines = [json.dumps({**row, "at_case": number}) for number, (_, row) in enumerate(numbered)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = evaluate(data=str(path), evaluators={"judge": wrapper.judge})
    results = [
        {key.removeprefix(PREFIX): value for key, value in row.items()} for row in result["rows"]
    ]
    outcomes = [outcome(one, cases["judge"]) for one in results]
    scores = [one["score"] for one in outcomes if one["score"] is not None]
    mean = result["metrics"].get(f"judge.{cases['judge']['name']}")
    if mean is not None and abs(mean - sum(scores) / len(scores)) > 1e-9:
        raise SystemExit(
            f"evaluate() averages {mean}, not {sum(scores) / len(scores)} over the rows with a"
            " score"
        )
    return outcomes


def main():
    """Check the evaluator in a run of evaluate(), and once more through Azure's client."""
    folder, cases = read_cases()
    module = load_module(folder, "*_azure.py")
    outcomes = evaluate_cases(module, cases)

    def ask_azure(url, row):
        endpoint = url.removesuffix("/v1")
        config = AzureOpenAIModelConfiguration(
            type="azure_openai",
            azure_deployment=cases["model"],
            azure_endpoint=endpoint,
            api_key="none",
        )
        result = outcome(module.Judge(config)(**row), cases["judge"])
        return result["score"], result.get("positive")

    others = ask_cases(cases, ask_azure)
    problems = differing(outcomes, others, ("OpenAI's client", "Azure's"))
    notes = [
        "evaluate() was run on a file of all cases",
        "asked through OpenAI's client and through Azure's",
    ]
    tool = f"azure-ai-evaluation {version('azure-ai-evaluation')}"
    write_answer(tool, notes, outcomes=outcomes, problems=problems)


main()
