"""Calibrate a judge in a workspace: judge the validation rows alone, fit a rule on them, keep
it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...judges import (
    BudgetSpent,
    Client,
    ClientStats,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    PromptError,
    Shares,
    judge,
)
from ...judges.cascade import Cascade
from ...judges.judge import require_answers
from ...judges.metrics.cascade_band import ChosenBand, choose_band
from ...judges.metrics.estimate import as_json
from ...judges.metrics.fitted_rule import Calibrated, Method, calibrate, require_labels
from ...judges.metrics.reliability_bins import Bin, bins_of_verdicts
from ...judges.models import Watch, unwatched
from ...judges.registry import KeptRule
from ...optimize.holdout.ledger import seen_rows, split_with_memory
from ...optimize.options import option
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..store.banks import hidden_notes, hide_sealed, keep_banks
from ..store.ledger import HoldoutLedger
from ..store.run_clients import start_run_client
from ..store.sealed_rows import SEAL_FIRST, read_open
from ..store.workspace import Workspace

_fit = partial(option, "Calibration")


@dataclass(frozen=True, kw_only=True)
class CascadeOptions:
    """Who is to be asked second, and what its band is for; see `choose_band`."""

    cascade: str | None = _fit(
        None, "Also choose the band in which this slow model decides.", metavar="MODEL"
    )
    agreement: float | None = _fit(
        None,
        "The share of rows to decide as people do, at least cost [default: the slow model's].",
        kind="number",
    )
    cost: float | None = _fit(
        None, "Dollars for a thousand rows, for which agreement is to be best.", kind="number"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRun:
    """A rule that was fitted and kept, what it changes, and what it cost."""

    run_id: str
    calibrated: Calibrated
    kept: KeptRule
    path: Path
    """The rule's file."""
    replaced: KeptRule | None
    """The other rule that the version had, which stays beside it."""
    shares: Shares
    notes: tuple[str, ...]
    """On the split."""
    stats: ClientStats
    band: ChosenBand | None = None
    cascade: JudgePrompt | None = None
    """The version that was kept with the band."""

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
        chosen: dict[str, Any] = {}  # Any: JSON
        if self.cascade is not None:
            version = f"{self.cascade.name}@{self.cascade.version}"
            chosen = {"cascade": {"judge": version, **as_json(self.band)}}
        return chosen | {
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
            "replaced": None if self.replaced is None else self.replaced.rule.to_json(),
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
    wanted: CascadeOptions | None = None,
    watch: Watch = unwatched,
) -> CalibrationRun:
    """Judge the validation rows, fit a decision rule on them, and keep it beside the prompt's
    version; choose the band of a cascade where one is wanted, and keep it as a new version.

    The rows are split as `optimize` splits them, and what was split before stays in its part: the
    holdout stays unseen by every rule.

    Raises:
        InputError: The rows cannot be split, or cannot carry a rule or a band; or the judge has a
            cascade, whose rule is that of its fast model.
        WorldError: The endpoint, the budget or the disk stopped it; answers that came are recorded.
    """
    if prompt.cascade is not None:
        fast = f"{prompt.name}@{prompt.parent or 'VERSION'}"
        raise InputError(
            f"{prompt.name}@{prompt.version} is a cascade, which has no cut of its own",
            hint=f"calibrate the judge it was made of, {fast}, with --cascade",
        )
    workspace.database.claim()
    keep_banks(workspace, prompt)
    prompt = hide_sealed(workspace, prompt)
    ledger = HoldoutLedger(workspace.database)
    parts = split_with_memory(ledger.history(), None, dataset, shares)
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
    slow_name = None if wanted is None else wanted.cascade
    slow = band = chosen = None
    with start_run_client(workspace, "calibrate", config, models, environment) as (run_id, client):
        ledger.remember(seen_rows(run_id, parts))
        if slow_name is not None:
            Cascade(model=slow_name, low=0, high=1)  # an address is refused
            slow = client.second(slow_name)
        judged = _judge_all(prompt, rows, client, settings, watch)
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
        replaced = _other_rule(workspace, prompt, rule)
        path = workspace.registry.keep_rule(prompt, rule)
        if wanted is not None and slow is not None:
            alone = _judge_all(prompt, rows, slow, replace(settings, confidence="ask"), watch)
            band = choose_band(
                calibrated.judged_after, alone, agreement=wanted.agreement, cost=wanted.cost
            )
            chosen = _keep_cascade(workspace, prompt, slow_name or "", band, rule)
    return CalibrationRun(
        run_id=run_id,
        calibrated=calibrated,
        kept=rule,
        path=path,
        replaced=replaced,
        shares=parts.shares,
        notes=notes,
        stats=client.stats,
        band=band,
        cascade=chosen,
    )


def _judge_all(
    prompt: JudgePrompt, rows: Dataset, client: Client, settings: JudgeSettings, watch: Watch
) -> JudgedDataset:
    progress = partial(watch, f"validation rows, {client.model.name}")
    judged = judge(prompt, rows, client, settings=settings, progress=progress)
    if unpaid := judged.unscored.get("budget"):
        raise BudgetSpent(
            f"the budget ended before {unpaid} rows were judged",
            hint="try again with a larger --budget",
        )
    require_answers(judged.answers)
    return judged


def _other_rule(workspace: Workspace, prompt: JudgePrompt, new: KeptRule) -> KeptRule | None:
    """Return the rule that a new one takes the place of; None where it says the same."""
    with suppress(PromptError):
        old = workspace.registry.kept_rule(prompt, decides=new.api is not None)
        return None if old is None or old.rule == new.rule else old
    return None


def _keep_cascade(
    workspace: Workspace, prompt: JudgePrompt, model: str, band: ChosenBand, rule: KeptRule
) -> JudgePrompt:
    """Keep a version with the band, and with the rule that decides outside it."""
    at = band.point
    cascade = Cascade(model=model, low=at.low, high=at.high, share=round(at.share, 4))
    note = f"{model} decides {at.share:.1%} of the rows, from {at.low:.4g} to {at.high:.4g}"
    new = replace(prompt, cascade=cascade, parent=prompt.version, note=note)
    own = {"judge": f"{new.name}@{new.version}"}
    workspace.registry.keep_rule(new, rule.model_copy(update=own))
    return new
