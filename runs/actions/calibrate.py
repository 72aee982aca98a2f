"""Calibrate a judge in a workspace: judge the validation rows alone, fit a rule on them, keep
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import (
    BudgetSpent,
    ClientStats,
    Dataset,
    JudgePrompt,
    JudgeSettings,
    Shares,
    Unscored,
    judge,
)
from ...judges.judge import require_answers
from ...judges.metrics.estimate import as_json
from ...judges.metrics.fitted_rule import Calibrated, Method, calibrate, require_labels
from ...judges.metrics.reliability_bins import Bin, bins_of_verdicts
from ...judges.models import Watch, unwatched
from ...judges.registry import KeptRule
from ...optimize.holdout.ledger import remember_split, split_with_memory
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..store.banks import hidden_notes, hide_sealed, keep_banks
from ..store.ledger import HoldoutLedger
from ..store.run_clients import start_run_client
from ..store.sealed_rows import SEAL_FIRST, read_open
from ..store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRun:
    """A rule that was fitted and kept, what it changes, and what it cost."""

    run_id: str
    calibrated: Calibrated
    kept: KeptRule
    path: Path
    """The rule's file."""
    shares: Shares
    notes: tuple[str, ...]
    """On the split."""
    stats: ClientStats

    @property
    def reliability(self) -> tuple[list[Bin], list[Bin]]:
        """The bins of the reliability curve before and after; no bins where no verdict has a
        probability.
        """
        return bins_of_verdicts(self.calibrated.judged_before), bins_of_verdicts(
            self.calibrated.judged_after
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `calibrate --json` prints."""
        before, after = self.reliability
        return {
            "run": self.run_id,
            "judge": self.kept.judge,
            "model": self.kept.model,
            "confidence": self.kept.confidence,
            "asked_at": self.kept.asked_at,
            "dataset": self.kept.dataset,
            "split": list(self.shares),
            "unscored": dict(self.calibrated.before.unscored),
            **self.calibrated.to_json(),
            "reliability": {
                "before": as_json(before),
                "after": as_json(after),
            },
            "path": str(self.path),
            "calls": self.stats.calls,
            "cost": self.stats.cost if self.stats.price_known else None,
        }


def run_calibration(
    workspace: Workspace,
    prompt: JudgePrompt,
    dataset: Dataset,
    *,
    models: ModelOptions,
    environment: Environment,
    settings: JudgeSettings,
    metric: str,
    method: Method,
    shares: Shares | None,
    watch: Watch = unwatched,
) -> CalibrationRun:
    """Judge the validation rows, fit a decision rule on them, and keep it beside the prompt's
    version.

    The rows are split as `optimize` splits them, and what was split before stays in its part: the
    holdout stays unseen by every rule.

    Raises:
        InputError: The rows cannot be split, or cannot carry a rule.
        WorldError: The endpoint, the budget or the disk stopped it; answers that came are recorded.
    """
    workspace.database.claim()
    keep_banks(workspace, prompt)
    prompt = hide_sealed(workspace, prompt)
    ledger = HoldoutLedger(workspace.database)
    parts = split_with_memory(ledger.memories(), None, dataset, shares)
    rows, sealed = parts.validation, int(read_open(workspace, dataset, way="").left_out.sum())
    notes = (*parts.notes, *hidden_notes(prompt))
    if sealed:
        of = f"{sealed:,} of all {len(dataset):,} rows are sealed by {SEAL_FIRST}"
        notes += (f"only the {len(rows):,} validation rows are read; {of}",)
    require_labels(rows, prompt.scale)
    config = {
        "judge": prompt.name,
        "version": prompt.version,
        "model": models.model,
        "confidence": settings.confidence,
    }
    config |= {"metric": metric, "method": method, "data_hash": dataset.content_hash}
    config |= {"shares": list(parts.shares)}
    with start_run_client(workspace, "calibrate", config, models, environment) as (run_id, client):
        remember_split(ledger, run_id, parts)
        judged = judge(
            prompt, rows, client, settings=settings, progress=lambda p: watch("validation rows", p)
        )
        reasons = [answer.reason for answer in judged.answers if isinstance(answer, Unscored)]
        if unpaid := reasons.count("budget"):
            raise BudgetSpent(
                f"the budget ended before {unpaid} rows were judged",
                hint="try again with a larger --budget",
            )
        require_answers(judged.answers)
        calibrated = calibrate(judged, metric=metric, method=method)
        rule = KeptRule(
            rule=calibrated.rule,
            judge=judged.judge,
            asked_at=prompt.scale.threshold,
            dataset=rows.name,
            dataset_hash=rows.content_hash,
            rows=calibrated.before.n,
            model=judged.model,
            confidence=settings.confidence,
            metric=metric,
            simulated=judged.simulated,
            api=client.settings.api,
            build=judged.build,
        )
        path = workspace.registry.keep_rule(prompt, rule)
    return CalibrationRun(
        run_id=run_id,
        calibrated=calibrated,
        kept=rule,
        path=path,
        shares=parts.shares,
        notes=notes,
        stats=client.stats,
    )
