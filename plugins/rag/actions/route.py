"""Route questions to the sources of a catalogue, and measure where the right one is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ....judges import (
    Benchmark,
    ClientStats,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    Progress,
    Verdict,
    measure,
)
from ....judges.judge import require_answers
from ....judges.metrics.estimate import Estimate
from ....judges.retrieval import Dense, Retriever, load_encoder
from ....runs.actions.bench import describe_spending
from ....runs.config.command_options import ModelOptions
from ....runs.config.environment import Environment
from ....runs.store.run_clients import start_run_client
from ....runs.store.sealed_rows import enter_look, read_open, seal_of
from ....runs.store.workspace import Workspace
from ..routing import (
    Candidates,
    Catalog,
    Keywords,
    among,
    choose,
    find_candidates,
    first_retrieved,
    in_order_of,
)

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step on the way to a choice."""

    name: str
    sources: float
    """That are left for a question, the mean."""
    kept: Estimate | None
    """How often the right one is among them; None without labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """Where questions went, and how well that agrees with their labels."""

    run_id: str
    judged: JudgedDataset
    stages: tuple[Stage, ...]
    chosen: Mapping[str, int]
    """Questions by the source that was chosen."""
    benchmark: Benchmark | None
    """Of the choice; None without labels, as is the next."""
    first: Benchmark | None
    """Of taking the nearest source, without a judge."""
    shown: JudgedDataset
    """The rows that may be shown one by one."""
    stats: ClientStats
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `route ask --json` prints."""
        stages = [
            {"stage": one.name, "sources": one.sources, "kept": one.kept and one.kept.to_json()}
            for one in self.stages
        ]
        out: dict[str, Any] = {
            "run": self.run_id,
            "judge": self.judged.judge,
            "model": self.judged.model,
            "simulated": self.judged.simulated,
            "questions": len(self.judged.answers),
            "unscored": dict(self.judged.unscored),
            "stages": stages,
            "chosen": dict(self.chosen),
            "benchmark": self.benchmark and self.benchmark.to_json(),
            "first_retrieved": self.first and self.first.to_json(),
            "notes": list(self.notes),
        }
        return out | {
            "calls": self.stats.calls,
            "cost": self.stats.cost if self.stats.price_known else None,
        }


def _open_retriever(catalog: Catalog, embedder: str | None) -> Retriever:
    """Return keywords over what the catalogue says of its sources, or dense retrieval where a model
    is named.
    """
    texts = [source.text for source in catalog.sources]
    return (
        Keywords(texts) if embedder is None else Dense(texts, load_encoder(embedder), name=embedder)
    )


def run_routing(
    workspace: Workspace,
    prompt: JudgePrompt,
    catalog: Catalog,
    dataset: Dataset,
    models: ModelOptions,
    environment: Environment,
    *,
    k: int,
    embedder: str | None = None,
    watch: Watch,
) -> Routed:
    """Prune, retrieve and choose; a stopped run that is started again asks only what has no answer
    yet.

    Args:
        workspace: Where replies are recorded.
        prompt: Chooses among the catalogue's sources, in any order; its criteria and anchors are
            what is asked with.
        dataset: The questions, with the label on the catalogue's scale where there is one.
        k: How many sources the judge chooses among at most.
        embedder: The model that ranks the sources; None for BM25.

    Raises:
        InputError: The judge chooses among other sources, or reads more than the question.
        WorldError: The endpoint or the disk stopped it; answers that came are recorded.
    """
    catalog = in_order_of(prompt, catalog)
    if len(prompt.inputs) != 1:
        raise InputError(
            f"{prompt.name} reads {', '.join(prompt.inputs)}; a judge that routes reads the"
            " question alone"
        )

    retriever = _open_retriever(catalog, embedder)
    dataset = read_open(workspace, dataset, way="").dataset

    def count(done: int, total: int) -> None:
        watch(
            "questions", Progress(done=done, total=total, failed=0, recorded=0, cost=None, tokens=0)
        )

    candidates = find_candidates(
        dataset, catalog, retriever, field=prompt.inputs[0], k=k, count=count
    )
    config = {
        "judge": prompt.name,
        "version": prompt.version,
        "model": models.model,
        "retriever": retriever.name,
    }
    config |= {"k": k, "sources": list(catalog.names), "data_hash": dataset.content_hash}
    settings = JudgeSettings(max_tokens=models.max_tokens)
    with start_run_client(workspace, "route", config, models, environment) as (run_id, client):
        judged = choose(
            prompt,
            dataset,
            candidates,
            client,
            settings=settings,
            progress=partial(watch, "choices"),
        )
        require_answers(judged.answers, of="question")
        stats = client.stats
    seal = seal_of(workspace, dataset, by="route ask")
    enter_look(workspace, prompt.version, dataset, by="route ask")
    labelled = any(row.label is not None for row in dataset.rows)
    names = Counter(prompt.scale.name(a.score) for a in judged.answers if isinstance(a, Verdict))
    return Routed(
        run_id=run_id,
        judged=judged,
        stages=_stages(dataset, candidates, catalog, labelled=labelled),
        chosen=dict(names.most_common()),
        benchmark=measure(judged) if labelled else None,
        first=measure(first_retrieved(prompt, dataset, candidates)) if labelled else None,
        shown=seal.shown(judged),
        stats=stats,
        notes=(*seal.notes(), *seal.look_note(), *describe_spending(stats)),
    )


def _stages(
    dataset: Dataset, candidates: Candidates, catalog: Catalog, *, labelled: bool
) -> tuple[Stage, ...]:
    everything = tuple(range(len(catalog.sources)))
    steps = {
        "the whole catalogue": [everything] * len(dataset.rows),
        "open to the row": candidates.allowed,
        f"nearest {candidates.k} by {candidates.retriever}": candidates.nearest,
    }
    stages: list[Stage] = []
    for name, chosen in steps.items():
        mean = sum(len(sources) for sources in chosen) / len(chosen)
        accuracy = measure(among(dataset, chosen)).metrics["accuracy"] if labelled else None
        stages.append(Stage(name=name, sources=mean, kept=accuracy))
    return tuple(stages)
