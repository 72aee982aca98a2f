"""Two readings of one objective, by rules and by a model: whether they differ, and what both say
together.
"""

from __future__ import annotations

from collections.abc import Mapping

from .lexicon import BRIER, plain_text, tokens
from .objective import (
    COUNTERPARTS,
    DEFAULT_MARGIN,
    ERRORS,
    OWN_DIRECTION,
    SECOND_MARGIN,
    Floor,
    Guard,
    Reading,
)
from .rules import OF_WHICH_CLASS


def mean_the_same_errors(text: str, rules: Reading, model: Reading) -> bool:
    """Whether both object to the same errors and chose a metric for it that the text does not
    name.
    """
    if rules.target is None or rules.direction is None or rules.direction != model.direction:
        return False
    named = {token.metric for token in tokens(text) if token.metric}
    both = {rules.target, model.target}
    return both <= OWN_DIRECTION.keys() and not both & named


def join_readings(rules: Reading, model: Reading) -> Reading:
    """Join two readings that agree: what one of them placed is placed."""
    guards = {guard.metric: guard for guard in (*model.guards, *rules.guards)}
    floors = {floor.metric: floor for floor in (*model.floors, *rules.floors)}
    # A second wish with a floor of its own has no other limit.
    guards = {
        metric: guard
        for metric, guard in guards.items()
        if not _second_wish_with_floor(guard, floors)
    }
    placed_by_model: list[str] = []
    if rules.unread and not model.unread:
        placed_by_model = [f"read by the model alone: {', '.join(rules.unread)}"]
    return Reading(
        target=model.target or rules.target,
        direction=rules.direction or model.direction,
        guards=tuple(guards.values()),
        floors=tuple(floors.values()),
        slice=model.slice or rules.slice,
        unread=rules.unread if model.unread else (),
        notes=tuple(dict.fromkeys((*rules.notes, *model.notes, *placed_by_model))),
    )


def open_questions(text: str, rules: Reading, model: Reading | None, *, limited: bool) -> list[str]:
    """Say where the readings differ and which clauses neither placed.

    Args:
        text: The objective, without the names of saved slices.
        rules: How the rules read it.
        model: How the model read it; None where none was asked.
        limited: Whether the person gave guards or floors beside the text, which settle those of the
            text.
    """
    if model is None:
        problems = (
            [] if limited and rules.target else [f"not read: {clause}" for clause in rules.unread]
        )
        if rules.target is None and not problems:
            problems.append("it names no metric to raise and no kind of error to fight")
        return problems
    problems = []
    if rules.target and model.target and rules.target != model.target:
        problems.append(f"the rules read the target {rules.target}, the model {model.target}")
    elif rules.direction and model.direction and rules.direction != model.direction:
        errors = f"{ERRORS[rules.direction]}, the model to {ERRORS[model.direction]}"
        problems.append(f"the rules read it as an objection to {errors}")
    if rules.target is None and model.target is None:
        problems.append("neither read a target")
    elif model.target is None:
        problems.append(f"the rules read the target {rules.target}, the model none")
    if limited:
        return problems
    ambiguous = [clause for clause in rules.unread if OF_WHICH_CLASS in clause]
    if ambiguous and len(ambiguous) == len(rules.unread):
        # Nothing else in the text says which class is meant, so that a model could only have
        # guessed.
        problems += [f"not read: {clause}" for clause in ambiguous]
    if model.unread and rules.unread:
        problems += [f"neither placed {clause}" for clause in model.unread]
    elif rules.unread:
        problems += _lost(text, join_readings(rules, model)) + _denied_target(rules, model)
    return problems + _differing_limits(rules, model)


def _lost(text: str, reading: Reading) -> list[str]:
    """Say which amounts and metrics of the text the reading has not; a model that leaves some out
    need not say so.
    """
    limits = [guard.margin for guard in reading.guards] + [floor.value for floor in reading.floors]
    metrics = [
        reading.target or "",
        *(limit.metric for limit in (*reading.guards, *reading.floors)),
    ]
    # Recall of the negative class is specificity.
    metrics += ["recall" for metric in metrics if metric == "specificity"]
    denied = _denied_metrics(text)
    lost: list[str] = []
    for token in tokens(text):
        if token.symbol == "#":
            shares = (token.number, token.number / 100, 1 - token.number / 100)
            # What a confidence should be is no limit.
            kept = reading.target == BRIER or any(
                abs(limit - share) < 1e-9 for limit in limits for share in shares
            )
        elif token.symbol == "M":
            kept = token.metric in denied or any(
                metric.startswith(token.metric) for metric in metrics
            )
        else:
            continue
        if not kept and token.word not in plain_text(reading.slice or ""):
            lost.append(f"'{token.word}' is nowhere in the model's reading")
    return list(dict.fromkeys(lost))


def _denied_target(rules: Reading, model: Reading) -> list[str]:
    """Say where the model's target stands after a "not" in a clause that the rules left over."""
    clauses = rules.unread if rules.target is None else ()
    return [
        f"the model raises {model.target}, which {clause} may deny"
        for clause in clauses
        if model.target in _denied_metrics(clause)
    ]


def _denied_metrics(text: str) -> set[str]:
    """Return the metrics that are the first named after a "not"."""
    denied: set[str] = set()
    after_not = False
    for token in tokens(text):
        if token.symbol == "M" and after_not:
            denied.add(token.metric)
        after_not = token.symbol == "X" or (after_not and token.symbol != "M")
    return denied


def _second_wish_with_floor(guard: Guard, floors: Mapping[str, Floor]) -> bool:
    return guard.margin == SECOND_MARGIN and guard.metric in floors


def _differing_limits(rules: Reading, model: Reading) -> list[str]:
    """Say which guards and floors the readings do not share; the model may add those of clauses the
    rules left over.
    """
    problems: list[str] = []
    kinds = (
        (
            "guard",
            {guard.metric: guard.margin for guard in rules.guards},
            {g.metric: g.margin for g in model.guards},
        ),
        (
            "floor",
            {floor.metric: floor.value for floor in rules.floors},
            {f.metric: f.value for f in model.floors},
        ),
    )
    usual = COUNTERPARTS.get(model.target or ""), DEFAULT_MARGIN
    for kind, ours, theirs in kinds:
        for metric in sorted({*ours, *theirs}):
            first, second = ours.get(metric), theirs.get(metric)
            if first is None and (rules.unread or (kind == "guard" and (metric, second) == usual)):
                continue
            if (
                kind == "guard"
                and first == SECOND_MARGIN
                and any(floor.metric == metric for floor in model.floors)
            ):
                continue
            if first is None or second is None or abs(first - second) > 1e-9:
                shown = ["none" if value is None else f"{value:g}" for value in (first, second)]
                problems.append(
                    f"the rules read the {kind} of {metric} as {shown[0]}, the model as {shown[1]}"
                )
    return problems
