"""What a person wants of a judge that chooses among classes, read from a sentence by fixed rules.

The target is a metric of all classes, or one of a class, such as `recall[billing]`. What the rules do not read is asked
about: nothing is taken for granted silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...judges import CLASS_METRICS, InputError, OutputScale
from .objective import DEFAULT_MARGIN, Floor, Guard, Objective

_OF_CLASSES = {
    "f1_macro_grades": r"(?:macro[ _-]?(?:averaged[ _-])?f[ _-]?1|f[ _-]?1[ _-]macro(?:[ _-]grades)?)",
    "accuracy_grades": r"accuracy(?:[ _-]grades)?",
    "kappa_grades": r"(?:cohen'?s )?kappa(?:[ _-]grades)?",
}
_OF_ONE = {
    "precision": r"precision",
    "recall": r"(?:recall|sensitivity)",
    "specificity": r"specificity",
    "f1": r"f[ _-]?1(?:[ _-]score)?",
}
_CLAUSE = re.compile(r"[;,:!?\n]+|\.(?:\s|$)|\b(?:but|while|although|though|without(?= ))\b")
_ALLOWED = re.compile(r"\b(?:los(?:e|es|ing|s)|fall|drop|hurt|harm|sacrific|keep|hold|at most|within)\w*", re.I)
_FLOOR = re.compile(r"\b(?:above|below|under|over|at least|minimum|no less)\b", re.I)
_UNIMPORTANT = re.compile(
    r"\b(?:fine|good enough|secondary|ignor\w+|matters? less|(?:does|do|is) ?n[o']t (?:matter|important))\b", re.I
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%|per ?cent\b|points?\b|pp\b)?")
_CALLED = r"(?:call|label|mark|rout|send|sent|classif|treat|mistak|tak|put|judg|fil)\w*(?: (?:as|to|into|for))?"
_TURNED = re.compile(
    r"\b(?:that|which|who) (?:is|are)\b|\binstead\b|\brather\b|\b(?:should|must|ought to) (?:be|go|have)\b|\bbelongs?\b"
    r"|\b(?:really|actually|confus\w+|and|or|only|except|may|can|more often|allowed)\b",
    re.I,
)
"""Words after which it is not plain which class is people's and which the judge's."""
_MISSED = re.compile(r"\b(?:miss|overlook|find|catch|recogni[sz]|detect|spot)\w*", re.I)
_FEWER = re.compile(r"\b(?:fewer|less|stop|too (?:many|often|much))\b", re.I)
_OBJECTION = r"\b(?:not|never|stop|don[’']t|avoid|no longer|fewer|wrongly|too often)\b"
_TOO_OFTEN = r"\b(?:too (?:many|often)|everything|wrongly)\b"
_RARE = re.compile(r"\b(?:every|each|all|rare|small|minority)\b.{0,20}\b(?:class|label|source|categor|route)", re.I)


def read_class_objective(
    text: str,
    scale: OutputScale,
    *,
    target: str | None = None,
    guards: Sequence[str] = (),
    floors: Sequence[str] = (),
    yes: bool = False,
) -> Objective:
    """Read an objective for a choice; a flag overrules the text, and a note says so.

    Args:
        text: What the person wants, such as `billing questions must not be called technical`.
        scale: The classes.
        target: The metric to raise, where the caller names it; then nothing is left to settle.
        guards: Guards the caller names, each `METRIC=LOSS`, such as `recall[billing]=0.05`.
        floors: Floors the caller names, each `METRIC=VALUE`.
        yes: Whether to go on where a clause was not read.

    Raises:
        InputError: A metric or class is unknown, it is not clear which metric is to rise, or a clause was not read.
    """
    wanted: list[str] = []
    limits: dict[str, Guard] = {}
    unread: list[str] = []
    for clause in filter(None, map(str.strip, _CLAUSE.split(text))):
        metric = None if _UNIMPORTANT.search(clause) or _FLOOR.search(clause) else _read_wish(clause, scale)
        if metric is None:
            unread.append(repr(clause))
        elif _ALLOWED.search(clause):
            limits[metric] = Guard(metric=metric, margin=_margin(clause))
        elif metric not in wanted:
            wanted.append(metric)
    named = class_metric_name(target, scale) if target is not None else None
    notes: list[str] = []
    if named is None and (len(wanted) != 1 or (unread and not yes)):
        problems = [f"not read: {', '.join(unread)}"] if unread else []
        if len(wanted) != 1:
            problems.insert(0, f"it names {' and '.join(wanted)}" if wanted else "no metric or error was read in it")
        hint = _targets(scale) + ("; --yes leaves out what was not read" if len(wanted) == 1 else "")
        raise InputError(f"what the objective {text!r} means is not settled: {'; '.join(problems)}", hint=hint)
    chosen = named or wanted[0]
    if named is not None and wanted and wanted != [named]:
        notes.append(f"the text asks for {' and '.join(wanted)}; the target given with it, {named}, is followed")
    if unread:
        notes.append(f"left out, as it was not understood: {', '.join(unread)}")
    limits |= {metric: Guard(metric=metric, margin=margin) for metric, margin in _read_flags("guard", guards, scale)}
    minima = tuple(Floor(metric=metric, value=value) for metric, value in _read_flags("floor", floors, scale))
    if limits.pop(chosen, None) is not None:
        notes.append(f"a guard on the target {chosen} itself says nothing and is left out")
    if chosen not in CLASS_METRICS and not limits:
        limits["f1_macro_grades"] = Guard(metric="f1_macro_grades", margin=DEFAULT_MARGIN)
        notes.append(
            f"no guard was read in it: macro F1 may fall by at most {100 * DEFAULT_MARGIN:g} points, so that other "
            "classes do not pay for this one"
        )
    return Objective(
        text=text, target=chosen, direction=None, guards=tuple(limits.values()), floors=minima, notes=tuple(notes)
    )


def class_metric_name(text: str, scale: OutputScale) -> str:
    """Return the stored name of a metric of classes, however it is spelt: `macro F1`, `recall[Billing]`.

    Raises:
        InputError: There is no such metric or class.
    """
    plain = text.strip()
    bracketed = re.fullmatch(r"(.+?)\[(.+)\]", plain)
    if bracketed is not None:
        for name, spelling in _OF_ONE.items():
            if re.fullmatch(spelling, bracketed[1].strip(), re.I):
                classes = [c for c in scale.labels if c.lower() == bracketed[2].strip().lower()]
                if classes:
                    return f"{name}[{classes[0]}]"
                raise InputError(
                    f"{text!r}: the judge has no class {bracketed[2]!r}", hint="it has " + ", ".join(scale.labels)
                )
    for name, spelling in _OF_CLASSES.items():
        if re.fullmatch(spelling, plain, re.I):
            return name
    if re.fullmatch(_OF_ONE["f1"], plain, re.I):
        return "f1_macro_grades"
    raise InputError(f"{text!r} is not a metric of a judge that chooses among classes", hint=_targets(scale))


def _targets(scale: OutputScale) -> str:
    first = scale.labels[0]
    return (
        f"name the metric with --target: f1_macro_grades (macro F1), accuracy_grades, kappa_grades, or that of one "
        f"class: recall[{first}], precision[{first}], f1[{first}]"
    )


def _read_wish(clause: str, scale: OutputScale) -> str | None:
    """Return the metric that a clause asks for; None where it is not clear."""
    named = _named_classes(clause, scale)
    one = next((name for name, spelling in _OF_ONE.items() if re.search(rf"\b{spelling}\b", clause, re.I)), None)
    overall = [name for name, spelling in _OF_CLASSES.items() if re.search(rf"\b{spelling}\b", clause, re.I)]
    if overall:
        return overall[0] if not named and len(overall) == 1 else None
    if one is not None and len(named) == 1:
        return f"{one}[{named[0]}]"
    if one is not None:
        return "f1_macro_grades" if one == "f1" and not named else None
    if _TURNED.search(clause):
        return None
    if len(named) == 2:
        # The first is people's class, the second the judge's.
        first, second = (_spelling(name) for name in named)
        passive = rf"{first}.*\b{_CALLED}(?: \w+)? {second}"
        active = rf"{_OBJECTION}.*\b{_CALLED} {first}(?: \w+)?(?: (?:as|to|into|for))? {second}"
        return f"recall[{named[0]}]" if re.search(f"{passive}|{active}", clause, re.I) else None
    if len(named) == 1 and re.search(rf"{_TOO_OFTEN}.*\b{_CALLED} {_spelling(named[0])}", clause, re.I):
        return f"precision[{named[0]}]"
    if len(named) == 1 and _MISSED.search(clause) and not _FEWER.search(clause):
        return f"recall[{named[0]}]"
    if not named and _RARE.search(clause):
        return "f1_macro_grades"
    return None


def _named_classes(clause: str, scale: OutputScale) -> list[str]:
    """Return the classes that a clause names, in its order; `billing_info` is also named by `billing info`."""
    places: dict[str, int] = {}
    for name in scale.labels:
        if match := re.search(_spelling(name), clause, re.I):
            places[name] = match.start()
    return sorted(places, key=lambda name: places[name])


def _spelling(name: str) -> str:
    words = r"[ _-]".join(map(re.escape, re.split(r"[ _-]+", name)))
    return rf"(?<!\w){words}(?!\w)"


def _margin(clause: str) -> float:
    # The metric's own digit is no amount.
    amount = _AMOUNT.search(re.sub(r"f[ _-]?1", " ", clause, flags=re.I))
    if amount is None:
        return DEFAULT_MARGIN
    number = float(amount[1])
    if amount[2] is not None or number >= 1.0:
        number /= 100.0
    return min(number, 0.99)


def _read_flags(kind: str, flags: Sequence[str], scale: OutputScale) -> Iterator[tuple[str, float]]:
    for text in flags:
        name, _, amount = text.rpartition("=" if "=" in text else ":")
        try:
            number = abs(float(amount))
        except ValueError:
            number = 1.0
        if not name or not number < 1.0:
            raise InputError(
                f"{kind} {text!r} is not METRIC=NUMBER with a number between 0 and 1",
                hint="such as f1_macro_grades=0.03, or recall[CLASS]=0.05",
            )
        yield class_metric_name(name, scale), number
