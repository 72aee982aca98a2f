"""Run an MLflow export with its OpenAI provider, and register its prompt: `mlflow.py EXPORT CASES
ANSWER`.
"""

import json
import logging
import os
import re
import tempfile

from script_shared import (
    ask_cases,
    averaged,
    fixed_fences,
    load_module,
    many_cases,
    read_cases,
    write_answer,
)

os.environ |= {
    "OPENAI_API_KEY": "none",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
}

import mlflow


def call(judge, row):
    """Ask a judge about a row as `mlflow.genai.evaluate` would: the last field is the output."""
    *first, last = row
    if first:
        return judge.run(inputs={name: row[name] for name in first}, outputs=row[last])
    return judge.run(inputs=row)


def check_registry(module, folder, rows):
    """Register the prompt in a store of its own, load it by its alias and render every row from
    it.
    """
    entry = json.loads((folder / "prompt.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        address = module.push(folder, f"sqlite:///{scratch}/mlflow.db", alias="staging")
        prompt = mlflow.genai.load_prompt(f"prompts:/{module.NAME}@staging")
        if prompt.template != entry["template"] or prompt.variables != set(module.INPUTS):
            raise SystemExit(
                f"the registry stored {prompt.template!r:.300} with the variables"
                f" {prompt.variables}"
            )
        rendered = [prompt.format(**row) for row in rows]
        mlflow.set_tracking_uri("sqlite:///:memory:")
        os.chdir(folder)
    for number, (row, messages) in enumerate(zip(rows, rendered, strict=True), start=1):
        # MLflow fills one field after the other, so a row's own {{name}} is filled too, as the
        # manifest declares.
        filled_twice = re.search(r"\{\{\s*(" + "|".join(row) + r")\s*\}\}", "".join(row.values()))
        if messages != fixed_fences(module.messages(row), module.INPUTS) and not filled_twice:
            raise SystemExit(f"the registry renders row {number} differently: {messages!r:.2000}")
    return f"prompt.json: registered as {address} and rendered {len(rows)} rows"


def main():
    """Check the scorer and the registry's prompt."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    module = load_module(folder, "*_mlflow.py")

    def judge_at(url):
        return module.make_scorer(f"openai:/{cases['model']}", base_url=url)

    def ask(url, row):
        value = call(judge_at(url), row).value
        if isinstance(value, str):
            return module.LABELS.index(value), None
        return float(value), module.positive(value)

    def evaluate():
        """Return the average of `mlflow.genai.evaluate` over rows with an endpoint for each."""
        many = many_cases(cases)

        @mlflow.genai.scorers.scorer(name="at_case")
        def at_case(inputs):
            url, row = many[inputs["case"]]
            return call(judge_at(url), row)

        mlflow.set_tracking_uri(f"sqlite:///{os.getcwd()}/evaluated.db")
        data = [{"inputs": {"case": number}, "outputs": "-"} for number in range(len(many))]
        metrics = mlflow.genai.evaluate(data=data, scorers=[at_case]).metrics
        (mean,) = (value for name, value in metrics.items() if name.endswith("/mean"))
        return float(mean)

    notes = [check_registry(module, folder, cases["rows"])]
    labelled = cases["judge"]["scale"]["kind"] == "choice"
    many = None if labelled else averaged("mlflow.genai.evaluate", evaluate)
    write_answer(f"mlflow {mlflow.__version__}", notes, outcomes=ask_cases(cases, ask), many=many)


main()
