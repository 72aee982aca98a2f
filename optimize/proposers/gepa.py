"""GEPA of DSPy: criteria that evolve by reflection on rows, the best on any row kept (Agrawal et
al., 2025).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...judges import JudgePrompt
from ..brief import Brief
from ..minibatch import minibatch
from .dspy_adapter import LEAST_ROWS, Search, tuning_rows
from .prompt_parts import Part
from .proposer import NoProposal, Proposal, StepBound
from .rewrite import Rewrite
from .workbench import Workbench

REFLECTED = 3
"""Rows of one reflection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gepa:
    """Runs GEPA on training rows and proposes the criteria that ranked first there."""

    name: str = field(default="gepa", init=False)
    parts: tuple[Part, ...] = field(default=("criteria",), init=False)
    calls: int = 120
    """Requests of one step at most, cached replies included."""
    learn_from: int = 40
    """Training rows to reflect on, drawn by their loss."""
    rewrite: Rewrite = Rewrite()  # noqa: RUF009  # frozen
    """Asks for new criteria; GEPA's own prompt knows nothing of judges, scales and quotations."""

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        return StepBound(either=self.calls, exchanges=None)

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        rows = tuning_rows(bench, set(), limit=self.calls // 5)
        if len(rows) < LEAST_ROWS:
            return NoProposal(f"only {len(rows)} training rows; {LEAST_ROWS} are needed")
        seed, ranked = bench.seed, {row.id for row in rows}
        labelled = [
            (row, cost)
            for row, cost in zip(bench.rows, bench.train.costs.tolist(), strict=True)
            if row.label is not None
        ]
        # Rows to learn from are not those that rank, unless there are no others.
        costs = [pair for pair in labelled if pair[0].id not in ranked] or labelled
        drawn = minibatch(
            range(len(costs)), [cost for _, cost in costs], self.learn_from, seed=seed
        )
        learned = [costs[i][0] for i in drawn]
        search = Search(prompt=prompt, bench=bench, calls=self.calls, rows=rows, step=step)

        def reflect(
            candidate: Mapping[str, str],
            reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
            components_to_update: Sequence[str],
        ) -> dict[str, str]:
            return {
                name: self._reflect(
                    search, brief, candidate[name], reflective_dataset.get(name, ())
                )
                for name in components_to_update
            }

        def compile_with(kit: Any, module: Any) -> None:
            optimizer = kit.dspy.GEPA(
                metric=search.metric,
                max_metric_calls=max(1, self.calls - len(rows) - 2 * REFLECTED),
                reflection_minibatch_size=REFLECTED,
                instruction_proposer=reflect,
                use_merge=False,
                num_threads=1,
                seed=seed,
                warn_on_score_mismatch=False,
            )
            examples = {row.id: search.row_example(row) for row in (*rows, *learned)}
            optimizer.compile(
                module,
                trainset=[examples[r.id] for r in learned],
                valset=[examples[r.id] for r in rows],
            )

        return search.run(compile_with, name=self.name)

    def _reflect(
        self,
        search: Search,
        brief: Brief,
        criteria: str,
        records: Sequence[Mapping[str, Any]],  # Any: GEPA's records
    ) -> str:
        """Return new criteria for the errors of a few rows; the old ones where there is no error or
        no usable reply.
        """
        prompt = search.prompt_from(criteria)
        rows = frozenset(str(record["Feedback"]) for record in records)
        of_rows = replace(brief, prompt=prompt, train=search.trial(prompt), only=rows)
        if not of_rows.errors:
            return criteria
        search.own_requests += 1
        written = self.rewrite.write(
            of_rows, search.ask, repeat=1_000 * search.step + search.own_requests
        )
        if written.text is None:
            search.reasons.append(f"no usable text after {written.tries} replies: {written.reason}")
        return written.text or criteria
