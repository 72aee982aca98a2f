"""The trials of one sitting over a study: each a walk with settings of its own, counted and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...judges import Estimate, JudgedDataset, JudgePrompt
from ...judges.models import Completion, FailedCall
from ...optimize import RunSettings, Services
from ...optimize.holdout.guards import MIN_GROUPS
from ...optimize.tuning import (
    SAVING,
    Ground,
    best_for_less,
    choosing_half,
    held_half,
    loss_fall,
    mean_loss,
    walk_with,
)
from ..store.calls import CallStore
from ..store.database import Database
from .studies import Trials, survivor_of

OnTrial = Callable[[int, float, int], None]
"""Called with the number, loss and calls of a trial that is finished."""


class AskedFor(CallStore):
    """The record of calls, which notes what it is asked for: what a walk takes, whoever may have paid for it before."""

    def __init__(self, database: Database, run_id: str) -> None:
        super().__init__(database, run_id)
        self.keys: set[bytes] = set()

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """See `CallRecord.lookup`."""
        self.keys.update(keys)
        return super().lookup(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSitting:
    """One sitting over a study."""

    ground: Ground
    services: Services
    settings: RunSettings
    record: AskedFor
    kept: Trials

    def go_on(self, trials: int, on_trial: OnTrial) -> None:
        """Make trials until there are so many."""
        common = frozenset(self.record.keys)  # every walk asks this, whatever its settings
        while (number := len(self.kept.finished()) + 1) <= trials:
            self.record.keys.clear()
            trial, knobs = self.kept.begin()
            services = self._watched(f"trial {number} of {trials}: ")
            survivor = walk_with(knobs, self.ground, services, self.settings)
            judged = choosing_half(self.ground, survivor or self.ground.prompt, services, self.settings)
            loss, calls = mean_loss(self.ground.goal, judged), len(self.record.keys - common)
            self.kept.finish(trial, loss=loss, calls=calls, survivor=survivor)
            on_trial(number, loss, calls)

    def report(self) -> dict[str, Any]:  # Any: JSON
        """Return every finished trial, which settings are chosen, and what they are worth on the held half."""
        ground, trials = self.ground, self.kept.finished()
        prompts = [survivor_of(trial) or ground.prompt for trial in trials]
        start, *tables = (
            choosing_half(ground, prompt, self._watched("report: "), self.settings)
            for prompt in (ground.prompt, *prompts)
        )
        better = [i for i, prompt in enumerate(prompts) if prompt.version != ground.prompt.version]
        calls = [int(trial.user_attrs["calls"]) for trial in trials]
        chosen = None
        if better:
            chosen = better[best_for_less(ground.goal, [tables[i] for i in better], [calls[i] for i in better])]
        lines = [
            {
                "trial": i + 1,
                **asdict(self.kept.knobs(trial)),
                "loss": trial.value,
                "fall": loss_fall(ground.goal, start, tables[i]).to_json(),
                "calls": calls[i],
                "version": prompts[i].version if i in better else None,
            }
            for i, trial in enumerate(trials)
        ]
        asked = (self.services.judge_client, self.services.optimizer_client, self.services.screen_client)
        simulated = any(client.model.simulated for client in asked if client)
        return {
            "simulated": simulated,
            "steps": self.settings.steps,
            "seed": self.settings.seed,
            "slice": ground.goal.target.name,
            "loss": str(ground.goal.loss.expression),
            "start": {"loss": mean_loss(ground.goal, start), "n": len(start.scored), "groups": _groups(start)},
            "rows": {"train": len(ground.parts.train), "choosing": len(start.answers), "held": len(ground.held)},
            "trials": lines,
            "chosen": None if chosen is None else lines[chosen],
            "held": None if chosen is None else self._on_held(prompts[0], prompts[chosen]),
            "importance": self.kept.importance(),
            "notes": _notes(start, len(ground.held), simulated=simulated, found=chosen is not None),
        }

    def _on_held(self, first: JudgePrompt, chosen: JudgePrompt) -> dict[str, Any]:  # Any: JSON
        """Hold the chosen trial's prompt against the start and the first trial's, on rows that chose nothing."""
        services, ground = self._watched("report: "), self.ground
        start, given, after = (held_half(ground, p, services, self.settings) for p in (ground.prompt, first, chosen))
        gain = Estimate.undefined(len(after.scored), "the chosen trial ended with the prompt that the first one has")
        if first.version != chosen.version:
            gain = loss_fall(ground.goal, given, after)
        return {
            "groups": _groups(after),
            "fall": loss_fall(ground.goal, start, after).to_json(),
            "gain_over_first": gain.to_json(),
            "better_than_first": gain.low is not None and gain.low > 0,
        }

    def _watched(self, what: str) -> Services:
        return replace(self.services, watch=lambda doing, progress: self.services.watch(what + doing, progress))


def _groups(judged: JudgedDataset) -> int:
    return int(judged.groups.max(initial=-1)) + 1


def _notes(start: JudgedDataset, held: int, *, simulated: bool, found: bool) -> list[str]:
    groups = _groups(start)
    notes = [
        "no holdout or final row was opened and no look was spent; only the gate decides about a prompt",
        f"the {len(start.scored):,} choosing rows chose each trial's prompt and then the trial: losses there flatter "
        f"both (the winner's curse); the {held:,} held rows chose neither",
        "each setting was walked once: another --seed may put them in another order",
    ]
    if found:
        notes.append(
            f"chosen is the lowest loss, or what asks for {SAVING:.0%} less and is within one standard error of it, "
            "paired by row"
        )
    if groups < MIN_GROUPS:
        notes.append(f"the choosing rows are {groups} groups: too few to tell settings from luck")
    if simulated:
        notes.append("the simulated optimizer answers the same at every temperature: what is said of it is chance")
    return notes
