"""Put judges that other tools ship beside ours, on the same rows: the table of three published
comparisons.

    python benchmarks/side_by_side.py [--rows 600] [--seed 0] [--environments .verify] [--json FILE]

The tools' words are read from the environments where they are installed (`make verify-exports`;
UMBRELA needs `pip install --no-deps umbrela`, whose prompt is a file); a tool that is not there is
left out, aloud. Everything is answered by the simulated model, which reads support off the words of
a row and directives off the words of a prompt: the table shows that imported judges run, are read
and are measured beside ours. It says nothing about how good any of these prompts is with a real
model.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judgewright.judges import (
    Client,
    Dataset,
    InputError,
    JudgePrompt,
    Registry,
    Simulated,
    judge,
    load_dataset,
    measure,
    parse_label_scale,
)
from judgewright.plugins.tools import readers
from judgewright.runs.imports import AddOptions, ForeignJudge, understand

DATA = Path(__file__).resolve().parents[2] / "shared/data"
ENVIRONMENTS = Path(__file__).resolve().parents[1] / ".verify"
COLUMNS = ("precision", "recall", "f1", "kappa", "off_by_one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """One judge of an installed tool."""

    shown: str
    tool: str
    name: str
    options: AddOptions = field(default_factory=AddOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One part of the published table."""

    title: str
    file: str
    own: str
    theirs: tuple[Theirs, ...]
    label_scale: str
    only: Mapping[str, str] = field(default_factory=dict)
    """Columns and the value that rows must have there."""


COMPARISONS = (
    Comparison(
        title="groundedness, 17 sub-sets",
        file="groundedness_multi.jsonl",
        own="groundedness",
        label_scale="binary",
        theirs=(
            Theirs(
                shown="MLflow groundedness, no question",
                tool="mlflow",
                name="groundedness",
                options=AddOptions(
                    labels=("no", "yes"),
                    fills={"request": ""},
                    fields={"response": "statement", "context": "source"},
                ),
            ),
            Theirs(shown="TruLens groundedness", tool="trulens", name="groundedness"),
        ),
    ),
    Comparison(
        title="context relevance, TREC DL 2019, 2020, 2023",
        file="context_relevance_trec_dl.jsonl",
        own="context_relevance",
        label_scale="0..3@2",
        theirs=(
            Theirs(shown="UMBRELA, without examples", tool="umbrela", name="qrel_fewshot_bing"),
            Theirs(
                shown="MLflow relevance to query",
                tool="mlflow",
                name="relevance_to_query",
                options=AddOptions(
                    labels=("no", "yes"), fields={"request": "query", "context": "passage"}
                ),
            ),
            Theirs(
                shown="TruLens context relevance, reasons",
                tool="trulens",
                name="context_relevance_with_cot_reasons",
            ),
        ),
    ),
    Comparison(
        title="answer relevance, HotpotQA",
        file="answer_relevance.jsonl",
        own="answer_relevance",
        label_scale="binary",
        only={"dataset": "hotpotqa"},
        theirs=(
            Theirs(
                shown="MLflow relevance to query",
                tool="mlflow",
                name="relevance_to_query",
                options=AddOptions(
                    labels=("no", "yes"), fields={"request": "query", "context": "answer"}
                ),
            ),
            Theirs(
                shown="TruLens answer relevance, reasons",
                tool="trulens",
                name="relevance_with_cot_reasons",
            ),
        ),
    ),
)


def _with_criteria(judge: ForeignJudge, options: AddOptions) -> AddOptions:
    """Take the first paragraph but for a sentence for the criteria where the tool keeps none apart.

    Nothing of a judge is edited here, so that it does not matter.
    """
    first = judge.messages[0].parts[0]
    if judge.criteria or judge.needs or not isinstance(first, str):
        return options
    return replace(options, criteria=first.partition("\n\n")[0].partition(". ")[2].strip())


def judges_of(comparison: Comparison, environments: Path) -> dict[str, JudgePrompt]:
    """Return ours and every other tool's judge that is installed, by what the table calls it."""
    prompts = {f"Judgewright {comparison.own}": Registry().get(comparison.own)}
    for theirs in comparison.theirs:
        python = environments / theirs.tool / "bin/python"
        try:
            judge = getattr(readers, theirs.tool.upper()).read(theirs.name, str(python))
            understood = understand(judge, _with_criteria(judge, theirs.options))
        except InputError as error:
            print(f"left out: {theirs.shown}: {error}", file=sys.stderr)
            continue
        if understood.prompt is None:
            print(f"left out: {theirs.shown}: {understood.questions[0]}", file=sys.stderr)
            continue
        prompts[f"{theirs.shown} ({judge.tool})"] = understood.prompt
    return prompts


def rows_for(comparison: Comparison, prompt: JudgePrompt, size: int, seed: int) -> Dataset:
    """Return the same rows for every judge: drawn by the seed from those the comparison is
    about.
    """
    scale = parse_label_scale(comparison.label_scale)
    rows = load_dataset(
        DATA / comparison.file, inputs=prompt.inputs, scale=prompt.scale, label_scale=scale
    )
    fit = [
        row
        for row in rows.rows
        if all(row.meta.get(name) == value for name, value in comparison.only.items())
    ]
    drawn = sorted(random.Random(seed).sample(range(len(fit)), min(size, len(fit))))
    return replace(rows, rows=tuple(fit[i] for i in drawn))


def run(comparison: Comparison, environments: Path, size: int, seed: int) -> list[dict[str, Any]]:
    """Measure every judge of one comparison."""
    lines = []
    with Client(Simulated()) as client:
        for shown, prompt in judges_of(comparison, environments).items():
            rows = rows_for(comparison, prompt, size, seed)
            benchmark = measure(judge(prompt, rows, client))
            estimates = {name: benchmark.metrics.get(name) for name in COLUMNS}
            metrics = {
                name: estimate.to_json() if estimate else None
                for name, estimate in estimates.items()
            }
            unscored = sum(benchmark.unscored.values())
            lines.append(
                {
                    "judge": shown,
                    "version": prompt.version,
                    "n": benchmark.n,
                    "unscored": unscored,
                    **metrics,
                }
            )
    return lines


def shown(metric: Mapping[str, Any] | None) -> str:
    """Write a metric with its interval."""
    if metric is None or metric["value"] is None:
        return "n/a"
    if metric["low"] is None:
        return f"{metric['value']:.3f}"
    return f"{metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def main() -> None:
    """Print the table in Markdown."""
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("--rows", type=int, default=600)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    options.add_argument("--json", type=Path)
    arguments = options.parse_args()
    started, comparisons = time.monotonic(), []
    print(
        f"SIMULATED model, version {Simulated().version}: these figures say nothing about real"
        " models.\n"
    )
    for comparison in COMPARISONS:
        lines = run(comparison, arguments.environments, arguments.rows, arguments.seed)
        comparisons.append({"title": comparison.title, "file": comparison.file, "judges": lines})
        print(f"### {comparison.title}, {lines[0]['n']:,} rows (seed {arguments.seed})\n")
        print(
            "| judge | unscored | "
            + " | ".join(COLUMNS)
            + " |\n"
            + "|---" * (2 + len(COLUMNS))
            + "|"
        )
        for line in lines:
            figures = " | ".join(shown(line[name]) for name in COLUMNS)
            print(f"| {line['judge']} | {line['unscored']} | {figures} |")
        print()
    print(f"95 % intervals, over groups of rows. {time.monotonic() - started:.0f} seconds.")
    if arguments.json:
        version = Simulated().version
        body = {
            "schema_version": 1,
            "simulated": version,
            "seed": arguments.seed,
            "comparisons": comparisons,
        }
        arguments.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
