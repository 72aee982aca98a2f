"""What an annotation run found, and the file it is written to."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import ClientStats, DecisionRule, InputError, JudgedDataset, OutputScale, Unscored, Verdict, write_beside
from ...judges.annotation import CutCurve, Pair, ReviewQueue, SampleEstimates, SamplePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """From where on a document counts as retrieved: a threshold on the probability, or the judge's own decision."""

    origin: str
    """`rule`, `labels` or `given`."""
    threshold: float | None = None
    """None takes the decision of the judge's rule."""

    def passes(self, verdict: Verdict, scale: OutputScale) -> bool | None:
        """Whether a document is retrieved; None where the threshold needs a probability that is not there."""
        if self.threshold is None:
            return verdict.positive
        given = probability_of(verdict, scale)
        return None if given is None else given >= self.threshold


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
    cut: Cut
    estimates: SampleEstimates
    curve: CutCurve | None
    """None without labels."""
    queue: ReviewQueue | None
    """None without labels."""
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
            "outside_by": self.plan.outside,
            "seed": self.plan.seed,
            "queries": len({pair.query.id for pair in self.pairs}),
            "documents": self.documents,
            "pairs": len(self.pairs),
            "inside": inside,
            "outside": len(self.pairs) - inside,
            "n": self.answered,
            "unscored": dict(self.unscored),
            "rule": self.rule and self.rule.to_json() | {"version": self.rule.version},
            "threshold_from": self.cut.origin,
            "threshold": self.cut.threshold,
            "recall_of_top_k": self.estimates.recall.to_json(),
            "relevant_per_query": self.estimates.relevant_per_query.to_json(),
            "threshold_retrieval": self.curve and self.curve.to_json(),
            "review": self.queue and _queue_json(self.queue),
            "notes": list(self.notes),
        }
        return out | {"calls": self.stats.calls, "cost": self.stats.cost if self.stats.price_known else None}


def parse_cut(text: str) -> Cut:
    """Read `rule`, `labels` or a probability.

    Raises:
        InputError: It is none of these.
    """
    if text in ("rule", "labels"):
        return Cut(origin=text)
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0.0 <= threshold <= 1.0:
        raise InputError(f"--threshold-from {text!r} is neither rule nor labels nor a probability")
    return Cut(origin="given", threshold=threshold)


def probability_of(verdict: Verdict, scale: OutputScale) -> float | None:
    """Probability that the document is relevant, calibrated where a rule has done so; None where there is none."""
    stated = scale.kind == "probability" and verdict.before is None
    return verdict.score if stated else verdict.probability


def write_annotations(annotation: Annotation, path: Path) -> None:
    """Write one line a pair as JSONL: its chances, the verdict or the reason for none, and whether it is retrieved."""
    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        for pair, row, answer in zip(
            annotation.pairs, annotation.judged.dataset.rows, annotation.judged.answers, strict=True
        ):
            line: dict[str, Any] = {"id": row.id, **row.meta, "retriever": annotation.retriever}  # Any: JSON
            line |= {"judge": annotation.judged.judge, "judge_model": annotation.judged.model}
            line |= {"simulated": annotation.judged.simulated, "rule": annotation.rule and annotation.rule.version}
            line |= {"label": row.label, "group": row.group}
            file.write(line | _said(answer, annotation) | {"inputs": {**pair.query.inputs, **pair.document.inputs}})
    write_beside(path, text.getvalue())


def _said(answer: Verdict | Unscored, annotation: Annotation) -> dict[str, Any]:  # Any: JSON
    if isinstance(answer, Unscored):
        nothing = dict.fromkeys(("verdict", "score", "confidence", "probability", "probability_raw", "retrieved"))
        return {**nothing, "unscored": answer.reason, "detail": answer.detail, "rationale": ""}
    raw, scale = answer.before or answer, annotation.judged.scale
    return {
        "verdict": int(answer.positive),
        "score": answer.score,
        "confidence": answer.confidence,
        "probability": probability_of(answer, scale),
        "probability_raw": probability_of(raw, scale),
        "retrieved": annotation.cut.passes(answer, scale),
        "unscored": None,
        "rationale": answer.rationale.encode(errors="replace").decode(),  # a reply may hold half a letter
    }


def _queue_json(queue: ReviewQueue) -> dict[str, Any]:  # Any: JSON
    items = [
        {
            "query_id": item.row.meta["query_id"],
            "document_id": item.row.meta["document_id"],
            "label": item.row.label,
            "verdict": int(item.verdict.positive),
            "confidence": item.confidence,
            "rank": item.row.meta["rank"],
        }
        for item in queue.items
    ]
    return {"found": queue.found, "confident": queue.confident, "n": queue.n, "note": queue.note, "items": items}
