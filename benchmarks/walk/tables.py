"""The table of the walk: every arm beside the judge as it ships."""

from __future__ import annotations

from collections.abc import Mapping

from arms import ARMS, OBJECTIVE

from judgewright.judges import Change, JudgedDataset, JudgePrompt, compare, equal_gain, point
from judgewright.judges.models.tokens import approximate_tokens
from judgewright.optimize import Belief, chance_of
from judgewright.optimize.chance import in_words
from judgewright.optimize.changes import Changes
from judgewright.optimize.holdout.ledger import alpha_of_look

METRICS = ("precision", "recall", "accuracy", "kappa")
NOTE = """\
Differences to A in brackets: paired, 95 % intervals with errors clustered by group. *At equal
recall*: precision less that of A's own curve of grades at the arm's recall, thresholds mixed
between two grades. *Believed*: the change of precision and recall after the correction for the
choice among {arms} arms, with its standard error; the word for its chance at the gate with
{groups} groups."""


def table(
    judged: Mapping[str, JudgedDataset],
    tokens: Mapping[str, float],
    *,
    groups: int,
    believed: bool,
) -> str:
    """Return the table of one task in Markdown.

    Args:
        judged: By arm, all on the same rows; A is the baseline.
        tokens: Of a row's request, by arm.
        groups: Of the sealed rows.
        believed: Whether to say what is believed of each arm.
    """
    lines = [
        f"| | {' | '.join(METRICS)} | at equal recall | tokens a row |{' believed |' * believed}",
        "|---" * (len(METRICS) + 3 + believed) + "|",
    ]
    base = judged["A"]
    for arm, side in judged.items():
        cells = [f"{arm}, {ARMS[arm]}"]
        for metric in METRICS:
            value = point(metric, *side.compared(metric))
            change = None if arm == "A" else compare(metric, base, side)
            cells.append(f"{_number(value)}{_difference(change)}")
        gain = None if arm == "A" else equal_gain("precision", base, side)
        cells.append("" if gain is None else _change(gain.change) or gain.reason)
        cells.append(f"{tokens[arm]:,.0f}")
        if believed:
            cells.append("" if arm == "A" else belief(base, side, groups, len(judged) - 1))
        lines.append(f"| {' | '.join(cells)} |")
    counts = [f"{arm} {len(side.scored)} of {side.total}" for arm, side in judged.items()]
    lines += ["", f"Rows with a verdict: {', '.join(counts)}."]
    return "\n".join(lines)


def belief(base: JudgedDataset, side: JudgedDataset, groups: int, arms: int) -> str:
    """Say what is believed of an arm's true change of precision and recall."""
    changes = Changes.of(base, side, OBJECTIVE)
    if changes is None:
        return "too little is known"
    reckoned = Belief.of(changes, tried=arms)
    chance = chance_of(changes, OBJECTIVE, reckoned, alpha=alpha_of_look(1), groups=groups)
    words = [
        f"{name} {chance.expected[name]:+.3f} ± {chance.error[name]:.3f}"
        for name in OBJECTIVE.metrics
    ]
    return f"{', '.join(words)}; {in_words(chance.accepted)} ({chance.accepted:.2f})"


def tokens_a_row(prompt: JudgePrompt, rows: JudgedDataset) -> float:
    """Return the tokens of a row's request on the mean, by the product's estimate."""
    sizes = [
        sum(approximate_tokens(message.content) for message in prompt.messages(row))
        for row in rows.dataset.rows
    ]
    return sum(sizes) / len(sizes)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _difference(change: Change | None) -> str:
    return "" if change is None else f" ({_change(change)})"


def _change(change: Change | None) -> str:
    if change is None:
        return ""
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f" [{change.low:+.3f}, {change.high:+.3f}]"
    return f"{change.difference:+.3f}{interval}"
