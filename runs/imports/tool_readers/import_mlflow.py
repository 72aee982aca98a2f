"""Write what prompt a judge built into MLflow sends: `import_mlflow.py NAME ANSWER`; all names
where it is empty.
"""

import importlib
import inspect
import json
import logging
import pkgutil
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from mlflow.genai.judges import prompts

OPTIONAL = ("expected_response",)
"""Arguments with a default that the prompt is about all the same."""


def capture(name):
    """Have a judge's prompt written with marks for its texts; None where it takes anything else."""
    module = importlib.import_module(f"{prompts.__name__}.{name}")
    write = getattr(module, "get_prompt", None)
    if write is None:
        return None
    parameters = inspect.signature(write).parameters
    wanted = [n for n, p in parameters.items() if p.default is p.empty or n in OPTIONAL]
    marks = {f"zqmark{i}zq": n for i, n in enumerate(wanted)}
    try:
        text = write(**{n: mark for mark, n in marks.items()})
    except Exception:  # noqa: BLE001  # conversations, traces and lists of tools are no plain texts
        return None
    if not marks or not isinstance(text, str) or not all(mark in text for mark in marks):
        return None
    return text, marks, module


def main():
    """Write the names, or one judge, as JSON."""
    name, answer_path = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tool = f"mlflow {version('mlflow')}"
    names = sorted(module.name for module in pkgutil.iter_modules(prompts.__path__))
    if not name:
        names = [n for n in names if capture(n)]
        answer_path.write_text(json.dumps({"tool": tool, "names": names}), encoding="utf-8")
        return
    captured = capture(name) if name in names else None
    if captured is None:
        raise SystemExit(
            f"MLflow has no built-in judge {name!r} that is a prompt about plain texts"
        )
    text, marks, module = captured
    keys = '"rationale"' in text and '"result"' in text
    answer = {
        "tool": tool,
        "name": name,
        "location": f"{module.__name__}.get_prompt",
        "messages": [{"role": "user", "content": text}],
        "marks": marks,
        "reply": {"rationale": "text", "result": "score"} if keys else None,
    }
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


main()
