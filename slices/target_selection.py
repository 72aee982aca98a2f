"""Which slice to optimize on, why that one, and why not another."""

from __future__ import annotations

from .effect import Direction
from .search_result import FoundSlice, SliceReport

_ERRORS: dict[Direction, str] = {"fp": "false positives", "fn": "false negatives"}


def choose_target(report: SliceReport, direction: Direction | None) -> tuple[FoundSlice | None, str]:
    """Choose the slice to optimize on, and say why in a sentence.

    Preferred is the prompt target with the largest lower bound of the gain whose errors go the
    objective's way; then the unconfirmed slice with the smallest p whose errors lean that way,
    named as unconfirmed; then none.

    Args:
        report: The slices found.
        direction: Which errors the objective fights; None for either.
    """
    targets = [s for s in report.slices if s.prompt_target and direction in (None, s.direction)]
    if targets:
        best = max(targets, key=lambda s: (s.held_out.gain_low, -s.p))
        reason = f"the confirmed slice that promises the largest gain; {best.describe()}"
        return best, f"{reason}{_passed_over(report, best)}"
    leaning = [s for s in report.slices if _leans(s, direction)]
    if leaning:
        best = min(leaning, key=lambda s: (s.p, -s.expected_gain))
        return best, f"no slice is a confirmed target; the likeliest is taken, {best.describe()}"
    if report.slices:
        return None, f"no slice's errors go the objective's way by the judge's own doing; {report.slices[0].describe()}"
    return None, f"no slice stands out with a poorer {report.metric} than elsewhere"


def why_no_target(candidate: FoundSlice) -> str:
    """Explain why a prompt change cannot fix this slice; empty if it can."""
    if candidate.prompt_target:
        return ""
    if not candidate.confirmed:
        return "not confirmed on the held-out rows"
    if candidate.direction is None:
        return "no errors on held-out rows" if candidate.fp_share is None else "neither kind of error surely prevails"
    errors = _ERRORS[candidate.direction]
    spread = candidate.consistency
    if spread is not None and not spread.halves:
        return f"its {errors} prevail in one half of the rows only"
    if spread is not None and not spread.holds:
        share = f"{spread.agreeing or 0:.0%} of the {spread.origins} values of {spread.origin}"
        return f"its {errors} prevail in only {share}"
    if _is_base_rate(candidate):
        return "the gap is mostly the base rate's, not the judge's"
    return f"its {errors} are not what lowers it"


def _leans(candidate: FoundSlice, direction: Direction | None) -> bool:
    """Whether most errors of a slice go the objective's way and are what lowers the metric."""
    if candidate.fp_share is None or candidate.fp_share == 0.5:
        return False
    own: Direction = "fp" if candidate.fp_share > 0.5 else "fn"
    return direction in (None, own) and (candidate.parts is None or candidate.parts.judges_doing(own))


def _passed_over(report: SliceReport, best: FoundSlice) -> str:
    """Say why a slice with a lower headline number was not chosen; empty where there is none."""
    lower = [s for s in report.slices if s.confirmed and not s.prompt_target and s.value < best.value]
    if not lower:
        return ""
    worst = min(lower, key=lambda s: s.value)
    if worst.direction is None:
        reason = "its errors have no one direction"
    elif _is_base_rate(worst):
        reason = "that gap is mostly the base rate's, not the judge's"
    else:
        reason = f"its {_ERRORS[worst.direction]} are not what lowers it"
    return f". {worst.predicate} is lower at {worst.value:.3f}, but {reason}"


def _is_base_rate(candidate: FoundSlice) -> bool:
    """Whether more of the gap comes from how many rows are positive than from either kind of error."""
    parts = candidate.parts
    return parts is not None and parts.prevalence <= min(parts.tpr, parts.fpr)
