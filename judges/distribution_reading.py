"""Read the distribution in the answer of a decision model, in plain Python: exports carry this file
with them as it stands.

What cannot be a distribution over the answers leaves the row without a verdict; it is never a zero
nor a half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SUM_TOLERANCE = 0.02
"""How far probabilities may be from a sum of 1: services round each of them to .01."""
TOLERANCE_OF_EACH = 0.005


class NoDistribution(ValueError):
    """An answer is no distribution over the possible answers; the message says why."""


def type_of(api: str, kind: str) -> str:
    """Return what an interface calls a kind of question, and its answer."""
    if kind != "yes_no":
        return kind
    return {"decisions": "predicate", "systemone": "noul"}.get(api, kind)


def distribution_of(
    answer: Any,  # Any: JSON
    *,
    api: str,
    kind: str,
    names: Sequence[str],
) -> tuple[float, ...]:
    """Return the probability of each answer in the order of their names; of yes/no first no.

    Sums that are off by rounding are brought to 1.

    Args:
        answer: What the endpoint answered to the question.
        api: The interface.
        kind: `yes_no`, `score` or `choice`.
        names: Of the possible answers.

    Raises:
        NoDistribution: The answer is missing, of another type, or its numbers are none.
    """
    if not isinstance(answer, dict):
        raise NoDistribution("there is no answer to this question")
    expected = type_of(api, kind)
    if answer.get("type") != expected:
        raise NoDistribution(
            f"the answer is of the type {answer.get('type')!r:.40}, not {expected}"
        )
    if kind == "yes_no" and api != "sglang":
        yes = _probability(answer.get("probability" if api == "decisions" else "noul"), "yes")
        return (1.0 - yes, yes)
    by_name = _by_name(answer.get("probabilities"))
    if kind == "yes_no":
        names = ["no", "yes"]
    elif kind == "score" and api != "decisions":
        names = [str(index) for index in range(len(names))]
    if len(by_name) > len(names):
        raise NoDistribution(f"there are probabilities of other answers than {len(names)}")
    return _summing_to_one([_probability(by_name.get(name), name) for name in names])


def _by_name(probabilities: Any) -> Mapping[str, Any]:  # Any: JSON
    if isinstance(probabilities, dict):
        return probabilities
    by_name: dict[str, Any] = {}
    for part in probabilities if isinstance(probabilities, list) else ():
        if isinstance(part, dict):
            by_name[str(part.get("label", part.get("value")))] = part.get("probability")
    return by_name


def _probability(value: Any, name: str) -> float:  # Any: JSON
    if type(value) not in (int, float) or not math.isfinite(value):
        raise NoDistribution(
            f"the probability of {name!r:.80} is {value!r:.40}, which is no number"
        )
    if not 0.0 <= value <= 1.0:
        raise NoDistribution(f"the probability of {name!r:.80} is {value!r}, not within [0, 1]")
    return float(value)


def _summing_to_one(probabilities: Sequence[float]) -> tuple[float, ...]:
    total = math.fsum(probabilities)
    if abs(total - 1.0) > max(SUM_TOLERANCE, TOLERANCE_OF_EACH * len(probabilities)):
        raise NoDistribution(f"the probabilities sum to {total:.4g}, not to 1")
    return tuple(value / total for value in probabilities)
