"""What a search found, in words: how far a proposal was judged, and what kind of slice it took."""

from __future__ import annotations

from ...optimize.events import SliceChosen, StepTaken


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
