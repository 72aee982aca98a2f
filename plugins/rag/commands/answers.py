"""`judgewright rag answers`: answer from documents in several ways, and grade the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ....optimize.options import described, option
from ....runs.commands.decorators import json_option, options_of, takes, writes_workspace
from ....runs.commands.failure import answer_in_part
from ....runs.commands.help import Group
from ....runs.commands.model_access import asking_environment
from ....runs.config.command_options import ModelOptions
from ....runs.terminal import answer, progress_on_stderr, say, say_table, simulated_mark

if TYPE_CHECKING:
    from ....judges import BudgetSpent
    from ....judges.metrics import Estimate
    from ....runs.store.workspace import Workspace
    from ..actions.answers import ComparedSetups
    from ..answers import Setup

T = TypeVar("T")

COMPARE = """\
Example:  judgewright rag answers compare reports/documents.jsonl reports/questions.jsonl --model your-model --k 5 --k 10
"""  # noqa: E501


_ways = partial(option, "Search")
_judging = partial(option, "Judging")


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The ways to answer, each with each, and who judges."""

    chunkers: tuple[str, ...] = _ways(
        (),
        "recursive or markdown (at headings) [default: recursive].",
        kind="repeated",
        flag="--chunker",
    )
    sizes: tuple[int, ...] = _ways(
        (), "Characters of a chunk [default: 1800].", kind="integers", flag="--size", low=1
    )
    overlap: int = _ways(300, "Characters that neighbouring chunks may share.", low=0)
    contexts: tuple[str, ...] = _ways(
        (),
        "What stands before a chunk: none, or document (its title and other short columns)"
        " [default: both].",
        kind="repeated",
        flag="--context",
    )
    ks: tuple[int, ...] = _ways(
        (),
        "Chunks that are retrieved for a question [default: 5].",
        kind="integers",
        flag="--k",
        low=1,
    )
    embedder: str | None = _ways(None, "Retrieve by this sentence-transformers model, not by BM25.")
    judge: str = field(
        default="answer_correctness",
        metadata=described(
            "Judging",
            "A judge of question, right answer and answer: name, name@version or YAML file.",
        ),
    )
    answer_model: str | None = _judging(
        None, "The model that answers [default: the model that judges]."
    )
    answer_tokens: int = _judging(1024, "Tokens of an answer at most.", low=1)


@click.group(cls=Group)
def answers() -> None:
    """Compare ways to answer from documents, and ways to grade answers."""


OFTEN = """
--chunker --size --overlap --context --k --embedder --judge --answer-model --answer-tokens --model
--budget --concurrency --out --workspace --json
"""
"""The options that `--help` shows."""


@answers.command(often=OFTEN, epilog=COMPARE)
@click.argument("documents", type=click.Path(path_type=Path))
@click.argument("questions", type=click.Path(path_type=Path))
@options_of(options=CompareOptions, models=ModelOptions)
@takes("out", None, "Write what became of each question, as JSONL.", kind="out")
@writes_workspace
def compare(
    documents: Path,
    questions: Path,
    options: CompareOptions,
    models: ModelOptions,
    out: Path | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Answer QUESTIONS from DOCUMENTS, cut and retrieved in several ways, and judge the answers.

    DOCUMENTS is a file with a document a line, or a folder of Markdown and text files; QUESTIONS
    has a question and its right answer a line, and the document and evidence where they are known.
    A stopped comparison is started again with the same command: what has been answered is not asked
    again.
    """
    from ....judges.retrieval import load_encoder
    from ..actions.answers import compare_answers, write_outcomes
    from ..answers import read_documents, read_questions

    setups = _setups(options)
    corpus = read_documents(documents)
    question_rows = read_questions(questions, corpus)
    environment = asking_environment(workspace.root, models.model, options.answer_model)
    with progress_on_stderr(quiet=as_json) as watch:
        compared = compare_answers(
            workspace,
            workspace.registry.get(options.judge),
            corpus,
            question_rows,
            setups,
            models,
            environment,
            answer_model=options.answer_model,
            answer_tokens=options.answer_tokens,
            encode=load_encoder(options.embedder) if options.embedder else None,
            watch=watch,
        )
    if out is not None:
        write_outcomes(compared, out)
    shortfall = _unpaid(
        outcome.failure for result in compared.results for outcome in result.outcomes
    )
    body = compared.to_json() | {"out": out and str(out)}
    answer_in_part(body, partial(_say_compared, compared, out), shortfall, as_json=as_json)


@answers.command(epilog="Example:  judgewright rag answers sample reports")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@takes("seed", 0, "Which figures the reports give.", low=0)
@json_option
def sample(folder: Path, seed: int, as_json: bool) -> None:
    """Write a small made-up corpus into FOLDER: reports that resemble each other, and questions
    about them.
    """
    from ..answers import write_reports

    documents, questions = write_reports(folder, seed=seed)
    body = {"documents": str(documents), "questions": str(questions)}
    answer(body, f"written: {documents}, {questions}", as_json=as_json)


def _unpaid(failures: Iterable[str]) -> BudgetSpent | None:
    """Return the error that says how much the budget did not reach; None where it reached
    everything.
    """
    from ....judges import BudgetSpent

    unpaid = sum("budget" in failure for failure in failures)
    return (
        BudgetSpent(f"the budget ended before {unpaid:,} answers were given and judged")
        if unpaid
        else None
    )


def _setups(options: CompareOptions) -> list[Setup]:
    from ..answers import CHUNKERS, CONTEXTS, Chunking, Setup

    chunkers = _named("--chunker", options.chunkers or CHUNKERS[:1], CHUNKERS)
    contexts = _named("--context", options.contexts or CONTEXTS, CONTEXTS)
    ways = product(
        chunkers, sorted({*options.sizes} or {1800}), contexts, sorted({*options.ks} or {5})
    )
    return [
        Setup(
            chunking=Chunking(chunker=chunker, size=size, overlap=options.overlap),
            context=context,
            k=k,
        )
        for chunker, size, context, k in ways
    ]


def _named(flag: str, names: Sequence[str], choices: Sequence[T]) -> list[T]:
    """Return the known ones that were given, in the order given."""
    from ....judges import InputError

    by_name = {str(one): one for one in choices}
    for name in names:
        if name not in by_name:
            raise InputError(f"{flag} {name!r} is none of {', '.join(by_name)}")
    return [by_name[name] for name in dict.fromkeys(names)]


def _say_compared(compared: ComparedSetups, out: Path | None) -> None:
    say(
        f"\n{len(compared.questions):,} questions on {compared.documents:,} documents, answered by"
        f" {compared.answer_model}, judged by {compared.judge} on"
        f" {compared.model}{simulated_mark(compared.simulated)}"
    )
    lines: list[tuple[str, ...]] = []
    for result in compared.results:
        lines.append(
            (
                str(result.setup),
                f"{result.chunks:,}",
                _share(result.document),
                _share(result.evidence),
                str(result.correct),
                _share(result.anls),
                "-" if result.change is None else _change(result.change),
            )
        )
    head = (
        "way",
        "chunks",
        "document",
        "evidence",
        "right, by the judge",
        "ANLS",
        "against the first",
    )
    say_table(head, lines)
    say("document, evidence: how often, and how much of it, is among the retrieved chunks")
    empty = sum(result.empty for result in compared.results)
    failed = sum(result.failed for result in compared.results)
    say(
        f"{empty:,} answers are empty, and so wrong; {failed:,} have no reply or verdict, and count"
        " nowhere"
    )
    failure = next(
        (o.failure for result in compared.results for o in result.outcomes if o.failure), ""
    )
    if failure:
        say(f"  the first: {failure}")
    cost = "of unknown price" if compared.cost is None else f"${compared.cost:.4f}"
    say(f"{compared.calls:,} calls, {cost}" + (f"; every answer written to {out}" if out else ""))


def _share(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.3f}"


def _change(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.3f}"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
