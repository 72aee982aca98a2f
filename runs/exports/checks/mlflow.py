"""Run an MLflow export on a fake endpoint: `mlflow.py EXPORT CASES ANSWER`."""

import json
import logging
import os
import re
import tempfile

from script_shared import chat_completion, fixed_fences, load_module, read_cases, score_or_none, write_answer

os.environ |= {"OPENAI_API_KEY": "none", "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "ERROR"}

import mlflow
import requests

SENT = []
REPLY = [""]


def send(session, request, **options):
    """Keep what MLflow would send over the wire, and answer with REPLY."""
    SENT.append(json.loads(request.body)["messages"])
    body = chat_completion(REPLY[0]) | {"usage": {}}
    response = requests.Response()
    response.status_code, response._content, response.request = 200, json.dumps(body).encode(), request
    return response


def call(judge, row):
    """Ask a judge about a row as `mlflow.genai.evaluate` would: the last field is the output."""
    *first, last = row
    if first:
        return judge.run(inputs={name: row[name] for name in first}, outputs=row[last])
    return judge.run(inputs=row)


def score(module, judge, row):
    """Return the number of a judge's feedback."""
    value = call(judge, row).value
    return float(module.LABELS.index(value) if isinstance(value, str) else value)


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
    requests.Session.send = send
    module = load_module(folder, "*_mlflow.py")
    judge = module.make_scorer("openai:/fake")
    REPLY[0] = cases["replies"][0]
    rendered, scores = [], []
    for row in cases["rows"]:
        SENT.clear()
        call(judge, row)
        rendered.append(SENT[-1])
    for REPLY[0] in cases["replies"]:
        # Whatever a scorer raises, MLflow takes for a failure.
        scores.append(score_or_none(score, module, judge, cases["rows"][0], refusal=Exception))
    notes = [check_registry(module, folder, cases["rows"])]
    write_answer(f"mlflow {mlflow.__version__}", rendered, scores, notes)


main()
