"""What goes to the gate: the arm of which a look promises most, or nothing.

Each arm stands there after each of its steps, judged on every open row by a prompt that had not
seen the row's label, under the rule in force and with its threshold chosen again, cross-fitted. The
prompt in use with another threshold stands beside them: that is what a new prompt has to beat. What
goes to the gate is written once more, from all open rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..judges import DecisionRule, FloatArray, JudgePrompt
from ..judges.metrics.catalog import sign_of
from ..judges.models import ask_together
from .belief import LEAST_WRITING, Belief
from .chance import Chance, chance_of
from .changes import Changes
from .contenders import Contender, Search, in_slice, list_contenders
from .context import RunContext, open_rows
from .events import BestCandidate, ChancesReckoned, RowsSplit
from .holdout.ledger import judge_id
from .holdout.look_counting import LookRequest, requested_look
from .losses.objective import Objective
from .not_sent import NotSent
from .step import Branch, Step

FINALISTS = 2
"""Arms that are written from all open rows at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """What a search ends with."""

    prompt: JudgePrompt
    rule: DecisionRule | None
    """A rule of its own; None where the run's rule decides."""
    chance: Chance
    why_not_sent: str = ""
    """Why no look is spent on it, see `NotSent`; empty where it goes to the gate."""

    @property
    def sent(self) -> bool:
        """Whether it goes to the gate."""
        return not self.why_not_sent

    @property
    def estimated(self) -> dict[str, dict[str, float]]:
        """The change of each metric that is estimated from the open rows, with its error."""
        chance = self.chance
        return {
            name: {"change": change, "error": chance.error[name]}
            for name, change in chance.expected.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finalist:
    """A contender with the prompt that would go to the gate, and what is believed of it."""

    place: int
    """Among the contenders."""
    contender: Contender
    prompt: JudgePrompt | None
    """None where it is yet to be written."""
    changes: Changes
    belief: Belief
    alpha: float
    """What a look may spend on it."""
    chance: Chance
    optimism: FloatArray | None = None
    """By how much more prompts of the arm change the rows they were written from than others; shape
    (M,). None where none was written from all rows.
    """

    @classmethod
    def of(cls, run: RunContext, place: int, contender: Contender) -> _Finalist:
        """Reckon the chance of a contender."""
        belief, alpha = contender.belief(), _alpha(run, contender)
        return cls(
            place=place,
            contender=contender,
            prompt=contender.prompt,
            changes=contender.changes,
            belief=belief,
            alpha=alpha,
            chance=_chance(run, contender.changes, belief, alpha=alpha, place=place),
        )

    def rank(self) -> tuple[float, float]:
        """Return what is compared."""
        return promised(self.chance, self.belief)

    def explain_not_sent(self, run: RunContext, version: str) -> str:
        """Say why no look is spent on it, and what would help."""
        holdout = run.parts.holdout

        def retry(aim: Objective, groups: int) -> float:
            again = _chance(
                run, self.changes, self.belief, alpha=self.alpha, place=0, aim=aim, groups=groups
            )
            return again.accepted

        reason = NotSent(
            version=version,
            chance=self.chance,
            objective=run.goal.objective,
            changes=self.changes,
            alpha=self.alpha,
            rows=len(holdout),
            groups=holdout.groups,
            labelled=len(open_rows(run.parts)) + len(holdout) + len(run.parts.final),
            retry=retry,
        )
        return reason.explain()


def promised(chance: Chance, belief: Belief) -> tuple[float, float]:
    """Return the gain that a look at a candidate promises, its chance times what is believed of the
    target, and that belief alone, which decides between equal ones.
    """
    believed = float(belief.mean[0])
    return chance.accepted * believed, believed


def _chance(
    run: RunContext,
    changes: Changes,
    belief: Belief,
    *,
    alpha: float,
    place: int,
    aim: Objective | None = None,
    groups: int | None = None,
) -> Chance:
    """Reckon the chance of acceptance, with another objective or so many groups where they are
    given.
    """
    return chance_of(
        changes,
        aim or run.goal.objective,
        belief,
        alpha=alpha,
        groups=groups or run.parts.holdout.groups,
        seed=run.settings.seed * 1_000 + place,
    )


def choose_survivor(run: RunContext, search: Search) -> Survivor | None:
    """Reckon the chance of every arm under each rule, choose the arm of which a look promises most,
    its believed gain by its chance, and write its prompt from all open rows; None where there is
    none.

    Where the prompt that was written so promises less than another arm, that one is written too.
    """
    contenders = list_contenders(run, search) if run.settings.steps else []
    entries = [_Finalist.of(run, place, one) for place, one in enumerate(contenders)]
    better = [one for one in entries if one.contender.changes.measured[0] > 0]
    best: _Finalist | None = None
    written: set[str] = set()
    for entry in sorted(better, key=_Finalist.rank, reverse=True):
        if best is not None and best.rank() >= entry.rank():
            break
        finalist = entry
        if entry.prompt is None:
            if entry.contender.name in written or len(written) == FINALISTS:
                continue
            written.add(entry.contender.name)
            finalist = _write_finalist(search, entry)
        if finalist.prompt is not None and (best is None or finalist.rank() > best.rank()):
            best = finalist
    if entries:
        run.services.record(_reckoned(run, entries, best))
    if best is None or best.prompt is None:
        run.services.record(BestCandidate(version=None, prompt=None))
        return None
    prompt, contender = best.prompt, best.contender
    run.services.keep(prompt)
    run.services.record(
        BestCandidate(version=prompt.version, prompt=prompt.to_yaml(), rule=contender.rule_json())
    )
    why = "" if _is_sent(run, best.chance) else best.explain_not_sent(run, prompt.version)
    return Survivor(prompt=prompt, rule=contender.rule, chance=best.chance, why_not_sent=why)


def _is_sent(run: RunContext, chance: Chance) -> bool:
    return run.settings.gate_anyway or chance.accepted >= run.settings.least_chance


def _reckoned(
    run: RunContext, entries: Sequence[_Finalist], best: _Finalist | None
) -> ChancesReckoned:
    """Return what every arm would have given, and which is chosen."""
    lines: list[dict[str, Any]] = []  # Any: JSON
    for entry in entries:
        one = entry.contender
        version = None if one.prompt is None else one.prompt.version
        lines.append(
            {"version": version, "rule": one.rule_json(), "arm": one.name, "steps": one.steps}
            | asdict(entry.chance)
        )
    first = best or entries[0]
    metrics, contender = run.goal.objective.metrics, first.contender
    signs = np.array([sign_of(metric) for metric in metrics])

    def by_metric(values: FloatArray | None) -> dict[str, float] | None:
        return None if values is None else dict(zip(metrics, values.tolist(), strict=True))

    return ChancesReckoned(
        metric=metrics[0],
        chosen=None if best is None else best.place,
        accepted=0.0 if best is None else best.chance.accepted,
        least=run.settings.least_chance,
        sent=best is not None and _is_sent(run, best.chance),
        alpha=first.alpha,
        holdout_rows=len(run.parts.holdout),
        holdout_groups=run.parts.holdout.groups,
        rows=contender.changes.rows,
        training_rows=0,
        tried=contender.tried,
        candidates=tuple(lines),
        folds=max(len(contender.branches), 1),
        writing=by_metric(None if contender.writing is None else np.sqrt(contender.writing)),
        optimism=by_metric(None if first.optimism is None else signs * first.optimism),
        own=None if first.optimism is None else asdict(first.chance),
    )


def _write_finalist(search: Search, entry: _Finalist) -> _Finalist:
    """Write an arm's prompt from all open rows, in as many steps as were chosen; where some have no
    usable proposal further ones follow, up to the steps of the run.
    """
    contender, run = entry.contender, search.whole.run
    assert contender.proposer is not None
    branch = Branch.start(contender.proposer, search.whole)
    for number in range(1, run.settings.steps + 1):
        last = len(branch.past) == contender.steps - 1
        event, branch = Step(number=number, branch=branch, last=last).take()
        run.services.record(event)
        if len(branch.past) == contender.steps or (branch.past and number >= contender.steps):
            break
    return _judge_finalist(search, entry, branch.prompt) if branch.past else entry


def _judge_finalist(search: Search, entry: _Finalist, prompt: JudgePrompt) -> _Finalist:
    """Reckon a finalist's chance from what it does on the open rows, which it was written from,
    less what the arm's prompts in the folds do better on the rows that each was written from.

    So the luck of one writing is seen. That the folds' prompts and this one learn alike by heart is
    what remains to be believed.
    """
    contender, run = entry.contender, search.whole.run
    whole = search.baseline
    sides = [(prompt, whole)]
    sides += [(branch.prompts[contender.steps], branch.fold.train) for branch in contender.branches]
    doing = f"{contender.name}: rows it was written from"
    tables = ask_together([partial(run.judge, doing, one, side.dataset) for one, side in sides])
    if contender.rule is not None:
        tables = [table.under(contender.rule) for table in tables]
    own = Changes.of(
        whole, tables[0], run.goal.objective, in_slice=in_slice(run.goal.target, whole)
    )
    learnt = [
        Changes.of(before, after, run.goal.objective)
        for (_, before), after in zip(sides[1:], tables[1:], strict=True)
    ]
    by_heart = [changes.measured for changes in learnt if changes is not None]
    if own is None or not by_heart:
        return entry
    optimism = np.mean(by_heart, axis=0) - contender.changes.measured
    belief = Belief.of(
        contender.changes,
        tried=contender.tried,
        measured=own.measured - optimism,
        beyond=np.full(len(own.metrics), (LEAST_WRITING if contender.by_model else 0.0) ** 2),
    )
    chance = _chance(run, own, belief, alpha=entry.alpha, place=entry.place)
    return replace(
        entry, prompt=prompt, changes=own, belief=belief, chance=chance, optimism=optimism
    )


def _alpha(run: RunContext, contender: Contender) -> float:
    """Return what a look at the holdout may spend; none is entered. A resumed run keeps to what it
    reckoned with.
    """
    events = {event.kind: event.payload for event in run.services.journal.events()}
    if ChancesReckoned.kind in events:
        return float(events[ChancesReckoned.kind]["alpha"])
    rule, prompt = run.settings.rule, contender.prompt
    if prompt is None:
        return float(events[RowsSplit.kind]["volatile"]["alpha"])
    request = LookRequest(
        holdout=run.parts.holdout.content_hash,
        run_id=run.services.run_id,
        before=judge_id(run.prompt, rule),
        after=judge_id(prompt, contender.rule or rule),
        purpose="gate",
        line="",
        known_as=(run.prompt.version, prompt.version),
    )
    return requested_look(run.services.ledger.history(), request).alpha
