"""Which slice to optimize on, and why that one."""

from __future__ import annotations

from .effect import Direction
from .search_result import FoundSlice, SliceReport


def choose_target(report: SliceReport, direction: Direction | None) -> tuple[FoundSlice | None, str]:
    """Choose the slice to optimize on, and say why in a sentence.

    Preferred is the prompt target with the largest lower bound of the gain whose errors go the objective's way; then
    the unconfirmed slice with the smallest p whose errors lean that way, named as unconfirmed; then none.

    Args:
        report: The slices found.
        direction: Which errors the objective fights; None for either.
    """
    fitting = [s for s in report.slices if direction is None or s.direction == direction]
    targets = [s for s in fitting if s.prompt_target]
    if targets:
        best = max(targets, key=lambda s: (s.held_out.gain_low, -s.p))
        return (
            best,
            f"the confirmed slice that promises the largest gain; {best.describe()}{_passed_over(report, best)}",
        )
    leaning = [s for s in report.slices if _leans(s, direction)]
    if leaning:
        best = min(leaning, key=lambda s: (s.p, -s.expected_gain))
        return best, f"no slice is a confirmed target; the likeliest is taken, {best.describe()}"
    if report.slices:
        return None, f"no slice's errors go the objective's way by the judge's own doing; {report.slices[0].describe()}"
    return None, f"no slice stands out with a poorer {report.metric} than elsewhere"


def _leans(found: FoundSlice, direction: Direction | None) -> bool:
    """Whether most errors of a slice go the objective's way and are what lowers the metric."""
    if found.fp_share is None or found.fp_share == 0.5:
        return False
    own: Direction = "fp" if found.fp_share > 0.5 else "fn"
    return direction in (None, own) and (found.parts is None or found.parts.judges_doing(own))


def _passed_over(report: SliceReport, best: FoundSlice) -> str:
    """Say why a slice with a lower headline number was not chosen."""
    lower = [s for s in report.slices if s.confirmed and not s.prompt_target and s.value < best.value]
    if not lower:
        return ""
    worst = min(lower, key=lambda s: s.value)
    if worst.direction is None:
        reason = "its errors have no one direction"
    elif worst.parts is not None and worst.parts.prevalence <= min(worst.parts.tpr, worst.parts.fpr):
        reason = "that gap is mostly the base rate's, not the judge's"
    else:
        reason = f"its {'false positives' if worst.direction == 'fp' else 'false negatives'} are not what lowers it"
    return f". {worst.predicate} is lower at {worst.value:.3f}, but {reason}"
