"""From an objective to what is done: exact forms are taken as they stand, a model's reading of the
words wants a yes, and what neither settles is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...judges import InputError, JudgePrompt, split_class_metric
from .class_names import ClassNames
from .exact import EXAMPLE, read_exact
from .objective import (
    COUNTERPARTS,
    DEFAULT_MARGIN,
    ERRORS,
    MAX_CHARACTERS,
    OWN_DIRECTION,
    Direction,
    Guard,
    Objective,
    Reading,
    describe_margin,
    metric_name,
    read_floor,
    read_guard,
)
from .reading import ModelReading


class Unsettled(InputError):
    """What the objective means is not settled; the hint has the options that settle it.

    Args:
        message: What is open.
        hint: What settles it.
        reading: What a yes would take; None where there is nothing to take.
    """

    def __init__(self, message: str, *, hint: str, reading: Reading | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reading = reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveWords:
    """What a person says about the goal: the text, and the options beside it."""

    text: str
    target: str | None = None
    guards: Sequence[str] = ()
    floors: Sequence[str] = ()
    yes: bool = False
    """Whether to take the model's reading without asking."""

    def needs_reading(
        self, judge: JudgePrompt | None, slices: Mapping[str, str] | None = None
    ) -> bool:
        """Whether a model has to read it: there are words, no target beside them, and not all of
        them are in exact forms.
        """
        if self.target is not None or not self.text.strip():
            return False
        exact = read_exact(self.text, ClassNames.of(judge.scale) if judge else None, slices or {})
        return exact.target is None or bool(exact.unread)

    def options(self, classes: ClassNames | None) -> Reading:
        """Read the options as they are typed.

        Raises:
            InputError: A metric is unknown, or a guard or floor cannot be read.
        """
        named = classes.metric_name if classes else metric_name
        return Reading(
            target=None if self.target is None else named(self.target),
            guards=tuple(read_guard(guard, named) for guard in self.guards),
            floors=tuple(read_floor(floor, named) for floor in self.floors),
        )

    def read(
        self,
        judge: JudgePrompt | None,
        model: ModelReading | None = None,
        slices: Mapping[str, str] | None = None,
    ) -> Objective:
        """Settle it, with the model's reading where there is one; see `read_objective`."""
        text = self.text
        if len(text) > MAX_CHARACTERS:
            raise InputError(
                f"the objective has {len(text):,} characters; {MAX_CHARACTERS:,} are read"
            )
        if not text.strip() and self.target is None:
            raise InputError(
                "the objective is empty",
                hint="say what should improve, or name a metric with --target",
            )
        classes = ClassNames.of(judge.scale) if judge else None
        options = self.options(classes)
        reading = read_exact(text, classes, slices or {})
        notes: list[str] = []
        if options.target is None and (reading.target is None or reading.unread):
            if model is None or model.reading is None:
                raise _open_question(reading, model, options, classes)
            reading = model.reading
            if reading.target is None or not self.yes:
                raise _echo(reading, model.model, options, classes)
            notes.append(f"read by {model.model}, and confirmed")
        limited = options.target is not None and bool(options.guards or options.floors)
        if reading.unread and not limited:
            limits = "" if model else "; limits beside --target are said with --guard and --floor"
            notes.append(f"left out, as it was not read: {', '.join(reading.unread)}{limits}")
        return _choose(text, reading, options, [*reading.notes, *notes])


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
    """Settle what an objective means; nothing is guessed.

    Args:
        text: What the person wants: `raise precision; recall may fall by 3 points`, or words that a
            model has read.
        target: The metric to raise, where the caller names it; then nothing is left to settle.
        guards: Guards the caller names, each `METRIC=LOSS`.
        floors: Floors the caller names, each `METRIC=VALUE`.
        yes: Whether to take the model's reading.
        judge: The judge that it is about.
        model: How the optimizer model read it; None where none was asked.
        slices: The predicates of saved slices, by their names.

    Raises:
        Unsettled: It is not in exact forms, and no reading of it has a yes.
        InputError: A metric is unknown, a guard or floor cannot be read, or there is neither text
            nor target.
    """
    words = ObjectiveWords(text=text, target=target, guards=guards, floors=floors, yes=yes)
    return words.read(judge, model, slices)


def _open_question(
    exact: Reading, model: ModelReading | None, options: Reading, classes: ClassNames | None
) -> Unsettled:
    """Ask for the options, as far as they are not known: nobody has read the words."""
    lines = ["what the objective means is not settled"]
    lines += [f"  not in exact words: {clause}" for clause in exact.unread]
    if not exact.unread:
        lines.append("  it names no metric to raise")
    if model is not None:
        lines.append(f"  {model.model} gave no reading: {model.problem}")
    hint = (
        f"settle it with {_flags(exact, options)} (also --guard METRIC=LOSS, --floor"
        f" METRIC=VALUE); or write it in exact words, such as {EXAMPLE!r}"
    )
    return Unsettled("\n".join(lines), hint=hint if classes is None else f"{hint}; {classes.hint}")


def _echo(reading: Reading, model: str, options: Reading, classes: ClassNames | None) -> Unsettled:
    """Ask for a yes to the model's reading; where it has no target, for the target."""
    read = f"\n  {model} read: {reading.describe()}"
    hint = f"settle it with {_flags(reading, options)}"
    if reading.target is not None:
        return Unsettled(
            f"what the objective means is to be confirmed{read}",
            hint=f"--yes takes this reading; or {hint}",
            reading=reading,
        )
    hint = hint if classes is None else f"{hint}; {classes.hint}"
    return Unsettled(f"what the objective means is not settled{read}", hint=hint)


def _flags(reading: Reading, options: Reading) -> str:
    """Return the whole options that settle a reading; what is not known stands in capitals."""
    guards = {guard.metric: guard for guard in (*reading.guards, *options.guards)}
    floors = {floor.metric: floor for floor in (*reading.floors, *options.floors)}
    stated = replace(reading, guards=tuple(guards.values()), floors=tuple(floors.values()))
    return " ".join(filter(None, ["" if reading.target else "--target METRIC", stated.flags()]))


def _choose(text: str, reading: Reading, options: Reading, notes: list[str]) -> Objective:
    """Let the person's options overrule the text aloud, and guard the target's counterpart where
    nothing does.
    """
    target = options.target or reading.target
    assert target is not None
    if options.target and reading.target and reading.target != options.target:
        notes.append(
            f"the text asks for {reading.target}; the target given with it, {options.target}, is"
            " followed"
        )
    own: Direction | None = OWN_DIRECTION.get(target) or reading.direction
    if own and reading.direction and reading.direction != own:
        notes.append(
            f"the text speaks of {ERRORS[reading.direction]}; the target {target} is about"
            f" {ERRORS[own]}"
        )
    guards = {guard.metric: guard for guard in reading.guards}
    for guard in options.guards:
        before = guards.get(guard.metric)
        if before is not None and before.margin != guard.margin:
            notes.append(
                f"the text lets {guard.metric} {describe_margin(guard.metric, before.margin)}; the"
                f" guard given with it lets it {describe_margin(guard.metric, guard.margin)}, and"
                " is followed"
            )
        guards[guard.metric] = guard
    floors = {floor.metric: floor for floor in reading.floors}
    for floor in options.floors:
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
    if "brier" in (target, *guards) and "brier" not in text.lower():
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
