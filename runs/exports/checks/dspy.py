"""Run a DSPy export on a fake engine: `dspy.py EXPORT CASES ANSWER`."""

import inspect
import json
import logging
import os
from pathlib import Path

from script_shared import load_module, read_cases, score_or_none, write_answer

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


def check_state(module, judge, state, fields, row):
    """Stop unless the loaded state leaves the signature as the module has it, as DSPy's own adapter shows it."""
    signature = judge.judge.signature
    if list(signature.input_fields) != fields:
        raise SystemExit(f"the signature's fields are {list(signature.input_fields)}, not {fields}")
    if signature.instructions != inspect.cleandoc(module.INSTRUCTIONS):
        raise SystemExit("the saved instructions are not the judge's")
    if len(signature.fields) != len(json.loads(state.read_text(encoding="utf-8"))["judge"]["signature"]["fields"]):
        raise SystemExit("the saved state has another number of fields than the signature")
    declared, loaded = (dspy.ChatAdapter().format(one, [], row) for one in (module.JudgeSignature, signature))
    if declared != loaded:
        raise SystemExit("the saved state gives the signature's fields other descriptions: their order is another")
    return f"{state.name}: {len(signature.fields)} fields in order, {len(judge.judge.demos)} demonstrations"


def main():
    """Check the module and the state that it loads."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    module, engine = load_module(folder, "*_dspy.py"), Engine()
    judge = module.load(folder, dspy.LM("fake/judge", engine=engine, cache=False, num_retries=0))
    row = cases["rows"][0]
    notes = [check_state(module, judge, folder / "state.json", cases["judge"]["inputs"], row)]
    rendered, scores = [], []
    engine.reply = cases["replies"][0]
    for fields in cases["rows"]:
        judge(**fields)
        rendered.append(engine.sent)
    for engine.reply in cases["replies"]:
        # Whatever DSPy raises, the prediction failed.
        scores.append(score_or_none(lambda: module.grade_of(judge(**row)), refusal=Exception))
    write_answer(f"dspy {dspy.__version__}", rendered, scores, notes)


main()
