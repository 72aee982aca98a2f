"""What few labels can show, and what to do next: once, for terminal, page and Python."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from ...judges.reliability import CHURN
from .numbers import count, interval, number

if TYPE_CHECKING:
    from ...optimize.events import Json

LEAST = 100
"""Labels that a judge should be measured with at least."""


def few_labels(reach: Json) -> list[str]:
    """Say what the labels can show, what the judge is now, and how many more would show what.

    Args:
        reach: As `asdict` writes a `Reach`.
    """
    name = reach["metric"].removesuffix("_grades").replace("_", " ")
    leave = (
        "1 label leaves" if reach["labelled"] == 1 else f"{count(reach['labelled'])} labels leave"
    )
    lines = [
        f"{leave} a gate a holdout of {count(reach['holdout'])} rows: {_shown(reach, name)}.",
        f"{name.capitalize()} is {number(reach['now']['value'], 2)} now"
        f" ({interval(reach['now'])}).",
    ]
    for need in reach["guards"]:
        could = need["margin"] * math.sqrt(need["rows"] / max(reach["holdout"], 1))
        lines.append(
            f"To show that {need['metric']} falls by at most {_points(need['margin'])} takes about"
            f" {count(need['rows'])} holdout rows, if it does not fall at all; with these it can be"
            f" shown of about {_points(could)}."
        )
    if not reach["steps"]:
        more = f"Even {count(reach['most'])} labels would change little of that."
        return [*lines, more if reach["size"] is None else "More labels would show smaller ones."]
    first, *rest = (
        (count(more), f"from about {_points(gain)} on") for more, gain in reach["steps"]
    )
    gains = f"{first[0]} more labels it would notice a rise {first[1]}"
    gains += "".join(f", with {more} {gain}" for more, gain in rest)
    return [
        *lines,
        f"With about {gains}, by prompts that also swap {100 * CHURN:.0f} % of the errors for new"
        " ones.",
    ]


def _shown(reach: Json, name: str) -> str:
    if reach["size"] is not None:
        gain = _points(reach["size"])
        return f"four times in five it would notice that {name} rose by {gain} or more"
    if reach["perfect"] is None:
        return "too few to notice even a prompt without an error four times in five"
    return (
        "four times in five it would notice a prompt that mends nearly every error and makes no new"
        f" one ({_points(reach['perfect'])} of {name}), and hardly any other"
    )


def _points(share: float) -> str:
    points = max(1, round(100 * share))
    return f"{points} point{'s' * (points != 1)}"


def label_command(reach: Json, data: str = "") -> str:
    """Return the command that draws the rows whose labels tell most, and asks about them; empty
    where more labels would change little.

    Args:
        reach: As `asdict` writes a `Reach`.
        data: The file that was read; it is named where it has rows without a label.
    """
    rows = rows_to_label(reach)
    file = shlex.quote(data) if data and reach["unlabelled"] else "FILE"
    return f"judgewright label --rows {file} --next {rows}" if rows else ""


def rows_to_label(reach: Json) -> int:
    """Return how many rows to label next; 0 where more labels would change little."""
    if reach["steps"]:
        return reach["steps"][0][0]
    most_rows = max((need["rows"] for need in reach["guards"]), default=0)
    missing = (most_rows / max(reach["holdout"], 1) - 1) * reach["labelled"]
    again = 0 if reach["size"] is None else reach["labelled"]
    return max(LEAST - reach["labelled"], math.ceil(missing / 10) * 10, again)
