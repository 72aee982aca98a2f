"""A run in the terminal beyond its events: its course in small charts, its diff by word, its
flips.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...optimize.events import Json, StepTaken
from ...optimize.word_diff import diff_prompts
from ..actions.flips import Flip
from ..actions.run_summary import RunSummary
from ..terminal import inline, say, say_pieces, say_table, say_word_diff
from .charts import arms_of, points_of, sparkline
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


def say_course(run: RunSummary) -> None:
    """Print the loss by step as a line of blocks, and the decisions before and after."""
    if run.search_start is not None:
        _say_loss(run.search_start.loss, run.steps)
    if run.closing is not None:
        _say_confusion({name: side.pooled for name, side in run.closing.sides.items()})
    elif run.benchmark is not None:
        _say_confusion({"before": run.benchmark})


def _say_loss(first: float, steps: Sequence[StepTaken]) -> None:
    if arms := arms_of(steps):
        say("\nLoss by step, on rows that prompts were not written from")
        for arm in arms:
            losses = [first, *(point.loss for point in points_of(steps) if point.arm == arm)]
            say(f"  {arm}  {sparkline(losses)}  {', '.join(number(one, 4) for one in losses)}")
        return
    losses = [first, *(step.proposal.loss for step in steps)]
    kept_steps = [step for step in steps if step.proposal.kept]
    numbers = ", ".join(str(step.step) for step in kept_steps) or "none"
    last = kept_steps[-1].proposal.loss if kept_steps else first
    unvalidated = "; × never validated" if None in losses else ""
    line = f"{sparkline(losses)}  {number(first, 4)} -> {number(last, 4)}"
    say(f"\nValidation loss by step  {line}; kept: {numbers}{unvalidated}")


def _say_confusion(sides: Mapping[str, Json]) -> None:
    lines = []
    if any("precision" not in body["metrics"] for body in sides.values()):
        return  # a choice has no two sides
    for name, body in sides.items():
        cells = body["confusion"]
        lines.append((name, "people no", *_cells(cells, "tn", "fp"), f"{body['n']:,}"))
        lines.append(("", "people yes", *_cells(cells, "fn", "tp"), ""))
    say("\nDecisions against people's labels" + (", before and after" if len(sides) > 1 else ""))
    say_table(("", "", "judge no", "judge yes", "n"), lines, left=2)


def _cells(cells: Mapping[str, int], no: str, yes: str) -> tuple[str, str]:
    total = cells[no] + cells[yes]
    texts = [f"{cells[name]:,} ({cells[name] / total:.0%})" if total else "0" for name in (no, yes)]
    return texts[0], texts[1]


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
