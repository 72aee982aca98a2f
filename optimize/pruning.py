"""At the end of a search: sentences that it added and that earn nothing are taken out again.

The prompt is raced without each of them on a third of the validation rows. All without which it costs no more go
together, if what is left costs no more on every validation row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..judges import FloatArray, JudgePrompt
from .archive import Archive, Candidate, in_common
from .context import RunContext
from .events import Pruned
from .guarding import limits_beside
from .hunks import PromptDiff, compose, split_hunks
from .racing.race import run_race
from .racing.schedule import RaceSettings, lay_out
from .settings import RunSettings

MOST_PRUNED = 6


def prune(run: RunContext, archive: Archive) -> None:
    """Take out of the current prompt what earns nothing, and let the archive go on from what is left.

    Args:
        run: Its settings say whether the person's own sentences are tried too.
        archive: The search's; its current prompt may change.
    """
    current = archive.current
    if current is archive.first or not prunes(run.settings, run.services.proposer.name):
        return
    diff = _split(run, archive)
    known = {member.prompt.version for member in archive.members}
    without: dict[int, JudgePrompt] = {}
    for hunk in diff.hunks:
        prompt = compose(diff, diff.numbers - {hunk.number})
        if hunk.kind == "added" and prompt.version not in known and prompt.criteria.strip():
            without[hunk.number] = prompt
    if not without:
        return
    earned = _try_without(run, archive, without)
    idle = [number for number, fall in earned.items() if fall is None]
    lines = [
        {"part": hunk.part, "text": "\n".join(hunk.new), "earned": earned[hunk.number]}
        for hunk in diff.hunks
        if hunk.number in earned
    ]
    event = Pruned(version=current.prompt.version, sentences=tuple(lines), kept=False)
    shorter = compose(diff, diff.numbers - set(idle))
    if idle and shorter.version not in known and shorter.criteria.strip():
        candidate = _measure(run, shorter, archive)
        _, ours, _, theirs = in_common(candidate, current)
        kept = _costs(ours, theirs) <= 0 and archive.shortfall(candidate) <= archive.shortfall(current)
        archive.add(candidate, current=kept)
        event = replace(event, pruned=shorter.version, loss=candidate.loss, kept=kept)
    run.services.record(event)


def prunes(settings: RunSettings, proposer: str) -> bool:
    """Whether a run looks for sentences that earn nothing; what a person wrote is theirs."""
    return settings.ablate == "all" or (settings.ablate == "added" and proposer != "human")


def most_pruned(steps: int) -> int:
    """Return how many sentences a run tries to do without at most; of more, neighbours are taken together."""
    return min(MOST_PRUNED, 2 + steps)


def ablation_rows(validation: int) -> int:
    """Return on how many of the validation rows the prompt is judged without each of them."""
    return max(validation // 3, RaceSettings().first)


def _costs(ours: FloatArray, theirs: FloatArray) -> float:
    return float(np.round((ours - theirs).mean(), 9)) if len(ours) else 1.0


def _split(run: RunContext, archive: Archive) -> PromptDiff:
    """Split what may be taken out into hunks: what the run added, or every sentence of the criteria."""
    before = run.prompt
    if run.settings.ablate == "all":
        before = replace(archive.current.prompt, criteria="")
    return split_hunks(before, archive.current.prompt, most=most_pruned(run.settings.steps))


def _try_without(run: RunContext, archive: Archive, without: Mapping[int, JudgePrompt]) -> dict[int, float | None]:
    """Race the prompt without each hunk; return what each earns, in loss, None where nothing."""
    current = archive.current
    coarse = run.services.judge_client.by_exchange
    settings = RaceSettings(seed=run.settings.seed, share=1.0 if coarse else None, coarse=coarse)
    rows = lay_out(run.parts.validation, settings)
    third = replace(rows, rows=rows.rows[: ablation_rows(len(rows))])
    result = run_race(
        [current.prompt, *without.values()],
        third,
        lambda prompt, rows: run.judge("ablation", prompt, rows),
        run.goal.row_losses,
        settings=settings,
        limits_of=limits_beside(archive.first.judged, run.goal.objective),
    )
    earned: dict[int, float | None] = {}
    for (number, prompt), judged in zip(without.items(), result.judged[1:], strict=True):
        candidate = Candidate.of(prompt, judged, run.goal)
        _, ours, _, theirs = in_common(candidate, current)
        fall = _costs(ours, theirs)
        idle = fall <= 0 and archive.shortfall(candidate) <= archive.shortfall(current)
        earned[number] = None if idle else fall
    return earned


def _measure(run: RunContext, prompt: JudgePrompt, archive: Archive) -> Candidate:
    judged = run.judge("ablation", prompt, run.parts.validation)
    steps = run.settings.steps
    number = 1 + steps * run.settings.candidates_a_step
    parent = archive.current.prompt.version
    return Candidate.of(prompt, judged, run.goal, number=number, step=steps, parent=parent)
