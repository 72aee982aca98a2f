"""Evaluate an export for Inspect AI with a mock grader: `inspect_task.py EXPORT CASES OUT`."""

import importlib.util
import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model


def load(file):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def evaluate(module, rows, replies):
    """Run the task over the rows, the grader answering with the replies in turn; return messages and values."""
    sent, left = [], list(replies)

    def answer(messages, tools, choice, config):
        sent.append([{"role": m.role, "content": m.text} for m in messages])
        output = ModelOutput.from_content("mockllm/model", left.pop(0))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it would download a tokenizer
        return output

    Path("rows.jsonl").write_text(
        "".join(json.dumps(row | {"id": number}) + "\n" for number, row in enumerate(rows, start=1)), encoding="utf-8"
    )
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
    if failed := next((sample.error.message for sample in samples if sample.error), None):
        sys.exit(f"{module.__name__}: {failed}")
    return sent, [next(iter(sample.scores.values())).value for sample in samples]


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    rows, replies = told["rows"], told["replies"]
    module = load(next(given.glob("*_inspect.py")))
    rendered, _ = evaluate(module, rows, [replies[0]] * len(rows))
    _, values = evaluate(module, rows[:1] * len(replies), replies)
    labels = told["judge"]["scale"]["labels"]
    scores = [labels.index(v) if isinstance(v, str) else None if math.isnan(v) else v for v in values]
    found = {"tool": f"inspect-ai {version('inspect-ai')}", "rendered": rendered, "scores": scores, "notes": []}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
