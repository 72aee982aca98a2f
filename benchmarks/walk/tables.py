"""The table of the walk: every arm beside the judge as it ships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arms import ARMS, OBJECTIVE, WRITTEN

from judgewright.judges import Change, JudgedDataset, JudgePrompt, compare, equal_gain, point
from judgewright.judges.models.tokens import approximate_tokens
from judgewright.optimize import Belief, Chance, chance_of
from judgewright.optimize.belief import LEAST_WRITING, writing_variance
from judgewright.optimize.changes import Changes
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.optimize.outcome import in_words
from judgewright.optimize.survivor import promised

METRICS = ("precision", "recall", "accuracy", "kappa")
NOTE = """\
Differences to A in brackets: paired, 95 % intervals with errors clustered by group. *At equal
recall*: precision less that of A's own curve of grades at the arm's recall, thresholds mixed
between two grades. *Estimated*: the change of precision and recall after the correction for the
choice among the arms, with a standard error that includes folds and repeated writing; the chance at
the gate with as many groups as are sealed; chance times estimated gain of precision."""


def table(
    judged: Mapping[str, JudgedDataset],
    tokens: Mapping[str, float],
    *,
    estimated: Mapping[str, str],
) -> str:
    """Return the table of one task in Markdown.

    Args:
        judged: By arm, all on the same rows; A is the baseline.
        tokens: Of a row's request, by arm.
        estimated: What is estimated of each arm.
    """
    lines = [
        f"| | {' | '.join(METRICS)} | at equal recall | tokens a row | estimated of open rows |",
        "|---" * (len(METRICS) + 4) + "|",
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
        cells += [f"{tokens[arm]:,.0f}", estimated.get(arm, "")]
        lines.append(f"| {' | '.join(cells)} |")
    counts = [f"{arm} {len(side.scored)} of {side.total}" for arm, side in judged.items()]
    lines += ["", f"Rows with a verdict: {', '.join(counts)}."]
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is estimated of an arm's true changes, as the product's search reckons it."""

    chance: Chance
    promised: float
    """Its chance at the gate times the estimated gain of the target."""

    def __str__(self) -> str:
        chance = self.chance
        words = [
            f"{name} {chance.expected[name]:+.3f} ± {chance.error[name]:.3f}"
            for name in OBJECTIVE.metrics
        ]
        word = in_words(chance.accepted)
        return f"{', '.join(words)}; {word} ({chance.accepted:.2f}); {self.promised:+.4f}"


def promises(
    judged: Mapping[str, JudgedDataset], folds: Sequence[list[int]], groups: int
) -> dict[str, Promise]:
    """Reckon what a look at each arm promises; nothing of an arm of which too little is known.

    Args:
        judged: By arm, the open rows across the folds; A is the baseline.
        folds: Positions of the rows of each.
        groups: Of the sealed rows.
    """
    arms = [arm for arm in judged if arm != "A"]
    reckoned: dict[str, Promise] = {}
    for place, arm in enumerate(arms):
        changes = Changes.of(judged["A"], judged[arm], OBJECTIVE)
        by_fold = [
            Changes.of(judged["A"].only(fold), judged[arm].only(fold), OBJECTIVE) for fold in folds
        ]
        writing = writing_variance(
            [[one for one in by_fold if one is not None]],
            metrics=len(OBJECTIVE.metrics),
            least=LEAST_WRITING if arm == WRITTEN else 0.0,
        )
        if changes is not None:
            belief = Belief.of(changes, tried=len(arms), luck=writing / len(folds), beyond=writing)
            alpha = alpha_of_look(1)
            chance = chance_of(changes, OBJECTIVE, belief, alpha=alpha, groups=groups, seed=place)
            reckoned[arm] = Promise(chance=chance, promised=promised(chance, belief)[0])
    return reckoned


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
