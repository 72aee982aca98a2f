"""Run an MLflow export on a fake endpoint: `mlflow.py EXPORT CASES OUT`."""

import importlib.util
import json
import logging
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ |= {"OPENAI_API_KEY": "none", "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "ERROR"}

import mlflow
import requests

MODEL = "openai:/fake"
SENT = []
ANSWER = [""]


def send(session, request, **options):
    """Keep what MLflow would send over the wire, and answer with what stands in ANSWER."""
    SENT.append(json.loads(request.body)["messages"])
    message = {"role": "assistant", "content": ANSWER[0]}
    body = {"id": "0", "object": "chat.completion", "created": 0, "model": "fake", "usage": {}}
    body["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
    response = requests.Response()
    response.status_code, response._content, response.request = 200, json.dumps(body).encode(), request
    return response


def load(path: Path):
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(judge, row: dict):
    """Ask a judge about a row as `mlflow.genai.evaluate` would: the last field is the output."""
    *first, last = row
    if first:
        return judge.run(inputs={name: row[name] for name in first}, outputs=row[last])
    return judge.run(inputs=row)


def score(module, judge, row: dict) -> float | None:
    """Return the number of a judge's feedback; None where it failed."""
    try:
        value = call(judge, row).value
    except Exception as error:  # noqa: BLE001  # whatever a scorer raises, MLflow takes for a failure
        print(f"no score: {error}", file=sys.stderr)
        return None
    return float(module.LABELS.index(value) if isinstance(value, str) else value)


def check_registry(module, folder: Path, rows: list[dict]) -> str:
    """Register the prompt in a store of its own, load it by its alias and render every row from it."""
    entry = json.loads((folder / "prompt.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        address = module.push(folder, f"sqlite:///{scratch}/mlflow.db", alias="staging")
        prompt = mlflow.genai.load_prompt(f"prompts:/{module.NAME}@staging")
        if prompt.template != entry["template"] or prompt.variables != set(module.INPUTS):
            raise SystemExit(f"the registry stored {prompt.template!r:.300} with the variables {prompt.variables}")
        got = [prompt.format(**row) for row in rows]
        mlflow.set_tracking_uri("sqlite:///:memory:")
        os.chdir(folder)
    wanted = [fixed_fences(module, row) for row in rows]
    filled_twice = [re.search(r"\{\{\s*(" + "|".join(row) + r")\s*\}\}", "".join(row.values())) for row in rows]
    for i, (ours, theirs, twice) in enumerate(zip(wanted, got, filled_twice, strict=True), start=1):
        if ours != theirs and not twice:
            raise SystemExit(f"the registry renders row {i} differently: {theirs!r:.2000}")
    return f"prompt.json: registered as {address} and rendered {len(rows)} rows"


def fixed_fences(module, row: dict) -> list[dict]:
    """Return the scorer's messages with the tags of their fences left out."""
    return [
        {**m, "content": re.sub(r"(</?[a-z][a-z0-9_]*)-[0-9a-f]{8}>", r"\1>", m["content"])}
        for m in module.messages(row)
    ]


def main() -> None:
    """Write what was found as JSON."""
    folder, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    logging.disable(logging.CRITICAL)
    requests.Session.send = send
    (path,) = folder.glob("*_mlflow.py")
    module = load(path)
    judge = module.make_scorer(MODEL)
    rendered, scores = [], []
    for row in told["rows"]:
        SENT.clear()
        ANSWER[0] = told["replies"][0]
        call(judge, row)
        rendered.append(SENT[-1])
    for reply in told["replies"]:
        ANSWER[0] = reply
        scores.append(score(module, judge, told["rows"][0]))
    notes = [check_registry(module, folder, told["rows"])]
    found = {"tool": f"mlflow {mlflow.__version__}", "rendered": rendered, "scores": scores, "notes": notes}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
