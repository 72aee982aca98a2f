"""Benchmark a judge: ask, measure, repeat if asked to, write the verdicts down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..judges import (
    Benchmark,
    ClientStats,
    Dataset,
    Judged,
    JudgePrompt,
    JudgeSettings,
    Progress,
    Verdict,
    by_column,
    judge,
    measure,
    require_column,
    write_beside,
)
from ..judges.models import Budget
from .calls import CallStore
from .config import Allowance, Environment, open_client
from .journal import create_run, sitting
from .workspace import Workspace

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """A benchmark, its parts, what repetition showed, and what it cost."""

    benchmark: Benchmark
    by: Mapping[str, Benchmark]
    self_agreement: float | None
    """Share of rows with the same decision in every repetition; None for a single one."""
    f1_of_repeats: tuple[float | None, ...]
    stats: ClientStats
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the benchmark's JSON with `by`, `repeats`, `calls` and `cost` beside it."""
        out = self.benchmark.to_json()
        if self.by:
            out["by"] = {value: part.to_json() for value, part in self.by.items()}
        if self.self_agreement is not None:
            out["repeats"] = {"self_agreement": self.self_agreement, "f1": list(self.f1_of_repeats)}
        return out | {"calls": self.stats.calls, "cost": self.stats.cost, "dropped": sorted(self.stats.dropped)}


def run_bench(
    workspace: Workspace,
    prompt: JudgePrompt,
    dataset: Dataset,
    *,
    model: str,
    environment: Environment,
    allowance: Allowance,
    concurrency: int,
    settings: JudgeSettings,
    repeats: int,
    by: str | None,
    out: Path | None,
    watch: Watch,
) -> BenchResult:
    """Benchmark a judge in a workspace, where every reply is recorded and none is paid for twice."""
    if by is not None:
        require_column(dataset, by)
    run_id = create_run(workspace.database, "bench", {"judge": prompt.name, "version": prompt.version, "model": model})
    record = CallStore(workspace.database, run_id)
    budget = Budget(money=allowance.money, tokens=allowance.tokens, spent=record.spending())
    with (
        sitting(workspace.database, run_id),
        open_client(model, environment, record=record, budget=budget, concurrency=concurrency) as client,
    ):
        rounds = [
            judge(
                prompt, dataset, client, settings=settings, repeat=k, progress=lambda p, k=k: watch(f"round {k + 1}", p)
            )
            for k in range(repeats)
        ]
        stats = client.stats
    if out is not None:
        write_verdicts(rounds[0], out)
    return BenchResult(
        benchmark=measure(rounds[0]),
        by=by_column(rounds[0], by) if by else {},
        self_agreement=_self_agreement(rounds),
        f1_of_repeats=tuple(measure(r, resamples=1).metrics["f1"].value for r in rounds) if repeats > 1 else (),
        stats=stats,
        notes=describe_spending(stats),
    )


def _self_agreement(rounds: list[Judged]) -> float | None:
    """Share of the rows answered in every round whose decision never changed."""
    if len(rounds) < 2:
        return None
    sides = [[a.positive if isinstance(a, Verdict) else None for a in r.answers] for r in rounds]
    answered = [said for said in zip(*sides, strict=True) if None not in said]
    return float(np.mean([len(set(said)) == 1 for said in answered])) if answered else None


def describe_spending(stats: ClientStats) -> tuple[str, ...]:
    """Say what was asked, what it cost, and which parameters the endpoint would not take."""
    cost = f"${stats.cost:.4f}" if stats.price_known else "price unknown"
    tokens = stats.tokens_in + stats.tokens_out
    said = [f"{stats.calls} calls, {stats.recorded} answers from the record, {tokens:,} tokens, {cost}"]
    if stats.dropped:
        said.append(f"left out because the endpoint refuses them: {', '.join(sorted(stats.dropped))}")
    return tuple(said)


def write_verdicts(judged: Judged, path: Path) -> None:
    """Write one line a row as JSONL: what `score` and `slices` read, with reasons for unscored rows."""
    import io

    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        for row, answer in zip(judged.dataset.rows, judged.answers, strict=True):
            line: dict[str, Any] = {"id": row.id, "judge": judged.judge, "judge_model": judged.model}  # Any: JSON
            line |= {"simulated": judged.simulated, "label": row.label, "group": row.group}
            if isinstance(answer, Verdict):
                line |= {"verdict": int(answer.positive), "score": answer.score, "confidence": answer.confidence}
                line |= {"rationale": answer.rationale, "unscored": None}
            else:
                line |= {"verdict": None, "score": None, "confidence": None}
                line |= {"unscored": answer.reason, "detail": answer.detail}
            file.write(line | {"metadata": dict(row.meta)})
    write_beside(path, text.getvalue())
