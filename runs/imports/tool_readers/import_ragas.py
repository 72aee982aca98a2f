"""Write what prompt a judge of Ragas sends: `import_ragas.py NAME ANSWER`; all names where it is
empty.
"""

import importlib
import inspect
import json
import logging
import pkgutil
import re
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

warnings.simplefilter("ignore")

from ragas.metrics import collections  # noqa: E402
from ragas.prompt.metrics.base_prompt import BasePrompt  # noqa: E402

SHORT = {
    "context_relevance": "context_relevance_judge1",
    "response_groundedness": "response_groundedness_judge1",
    "answer_accuracy": "answer_accuracy_judge1",
    "faithfulness": "nli_statement",
}
"""What people call a metric, and the prompt that judges in it."""
VERDICTS = ("rating", "score", "verdict", "equivalent")
"""Fields of a reply that are a verdict; others count or flag something."""


def shipped():
    """Return every prompt class of the metrics by its name, those of Ragas' own modules only."""
    classes = {}
    for one in pkgutil.iter_modules(collections.__path__):
        try:
            module = importlib.import_module(f"{collections.__name__}.{one.name}.util")
        except ImportError:
            continue
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, BasePrompt) and kind.__module__ == module.__name__:
                words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]+", name.removesuffix("Prompt"))
                classes["_".join(words).lower()] = kind
    return classes


def capture(kind):
    """Have a prompt written with marks for its texts; None where it takes anything else or gives no
    verdict.
    """
    marks, inputs = {}, {}
    for name, field in kind.input_model.model_fields.items():
        mark = f"zqmark{len(marks)}zq"
        marks[mark] = name
        inputs[name] = [mark] if "list" in str(field.annotation).lower() else mark
    try:
        text = kind().to_string(kind.input_model(**inputs))
    except Exception:  # noqa: BLE001  # images and nested inputs are no plain texts
        return None
    reply = verdict(kind.output_model)
    if not marks or reply is None or not all(mark in text for mark in marks):
        return None
    return text, marks, reply


def verdict(model):
    """Return the fields of a reply with one verdict, and why there is none such; None where it
    gives no verdict.
    """
    kinds = {n: f.annotation for n, f in model.model_fields.items()}
    scores = [n for n, kind in kinds.items() if kind in (int, float, bool) and n in VERDICTS]
    if len(scores) == 1 and all(kind in (int, float, bool, str) for kind in kinds.values()):
        return {n: "score" if n in scores else "text" for n in kinds}, ""
    nested = [
        a
        for kind in kinds.values()
        for a in getattr(kind, "__args__", ())
        if hasattr(a, "model_fields")
    ]
    if any("verdict" in a.model_fields for a in nested):
        return None, "it asks for a list of verdicts"
    return None


def main():
    """Write the names, or one judge, as JSON."""
    name, answer_path = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.CRITICAL)
    tool, kinds = f"ragas {version('ragas')}", shipped()
    if not name:
        names = [n for n, kind in sorted(kinds.items()) if capture(kind)]
        short = [n for n, prompt in SHORT.items() if prompt in names]
        answer_path.write_text(
            json.dumps({"tool": tool, "names": [*short, *names]}), encoding="utf-8"
        )
        return
    kind = kinds.get(SHORT.get(name, name))
    captured = capture(kind) if kind else None
    if captured is None:
        raise SystemExit(f"Ragas has no prompt {name!r} that gives a verdict about plain texts")
    text, marks, (reply, unreadable) = captured
    notes = ["Ragas writes the row's texts as JSON strings; here they come through as they are."]
    if "judge" in SHORT.get(name, name):
        notes.append("Ragas asks two prompts and averages; this is one of them.")
    if unreadable:
        notes.append(
            "Ragas breaks an answer into statements and reports the share that holds; here a row is"
            " one."
        )
    answer = {
        "tool": tool,
        "name": name,
        "location": f"{kind.__module__}.{kind.__name__}",
        "messages": [{"role": "user", "content": text}],
        "marks": marks,
        "scale": {"kind": "binary"} if unreadable else None,
        "reply": reply,
        "unreadable": unreadable,
        "notes": notes,
    }
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


main()
