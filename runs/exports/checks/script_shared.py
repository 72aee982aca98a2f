"""What the check scripts share; it is copied beside the one that runs, and imports nothing but the
standard library.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path


def read_cases():
    """Return the folder of the export, and the cases: the judge, rows to render, replies to
    read.
    """
    folder, cases = map(Path, sys.argv[1:3])
    return folder, json.loads(cases.read_text(encoding="utf-8"))


def write_answer(tool, notes=(), **answer):
    """Write what the tool made of the cases.

    Args:
        tool: Its name and version.
        notes: Whatever else was checked.
        answer: `outcomes` of a tool that asks and reads replies; `rendered`, the messages of each
            row, of one that does not; `problems`, whatever else the script found to be wrong.
    """
    Path(sys.argv[-1]).write_text(
        json.dumps({"tool": tool, "notes": list(notes), **answer}), encoding="utf-8"
    )


def numbered_cases(cases):
    """Return each case as the address of its endpoint and its row: every row, then the first with
    every reply.
    """
    rows = [*cases["rows"], *([cases["rows"][0]] * cases["replies"])]
    return [(f"{cases['url']}/case/{number}/v1", row) for number, row in enumerate(rows)]


def many_cases(cases):
    """Return the cases of one run of the tool's own over many rows, one of which has no verdict."""
    numbered = numbered_cases(cases)
    return [numbered[case] for case in cases["many"]]


def averaged(by, run):
    """Return what a run of the tool's own averages over many rows, for `many` of an answer.

    Args:
        by: What of the tool runs it.
        run: Returns the average; whatever it raises, there is none.
    """
    try:
        return {"by": by, "mean": run()}
    except (Exception, SystemExit) as error:  # noqa: BLE001  # each tool has errors of its own
        return {"by": f"{by} ({type(error).__name__}: {error})"[:300], "mean": None}


def ask_cases(cases, ask):
    """Return the outcome of every case; whatever a tool raises, its row is unscored.

    Args:
        cases: As they were read.
        ask: Takes the address of an endpoint and a row, and returns score and decision; None is
            none.
    """
    outcomes = []
    for url, row in numbered_cases(cases):
        try:
            score, positive = ask(url, row)
            outcomes.append({"score": score, "positive": positive})
        except (Exception, SystemExit) as error:  # noqa: BLE001  # each tool has errors of its own
            outcomes.append({"score": None, "said": f"{type(error).__name__}: {error}"[:300]})
    return outcomes


def load_module(folder, pattern):
    """Import the one module of the export whose file name fits the pattern."""
    (path,) = folder.glob(pattern)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their own module up there
    spec.loader.exec_module(module)
    return module


def reader_of(module):
    """Return what reads a chat completion in an export; one of version 0.2 and before reads its
    text alone.
    """
    if hasattr(module, "read_completion"):
        return module.read_completion
    return lambda completion: module.read_reply(completion.choices[0].message.content)


def fixed_fences(messages, inputs):
    """Return messages with fixed tags as fences; each that shows a row has a tag of its own."""
    plain = []
    for message in messages:
        content = message["content"]
        match = (
            re.search(f"<{inputs[0]}-([0-9a-f]{{8}})>\n", content)
            if message["role"] == "user"
            else None
        )
        if match:
            content = content.replace(f"-{match.group(1)}>", ">")
        plain.append(message | {"content": content})
    return plain
