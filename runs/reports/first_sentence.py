"""The first figure as sentences: once, for terminal, page and Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .numbers import count, number, p_equals, signed

if TYPE_CHECKING:
    from ...optimize.events import Json

FEW = 100
"""Rows under which a share has its interval beside it, and"""
TOO_FEW = 20
"""rows under which there is no percentage at all."""


def first_sentences(figure: Json) -> list[str]:
    """Say what a benchmark shows, the most important first.

    Args:
        figure: As `FirstFigure.to_json` writes it.
    """
    return [*_sentences(figure)]


def _sentences(figure: Json) -> Iterator[str]:
    if figure["warning"]:
        yield f"{figure['warning'][:1].upper()}{figure['warning'][1:]}."
    agreed = figure["agreed"]
    yield _without_labels(figure) if agreed is None else _agreement(figure, agreed)
    if figure["bad_called_good"]:
        yield _errors(figure["bad_called_good"], figure["good_called_bad"])
    if figure["same_grade"]:
        yield f"It gives the very grade that people gave on {_of_rows(figure['same_grade'])}."
    if confusion := figure["confusion"]:
        yield (
            f"Most often confused: of {_rows(confusion['of'])} that people call"
            f" {confusion['people']!r} it calls {count(confusion['count'])} {confusion['judge']!r}."
        )
    if figure["threshold"]:
        yield _other_threshold(figure)
    if worst := figure["worst"]:
        sure = "confirmed" if worst["evidence"] == "confirmed" else "likely, not confirmed"
        yield (
            f"Its {worst['metric'].replace('_', ' ')} is poorest where {worst['where']}:"
            f" {number(worst['value'], 2)} on {count(worst['n'])} rows, {number(worst['rest'], 2)}"
            f" elsewhere ({sure}, {p_equals(worst['p'])} after all that was searched)."
        )
    if figure["not_searched"]:
        yield "Where it errs most is what `judgewright slices latest` looks for."
    if agreed and figure["unscored"]:
        have = (
            "has no verdict and enters" if figure["unscored"] == 1 else "have no verdict and enter"
        )
        yield f"{_rows(figure['unscored'])} {have} none of this."


def _agreement(figure: Json, agreed: Json) -> str:
    judge = "The simulated model (made up)" if figure["simulated"] else "Your judge"
    beside: list[str] = []
    # The warning has kappa with its interval.
    if (kappa := figure["kappa"]) and not figure["warning"]:
        low, high = number(kappa["low"], 2), number(kappa["high"], 2)
        spread = "" if kappa["low"] is None else f" [{low}, {high}]"
        beside.append(f"kappa {number(kappa['value'], 2)}{spread}")
    if agreed["of"] < FEW and agreed["low"] is not None:
        beside.append(f"so few rows leave {_ends(agreed)} possible")
    if figure["good_from"]:
        beside.append(f"good: {figure['good_from']}")
    brackets = f" ({'; '.join(beside)})" if beside else ""
    return f"{judge} agrees with people on {_of_rows(agreed, spread=False)}{brackets}."


def _errors(bad: Json, good: Json) -> str:
    if not bad["of"] or not good["of"]:
        side, other = ("good", "bad") if good["of"] else ("bad", "good")
        return (
            f"People call every one of these rows {side}: nothing here shows what it makes of a"
            f" {other} one."
        )
    if not bad["count"] and not good["count"]:
        return f"It errs on none of these {count(bad['of'])} bad and {count(good['of'])} good rows."
    sides = [(bad, "bad", "good"), (good, "good", "bad")]
    sides.sort(key=lambda side: side[0]["count"] / side[0]["of"], reverse=True)
    first, second = (_of_class(*side) for side in sides)
    return f"It calls {first}, and {second}."


def _of_class(share: Json, people: str, judge: str) -> str:
    """Say how many of the rows of a class are called the other, with an interval where they are
    few.
    """
    wrong, of, few = count(share["count"]), count(share["of"]), share["of"] < TOO_FEW
    if share["count"] == share["of"] > 1:
        return f"all {of} {people} ones {judge}"
    if share["count"] and not few:
        return f"{_percent(share)} of the {people} ones {judge} ({wrong} of {of})"
    spread = f" (95 % interval {_ends(share)})" if few and share["low"] is not None else ""
    return f"{wrong if share['count'] else 'none'} of the {of} {people} ones {judge}{spread}"


def _of_rows(share: Json, *, spread: bool = True) -> str:
    few = share["of"] < TOO_FEW
    text = f"{count(share['count']) if few else _percent(share)} of {_rows(share['of'])}"
    if spread and share["of"] < FEW and share["low"] is not None:
        return f"{text} (95 % interval {_ends(share)})"
    return text


def _rows(n: int) -> str:
    return f"{count(n)} row{'s' * (n != 1)}"


def _percent(share: Json) -> str:
    """Write a share in whole per cent, but never a part as nothing or as all."""
    whole = 100 * share["count"] / share["of"]
    if 0 < whole < 0.5:
        return "under 1 %"
    return "over 99 %" if 99.5 <= whole < 100 else f"{whole:.0f} %"


def _ends(share: Json) -> str:
    return f"{100 * share['low']:.0f} to {100 * share['high']:.0f} %"


def _other_threshold(figure: Json) -> str:
    """Say what the threshold would have decided on these very rows, and the gain where none of
    them chose it.
    """
    other, bad, good = figure["threshold"], figure["bad_called_good"], figure["good_called_bad"]
    new_bad = {**bad, "count": other["bad_called_good"]}
    new_good = {**good, "count": other["good_called_bad"]}
    less_bad = f"{_percent(new_bad)} of the bad ones good in place of {_percent(bad)}"
    if new_bad["count"] <= bad["count"]:
        points = 100 * (new_good["count"] - good["count"]) / good["of"]
        does = f"{less_bad}, at {points:.0f} points of recall"
    else:
        more_good = f"{_percent(new_good)} of the good ones bad in place of {_percent(good)}"
        does = f"{more_good}, and {less_bad}"
    gain, low, high = (signed(other["change"][name], 2) for name in ("difference", "low", "high"))
    return (
        f"On these rows a threshold of {other['threshold']:.3g} instead of"
        f" {other['current']:.3g} would call {does} (kappa {gain} [{low}, {high}] on rows that did"
        " not choose it)."
    )


def _without_labels(figure: Json) -> str:
    if not figure["judged"]:
        return "No row has a verdict, so nothing can be said of the judge."
    good = ""
    if figure["called_good"] is not None:
        share = {"count": figure["called_good"], "of": figure["judged"], "low": None}
        good = f" It calls {_of_rows(share)} good."
    return (
        f"No row with a verdict has a label, so nothing is known of how far it agrees with"
        f" people.{good} About {FEW} labels would show that: judgewright label --rows FILE"
        f" --next {FEW}"
    )
