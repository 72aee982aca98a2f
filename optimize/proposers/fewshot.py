"""Which demonstrations to show, and how many: searched with Optuna on training rows.

Optuna 5 (Akiba et al., 2019) supplies the seeded TPE sampler; the study lives in memory and logs
nothing. What it draws is how many demonstrations there are and how much each is wanted; they are
then taken in turn from the error types, so that every set is balanced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...judges import Example, JudgePrompt, Row
from ..brief import Brief
from .demonstrations import Demonstration, list_demonstrations, pool
from .prompt_parts import Part, same_inputs
from .proposer import NoProposal, Proposal, StepBound
from .workbench import Workbench

TUNING_ROWS = 24
"""Training rows a set is tried on at most."""
LEAST_ROWS = 4
STARTUP = 5
"""Sets drawn at random before the sampler learns; a step has calls for about ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """Searches a set of demonstrations that lowers the training loss."""

    name: str = field(default="fewshot", init=False)
    parts: tuple[Part, ...] = field(default=("examples",), init=False)
    max_examples: int = 6
    """Demonstrations shown at most."""
    choose_from: int = 16
    calls: int = 200
    """Judge calls of one step at most, cached replies included."""

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        return StepBound(judge=self.calls, exchanges=None)

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        choices = pool(
            list_demonstrations(prompt, bench.train, brief.explanation), self.choose_from
        )
        if not choices:
            return NoProposal("no training row can be shown as a demonstration")
        rows = tuning_rows(bench, {one.group for one in choices}, limit=self.calls // 10)
        if len(rows) < LEAST_ROWS:
            return NoProposal(f"only {len(rows)} training rows are left to try demonstrations on")
        before = bench.try_out(prompt, rows).cost
        own = shipped(prompt, bench.rows)

        def cost_of(chosen: Sequence[Demonstration]) -> float:
            candidate = replace(prompt, examples=(*own, *(one.example for one in chosen)))
            return bench.try_out(candidate, rows).cost

        results = self._search(choices, cost_of, sets=self.calls // len(rows) - 1, seed=bench.seed)
        lowest, best = min(results, key=lambda result: result[0])
        if lowest >= before:
            return NoProposal(
                f"none of {len(results)} sets of demonstrations did better on {len(rows)} training"
                " rows"
            )
        kinds = Counter(one.error for one in best)
        counts = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        note = (
            f"fewshot step {step}: {counts}; loss {before:.4f} to {lowest:.4f} on {len(rows)}"
            " training rows"
        )
        examples = (*own, *(one.example for one in best))
        return Proposal(
            prompt=replace(prompt, examples=examples, parent=prompt.version, note=note),
            gradient=f"{len(results)} sets tried; {note}",
        )

    def _search(
        self,
        choices: Sequence[Demonstration],
        cost_of: Callable[[Sequence[Demonstration]], float],
        *,
        sets: int,
        seed: int,
    ) -> list[tuple[float, list[Demonstration]]]:
        """Try at most `sets` different sets, and return each with its cost, in the order they were
        tried.
        """
        import optuna

        results: dict[tuple[str, ...], tuple[float, list[Demonstration]]] = {}
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study(
                sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            )
            # The sampler draws some sets again, so there are more draws than sets.
            for _ in range(4 * sets):
                trial = study.ask()
                size = trial.suggest_int("size", 1, min(self.max_examples, len(choices)))
                wishes = [trial.suggest_float(f"wish {one.row.id}", 0.0, 1.0) for one in choices]
                order = sorted(range(len(choices)), key=lambda i: (-wishes[i], i))
                chosen = pool([choices[i] for i in order], size)
                ids = tuple(one.row.id for one in chosen)
                if ids not in results:
                    if len(results) >= sets:
                        break
                    results[ids] = (cost_of(chosen), chosen)
                study.tell(trial, results[ids][0])
        finally:
            optuna.logging.set_verbosity(verbosity)
        return list(results.values())


def tuning_rows(bench: Workbench, groups: set[str], *, limit: int) -> list[Row]:
    """Draw labelled training rows that belong to none of these groups, in the order of the
    table.
    """
    other_rows = [
        row for row in bench.rows if row.label is not None and (row.group or row.id) not in groups
    ]
    if not other_rows:
        return []
    size = min(TUNING_ROWS, limit, len(other_rows))
    drawn = np.random.default_rng(bench.seed).choice(len(other_rows), size=size, replace=False)
    return [other_rows[i] for i in np.sort(drawn).tolist()]


def shipped(prompt: JudgePrompt, rows: Sequence[Row]) -> tuple[Example, ...]:
    """Return the prompt's demonstrations that are not training rows: those it came with, which
    stay.
    """
    training = {same_inputs(prompt, row) for row in rows}
    return tuple(
        e
        for e in prompt.examples
        if tuple(e.inputs[name] for name in prompt.inputs) not in training
    )
