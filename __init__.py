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

A judge is a name (`jw.list_judges()` lists them), a YAML file, or a Python function from a row to a
score. Rows are a path, a DataFrame, a list of dicts or a Hugging Face dataset. What a function
returns can be printed.
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
    load_rows,
    load_run,
    load_verdicts,
    optimize,
    plan,
    score,
)

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
