"""Run an MLflow export with its OpenAI provider, and register its prompt: `mlflow.py EXPORT CASES ANSWER`."""

import json
import logging
import os
import re
import tempfile

from script_shared import ask_cases, fixed_fences, load_module, read_cases, write_answer

os.environ |= {"OPENAI_API_KEY": "none", "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "ERROR"}

import mlflow


def call(judge, row):
    """Ask a judge about a row as `mlflow.genai.evaluate` would: the last field is the output."""
    *first, last = row
    if first:
        return judge.run(inputs={name: row[name] for name in first}, outputs=row[last])
    return judge.run(inputs=row)


def check_registry(module, folder, rows):
    """Register the prompt in a store of its own, load it by its alias and render every row from it."""
    entry = json.loads((folder / "prompt.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        address = module.push(folder, f"sqlite:///{scratch}/mlflow.db", alias="staging")
        prompt = mlflow.genai.load_prompt(f"prompts:/{module.NAME}@staging")
        if prompt.template != entry["template"] or prompt.variables != set(module.INPUTS):
            raise SystemExit(f"the registry stored {prompt.template!r:.300} with the variables {prompt.variables}")
        rendered = [prompt.format(**row) for row in rows]
        mlflow.set_tracking_uri("sqlite:///:memory:")
        os.chdir(folder)
    for number, (row, messages) in enumerate(zip(rows, rendered, strict=True), start=1):
        # MLflow fills one field after the other, so a row's own {{name}} is filled too, as the manifest declares.
        filled_twice = re.search(r"\{\{\s*(" + "|".join(row) + r")\s*\}\}", "".join(row.values()))
        if messages != fixed_fences(module.messages(row), module.INPUTS) and not filled_twice:
            raise SystemExit(f"the registry renders row {number} differently: {messages!r:.2000}")
    return f"prompt.json: registered as {address} and rendered {len(rows)} rows"


def main():
    """Check the scorer and the registry's prompt."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    module = load_module(folder, "*_mlflow.py")

    def ask(url, row):
        judge = module.make_scorer(f"openai:/{cases['model']}", base_url=f"{url}/chat/completions")
        value = call(judge, row).value
        if isinstance(value, str):
            return module.LABELS.index(value), None
        return float(value), module.positive(value)

    notes = [check_registry(module, folder, cases["rows"])]
    write_answer(f"mlflow {mlflow.__version__}", notes, outcomes=ask_cases(cases, ask))


main()
