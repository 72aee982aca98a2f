"""The first figure as sentences: once, for terminal, page and Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .numbers import count, number, p_equals, signed

Json = Mapping[str, Any]  # Any: JSON
FEW = 100
"""Rows under which a share has its interval beside it, and"""
TOO_FEW = 20
"""rows under which there is no percentage at all."""


def first_sentences(figure: Json) -> list[str]:
    """Say what a benchmark found, the most important first.

    Args:
        figure: As `FirstFigure.to_json` writes it.
    """
    return [*_say(figure)]


def _say(figure: Json) -> Iterator[str]:
    if figure["warning"]:
        yield f"{figure['warning'][:1].upper()}{figure['warning'][1:]}."
    agreed = figure["agreed"]
    if agreed is None:
        yield from _without_labels(figure)
    else:
        yield _agreement(figure, agreed)
    if figure["bad_called_good"]:
        yield _errors(figure["bad_called_good"], figure["good_called_bad"])
    if figure["same_grade"]:
        yield f"It gives the very grade that people gave on {_of_rows(figure['same_grade'])}."
    if confusion := figure["confusion"]:
        rows = f"{count(confusion['of'])} row{'s' * (confusion['of'] != 1)}"
        yield (
            f"Most often confused: of {rows} that people call {confusion['people']!r} it calls"
            f" {count(confusion['count'])} {confusion['judge']!r}."
        )
    if figure["threshold"]:
        yield _other_threshold(figure)
    if figure["worst"]:
        yield _worst(figure["worst"])
    if figure["not_searched"]:
        yield "Where it errs most is what `judgewright slices latest` looks for."
    if agreed and figure["unscored"]:
        one = figure["unscored"] == 1
        rows = "1 row has" if one else f"{count(figure['unscored'])} rows have"
        yield f"{rows} no verdict and enter{'s' * one} none of this."


def _agreement(figure: Json, agreed: Json) -> str:
    judge = "The simulated model (made up)" if figure["simulated"] else "Your judge"
    # The warning has kappa with its interval.
    kappa = "" if figure["warning"] else _kappa(figure["kappa"])
    good = f"; good: {figure['good_from']}" if figure["good_from"] else ""
    few = ""
    if agreed["of"] < FEW and agreed["low"] is not None:
        few = (
            f"; so few rows leave {100 * agreed['low']:.0f} to {100 * agreed['high']:.0f} %"
            " possible"
        )
    beside = "".join(filter(None, (kappa, few, good))).removeprefix("; ")
    rows = _of_rows(agreed, spread=False)
    return f"{judge} agrees with people on {rows}{f' ({beside})' if beside else ''}."


def _kappa(kappa: Json | None) -> str:
    if kappa is None:
        return ""
    text = f"; kappa {number(kappa['value'], 2)}"
    if kappa["low"] is None:
        return text
    return f"{text} [{number(kappa['low'], 2)}, {number(kappa['high'], 2)}]"


def _errors(bad: Json, good: Json) -> str:
    if not bad["of"] or not good["of"]:
        side, other = ("good", "bad") if good["of"] else ("bad", "good")
        return (
            f"People call every one of these rows {side}: nothing here shows what it makes of a"
            f" {other} one."
        )
    if not bad["count"] and not good["count"]:
        return f"It errs on none of these {count(bad['of'])} bad and {count(good['of'])} good rows."
    said = [(bad, "bad", "good"), (good, "good", "bad")]
    said.sort(key=lambda one: one[0]["count"] / one[0]["of"], reverse=True)
    first, second = (_of_class(*one) for one in said)
    return f"It calls {first}, and {second}."


def _of_class(share: Json, people: str, judge: str) -> str:
    """Say how many of the rows of a class are called the other, with an interval where they are
    few.
    """
    if share["count"] == share["of"] > 1:
        return f"all {count(share['of'])} {people} ones {judge}"
    few = share["of"] < TOO_FEW
    spread = f" ({_spread(share)})" if few and share["low"] is not None else ""
    if not share["count"]:
        return f"none of the {count(share['of'])} {people} ones {judge}{spread}"
    if few:
        return f"{share['count']} of the {share['of']} {people} ones {judge}{spread}"
    counts = f"{count(share['count'])} of {count(share['of'])}"
    return f"{_percent(share)} of the {people} ones {judge} ({counts})"


def _of_rows(share: Json, *, spread: bool = True) -> str:
    if share["of"] < TOO_FEW:
        text = f"{count(share['count'])} of {count(share['of'])} row{'s' * (share['of'] != 1)}"
    else:
        text = f"{_percent(share)} of {count(share['of'])} rows"
    if spread and share["of"] < FEW and share["low"] is not None:
        return f"{text} ({_spread(share)})"
    return text


def _percent(share: Json) -> str:
    """Write a share in whole per cent, but never a part as nothing or as all."""
    whole = 100 * share["count"] / share["of"]
    if 0 < whole < 0.5:
        return "under 1 %"
    return "over 99 %" if 99.5 <= whole < 100 else f"{whole:.0f} %"


def _spread(share: Json) -> str:
    return f"95 % interval {100 * share['low']:.0f} to {100 * share['high']:.0f} %"


def _other_threshold(figure: Json) -> str:
    """Say what the threshold would have decided on these very rows, and the gain where none of
    them chose it.
    """
    other, bad, good = figure["threshold"], figure["bad_called_good"], figure["good_called_bad"]
    change = other["change"]
    new_bad = {**bad, "count": other["bad_called_good"]}
    new_good = {**good, "count": other["good_called_bad"]}
    if new_bad["count"] <= bad["count"]:
        points = 100 * (new_good["count"] - good["count"]) / good["of"]
        does = (
            f"would call {_percent(new_bad)} of the bad ones good in place of {_percent(bad)}, at"
            f" {points:.0f} points of recall"
        )
    else:
        does = (
            f"would call {_percent(new_good)} of the good ones bad in place of {_percent(good)},"
            f" and {_percent(new_bad)} of the bad ones good in place of {_percent(bad)}"
        )
    gain = (
        f"kappa {signed(change['difference'], 2)} [{signed(change['low'], 2)},"
        f" {signed(change['high'], 2)}]"
    )
    return (
        f"On these rows a threshold of {other['threshold']:.3g} instead of"
        f" {other['current']:.3g} {does} ({gain} on rows that did not choose it)."
    )


def _worst(worst: Json) -> str:
    sure = "confirmed" if worst["evidence"] == "confirmed" else "likely, not confirmed"
    return (
        f"Its {worst['metric'].replace('_', ' ')} is poorest where {worst['where']}:"
        f" {number(worst['value'], 2)} on {count(worst['n'])} rows, {number(worst['rest'], 2)}"
        f" elsewhere ({sure}, {p_equals(worst['p'])} after all that was searched)."
    )


def _without_labels(figure: Json) -> Iterator[str]:
    judged = figure["judged"]
    if not judged:
        yield "No row has a verdict, so nothing can be said of the judge."
        return
    said = ""
    if figure["called_good"] is not None:
        share = {"count": figure["called_good"], "of": judged, "low": None, "high": None}
        said = f" It calls {_of_rows(share)} good."
    yield (
        f"No row with a verdict has a label, so nothing is known of how far it agrees with"
        f" people.{said} About {FEW} labels would show that: judgewright label --rows FILE"
        f" --next {FEW}"
    )
