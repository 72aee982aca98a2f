"""`judgewright tune`: which batch size, temperature and number of gradients suit a judge and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..terminal import inline, progress_on_stderr, say, say_json, say_table
from .model_access import asking_environment
from .optimize import optimize, read_config
from .options import open_workspace

Found = Mapping[str, Any]  # Any: JSON out of the journal


@click.command(
    epilog='Example:  judgewright tune groundedness rows.jsonl --objective "precision first; lose at most 3 points of '
    'recall" --trials 12 --steps 5 --model gpt-4o-mini --budget 5.00',
)
@click.option(
    "--trials", default=12, show_default=True, type=click.IntRange(1, 500), help="Walks that the study shall have."
)
def tune(
    judge: str,
    workspace: Path | None,
    no_wait: bool,
    trials: int,
    as_json: bool,
    **options: Any,  # Any: the options of `read_config`
) -> None:
    """Search the batch size, temperature and number of gradients with which optimizing JUDGE on DATA does best.

    It takes the options of `judgewright optimize`; --batch, --gradients and the temperature given are tried first. Each
    trial walks --steps steps on training rows and one half of the validation rows; the other half tells what the choice
    is worth. The holdout stays sealed. A study that was stopped goes on when it is asked for again.
    """
    from ..tuning.tune import tune as search

    def told(number: int, loss: float, calls: int) -> None:
        if not as_json:
            say(f"  trial {number} of {trials}: validation loss {loss:.4f} in {calls:,} calls", to_stderr=True)

    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        config = read_config(place.registry.get(judge), **options)
        environment = asking_environment(place.root, *config.named_models)
        result = search(place, config, environment, trials=trials, watch=watch, on_trial=told)
    body = result.to_json()
    if as_json:
        say_json(body)
        return
    say_tuned(body)
    cost = "price unknown" if body["cost"] is None else f"${body['cost']:.4f}"
    say(f"\nRun {result.run_id}: {body['calls']} calls, {body['recorded']} answers from the record, {cost}")
    if body["dropped"]:
        say(f"  left out because the endpoint refuses them: {', '.join(body['dropped'])}")
    if body["chosen"]:
        say("Use them with: judgewright optimize ... --tuned")


tune.params = [*(p for p in optimize.params if p.name != "tuned"), *tune.params]  # it tunes the walk they would start


def say_tuned(found: Found) -> None:
    """Print what a study found: its trials, the chosen one and what that is worth on the held half."""
    simulated = "  [SIMULATED: says nothing about real models]" if found["simulated"] else ""
    say(f"Tuning {inline(found['judge'])} on {inline(found['data'])} with {inline(found['model'])}{simulated}")
    say(f"  study:     {inline(found['study'])}")
    say(f"  objective: {inline(found['objective'])}")
    say(f"  slice:     {inline(found['slice'])}")
    rows, start, chosen = found["rows"], found["start"], found["chosen"]
    where = f"{start['n']:,} choosing rows in {start['groups']:,} groups"
    say(f"\nWalks of {found['steps']} steps; the loss to beat is {start['loss']:.4f}, on {where}")
    head = ("trial", "batch", "temperature", "gradients", "loss", "fall of the loss", "n", "calls", "prompt")
    say_table(head, [_line(trial, chosen) for trial in found["trials"]], left=0)
    if chosen is None:
        say("  no trial found a better prompt: there is nothing to choose by")
    else:
        held = found["held"]
        settings = ", ".join(f"{name} {_setting(chosen[name])}" for name in ("batch", "temperature", "gradients"))
        say(f"  chosen (*): {settings}")
        say(f"\nOn the {rows['held']:,} held rows in {held['groups']:,} groups, which chose nothing")
        lines = [
            ("the loss falls by", *_estimate(held["fall"])),
            ("more than with the first trial's settings by", *_estimate(held["gain_over_first"])),
        ]
        say_table(("", "value", "95 % interval", "n"), lines)
        if not held["better_than_first"]:
            say("  which does not show the chosen settings to be better than the first trial's")
    if found["importance"]:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in found["importance"].items())
        say(f"\nOf what the loss varies by, as far as {len(found['trials'])} trials tell: {shares}")
    for note in found["notes"]:
        say(f"  note: {inline(note)}")


def _line(trial: Found, chosen: Found | None) -> tuple[str, ...]:
    value, interval, n = _estimate(trial["fall"])
    fall = f"{value} ({interval})" if trial["version"] else "none"
    mark = "*" if chosen is not None and trial["trial"] == chosen["trial"] else ""
    return (
        f"{mark}{trial['trial']}",
        *(_setting(trial[name]) for name in ("batch", "temperature", "gradients")),
        f"{trial['loss']:.4f}",
        fall,
        n,
        f"{trial['calls']:,}",
        trial["version"] or "unchanged",
    )


def _setting(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _estimate(found: Found) -> tuple[str, str, str]:
    value = "n/a" if found["value"] is None else f"{found['value']:+.4f}"
    if found["low"] is not None:
        return value, f"{found['low']:+.4f} .. {found['high']:+.4f}", f"{found['n']:,}"
    return value, inline(found["reason"]), f"{found['n']:,}"
