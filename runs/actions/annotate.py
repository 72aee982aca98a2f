"""Annotate a corpus: draw pairs, judge them in a workspace, say what the sample shows, write it down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...judges import (
    ClientStats,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    Progress,
    Verdict,
    judge,
)
from ...judges.annotation import (
    CutCurve,
    Pair,
    Retriever,
    SampleEstimates,
    SamplePlan,
    estimate_from_sample,
    f1_by_threshold,
    pair_dataset,
    review_queue,
    sample_pairs,
)
from ...judges.models import Budget
from ...judges.registry import KeptRule
from ...judges.reliability import group_codes
from ..config.environment import Allowance, Environment, open_client
from ..store.calls import CallStore
from ..store.journal import create_run, run_session
from ..store.workspace import Workspace
from .annotation_file import Annotation, Cut, parse_cut
from .annotation_pairs import Material
from .bench import describe_spending
from .unanswered import require_answers

Watch = Callable[[str, Progress], None]
TOP_KS = (1, 3, 5, 10)
"""Fixed k that a threshold is compared with, beside the plan's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who is asked, how, and for how much."""

    model: str
    environment: Environment
    allowance: Allowance
    concurrency: int
    settings: JudgeSettings


def run_annotation(
    workspace: Workspace,
    prompt: JudgePrompt,
    material: Material,
    *,
    retriever: Retriever,
    plan: SamplePlan,
    asking: Asking,
    threshold_from: str,
    watch: Watch,
) -> Annotation:
    """Draw pairs and judge them; a stopped run that is started again asks only what has no answer yet.

    Args:
        workspace: Where replies are recorded; the judge's rule is the one it keeps.
        prompt: The judge.
        material: Queries, documents, and labels of pairs where people gave them.
        retriever: Over the material's documents.
        plan: Which pairs to draw.
        asking: Who is asked.
        threshold_from: `rule`, `labels`, or a probability as text.
        watch: Called while pairs are drawn and answers come in.

    Raises:
        InputError: `threshold_from` is none of these, or asks for labels that no drawn pair has.
        WorldError: The endpoint or the disk stopped it; answers that came are recorded.
    """
    cut = parse_cut(threshold_from)
    kept = workspace.registry.kept_rule(prompt)
    pairs = _draw(material, retriever, plan, watch)
    dataset = pair_dataset(pairs, material.label_scale, material.labels, name="annotate")
    if cut.origin == "labels" and not any(r.label is not None and dataset.positive(r) for r in dataset.rows):
        raise InputError(
            "no drawn pair is labelled relevant, so that no threshold can be chosen",
            hint="give --labels, draw more with --per-query, or leave --threshold-from out",
        )
    config = {"judge": prompt.name, "version": prompt.version, "model": asking.model, "retriever": retriever.name}
    config |= {"k": plan.k, "per_query": plan.per_query, "outside": plan.outside, "seed": plan.seed}
    config |= {"rule": kept and kept.rule.version, "data_hash": dataset.content_hash}
    run_id, judged, stats = _judge(workspace, prompt, dataset, config, asking, kept, watch)
    curve, said = _compare_cuts(judged, plan.k)
    if cut.origin == "labels":
        cut = Cut(origin="labels", threshold=curve.best.cut) if curve else Cut(origin="rule")
        said = said if curve else f"{said}; the judge's own decision is taken"
    notes = [*material.notes, *_plan_notes(pairs, plan), *_rule_notes(kept, asking), *describe_spending(stats)]
    return Annotation(
        run_id=run_id,
        pairs=pairs,
        judged=judged,
        documents=len(material.documents),
        retriever=retriever.name,
        plan=plan,
        rule=kept.rule if kept else None,
        cut=cut,
        estimates=_estimate(pairs, judged, cut, len(material.documents)),
        curve=curve,
        queue=review_queue(judged) if material.labels else None,
        stats=stats,
        notes=(*notes, said) if material.labels else tuple(notes),
    )


def _draw(material: Material, retriever: Retriever, plan: SamplePlan, watch: Watch) -> tuple[Pair, ...]:
    pairs: list[Pair] = []
    total = len(material.queries)
    for done, query in enumerate(material.queries, 1):
        pairs += sample_pairs([query], material.documents, retriever, plan)
        watch("queries", Progress(done=done, total=total, failed=0, recorded=0, cost=None, tokens=0))
    return tuple(pairs)


def _judge(
    workspace: Workspace,
    prompt: JudgePrompt,
    dataset: Dataset,
    config: Mapping[str, Any],  # Any: JSON
    asking: Asking,
    kept: KeptRule | None,
    watch: Watch,
) -> tuple[str, JudgedDataset, ClientStats]:
    """Judge the pairs in a run of their own, under the kept rule where there is one."""
    run_id = create_run(workspace.database, "annotate", config)
    record = CallStore(workspace.database, run_id)
    budget = Budget(money=asking.allowance.money, tokens=asking.allowance.tokens, spent=record.spending())
    with (
        run_session(workspace.database, run_id),
        open_client(
            asking.model, asking.environment, record=record, budget=budget, concurrency=asking.concurrency
        ) as client,
    ):
        judged = judge(
            prompt,
            dataset,
            client,
            settings=asking.settings,
            rule=kept.rule if kept else None,
            progress=lambda p: watch("pairs", p),
        )
        require_answers(judged.answers, of="pair")
        return run_id, judged, client.stats


def _rule_notes(kept: KeptRule | None, asking: Asking) -> list[str]:
    if kept is None:
        return ["no rule is kept for this judge: probabilities are raw; `judgewright calibrate` fits one"]
    return list(kept.caveats(model=asking.model, confidence=asking.settings.confidence))


def _estimate(pairs: tuple[Pair, ...], judged: JudgedDataset, cut: Cut, documents: int) -> SampleEstimates:
    """Estimate from the pairs that have a verdict."""
    passed = [cut.passes(a, judged.scale) if isinstance(a, Verdict) else None for a in judged.answers]
    at = [i for i, said in enumerate(passed) if said is not None]
    return estimate_from_sample(
        np.array([pairs[i].inside for i in at], np.bool_),
        np.array([passed[i] for i in at], np.bool_),
        np.array([pairs[i].inclusion for i in at], np.float64),
        group_codes([judged.dataset.rows[i] for i in at]),
        documents=documents,
    )


def _compare_cuts(judged: JudgedDataset, k: int) -> tuple[CutCurve | None, str]:
    """Compare thresholds with fixed k on the labelled pairs; what stands in the way, or must be known, is said."""
    known = np.flatnonzero(np.isfinite(judged.probability))
    if len(known) == 0:
        return None, "no labelled pair has a probability, so that no threshold can be compared"
    if not judged.positive[known].any():
        return None, "no labelled pair is relevant, so that no threshold can be compared"
    rows = [judged.rows[i] for i in known.tolist()]
    inclusion = np.array([row.meta["inclusion"] for row in rows], np.float64)
    whole = len(known) == len(judged.dataset.rows)
    curve = f1_by_threshold(
        judged.positive[known],
        judged.probability[known],
        group_codes(rows),
        rank=np.array([row.meta["rank"] for row in rows], np.int64),
        weight=1.0 / inclusion if whole else None,
        ks=sorted({*TOP_KS, k}),
    )
    if whole:
        return curve, "thresholds are compared for the whole corpus: each pair weighs the inverse of its chance"
    return curve, f"thresholds are compared on the {len(rows):,} labelled pairs alone, which speak for no others"


def _plan_notes(pairs: tuple[Pair, ...], plan: SamplePlan) -> list[str]:
    sides = Counter(pair.inside for pair in pairs)
    queries = len({pair.query.id for pair in pairs})
    how = "one from each band of ranks" if plan.outside == "bands" else "all with the same chance"
    notes = [
        f"{len(pairs):,} pairs of {queries:,} queries: {sides[True]:,} from the top {plan.k}, "
        f"{sides[False]:,} from below it ({how})"
    ]
    if sides[True] + sides[False] < queries * plan.per_query:
        notes.append(f"fewer than {plan.per_query} pairs a query, as the top {plan.k} or the corpus holds no more")
    return notes
