"""Measure an LLM judge against human labels and improve its prompt where it errs.

    import judgewright as jw

    rows = jw.load_rows("rows.jsonl")
    bench = jw.bench("groundedness", rows, model="simulated")
    print(bench)
    report = jw.find_slices(bench, metric="precision")
    run = jw.optimize(
        "groundedness",
        rows,
        objective="do not call unsupported statements grounded",
        guard={"recall": 0.05},
        model="simulated",
        workspace=".",
    )
    print(run.decision, run.diff)
    if run.accepted:
        run.accept(comment="...")
    jw.export("groundedness", to="mlflow", out="handover")

The functions by task:

    Data          load_rows, load_verdicts, label
    Measuring     bench, score, find_slices, calibrate
    Improving     plan, optimize, load_run, gate
    Looking       list_judges, list_runs
    Taking along  add_judge, export

What a function returns can be printed. What several of them take:

    judge      A name (`jw.list_judges()` lists them), `name@version`, a YAML file, a prompt
               such as `run.after`, or a Python function from a row to a score.
    rows       What `load_rows` returns or takes: a path, a DataFrame, a list of dicts or a
               Hugging Face dataset.
    model      Who is asked: `simulated` (made up, no key), a name, or `NAME@https://host/v1`.
    scale      Of a function's scores: `probability`, `low-probability@0.3` where low is good,
               or `0..3@2`; booleans, 0 and 1 need none.
    target     The metric to improve.
    guard      Losses allowed, such as `{"recall": 0.05}`.
    floor      What must be reached with 95 % confidence, such as `{"precision": 0.9}`.
    sealed     Whether to read rows that were set aside too, which is a look.
    budget     Dollars such as `5.00`, or tokens such as `200000tokens`.
    workspace  The folder of the workspace, whose ledger counts looks; the nearest one above
               unless given.
"""

from importlib import import_module
from importlib.metadata import version

# The sub-packages first: Python binds each to its name here when it is imported, and `jw.optimize`
# is the function.
for _package in ("judges", "slices", "optimize", "runs"):
    import_module(f"judgewright.{_package}")

from judgewright.runs.api import (  # noqa: E402  # see above
    add_judge,
    bench,
    calibrate,
    export,
    find_slices,
    gate,
    label,
    list_judges,
    list_runs,
    load_run,
    optimize,
    plan,
    score,
)
from judgewright.runs.arguments import load_rows, load_verdicts  # noqa: E402

__version__ = version("judgewright")
"""Of the installed package."""

__all__ = [
    "add_judge",
    "bench",
    "calibrate",
    "export",
    "find_slices",
    "gate",
    "label",
    "list_judges",
    "list_runs",
    "load_rows",
    "load_run",
    "load_verdicts",
    "optimize",
    "plan",
    "score",
]
