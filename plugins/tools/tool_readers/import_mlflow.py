"""Write what prompt a judge built into MLflow sends: `import_mlflow.py NAME ANSWER`; all names
where it is empty.
"""

import importlib
import inspect
import pkgutil

from mlflow.genai.judges import prompts
from script_shared import answer, marks_for

OPTIONAL = ("expected_response",)
"""Arguments with a default that the prompt is about all the same."""


def capture(name):
    """Have a judge's prompt written with marks for its texts; None where it takes anything else."""
    module = importlib.import_module(f"{prompts.__name__}.{name}")
    write = getattr(module, "get_prompt", None)
    if write is None:
        return None
    parameters = inspect.signature(write).parameters
    parameter_names = [n for n, p in parameters.items() if p.default is p.empty or n in OPTIONAL]
    marks = marks_for(parameter_names)
    try:
        text = write(**{n: mark for mark, n in marks.items()})
    except Exception:  # noqa: BLE001  # conversations, traces and lists of tools are no plain texts
        return None
    if not marks or not isinstance(text, str) or not all(mark in text for mark in marks):
        return None
    return text, marks, module


def names():
    """Return the names of the judges that are prompts about plain texts."""
    modules = sorted(module.name for module in pkgutil.iter_modules(prompts.__path__))
    return [name for name in modules if capture(name)]


def read(name):
    """Return what a judge sends."""
    there = any(module.name == name for module in pkgutil.iter_modules(prompts.__path__))
    captured = capture(name) if there else None
    if captured is None:
        raise SystemExit(
            f"MLflow has no built-in judge {name!r} that is a prompt about plain texts"
        )
    text, marks, module = captured
    keys = '"rationale"' in text and '"result"' in text
    return {
        "location": f"{module.__name__}.get_prompt",
        "messages": [{"role": "user", "content": text}],
        "marks": marks,
        "reply": {"rationale": "text", "result": "score"} if keys else None,
    }


answer("mlflow", "mlflow", names, read)
