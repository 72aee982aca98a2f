"""The holdout gate: the only place where sealed rows are opened, and the decision about a prompt.

The test is the metric itself, paired by row: the influence function of the metric is taken for both
prompts on the rows both answered, its difference is summed by group, and the difference of the
metrics is compared with its group-clustered standard error. Student's t with one degree of freedom
less than the groups that changed keeps a handful of flips from looking certain; where few groups
changed an exact test by group swaps has to agree. Guards are tests of non-inferiority. A row
without a verdict is asked again, on both sides; one that only one side answered is then counted
against the new prompt, and the tests have to hold with it as well. What passes all that may still
have broken a part of the rows for the sake of the others: a slice in which that is confirmed is a
veto. Of it only the predicate leaves the holdout: no row, no count and no rate. "Undecided" is an
answer of its own, with the number of rows it would take.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...judges import (
    PROBABILITY_METRICS,
    BoolArray,
    Change,
    Dataset,
    DecisionRule,
    JudgedDataset,
    JudgePrompt,
    SealedRows,
    Splits,
    compare,
    equal_gain,
    point,
    with_permutation_p,
)
from ...judges.metrics.catalog import LOWER_IS_BETTER, metric_of, sign_of
from ...judges.models import ask_together
from ...slices import find_regressions
from ..losses.objective import Objective
from ..outcome import GateOutcome
from .bank_rows import Evidence, without_banked
from .decision_record import Decision
from .digits import apart
from .floors import FloorResult, hold_floor
from .guards import (
    MIN_EFFECTIVE,
    MIN_GROUPS,
    GuardResult,
    has_enough_groups,
    hold_guard,
    upper_bound,
)
from .ledger import Ledger, LookRequest, judge_id
from .projection import Projection, project
from .row_fingerprints import open_to_hash
from .unanswered import ask_again, count_against

MIN_COVERAGE = 0.95
"""Under this share of answered rows on either side a comparison is undecided."""


def decide(
    before: JudgedDataset,
    after: JudgedDataset,
    objective: Objective,
    *,
    alpha: float,
    look: int = 1,
    in_slice: BoolArray | None = None,
    exclude: Collection[str] = (),
) -> Decision:
    """Decide between two prompts from their answers to the same rows; reads nothing else.

    Args:
        before, after: Answers to the same dataset.
        objective: The target metric and the guards.
        alpha: What this look may spend.
        look: Its number, for the record.
        in_slice: Which rows belong to the slice that was optimized, shape (rows,).
        exclude: Metadata columns whose values make no slices.
    """
    worst = count_against(before, after, objective.target)
    evidence = _Evidence(
        target=_compare_target(objective.target, before, after),
        guards=tuple(hold_guard(guard, before, after) for guard in objective.guards),
        floors=tuple(hold_floor(floor, before, after) for floor in objective.floors),
        in_slice=in_slice is not None,
        slice_change=(
            None if in_slice is None else compare(objective.target, before, after, keep=in_slice)
        ),
        worst=(
            None if worst is None else _compare_target(objective.target, worst.before, worst.after)
        ),
        unanswered=0 if worst is None else worst.rows,
        coverage=min(before.coverage, after.coverage),
        why_undefined=(
            metric_of(objective.target).undefined if objective.target in PROBABILITY_METRICS else ""
        ),
    )
    weighed = _weigh(evidence, alpha)
    outcome, reason, more = weighed.outcome, weighed.reason, weighed.more
    if more is not None:
        reason = f"{reason}; {more}"
    target = evidence.target
    veto: str | None = None
    # Looked for last: only an accept can be vetoed, and the search reveals a predicate of sealed
    # rows.
    if outcome == "accepted":
        veto = _find_veto(before, after, exclude)
        if veto is not None:
            outcome, reason = (
                "refused",
                f"{reason}; but where {veto}, more verdicts went wrong than were fixed",
            )
    return Decision(
        outcome=outcome,
        reason=reason,
        target=target,
        guards=evidence.guards,
        floors=evidence.floors,
        equal_gain=equal_gain(objective.target, before, after),
        slice_change=evidence.slice_change,
        alpha=alpha,
        look=look,
        n=target.n if target else 0,
        coverage_before=before.coverage,
        coverage_after=after.coverage,
        worst_case=_worst_case(objective.target, before, after),
        rows_needed=more.rows if more else None,
        groups_needed=more.groups if more else None,
        target_worst=evidence.worst,
        unanswered=evidence.unanswered,
        simulated=before.simulated or after.simulated,
        veto=veto,
    )


def _compare_target(metric: str, before: JudgedDataset, after: JudgedDataset) -> Change | None:
    return with_permutation_p(compare(metric, before, after), before, after)


def _find_veto(before: JudgedDataset, after: JudgedDataset, exclude: Collection[str]) -> str | None:
    """Return the predicate of the surest slice that the new prompt made worse, in at most two
    conditions.

    A slice of few rows or effective groups is passed over: it could not decide, and would tell
    single rows.
    """
    columns = {name for row in before.rows for name in row.meta}
    for regression in find_regressions(before, after, exclude=sorted(columns & set(exclude))):
        inside = regression.change
        if min(inside.n, inside.groups) >= MIN_GROUPS and inside.effective_groups >= MIN_EFFECTIVE:
            return str(regression.predicate)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """All that the rules of the gate look at."""

    target: Change | None
    guards: tuple[GuardResult, ...]
    floors: tuple[FloorResult, ...]
    in_slice: bool
    slice_change: Change | None
    worst: Change | None
    """The target's change with every row that one side alone answered counted against the new
    prompt.
    """
    unanswered: int
    """How many such rows there are."""
    coverage: float
    why_undefined: str = ""
    """Of a target of probabilities."""


def _weigh(evidence: _Evidence, alpha: float) -> _Weighed:
    """Weigh the evidence, the weightiest objection first; each `if` is one rule of the gate."""
    target = evidence.target
    if target is None:
        lacking = evidence.why_undefined or "no positive rows or verdicts"
        return _Weighed("undecided", f"the target metric is undefined on the holdout ({lacking})")
    if evidence.coverage < MIN_COVERAGE:
        few = f"only {evidence.coverage:.1%} of the rows were answered"
        return _Weighed("undecided", f"{few}; {MIN_COVERAGE:.0%} are needed")
    more = project(target, evidence.guards, alpha)
    return (
        _too_few_groups(target, more)
        or _shown_worse(evidence, target)
        or _gain_not_shown(evidence, target, alpha, more)
        or _worse_in_slice(evidence, target)
        or _loss_not_ruled_out(evidence, target, more)
        or _accepted(evidence, target, alpha)
    )


def _direction(metric: str) -> tuple[str, str]:
    """Return the words for a metric that got better and for one that got worse."""
    return ("fell", "rose") if metric in LOWER_IS_BETTER else ("rose", "fell")


def _unanswered_rows(evidence: _Evidence) -> str:
    return f"{evidence.unanswered:,} unanswered {'row' if evidence.unanswered == 1 else 'rows'}"


def _too_few_groups(target: Change, more: Projection | None) -> _Weighed | None:
    """Rules about the groups that the target rests on."""
    if target.bearing_groups < MIN_GROUPS:
        few = f"only {target.bearing_groups} groups of the holdout bear on {target.metric}"
        return _Weighed("undecided", f"{few}; fewer than {MIN_GROUPS} cannot decide", more)
    if target.effective_groups < MIN_EFFECTIVE:
        few = (
            f"a few large groups of the holdout weigh as much as {target.effective_groups:.1f}"
            " equal ones"
        )
        return _Weighed("undecided", f"{few}; fewer than {MIN_EFFECTIVE} cannot decide")
    return None


def _shown_worse(evidence: _Evidence, target: Change) -> _Weighed | None:
    """Rules by which a prompt is refused: its bounds lie on the wrong side."""
    highest = upper_bound(target)
    if highest is not None and highest < 0:
        least, _ = apart(-highest, 0.0)
        fall = f"{target.metric} {_direction(target.metric)[1]} on the holdout ({_values(target)})"
        return _Weighed("refused", f"{fall}, by at least {least} with 95 % confidence")
    for guard in evidence.guards:
        if guard.state == "broken" and guard.high is not None:
            worse = "fell" if sign_of(guard.metric) > 0 else "rose"
            least, margin = apart(-guard.high, guard.margin)
            lost = f"{guard.metric} {worse} by at least {least} with 95 % confidence"
            return _Weighed("refused", f"{lost}, and the guard allows less than {margin}")
    for floor in evidence.floors:
        if floor.state == "broken" and floor.high is not None:
            most, least = apart(floor.high, floor.floor)
            return _Weighed(
                "refused",
                f"{floor.metric} is at most {most} with 95 % confidence, under its floor of"
                f" {least}",
            )
    return None


def _gain_not_shown(
    evidence: _Evidence, target: Change, alpha: float, more: Projection | None
) -> _Weighed | None:
    """Rules about the gain itself: too small, or chance, or resting on who answered."""
    name, values, rose = target.metric, _values(target), _direction(target.metric)[0]
    if target.changed_groups == 0 and target.difference == 0:
        return _Weighed("undecided", f"no verdict that matters to {name} changed on the holdout")
    if target.gain <= 0:
        return _Weighed(
            "undecided", f"{name} did not improve ({values}), which may be chance", more
        )
    if target.p > alpha:
        p, most = apart(target.p, alpha)
        chance = f"p = {p} is above this look's significance level of {most}"
        return _Weighed("undecided", f"{name} {rose} {values}, but {chance}", more)
    worst = evidence.worst
    if evidence.unanswered and (worst is None or worst.p > alpha):
        against = "is undefined" if worst is None else f"is {_values(worst)} ({_p(worst.p)})"
        return _Weighed(
            "undecided",
            f"{name} {rose} {values}, but with {_unanswered_rows(evidence)} counted against the new"
            f" prompt it {against}",
        )
    return None


def _worse_in_slice(evidence: _Evidence, target: Change) -> _Weighed | None:
    """Rules about the slice that was optimized."""
    name, slice_change = target.metric, evidence.slice_change
    if evidence.in_slice and slice_change is None:
        few = "too few rows were answered"
        return _Weighed(
            "undecided", f"{name} cannot be compared on the slice that was optimized: {few}"
        )
    upper = None if slice_change is None else upper_bound(slice_change)
    if slice_change is not None and upper is not None and upper < 0:
        outcome = "refused" if has_enough_groups(slice_change) else "undecided"
        fall = f"{name} {_direction(name)[1]} on the slice that was optimized"
        fall = f"{fall} ({_values(slice_change)}; by more than chance explains)"
        return _Weighed(outcome, fall)
    return None


def _loss_not_ruled_out(
    evidence: _Evidence, target: Change, more: Projection | None
) -> _Weighed | None:
    """Rules about guards and floors that may be broken."""
    name, values, rose = target.metric, _values(target), _direction(target.metric)[0]
    for guard in evidence.guards:
        if guard.state != "undecided":
            continue
        reason = (
            f"{name} {rose} {values}, but a loss of {guard.margin:.3f} in {guard.metric} is not"
            " ruled out"
        )
        if guard.wants_rows:
            return _Weighed("undecided", reason, more)
        return _Weighed(
            "undecided", f"{reason} where {_unanswered_rows(evidence)} count against the new prompt"
        )
    for floor in evidence.floors:
        if floor.state == "undecided":
            reason = (
                f"{name} {rose} {values}, but {floor.metric} under the floor of {floor.floor:g} is"
                " not ruled out"
            )
            bound = (
                "it has no bound"
                if floor.low is None
                else f"its 95 % lower bound is {apart(floor.low, floor.floor)[0]}"
            )
            return _Weighed("undecided", f"{reason}: {bound}")
    return None


def _accepted(evidence: _Evidence, target: Change, alpha: float) -> _Weighed:
    """Say why nothing stands against the new prompt."""
    name, values, rose = target.metric, _values(target), _direction(target.metric)[0]
    slice_change = evidence.slice_change
    upper = None if slice_change is None else upper_bound(slice_change)
    tested = f"{_p(target.p)}, significance level {alpha:.4f}"
    reasons = [f"{name} {rose} {values} on the holdout ({tested})"]
    for guard in evidence.guards:
        sign = sign_of(guard.metric)
        if guard.low is not None:
            low, allowed = apart(sign * guard.low, -sign * guard.margin, sign="+")
            bound = f"at {'least' if sign > 0 else 'most'} {low} with 95 % confidence"
            reasons.append(f"{guard.metric} held ({bound}, {allowed} allowed)")
    for floor in evidence.floors:
        reasons.append(
            f"{floor.metric} is at least {floor.low:.3f} with 95 % confidence (floor"
            f" {floor.floor:g})"
        )
    if slice_change is not None and slice_change.gain < 0:
        sign = sign_of(name)
        bound = "no bound is known"
        if upper is not None:
            bound = f"at {'most' if sign > 0 else 'least'} {sign * upper:+.3f} with 95 % confidence"
        fall = f"on the slice that was optimized {name} {_values(slice_change)}"
        reasons.append(f"{fall}, not shown to be a {'fall' if sign > 0 else 'rise'} ({bound})")
    return _Weighed("accepted", "; ".join(reasons))


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What the rules come to."""

    outcome: GateOutcome
    reason: str
    more: Projection | None = None
    """Where a number of rows could decide: which."""


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def _values(change: Change) -> str:
    """Write both values with as many digits, from three on, as it takes to see them differ."""
    return " -> ".join(apart(change.before, change.after))


def _worst_case(
    metric: str, before: JudgedDataset, after: JudgedDataset
) -> tuple[float, float] | None:
    """Bound the change when each row that one side left unscored is counted against that side, then
    for it.
    """
    rows = before.dataset.rows
    labelled = np.array([row.label is not None for row in rows], np.bool_)
    # A mean over rows has no row that is simply right or wrong, and a choice has many ways of being
    # wrong.
    if not labelled.any() or metric_of(metric).of_rows is not None or before.scale.kind == "choice":
        return None
    truth = np.array(
        [row.label is not None and before.dataset.positive(row) for row in rows], np.bool_
    )

    def value(side: JudgedDataset, *, right: bool) -> float | None:
        predicted = truth.copy() if right else ~truth
        predicted[side.scored] = side.predicted
        return point(metric, truth[labelled], predicted[labelled])

    low_before, high_before = value(before, right=False), value(before, right=True)
    low_after, high_after = value(after, right=False), value(after, right=True)
    if low_before is None or high_before is None or low_after is None or high_after is None:
        return None
    return low_after - high_before, high_after - low_before


def open_for_report(
    parts: Splits,
    before: JudgePrompt,
    after: JudgePrompt,
    decision: Decision,
    *,
    ledger: Ledger,
    run_id: str,
) -> tuple[Dataset, int]:
    """Open every row for the closing report, the final rows last, and count how often those were
    opened so far.

    It comes after an accept and never else, and what leaves it are aggregates: no proposer runs
    after it. The holdout's look is the gate's; opening the final rows is another look in the
    ledger.

    Raises:
        ValueError: The decision was no accept.
    """
    if not decision.accepted:
        raise ValueError(
            f"the gate said {decision.outcome}; without an accept the final rows stay sealed"
        )
    rows = [*parts.train.rows, *parts.validation.rows]
    for part in (parts.holdout, parts.final):
        if len(part):
            look = ledger.begin(
                LookRequest(
                    holdout=part.content_hash,
                    run_id=run_id,
                    before=before.version,
                    after=after.version,
                )
            )
            rows += part.open(look).rows
            ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
    return replace(parts.train, rows=tuple(rows)), len(
        ledger.history().looks(parts.final.content_hash)
    )


def unopened(evidence: Evidence) -> Decision:
    """Return the decision where the holdout stays sealed: too little of it is evidence."""
    reason = f"only {evidence.too_few}; the holdout stays sealed"
    return Decision(outcome="undecided", reason=reason)


def gate(
    before: JudgePrompt,
    after: JudgePrompt,
    holdout: SealedRows,
    objective: Objective,
    *,
    judge: Callable[[JudgePrompt, Dataset, int], JudgedDataset],
    ledger: Ledger,
    run_id: str,
    purpose: str = "gate",
    line: str = "",
    rules: tuple[DecisionRule | None, DecisionRule | None] = (None, None),
    member: Callable[[Dataset], BoolArray] | None = None,
    exclude: Collection[str] = (),
) -> Decision:
    """Enter a look in the ledger, open the holdout, judge both prompts on it, and decide.

    Rows that either leaves unanswered are asked again, see `ask_again`. What stands in a bank of
    decided cases of either is no evidence; where too little else is left, nothing is opened.

    Args:
        purpose, line: What the look is for, and whose looks it is counted among.
        rules: Rules of their own that decide for `before` and `after`, entered with the look; None
            where the verdicts that `judge` returns are decided already.
        judge: Asks one prompt about rows, for the first time (0) or again; it is called for
            `before`, then for `after`.
        member: Says which rows belong to the optimized slice.
        exclude: Metadata columns whose values make no slices.

    Raises:
        InputError: The holdout's looks are spent; fresh labels are needed.
    """
    evidence = without_banked(open_to_hash(holdout), (before, after))
    if evidence.too_few:
        return unopened(evidence)
    look = ledger.begin(
        LookRequest(
            holdout=holdout.content_hash,
            run_id=run_id,
            purpose=purpose,
            line=line,
            before=judge_id(before, rules[0]),
            after=judge_id(after, rules[1]),
            known_as=(before.version, after.version),
        )
    )
    rows = holdout.open(look)
    rows = evidence.rows if evidence.note else rows
    old, new = ask_together([partial(judge, before, rows, 0), partial(judge, after, rows, 0)])
    old, new, rounds = ask_again(
        old,
        new,
        lambda some, repeat: judge(before, some, repeat),
        lambda some, repeat: judge(after, some, repeat),
    )
    decision = decide(
        old if rules[0] is None else old.under(rules[0]),
        new if rules[1] is None else new.under(rules[1]),
        objective,
        alpha=look.alpha,
        look=look.number,
        in_slice=None if member is None else member(rows),
        exclude=exclude,
    )
    cautions = (*filter(None, (evidence.note,)), *look.cautions)
    decision = replace(decision, reason="; ".join((decision.reason, *cautions)), asked_again=rounds)
    ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
    return decision
