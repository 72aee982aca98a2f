"""Listwise ranking with sliding windows: the baseline that pointwise judges are compared with.

A model sees a window of passages at once and puts them in order; the window slides from the end of
the list to its front, so that the best passages of each window are carried on into the next (Sun et
al. 2023, RankGPT; DIRAS compares windows and steps of 2/1, 10/5 and 20/10).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .errors import InputError, PromptError
from .instruction import ASKING, Filled, Unfilled, ask_instruction, load_instruction, number_lines
from .judge import JudgeSettings
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Progress
from .rows import Dataset, Row
from .scale import PROBABILITY
from .verdict import Answer, Unscored, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How much of a list a model sees at once, and how far the view moves on."""

    size: int = 20
    step: int = 10
    """Smaller than the size, so that what one window puts first is seen again by the next."""

    def __post_init__(self) -> None:
        if not 1 <= self.step < self.size:
            raise InputError(
                f"window {self.size!r}, step {self.step!r}: the step is at least 1 and smaller than"
                " the window",
                hint="2 and 1, 10 and 5, or 20 and 10",
            )

    def spans(self, n: int) -> Iterator[tuple[int, int]]:
        """Yield the windows over a list of n, from its end to its front; the last one always
        reaches the front.
        """
        end = n
        while n > 1:
            start = max(0, end - self.size)
            yield start, end
            if start == 0:
                return
            end -= self.step


REPAIRS = ("windows", "broken", "unknown", "repeated", "missing")
"""What is counted of a model's rankings: windows that were answered; those that needed any repair;
numbers that no passage has, which are dropped; second and later mentions of a passage, of which the
first counts; passages that were not mentioned, which follow in the order they had.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A query's passages in order."""

    order: tuple[int, ...]
    """Positions of the passages as they were given, best first."""
    repairs: Counter[str]
    """By kind, see `REPAIRS`."""
    failed: Unfilled | None = None
    """Why a window has no answer; the order is then not the model's and must not be measured."""
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDataset:
    """Rows with scores from their ranks, and how many repairs the rankings needed."""

    judged: JudgedDataset
    repairs: Mapping[str, int]
    """By kind, see `REPAIRS`."""
    queries: int
    failed: int
    """Queries with a window that was not answered; their rows are unscored."""

    def to_json(self) -> dict[str, object]:
        """Return the counts."""
        return {"queries": self.queries, "failed": self.failed, "repairs": dict(self.repairs)}


def rank_queries(
    queries: Sequence[tuple[str, Sequence[str]]],
    client: Client,
    *,
    window: Window | None = None,
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> list[Ranking]:
    """Rank the passages of many queries; the windows of one query follow each other, queries go
    side by side.

    A ranking that is not a permutation is repaired and counted: unknown numbers are dropped, the
    first mention of a passage counts, and passages that are not mentioned follow in the order they
    had. After a window without a readable ranking the query is given up.

    Args:
        queries: Each query with its passages, in the order they are first shown.
        client: Where the answers come from.
        window: How much is seen at once; 20 and 10 by default.
        settings: Sampling and limits.
        progress: Called while answers come in, of each position of the window anew.
    """
    window, instruction = window or Window(), load_instruction("rank_passages")
    orders = [list(range(len(passages))) for _, passages in queries]
    spans = [list(window.spans(len(passages))) for _, passages in queries]
    repairs = [Counter[str]() for _ in queries]
    failed: list[Unfilled | None] = [None] * len(queries)
    simulated = client.model.simulated
    # A window depends on the one before it; windows of different queries do not, and share one
    # batch.
    for position in range(max(map(len, spans), default=0)):
        open_queries: list[int] = []
        items: list[dict[str, str]] = []
        for i, (query, passages) in enumerate(queries):
            if position < len(spans[i]) and failed[i] is None:
                start, end = spans[i][position]
                window_texts = [passages[j] for j in orders[i][start:end]]
                open_queries.append(i)
                items.append({"query": query, "passages": number_lines(window_texts)})
        answers = ask_instruction(instruction, items, client, settings=settings, progress=progress)
        for i, answer in zip(open_queries, answers, strict=True):
            if isinstance(answer, Filled):
                simulated = simulated or answer.simulated
                repairs[i].update(
                    _reorder(orders[i], spans[i][position], answer.numbers("ranking"))
                )
            else:
                failed[i] = answer
    return [
        Ranking(order=tuple(orders[i]), repairs=repairs[i], failed=failed[i], simulated=simulated)
        for i in range(len(queries))
    ]


def judge_listwise(
    dataset: Dataset,
    client: Client,
    *,
    query: str = "query",
    passage: str = "passage",
    window: Window | None = None,
    seed: int | None = 0,
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> RankedDataset:
    """Rank the rows of each query against each other, and give each row a score from its rank.

    A row on rank r of the n rows with its query scores 1 - (r - 1) / n: the best has 1, the last 1
    / n. Scores say nothing across queries and the threshold of 0.5 is only the middle of the list,
    so measure rankings (nDCG, MAP) with them, not F1. The rows of a query of which a window failed
    are unscored.

    Args:
        dataset: The rows; those with the same text in `query` are ranked together.
        client: Where the answers come from.
        query: The input that holds the query.
        passage: The input that holds the passage.
        window: How much is seen at once; 20 and 10 by default.
        seed: Shuffles the rows before the first window, because the order of a file may give its
            labels away; None keeps the order of the file, such as a retriever's.
        settings: Sampling and limits.
        progress: Called while answers come in.

    Raises:
        PromptError: A row lacks the query or the passage.
    """
    window = window or Window()
    groups = _by_query(dataset.rows, query, passage, seed)
    queries = [
        (text, [dataset.rows[i].inputs[passage] for i in rows]) for text, rows in groups.items()
    ]
    rankings = rank_queries(queries, client, window=window, settings=settings, progress=progress)
    answers: dict[str, Answer] = {}
    for positions, ranking in zip(groups.values(), rankings, strict=True):
        ids = [dataset.rows[i].id for i in positions]
        if ranking.failed is not None:
            detail = f"a window of its query was not ranked: {ranking.failed.detail}"
            for row_id in ids:
                answers[row_id] = Unscored(
                    row_id=row_id, reason=ranking.failed.reason, detail=detail
                )
            continue
        for i, position in enumerate(ranking.order):
            score = 1.0 - i / len(ids)
            answers[ids[position]] = Verdict(
                row_id=ids[position],
                score=score,
                positive=PROBABILITY.positive(score),
                rationale=f"rank {i + 1} of {len(ids)}",
                parser="listwise",
            )
    instruction = load_instruction("rank_passages")
    judged = JudgedDataset(
        dataset=dataset,
        answers=tuple(answers[row.id] for row in dataset.rows),
        scale=PROBABILITY,
        judge=f"{instruction.name}@{instruction.version} in windows of {window.size}/{window.step}",
        model=client.model.name,
        simulated=client.model.simulated or any(ranking.simulated for ranking in rankings),
    )
    return RankedDataset(
        judged=judged,
        repairs={kind: sum(ranking.repairs[kind] for ranking in rankings) for kind in REPAIRS},
        queries=len(rankings),
        failed=sum(ranking.failed is not None for ranking in rankings),
    )


def _by_query(
    rows: Iterable[Row], query: str, passage: str, seed: int | None
) -> dict[str, list[int]]:
    """Return the positions of the rows of each query, in the order they are first shown."""
    groups: dict[str, list[tuple[bytes, int]]] = {}
    for i, row in enumerate(rows):
        for name in (query, passage):
            if name not in row.inputs:
                raise PromptError(
                    f"row {row.id!r} has no field {name!r}; listwise ranking needs it"
                )
        key = b""  # without a seed the order stays
        if seed is not None:
            key = hashlib.blake2b(f"{seed}\0{row.id}".encode("utf-8", "replace")).digest()
        groups.setdefault(row.inputs[query], []).append((key, i))
    return {text: [i for _, i in sorted(drawn)] for text, drawn in groups.items()}


def _reorder(order: list[int], span: tuple[int, int], ranked: Sequence[int]) -> dict[str, int]:
    """Put a window of the list into the order a model gave, repairing what is no permutation."""
    start, end = span
    before = order[start:end]
    valid = [number for number in ranked if 1 <= number <= len(before)]
    first_mentions = list(dict.fromkeys(valid))
    missing = sorted(set(range(1, len(before) + 1)) - set(first_mentions))
    order[start:end] = [before[number - 1] for number in (*first_mentions, *missing)]
    unknown, repeated = len(ranked) - len(valid), len(valid) - len(first_mentions)
    broken = int(unknown + repeated + len(missing) > 0)
    return dict(zip(REPAIRS, (1, broken, unknown, repeated, len(missing)), strict=True))
