"""From an objective in words to what is done: rules and the optimizer model must agree, or the person decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import InputError, JudgePrompt, split_class_metric
from .class_names import ClassNames
from .lexicon import BRIER, cut_out_slices, plain_text, speaks_of_slice, tokens
from .objective import (
    COUNTERPARTS,
    DEFAULT_MARGIN,
    ERRORS,
    MAX_CHARACTERS,
    OWN_DIRECTION,
    SECOND_MARGIN,
    Direction,
    Floor,
    Guard,
    Objective,
    Reading,
    describe_margin,
    metric_name,
    read_floor,
    read_guard,
)
from .polarity import Polarity
from .reading import ModelReading
from .rules import OF_WHICH_CLASS, read_by_rules

# A sentence about a judge does not speak to who reads it.
_TO_THE_READER = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|above|previous|prior|rule|text|everything)"
    r"|\b(?:system|assistant|user)\s*:|\bjson\b|[{<]\s*/?\"?\w+\"?\s*[:>]"
    r"|\byou (?:are|must|will)\b.{0,30}\b(?:answer|return)"
    r"|\b(?:return|output|answer with|set)\b.{0,20}\btarget\b"
)


class Unsettled(InputError):
    """What the objective means is not settled; the message has the readings, the hint what settles it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the person has decided beside the text."""

    target: str | None = None
    guards: tuple[Guard, ...] = ()
    floors: tuple[Floor, ...] = ()
    yes: bool = False
    """Whether to take the model's reading where it is valid, else the rules', without asking."""

    @classmethod
    def read(cls, words: ObjectiveWords, classes: ClassNames | None = None) -> Choices:
        """Read them as they are typed.

        Args:
            words: What the person says.
            classes: Those among which the judge chooses.

        Raises:
            InputError: A metric is unknown, or a guard or floor cannot be read.
        """
        named = classes.metric_name if classes else metric_name
        return cls(
            target=None if words.target is None else named(words.target),
            guards=tuple(read_guard(guard, named) for guard in words.guards),
            floors=tuple(read_floor(floor, named) for floor in words.floors),
            yes=words.yes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveWords:
    """What a person says about the goal: the sentence, and the options beside it."""

    text: str
    target: str | None = None
    guards: Sequence[str] = ()
    floors: Sequence[str] = ()
    yes: bool = False

    def read(
        self, judge: JudgePrompt | None, model: ModelReading | None = None, slices: Mapping[str, str] | None = None
    ) -> Objective:
        """Read it by rules, and by the model's reading where there is one; see `read_objective`."""
        return read_objective(
            self.text,
            target=self.target,
            guards=self.guards,
            floors=self.floors,
            yes=self.yes,
            judge=judge,
            model=model,
            slices=slices,
        )


def read_objective(
    text: str,
    *,
    target: str | None = None,
    guards: Sequence[str] = (),
    floors: Sequence[str] = (),
    yes: bool = False,
    judge: JudgePrompt | None = None,
    model: ModelReading | None = None,
    slices: Mapping[str, str] | None = None,
) -> Objective:
    """Read an objective from a sentence, by rules and by the model's reading where there is one.

    Args:
        text: What the person wants, such as `precision matters most; lose at most 3 points of recall`.
        target: The metric to raise, where the caller names it; then nothing is left to settle.
        guards: Guards the caller names, each `METRIC=LOSS`.
        floors: Floors the caller names, each `METRIC=VALUE`.
        yes: Whether to go on with the model's reading, else the rules', where they differ or a clause is left over.
        judge: The judge that it is about, which says what its positive class is.
        model: How the optimizer model read it; None where none was asked.
        slices: The predicates of saved slices, by their names.

    Raises:
        Unsettled: The two readings differ, or a clause was understood by neither; nothing is guessed.
        InputError: A metric is unknown, a guard or floor cannot be read, or there is neither text nor target.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the objective has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    if not text.strip() and target is None:
        raise InputError("the objective is empty", hint="say what should improve, or name a metric with --target")
    classes = ClassNames.of(judge.scale) if judge else None
    words = ObjectiveWords(text=text, target=target, guards=guards, floors=floors, yes=yes)
    choices = Choices.read(words, classes)
    saved = slices or {}
    without, named = cut_out_slices(text, saved)
    rules = read_by_rules(without, classes or (Polarity.of(judge) if judge else None))
    if len(named) == 1:
        rules = replace(rules, slice=saved[named[0]])
    elif named:
        rules = replace(rules, unread=(*rules.unread, f"the slices {' and '.join(named)}: a run works on one"))
    elif speaks_of_slice(without):
        known = f"saved are {', '.join(sorted(saved))}" if saved else "none is saved in the workspace's folder `slices`"
        rules = replace(rules, unread=tuple(f"{clause} ({known})" for clause in rules.unread))
    read = model.reading if model else None
    if read is not None and _means_the_same_errors(text, rules, read):
        read = replace(read, target=rules.target)
    reading = _join(rules, read) if read else rules
    notes = list(reading.notes)
    if model is not None and model.reading is None:
        notes.append(f"{model.model} gave no reading ({model.problem}); the rules alone read it")
    problems = _problems(without, rules, read, choices)
    if _TO_THE_READER.search(text):
        problems.append("some of it speaks to its reader, not about the judge")
    if problems and choices.target is None:
        if not choices.yes or reading.target is None:
            raise _unsettled(rules, model, problems, classes)
        if read is not None:
            reading = read
        notes += [f"settled by --yes: {problem}" for problem in problems]
    elif reading.unread:
        notes.append(f"left out, as it was not understood: {', '.join(reading.unread)}")
    return _choose(text, reading, choices, notes)


def _means_the_same_errors(text: str, rules: Reading, model: Reading) -> bool:
    """Whether both object to the same errors and chose a metric for it that the text does not name."""
    if rules.target is None or rules.direction is None or rules.direction != model.direction:
        return False
    named = {token.metric for token in tokens(text) if token.metric}
    both = {rules.target, model.target}
    return both <= OWN_DIRECTION.keys() and not both & named


def _join(rules: Reading, model: Reading) -> Reading:
    """Join two readings that agree: what one of them placed is placed."""
    guards = {guard.metric: guard for guard in (*model.guards, *rules.guards)}
    floors = {floor.metric: floor for floor in (*model.floors, *rules.floors)}
    # A second wish with a floor of its own has no other limit.
    guards = {metric: guard for metric, guard in guards.items() if not _second_wish_with_floor(guard, floors)}
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


def _problems(text: str, rules: Reading, model: Reading | None, choices: Choices) -> list[str]:
    """Say where the readings differ and which clauses neither placed; what the choices settle is no problem."""
    limited = bool(choices.guards or choices.floors)
    if model is None:
        problems = [] if limited and rules.target else [f"not read: {clause}" for clause in rules.unread]
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
        # Nothing else in the text says which class is meant, so that a model could only have guessed.
        problems += [f"not read: {clause}" for clause in ambiguous]
    if model.unread and rules.unread:
        problems += [f"neither placed {clause}" for clause in model.unread]
    elif rules.unread:
        problems += _lost(text, _join(rules, model)) + _denied_target(rules, model)
    return problems + _differing_limits(rules, model)


def _lost(text: str, reading: Reading) -> list[str]:
    """Say which amounts and metrics of the text the reading has not; a model that leaves some out need not say so."""
    limits = [guard.margin for guard in reading.guards] + [floor.value for floor in reading.floors]
    metrics = [reading.target or "", *(limit.metric for limit in (*reading.guards, *reading.floors))]
    # Recall of the negative class is specificity.
    metrics += ["recall" for metric in metrics if metric == "specificity"]
    denied = _denied_metrics(text)
    lost: list[str] = []
    for token in tokens(text):
        if token.symbol == "#":
            shares = (token.number, token.number / 100, 1 - token.number / 100)
            # What a confidence should be is no limit.
            kept = reading.target == BRIER or any(abs(limit - share) < 1e-9 for limit in limits for share in shares)
        elif token.symbol == "M":
            kept = token.metric in denied or any(metric.startswith(token.metric) for metric in metrics)
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
    """Say which guards and floors the readings do not share; the model may add those of clauses the rules left over."""
    problems: list[str] = []
    kinds = (
        ("guard", {guard.metric: guard.margin for guard in rules.guards}, {g.metric: g.margin for g in model.guards}),
        ("floor", {floor.metric: floor.value for floor in rules.floors}, {f.metric: f.value for f in model.floors}),
    )
    usual = COUNTERPARTS.get(model.target or ""), DEFAULT_MARGIN
    for kind, ours, theirs in kinds:
        for metric in sorted({*ours, *theirs}):
            first, second = ours.get(metric), theirs.get(metric)
            if first is None and (rules.unread or (kind == "guard" and (metric, second) == usual)):
                continue
            if kind == "guard" and first == SECOND_MARGIN and any(floor.metric == metric for floor in model.floors):
                continue
            if first is None or second is None or abs(first - second) > 1e-9:
                shown = ["none" if value is None else f"{value:g}" for value in (first, second)]
                problems.append(f"the rules read the {kind} of {metric} as {shown[0]}, the model as {shown[1]}")
    return problems


def _unsettled(
    rules: Reading, model: ModelReading | None, problems: Sequence[str], classes: ClassNames | None
) -> Unsettled:
    lines = [f"what the objective means is not settled: {'; '.join(problems)}", f"  the rules read: {rules.describe()}"]
    settling = [rules.flags()] if rules.target else []
    if model is not None and model.reading is not None:
        lines.append(f"  {model.model} read: {model.reading.describe()}")
        settling.insert(0, model.reading.flags())
    elif model is not None:
        lines.append(f"  {model.model} gave no reading: {model.problem}")
    settling = [flags for flags in dict.fromkeys(settling) if "--target" in flags] or ["--target METRIC"]
    hint = "say it otherwise, or settle it with " + ", or with ".join(settling)
    hint += " (also --guard METRIC=LOSS, --floor METRIC=VALUE)"
    if classes is not None:
        hint += f"; {classes.hint}"
    if "METRIC" not in settling[0]:
        whose = "the model's reading" if model is not None and model.reading is not None else "the rules' reading"
        hint += f"; --yes takes {whose}"
    return Unsettled("\n".join(lines), hint=hint)


def _choose(text: str, reading: Reading, choices: Choices, notes: list[str]) -> Objective:
    """Let the person's choices overrule the text aloud, and guard the target's counterpart where nothing does."""
    target = choices.target or reading.target
    assert target is not None
    if choices.target and reading.target and reading.target != choices.target:
        notes.append(f"the text asks for {reading.target}; the target given with it, {choices.target}, is followed")
    own: Direction | None = OWN_DIRECTION.get(target) or reading.direction
    if own and reading.direction and reading.direction != own:
        notes.append(f"the text speaks of {ERRORS[reading.direction]}; the target {target} is about {ERRORS[own]}")
    guards = {guard.metric: guard for guard in reading.guards}
    for guard in choices.guards:
        before = guards.get(guard.metric)
        if before is not None and before.margin != guard.margin:
            notes.append(
                f"the text lets {guard.metric} {describe_margin(guard.metric, before.margin)}; the guard given "
                f"with it lets it {describe_margin(guard.metric, guard.margin)}, and is followed"
            )
        guards[guard.metric] = guard
    floors = {floor.metric: floor for floor in reading.floors}
    for floor in choices.floors:
        before_floor = floors.get(floor.metric)
        if before_floor is not None and before_floor.value != floor.value:
            notes.append(f"the floor given for {floor.metric}, {floor.value:g}, is followed")
        floors[floor.metric] = floor
    if guards.pop(target, None) is not None:
        notes.append(f"a guard on the target {target} itself says nothing and is left out")
    counterpart = COUNTERPARTS.get(target)
    if counterpart and counterpart not in guards and counterpart not in floors:
        guards[counterpart] = Guard(metric=counterpart, margin=DEFAULT_MARGIN)
        notes.append(
            f"no guard on {counterpart} was read in it: it may fall by at most {100 * DEFAULT_MARGIN:g} points; "
            f"say how far with --guard {counterpart}=0.10"
        )
    if BRIER in (target, *guards) and BRIER not in plain_text(text):
        notes.append("calibration is compared by the Brier score (brier), the mean squared error of the probability")
    if split_class_metric(target)[1] is not None and not guards:
        guards["f1_macro_grades"] = Guard(metric="f1_macro_grades", margin=DEFAULT_MARGIN)
        notes.append(
            f"no guard was read in it: macro F1 may fall by at most {100 * DEFAULT_MARGIN:g} points, so that other "
            "classes do not pay for this one"
        )
    return Objective(
        text=text,
        target=target,
        direction=own,
        guards=tuple(guards.values()),
        floors=tuple(floors.values()),
        slice=reading.slice,
        notes=tuple(dict.fromkeys(notes)),
    )
