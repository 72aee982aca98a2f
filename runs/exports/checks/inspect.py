"""Evaluate an export for Inspect AI with a mock grader: `inspect.py EXPORT CASES ANSWER`."""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from script_shared import load_module, read_cases, write_answer


def evaluate(module, rows, replies):
    """Run the task over the rows, the grader answering with the replies in turn; return messages and values."""
    sent, remaining = [], list(replies)

    def answer(messages, tools, choice, config):
        sent.append([{"role": m.role, "content": m.text} for m in messages])
        output = ModelOutput.from_content("mockllm/model", remaining.pop(0))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it would download a tokenizer
        return output

    lines = [json.dumps(row | {"id": number}) + "\n" for number, row in enumerate(rows, start=1)]
    Path("rows.jsonl").write_text("".join(lines), encoding="utf-8")
    (log,) = inspect_ai.eval(
        module.judge_rows(rows="rows.jsonl"),
        model="none",
        model_roles={"grader": get_model("mockllm/model", custom_outputs=answer)},
        max_samples=1,
        display="none",
        log_dir="logs",
    )
    if log.status != "success":
        sys.exit(f"{module.__name__}: {log.error.message if log.error else log.status}")
    samples = sorted(log.samples, key=lambda sample: sample.id)
    for sample in samples:
        if sample.error:
            sys.exit(f"{module.__name__}: {sample.error.message}")
    return sent, [next(iter(sample.scores.values())).value for sample in samples]


def main():
    """Check the scorer."""
    folder, cases = read_cases()
    rows, replies = cases["rows"], cases["replies"]
    module = load_module(folder, "*_inspect.py")
    rendered, _ = evaluate(module, rows, [replies[0]] * len(rows))
    _, values = evaluate(module, rows[:1] * len(replies), replies)
    labels = cases["judge"]["scale"]["labels"]
    scores = []
    for value in values:
        if isinstance(value, str):
            scores.append(labels.index(value))
        else:
            scores.append(None if math.isnan(value) else value)
    write_answer(f"inspect-ai {version('inspect-ai')}", rendered, scores)


main()
