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


def ask_both_ways(cases, ask, other, words):
    """Return the outcomes of the first way to ask, and where the other gives another score.

    Args:
        cases: As they were read.
        ask: See `ask_cases`.
        other: Likewise.
        words: What the two ask through.
    """
    outcomes, others = ask_cases(cases, ask), ask_cases(cases, other)
    return outcomes, differing(outcomes, others, words)


def differing(outcomes, others, words):
    """Say where two ways to ask give different scores."""
    scores = enumerate(
        ((one["score"], two["score"]) for one, two in zip(outcomes, others, strict=True)), 1
    )
    return [
        f"case {number} is scored {one} through {words[0]} and {two} through {words[1]}"
        for number, (one, two) in scores
        if one != two
    ]


def require_rendered(module, rows, render):
    """Stop unless a stored prompt renders to the judge's messages, but for the fences.

    Args:
        module: The adapter.
        rows: The rows to render.
        render: Takes a row and returns messages.
    """
    inputs = module.JUDGE.inputs
    for number, row in enumerate(rows, start=1):
        # Stores fill one field after the other, so a row's own {{name}} is filled too, as declared.
        if re.search(r"\{\{", "".join(row.values())):
            continue
        rendered = fixed_fences(render(row), inputs)  # LangChain's demonstrations have their own
        # As it is where all rows have the same cases.
        messages = module.JUDGE.open_messages(str, row.__getitem__)
        if rendered != fixed_fences(messages, inputs):
            sys.exit(f"the stored prompt: row {number} renders as another text")


def load_module(folder, pattern):
    """Import the one module of the export whose file name fits the pattern."""
    (path,) = folder.glob(pattern)
    sys.path.append(str(folder))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their own module up there
    spec.loader.exec_module(module)
    return module


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
