"""Run a DSPy export on a fake engine: `dspy.py EXPORT CASES OUT`."""

import importlib.util
import inspect
import json
import logging
import os
import sys
from pathlib import Path

os.environ["DSPY_CACHEDIR"] = str(Path.cwd() / "cache")

import dspy
from dspy import lm15


class Engine:
    """Keeps what DSPy would send, and answers with `reply`."""

    reply = ""

    def __init__(self):
        self.sent = []

    def complete(self, request):
        """Answer DSPy's request."""
        messages = [{"role": m.role, "content": "".join(part.text for part in m.parts)} for m in request.messages]
        system = request.system
        if system:
            text = system if isinstance(system, str) else "".join(part.text for part in system)
            messages.insert(0, {"role": "system", "content": text})
        self.sent = messages
        message = lm15.Message.assistant(self.reply)
        return lm15.Response(id="0", model=request.model, message=message, finish_reason="stop", usage=lm15.Usage())


def load(folder: Path):
    """Import the module of the export."""
    (path,) = folder.glob("*_dspy.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_state(module, judge, fields: list[str], row: dict) -> str:
    """The loaded state must leave the signature as the module has it; what DSPy's own adapter shows is the proof."""
    signature = judge.judge.signature
    if list(signature.input_fields) != fields:
        raise SystemExit(f"the signature's fields are {list(signature.input_fields)}, not {fields}")
    if signature.instructions != inspect.cleandoc(module.INSTRUCTIONS):
        raise SystemExit("the saved instructions are not the judge's")
    if len(signature.fields) != len(json.loads(STATE.read_text(encoding="utf-8"))["judge"]["signature"]["fields"]):
        raise SystemExit("the saved state has another number of fields than the signature")
    shown = [dspy.ChatAdapter().format(one, [], row) for one in (module.JudgeSignature, signature)]
    if shown[0] != shown[1]:
        raise SystemExit("the saved state gives the signature's fields other descriptions: their order is another")
    return f"{STATE.name}: {len(signature.fields)} fields in order, {len(judge.judge.demos)} demonstrations"


def score(module, judge, row: dict) -> float | None:
    """Return the grade of a prediction; None where DSPy raises."""
    try:
        return module.grade_of(judge(**row))
    except Exception as error:  # noqa: BLE001  # whatever DSPy raises, the prediction failed
        print(f"no score: {error}", file=sys.stderr)
        return None


def main() -> None:
    """Write what was found as JSON."""
    told = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    logging.disable(logging.CRITICAL)
    module, engine = load(STATE.parent), Engine()
    judge = module.load(STATE.parent, dspy.LM("fake/judge", engine=engine, cache=False, num_retries=0))
    notes = [check_state(module, judge, told["judge"]["inputs"], told["rows"][0])]
    rendered, scores = [], []
    engine.reply = told["replies"][0]
    for row in told["rows"]:
        judge(**row)
        rendered.append(engine.sent)
    for reply in told["replies"]:
        engine.reply = reply
        scores.append(score(module, judge, told["rows"][0]))
    found = {"tool": f"dspy {dspy.__version__}", "rendered": rendered, "scores": scores, "notes": notes}
    Path(sys.argv[3]).write_text(json.dumps(found), encoding="utf-8")


STATE = Path(sys.argv[1]) / "state.json"
main()
