"""What a search found, in words and lines: how far a proposal was judged, the archive, slices."""

from __future__ import annotations

from collections.abc import Sequence

from ...optimize.events import Json, SliceChosen, StepTaken
from .numbers import NONE, signed


def seen_part(event: StepTaken) -> str:
    """Say on how many validation rows a step's first proposal was judged; empty where on all of
    them.
    """
    race = event.race or {"standings": ()}
    # Runs of earlier versions did not keep how many rows a race had.
    raced_over = race.get("rows", 0)
    for standing in race["standings"]:
        if standing["version"] == event.proposal.version and standing["rows"] < raced_over:
            return f" on {standing['rows']:,} of {raced_over:,} rows"
    return ""


def archive_table(archive: Sequence[Json] | None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heading and the lines of the archive: each candidate beside the first prompt, on
    validation rows.
    """
    others = [line for line in archive or () if line["number"]]
    if not others:
        return (), []
    metrics = tuple(others[0]["changes"])
    lines: list[tuple[str, ...]] = []
    for one in others:
        changes = (
            NONE if one["changes"][name] is None else signed(one["changes"][name])
            for name in metrics
        )
        loss = NONE if one["loss"] is None else signed(one["loss"])
        lines.append((one["version"], str(one["step"]), str(one["rows"]), loss, *changes))
    return ("candidate", "step", "rows", "loss", *metrics), lines


def slice_heading(event: SliceChosen) -> str:
    """Say what kind of slice a run chose: a confirmed target, the likeliest of several, one that
    was named, or none.
    """
    if event.standing not in (None, "confirmed", "likely"):
        return event.standing
    chosen = next((one for one in event.slices if one["predicate"] == event.name), None)
    if chosen is not None and chosen["prompt_target"]:
        return "where the errors point one way"
    if chosen is not None:
        return "none is a target, the likeliest is taken"
    if event.predicate is None:
        return "none, the run is unguided: all rows are taken"
    return "named by the caller"


def slice_standing(one: Json) -> str:
    """Say how sure a slice is; earlier versions wrote only whether it is confirmed."""
    return one.get("standing") or ("confirmed" if one["confirmed"] else "not confirmed")


def missed_targets(slices: Sequence[Json]) -> list[tuple[str, str]]:
    """Return the confirmed slices that are no target, each with the reason; earlier versions did
    not write it.
    """
    missed = []
    for one in slices:
        if one["confirmed"] and not one["prompt_target"] and one.get("why_no_target"):
            missed.append((one["predicate"], one["why_no_target"]))
    return missed
