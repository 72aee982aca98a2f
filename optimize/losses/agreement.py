"""From an objective in words to what is done: rules and the optimizer model must agree, or the
person decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import InputError, JudgePrompt, split_class_metric
from .class_names import ClassNames
from .differences import join_readings, mean_the_same_errors, open_questions
from .lexicon import BRIER, cut_out_slices, plain_text, speaks_of_slice
from .objective import (
    COUNTERPARTS,
    DEFAULT_MARGIN,
    ERRORS,
    MAX_CHARACTERS,
    OWN_DIRECTION,
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
from .rules import read_by_rules

# A sentence about a judge does not speak to who reads it.
_TO_THE_READER = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|above|previous|prior|rule|text|everything)"
    r"|\b(?:system|assistant|user)\s*:|\bjson\b|[{<]\s*/?\"?\w+\"?\s*[:>]"
    r"|\byou (?:are|must|will)\b.{0,30}\b(?:answer|return)"
    r"|\b(?:return|output|answer with|set)\b.{0,20}\btarget\b"
)


class Unsettled(InputError):
    """What the objective means is not settled; the message has the readings, the hint what settles
    it.

    Args:
        message: The readings.
        problems: What is open, each in words.
        understood: What the rules made of the rest; empty where they found nothing to improve.
        hint: What settles it.
    """

    def __init__(
        self, message: str, *, problems: Sequence[str], understood: str, hint: str
    ) -> None:
        super().__init__(message, hint=hint)
        self.problems, self.understood = tuple(problems), understood


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
        self,
        judge: JudgePrompt | None,
        model: ModelReading | None = None,
        slices: Mapping[str, str] | None = None,
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
        text: What the person wants, such as `precision matters most; lose at most 3 points of
            recall`.
        target: The metric to raise, where the caller names it; then nothing is left to settle.
        guards: Guards the caller names, each `METRIC=LOSS`.
        floors: Floors the caller names, each `METRIC=VALUE`.
        yes: Whether to go on with the model's reading, else the rules', where they differ or a
            clause is left over.
        judge: The judge that it is about, which says what its positive class is.
        model: How the optimizer model read it; None where none was asked.
        slices: The predicates of saved slices, by their names.

    Raises:
        Unsettled: The two readings differ, or a clause was understood by neither; nothing is
            guessed.
        InputError: A metric is unknown, a guard or floor cannot be read, or there is neither text
            nor target.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the objective has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    if not text.strip() and target is None:
        raise InputError(
            "the objective is empty", hint="say what should improve, or name a metric with --target"
        )
    classes = ClassNames.of(judge.scale) if judge else None
    words = ObjectiveWords(text=text, target=target, guards=guards, floors=floors, yes=yes)
    choices = Choices.read(words, classes)
    saved = slices or {}
    without, named = cut_out_slices(text, saved)
    rules = read_by_rules(without, classes or (Polarity.of(judge) if judge else None))
    if len(named) == 1:
        rules = replace(rules, slice=saved[named[0]])
    elif named:
        rules = replace(
            rules, unread=(*rules.unread, f"the slices {' and '.join(named)}: a run works on one")
        )
    elif speaks_of_slice(without):
        known = (
            f"saved are {', '.join(sorted(saved))}"
            if saved
            else "none is saved in the workspace's folder `slices`"
        )
        rules = replace(rules, unread=tuple(f"{clause} ({known})" for clause in rules.unread))
    read = model.reading if model else None
    if read is not None and mean_the_same_errors(text, rules, read):
        read = replace(read, target=rules.target)
    reading = join_readings(rules, read) if read else rules
    notes = list(reading.notes)
    if model is not None and model.reading is None:
        notes.append(f"{model.model} gave no reading ({model.problem}); the rules alone read it")
    problems = open_questions(without, rules, read, limited=bool(choices.guards or choices.floors))
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


def _unsettled(
    rules: Reading, model: ModelReading | None, problems: Sequence[str], classes: ClassNames | None
) -> Unsettled:
    lines = [
        f"what the objective means is not settled: {'; '.join(problems)}",
        f"  the rules read: {rules.describe()}",
    ]
    settling = [rules.flags()] if rules.target else []
    if model is not None and model.reading is not None:
        lines.append(f"  {model.model} read: {model.reading.describe()}")
        settling.insert(0, model.reading.flags())
    elif model is not None:
        lines.append(f"  {model.model} gave no reading: {model.problem}")
    settling = [flags for flags in dict.fromkeys(settling) if "--target" in flags] or [
        "--target METRIC"
    ]
    hint = "say it otherwise, or settle it with " + ", or with ".join(settling)
    hint += " (also --guard METRIC=LOSS, --floor METRIC=VALUE)"
    if classes is not None:
        hint += f"; {classes.hint}"
    if "METRIC" not in settling[0]:
        whose = (
            "the model's reading"
            if model is not None and model.reading is not None
            else "the rules' reading"
        )
        hint += f"; --yes takes {whose}"
    understood = replace(rules, unread=()).describe() if rules.target else ""
    return Unsettled("\n".join(lines), problems=problems, understood=understood, hint=hint)


def _choose(text: str, reading: Reading, choices: Choices, notes: list[str]) -> Objective:
    """Let the person's choices overrule the text aloud, and guard the target's counterpart where
    nothing does.
    """
    target = choices.target or reading.target
    assert target is not None
    if choices.target and reading.target and reading.target != choices.target:
        notes.append(
            f"the text asks for {reading.target}; the target given with it, {choices.target}, is"
            " followed"
        )
    own: Direction | None = OWN_DIRECTION.get(target) or reading.direction
    if own and reading.direction and reading.direction != own:
        notes.append(
            f"the text speaks of {ERRORS[reading.direction]}; the target {target} is about"
            f" {ERRORS[own]}"
        )
    guards = {guard.metric: guard for guard in reading.guards}
    for guard in choices.guards:
        before = guards.get(guard.metric)
        if before is not None and before.margin != guard.margin:
            notes.append(
                f"the text lets {guard.metric} {describe_margin(guard.metric, before.margin)}; the"
                f" guard given with it lets it {describe_margin(guard.metric, guard.margin)}, and"
                " is followed"
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
            f"no guard on {counterpart} was read in it: it may fall by at most"
            f" {100 * DEFAULT_MARGIN:g} points; say how far with --guard {counterpart}=0.10"
        )
    if BRIER in (target, *guards) and BRIER not in plain_text(text):
        notes.append(
            "calibration is compared by the Brier score (brier), the mean squared error of the"
            " probability"
        )
    if split_class_metric(target)[1] is not None and not guards:
        guards["f1_macro_grades"] = Guard(metric="f1_macro_grades", margin=DEFAULT_MARGIN)
        notes.append(
            f"no guard was read in it: macro F1 may fall by at most {100 * DEFAULT_MARGIN:g}"
            " points, so that other classes do not pay for this one"
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
