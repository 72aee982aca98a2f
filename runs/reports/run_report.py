"""A run in the terminal beyond its events: its diff by word, its flips."""

from __future__ import annotations

from collections.abc import Iterable

from ...optimize.word_diff import diff_prompts
from ..actions.flips import Flip
from ..actions.run_summary import RunSummary
from ..terminal import inline, say, say_pieces, say_table, say_word_diff
from .numbers import interval, number, signed
from .run_table import RunLine
from .sentences import describe_new_threshold

GLANCE = 400
"""Characters of a row's text that are shown."""


def say_runs(lines: Iterable[RunLine]) -> None:
    """Print a line for each run: what it was about, its figure, and how it ended."""
    cells: list[tuple[str, ...]] = []
    for line in lines:
        figure, ended = "", ", ".join(part for part in (line.outcome, line.settled) if part)
        if line.change is not None:
            figure = (
                f"{line.target} {signed(line.change['difference'])}"
                f" ({interval(line.change, change=True)})"
            )
        elif line.value is not None:
            figure = f"{line.target} {number(line.value['value'])} ({interval(line.value)})"
        open_queue = line.info.kind == "queue" and line.info.state == "stopped"
        state = "open" if open_queue else line.info.state
        is_marked = line.simulated and not line.model.startswith("simulated")
        model = f"{line.model} [SIMULATED]" if is_marked else line.model
        called = " ".join((line.info.name, *(f"#{tag}" for tag in line.info.tags))).strip()
        about = (line.info.kind, state, line.data, line.judge, model, figure, ended)
        cells.append((line.info.run_id, called, *about))
    head = ("run", "name", "kind", "state", "data", "judge", "model", "figure (95 %)", "decision")
    if not any(cell[1] for cell in cells):
        head, cells = head[:1] + head[2:], [cell[:1] + cell[2:] for cell in cells]
    say_table(head, cells, left=len(head))


def say_prompt_diff(run: RunSummary) -> None:
    """Print the diff between a run's first prompt and its best candidate, word by word, and what
    else decides now.
    """
    before, after = run.before, run.after
    if after is None:
        say("\nNo diff: there is no new prompt.")
        return
    if run.words_differ:
        say(f"\nThe diff, {before.name}@{before.version} -> {after.version}")
        say_word_diff(diff_prompts(before, after))
    if threshold := describe_new_threshold(run):
        say(f"\n{threshold[0].upper()}{threshold[1:]}.")


def say_flip(flip: Flip) -> None:
    """Print one row that changed sides: its texts, both verdicts, and the words of the rationale
    that changed.
    """
    was, now = map(inline, flip.judge)
    mended = "mended" if flip.direction == "became right" else "made"
    side = "in the slice" if flip.in_slice else "outside the slice"
    say(f"\n{inline(flip.row_id)}: {flip.direction}, {inline(flip.error)} {mended}, {side}")
    for name, text in flip.inputs.items():
        glance = inline(
            text if len(text) <= GLANCE else f"{text[:GLANCE]}… ({len(text):,} characters)"
        )
        say(f"  {inline(name)}: {glance}")
    say(f"  people: {inline(flip.people)}; judge: {was} -> {now}")
    say("  because:")
    say_pieces(flip.rationale, indent="    ")
