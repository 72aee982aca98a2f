"""Evaluate an export for Inspect AI with its OpenAI provider: `inspect.py EXPORT CASES ANSWER`."""

import json
import math
import os
from importlib.metadata import version
from pathlib import Path

import inspect_ai
from inspect_ai.model import get_model
from script_shared import load_module, numbered_cases, read_cases, write_answer

os.environ["OPENAI_API_KEY"] = "none"


def outcome(log, labels):
    """Return what Inspect made of the one sample of a task."""
    (sample,) = log.samples or [None]
    if sample is None or sample.error or not sample.scores:
        problem = log.error or (sample and sample.error)
        return {"score": None, "said": str(problem and problem.message)[:300]}
    (score,) = sample.scores.values()
    if isinstance(score.value, str):
        return {"score": labels.index(score.value)}
    if math.isnan(score.value):
        return {"score": None, "said": str(score.explanation)[:300]}
    return {"score": score.value, "positive": score.metadata["positive"]}


def main():
    """Check the scorer: each case is a task with a grader of its own."""
    folder, cases = read_cases()
    module = load_module(folder, "*_inspect.py")
    tasks = []
    for number, (url, row) in enumerate(numbered_cases(cases)):
        path = Path(f"row-{number}.jsonl")
        path.write_text(json.dumps(row | {"id": 1}) + "\n", encoding="utf-8")
        grader = get_model(f"openai/{cases['model']}", base_url=url, memoize=False)
        tasks.append(
            inspect_ai.task_with(
                module.judge_rows(rows=str(path)), scorer=module.judge(model=grader)
            )
        )
    logs = inspect_ai.eval(
        tasks, model="none", max_tasks=8, display="none", log_dir="logs", log_level="error"
    )
    labels = cases["judge"]["scale"]["labels"]
    write_answer(
        f"inspect-ai {version('inspect-ai')}", outcomes=[outcome(log, labels) for log in logs]
    )


main()
