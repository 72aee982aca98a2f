"""A run in the terminal beyond its events: its course in small charts, its diff by word, its flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...judges import JudgePrompt
from ...optimize import Event
from ...optimize.word_diff import diff_prompts
from ..actions.flips import Flip
from ..terminal import inline, say, say_pieces, say_table, say_word_diff
from .charts import sparkline

Payload = Mapping[str, Any]  # Any: JSON out of the journal
GLANCE = 400
"""Characters of a row's text that are shown."""


def say_course(events: Sequence[Event]) -> None:
    """Print the validation loss by step as one line of blocks, and the decisions before and after."""
    found = {event.kind: event.payload for event in events}
    if "validation" in found:
        _say_loss(found["validation"], [event.payload for event in events if event.kind == "step"])
    if "everything" in found:
        sides = {
            name: found["everything"][name]["pooled"] for name in ("before", "after") if name in found["everything"]
        }
        _say_confusion(sides)
    elif "benchmark" in found:
        _say_confusion({"before": found["benchmark"]})


def _say_loss(first: Payload, steps: Sequence[Payload]) -> None:
    losses = [first["loss"], *(step.get("loss") for step in steps)]
    kept = [step for step in steps if step["result"] == "kept"]
    named = ", ".join(str(step["step"]) for step in kept) or "none"
    last = kept[-1]["loss"] if kept else first["loss"]
    line = f"{sparkline(losses)}  {first['loss']:.4f} -> {last:.4f}"
    say(f"\nValidation loss by step  {line}; kept: {named}{'; × never validated' if None in losses else ''}")


def _say_confusion(sides: Mapping[str, Payload]) -> None:
    lines = []
    for name, body in sides.items():
        cells = body["confusion"]
        lines.append((name, "people no", *_cells(cells, "tn", "fp"), f"{body['n']:,}"))
        lines.append(("", "people yes", *_cells(cells, "fn", "tp"), ""))
    say("\nDecisions against people's labels" + (", before and after" if len(sides) > 1 else ""))
    say_table(("", "", "judge no", "judge yes", "n"), lines, left=2)


def _cells(cells: Mapping[str, int], no: str, yes: str) -> tuple[str, str]:
    total = cells[no] + cells[yes]
    shown = [f"{cells[name]:,} ({cells[name] / total:.0%})" if total else "0" for name in (no, yes)]
    return shown[0], shown[1]


def say_found(before: JudgePrompt, after: JudgePrompt | None) -> None:
    """Print the diff between a run's prompt and the one it found, word by word."""
    if after is None:
        say("\nNo diff: no candidate beat the prompt on validation.")
        return
    say(f"\nThe diff, {before.name}@{before.version} -> {after.version}")
    say_word_diff(diff_prompts(before, after))


def say_flip(flip: Flip) -> None:
    """Print one row that changed sides: its texts, both verdicts, and the words of the rationale that changed."""
    people = "yes" if flip.positive else "no"
    was, now = (f"{'yes' if v.positive else 'no'} ({v.score:g})" for v in (flip.before, flip.after))
    mended = "mended" if flip.direction == "became right" else "made"
    where = "in the slice" if flip.in_slice else "outside the slice"
    say(f"\n{inline(flip.row_id)}: {flip.direction}, {flip.error} {mended}, {where}")
    for name, text in flip.inputs.items():
        shown = inline(text if len(text) <= GLANCE else f"{text[:GLANCE]}… ({len(text):,} characters)")
        say(f"  {inline(name)}: {shown}")
    say(f"  people: {people} ({flip.label:g}); judge: {was} -> {now}")
    say("  because:")
    say_pieces(flip.rationale, indent="    ")
