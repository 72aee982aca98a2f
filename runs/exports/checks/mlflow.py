"""Run an MLflow export with its OpenAI provider, and register its prompt: `mlflow.py EXPORT CASES
ANSWER`.
"""

import json
import logging
import os
import tempfile

from script_shared import (
    ask_cases,
    averaged,
    load_module,
    many_cases,
    read_cases,
    require_rendered,
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
    """Register the prompt in a store of its own, load it by its alias and render rows from it."""
    entry = json.loads((folder / "prompt.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        address = module.push(f"sqlite:///{scratch}/mlflow.db", alias="staging")
        prompt = mlflow.genai.load_prompt(f"prompts:/{module.JUDGE.name}@staging")
        variables = prompt.variables
        if prompt.template != entry["template"] or variables != set(module.JUDGE.inputs):
            raise SystemExit(f"the registry stored {prompt.template!r:.300} with {variables}")
        require_rendered(module, rows, lambda row: prompt.format(**row))
        mlflow.set_tracking_uri("sqlite:///:memory:")
        os.chdir(folder)
    return f"prompt.json: registered as {address} and rendered"


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
            return module.JUDGE.labels.index(value), None
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

    stored = (folder / "prompt.json").is_file()
    notes = [check_registry(module, folder, cases["rows"])] if stored else []
    labelled = cases["judge"]["scale"]["kind"] == "choice"
    many = None if labelled else averaged("mlflow.genai.evaluate", evaluate)
    write_answer(f"mlflow {mlflow.__version__}", notes, outcomes=ask_cases(cases, ask), many=many)


main()
