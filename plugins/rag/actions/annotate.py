"""Annotate a corpus: draw pairs, judge them in a workspace, estimate from the sample, write the
annotations.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....judges import (
    ClientStats,
    DecisionRule,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    OutputScale,
    Progress,
    Unscored,
    Verdict,
    judge,
    write_beside,
)
from ....judges.judge import require_answers
from ....judges.judged_dataset import group_codes
from ....judges.retrieval import Retriever
from ....runs.actions.bench import describe_spending
from ....runs.config.command_options import ModelOptions
from ....runs.config.environment import Environment
from ....runs.store.run_clients import start_run_client
from ....runs.store.workspace import Workspace
from ..annotation import (
    Pair,
    SampleEstimates,
    SamplePlan,
    estimate_from_sample,
    pair_dataset,
    sample_pairs,
)
from ..annotation.collection import Collection

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What was drawn, what the judge said, and what it shows."""

    run_id: str
    pairs: tuple[Pair, ...]
    judged: JudgedDataset
    """One row a pair, in the order of `pairs`."""
    documents: int
    """Size of the corpus."""
    retriever: str
    plan: SamplePlan
    rule: DecisionRule | None
    """The kept rule that decided and calibrated; None where the judge has none."""
    estimates: SampleEstimates
    stats: ClientStats
    notes: tuple[str, ...]

    @property
    def unscored(self) -> Mapping[str, int]:
        """Pairs without a verdict, by reason."""
        return self.judged.unscored

    @property
    def answered(self) -> int:
        """Pairs with a verdict."""
        return sum(isinstance(answer, Verdict) for answer in self.judged.answers)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `annotate --json` prints."""
        inside = sum(pair.inside for pair in self.pairs)
        out: dict[str, Any] = {
            "run": self.run_id,
            "judge": self.judged.judge,
            "model": self.judged.model,
            "simulated": self.judged.simulated,
            "retriever": self.retriever,
            "k": self.plan.k,
            "seed": self.plan.seed,
            "queries": len({pair.query.id for pair in self.pairs}),
            "documents": self.documents,
            "pairs": len(self.pairs),
            "inside": inside,
            "outside": len(self.pairs) - inside,
            "n": self.answered,
            "unscored": dict(self.unscored),
            "rule": self.rule and self.rule.to_json() | {"version": self.rule.version},
            "recall_of_top_k": self.estimates.recall.to_json(),
            "relevant_per_query": self.estimates.relevant_per_query.to_json(),
            "notes": list(self.notes),
        }
        return out | {
            "calls": self.stats.calls,
            "cost": self.stats.cost if self.stats.price_known else None,
        }


def run_annotation(
    workspace: Workspace,
    prompt: JudgePrompt,
    collection: Collection,
    models: ModelOptions,
    environment: Environment,
    *,
    retriever: Retriever,
    plan: SamplePlan,
    watch: Watch,
) -> Annotation:
    """Draw pairs and judge them; a stopped run that is started again asks only what has no answer
    yet.

    Args:
        workspace: Where replies are recorded; the judge's rule is the one it keeps.
        collection: Queries and documents.
        retriever: Over the collection's documents.

    Raises:
        WorldError: The endpoint or the disk stopped it; answers that came are recorded.
    """
    registered = workspace.registry.kept_rule(prompt)
    pairs = _draw(collection, retriever, plan, watch)
    dataset = pair_dataset(pairs, prompt.scale, name="annotate")
    config = {
        "judge": prompt.name,
        "version": prompt.version,
        "model": models.model,
        "retriever": retriever.name,
    }
    config |= {"k": plan.k, "per_query": plan.per_query, "seed": plan.seed}
    config |= {"rule": registered and registered.rule.version, "data_hash": dataset.content_hash}
    settings, rule = (
        JudgeSettings(max_tokens=models.max_tokens),
        registered.rule if registered else None,
    )
    with start_run_client(workspace, "annotate", config, models, environment) as (run_id, client):
        judged = judge(
            prompt,
            dataset,
            client,
            settings=settings,
            rule=rule,
            progress=lambda p: watch("pairs", p),
        )
        require_answers(judged.answers, of="pair")
    notes = [*collection.notes, *_plan_notes(pairs, plan)]
    if registered is None:
        notes.append(
            "no rule is kept for this judge: probabilities are raw; `judgewright calibrate`"
            " fits one"
        )
    else:
        notes += registered.caveats(model=models.model, confidence=settings.confidence)
    notes += describe_spending(client.stats)
    return Annotation(
        run_id=run_id,
        pairs=pairs,
        judged=judged,
        documents=len(collection.documents),
        retriever=retriever.name,
        plan=plan,
        rule=rule,
        estimates=_estimate(pairs, judged, len(collection.documents)),
        stats=client.stats,
        notes=tuple(notes),
    )


def _draw(
    collection: Collection, retriever: Retriever, plan: SamplePlan, watch: Watch
) -> tuple[Pair, ...]:
    pairs: list[Pair] = []
    total = len(collection.queries)
    for done, query in enumerate(collection.queries, 1):
        pairs += sample_pairs([query], collection.documents, retriever, plan)
        watch(
            "queries", Progress(done=done, total=total, failed=0, recorded=0, cost=None, tokens=0)
        )
    return tuple(pairs)


def _estimate(pairs: tuple[Pair, ...], judged: JudgedDataset, documents: int) -> SampleEstimates:
    """Estimate from the pairs that have a verdict."""
    relevant = {
        i: answer.positive for i, answer in enumerate(judged.answers) if isinstance(answer, Verdict)
    }
    at = list(relevant)
    return estimate_from_sample(
        np.array([pairs[i].inside for i in at], np.bool_),
        np.array([relevant[i] for i in at], np.bool_),
        np.array([pairs[i].inclusion for i in at], np.float64),
        group_codes([judged.dataset.rows[i] for i in at]),
        documents=documents,
    )


def _plan_notes(pairs: tuple[Pair, ...], plan: SamplePlan) -> list[str]:
    sides = Counter(pair.inside for pair in pairs)
    queries = len({pair.query.id for pair in pairs})
    notes = [
        f"{len(pairs):,} pairs of {queries:,} queries: {sides[True]:,} from the top {plan.k}, "
        f"{sides[False]:,} from below it (one from each band of ranks)"
    ]
    if sides[True] + sides[False] < queries * plan.per_query:
        notes.append(
            f"fewer than {plan.per_query} pairs a query, as the top {plan.k} or the corpus holds no"
            " more"
        )
    return notes


def write_annotations(annotation: Annotation, path: Path) -> None:
    """Write one line a pair as JSONL: its chances, the verdict or the reason for none."""
    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        for pair, row, answer in zip(
            annotation.pairs, annotation.judged.dataset.rows, annotation.judged.answers, strict=True
        ):
            line: dict[str, Any] = {
                "id": row.id,
                **row.meta,
                "retriever": annotation.retriever,
            }  # Any: JSON
            line |= {"judge": annotation.judged.judge, "judge_model": annotation.judged.model}
            line |= {
                "simulated": annotation.judged.simulated,
                "rule": annotation.rule and annotation.rule.version,
            }
            line |= {"group": row.group}
            file.write(
                line
                | _answer_json(answer, annotation)
                | {"inputs": {**pair.query.inputs, **pair.document.inputs}}
            )
    write_beside(path, text.getvalue())


def _answer_json(answer: Verdict | Unscored, annotation: Annotation) -> dict[str, Any]:  # Any: JSON
    if isinstance(answer, Unscored):
        nothing = dict.fromkeys(
            ("verdict", "score", "confidence", "probability", "probability_raw")
        )
        return {**nothing, "unscored": answer.reason, "detail": answer.detail, "rationale": ""}
    raw, scale = answer.before or answer, annotation.judged.scale
    return {
        "verdict": int(answer.positive),
        "score": answer.score,
        "confidence": answer.confidence,
        "probability": _probability(answer, scale),
        "probability_raw": _probability(raw, scale),
        "unscored": None,
        "rationale": (
            answer.rationale.encode(errors="replace").decode()
        ),  # a reply may hold half a letter
    }


def _probability(verdict: Verdict, scale: OutputScale) -> float | None:
    """Return the probability that the document is relevant, calibrated where a rule has done so."""
    if scale.kind == "probability" and verdict.before is None:
        return verdict.score
    return verdict.probability
