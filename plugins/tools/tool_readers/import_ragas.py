"""Write what prompt a judge of Ragas sends: `import_ragas.py NAME ANSWER`; all names where it is
empty.
"""

import importlib
import inspect
import pkgutil
import re
import warnings

warnings.simplefilter("ignore")

from ragas.metrics import collections  # noqa: E402
from ragas.prompt.metrics.base_prompt import BasePrompt  # noqa: E402
from script_shared import answer, marks_for  # noqa: E402

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
    marks, inputs = marks_for(kind.input_model.model_fields), {}
    for mark, name in marks.items():
        annotation = kind.input_model.model_fields[name].annotation
        inputs[name] = [mark] if "list" in str(annotation).lower() else mark
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


def names():
    """Return the names of the prompts that give a verdict about plain texts."""
    written = [name for name, kind in sorted(shipped().items()) if capture(kind)]
    return [*(short for short, name in SHORT.items() if name in written), *written]


def read(name):
    """Return what a prompt sends."""
    kind = shipped().get(SHORT.get(name, name))
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
    return {
        "location": f"{kind.__module__}.{kind.__name__}",
        "messages": [{"role": "user", "content": text}],
        "marks": marks,
        "scale": {"kind": "binary"} if unreadable else None,
        "reply": reply,
        "unreadable": unreadable,
        "notes": notes,
    }


answer("ragas", "ragas", names, read)
