"""What a person wants of a judge, read from a sentence by fixed rules.

No model is asked: the target metric, the direction of the errors and the guards are found by words,
read back in plain language, and overruled by flags where the two disagree. A positive verdict means
grounded, relevant, correct; a false positive is a bad row that was let through.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...judges import InputError

Direction = Literal["fp", "fn"]

TARGETS: tuple[str, ...] = (
    "precision",
    "recall",
    "specificity",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "mcc",
    "kappa",
    "off_by_one",
)
"""The metrics an objective may name as its target or guard."""

DEFAULT_MARGIN = 0.05
"""How much a guarded metric may fall where nobody said how much."""
MAX_CHARACTERS = 4000

_DIRECTIONS: Mapping[str, Direction] = {"precision": "fp", "specificity": "fp", "recall": "fn"}
_COUNTERPARTS = {"precision": "recall", "specificity": "recall", "recall": "precision"}
_ERRORS: Mapping[Direction, str] = {"fp": "false positives", "fn": "false negatives"}

_SPELLINGS = {
    "balanced_accuracy": r"balanced[ _-]accuracy",
    "off_by_one": r"off[ _-]by[ _-](?:one|1)",
    "precision": r"precision",
    "recall": r"recall|sensitivity|true positive rate",
    "specificity": r"specificity|true negative rate",
    "f1": r"f[ _-]?1(?:[ _-]score)?",
    "mcc": r"mcc|matthews(?: correlation)?",
    "kappa": r"(?:cohen'?s )?kappa",
    "accuracy": r"accuracy",
}
_METRIC = re.compile(r"\b(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _SPELLINGS.items()) + r")\b")
_CLAUSE = re.compile(
    r"[;,:!?\n]+|\.(?!\d)|\b(?:but|without|while|although|though"
    r"|and (?=do not|don't|never|keep|ignore|raise|improve|increase|maximi[sz]e))\b"
)
_FLOOR = re.compile(r"\b(?:below|under|above|over|at least|(?:stays?|remains?) (?:at|above|over)|minimum)\b(?=.*\d)")
"""A floor for the metric itself, rather than how far it may fall."""
_ALLOWANCE = re.compile(
    r"\b(?:los(?:e|es|ing|s)|drop(?:s|ping)?|fall(?:s|ing)?|decreas(?:e|es|ing)|declin(?:e|es|ing)|sacrific(?:e|es|ing)"
    r"|keep(?:ing)?|hold"
    r"|giv(?:e|ing) up|hurt(?:s|ing)?|harm(?:s|ing)?|within"
    r"|at most|maintain(?:ing)?|preserv(?:e|ing)|cost(?:s|ing)?)\b"
)
_AT_ANY_COST = re.compile(r"\bat (?:any|all|whatever) costs?\b")
_RAISING = re.compile(r"\b(?:rais|improv|increas|maximi[sz]|boost|lift)(?:e|es|ing|s)?\b")
_NUMBER_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_NUMBER_WORDS)})\b(?=[ -]*(?:percent|points?\b|pp\b|pts?\b))")
_AMOUNT = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})[\s-]*(?P<unit>%|percent\w*|points?\b|pp\b|pts?\b)?")
_UNIMPORTANT = re.compile(
    r"\b(?:is fine|good enough|is acceptable|less important|secondary|does(?: not|n't) matter|matters? less|ignore)\b"
)
_ABSTAIN = re.compile(r"\babst(?:ain|ention)\w*|\bunscored\b|\bno verdict\b")
_CHARGED = re.compile(r"\b(?:errors?|wrong|mistakes?|penali[sz]e|charge)\b")

_BAD = (
    r"(?:un(?:supported|grounded|faithful|helpful|related|true|acceptable)|irrelevant|incorrect|inaccurate"
    r"|invalid|false|wrong|bad|hallucinat\w*|fabricat\w*|invented|made[ -]up"
    r"|not (?:supported|grounded|relevant|correct|faithful|true|acceptable))"
)
_GOOD = r"(?:supported|grounded|faithful|relevant|correct|accurate|valid|true|good|helpful|acceptable|right)"
_WORTH = re.compile(rf"\b(?:(?P<bad>{_BAD})|(?P<good>{_GOOD}))\b")
_TOO_EASY = re.compile(
    r"\bfalse positives?\b|\bfalse alarms?\b|\btoo (?:lenient|generous|permissive|lax|easy)\b|\bstrict(?:er)?\b"
)
_TOO_HARD = re.compile(
    r"\bfalse negatives?\b|\b(?:too|overly) (?:strict|harsh|severe)\b|\bmore lenient\b|\bless strict\b"
)
_NEVER = re.compile(r"\b(?:do not|don't|never|must not|should not|stop|avoid|no longer|instead of)\b")
_CALLING = re.compile(r"\b(?:call|label|mark|grade|rate|judge|treat|count|classify|flag)(?:ing|ling|ed|led|d|s)?\b")
_PASSING = re.compile(r"\b(?:accept|pass|approve|let|allow)(?:ing|ting|s)?\b")
_FAILING = re.compile(r"\b(?:reject|refuse|fail|discard|miss|overlook)(?:ing|s|es)?\b")
_TOO_MANY = re.compile(
    rf"\b(?:too many|fewer|reduce|less|cut(?: down)?)\b.{{0,40}}\b(?:{_BAD}|hallucinations?|fabrications?)\b"
)
_FINDING = re.compile(r"\b(?:catch|find|detect|spot)(?:ing|es|s)?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A metric that may not fall by more than `margin` (a fraction: 0.03 is three points)."""

    metric: str
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What to improve, which errors to fight, and what must not be lost for it."""

    text: str
    target: str
    direction: Direction | None
    """Which errors the target is about; None where it is about both kinds."""
    guards: tuple[Guard, ...] = ()
    notes: tuple[str, ...] = ()
    """What was assumed or overruled while reading, for the person to see."""

    def describe(self) -> str:
        """Read the objective back in plain words."""
        wishes = [f"Raise {self.target}"]
        if self.direction:
            wishes[0] += f" by making fewer {_ERRORS[self.direction]}"
        for guard in self.guards:
            wishes.append(f"{guard.metric} may fall by at most {100 * guard.margin:g} points")
        return "; ".join(wishes) + "."

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the objective, as it was put and as it was read."""
        return {
            "text": self.text,
            "read_as": self.describe(),
            "target": self.target,
            "direction": self.direction,
            "guards": [{"metric": guard.metric, "margin": guard.margin} for guard in self.guards],
            "notes": list(self.notes),
        }


def read_objective(text: str, *, target: str | None = None, guards: Sequence[str] = ()) -> Objective:
    """Read an objective from a sentence; a flag overrules the text, and a note says so.

    Args:
        text: What the person wants, such as `precision matters most; lose at most 3 points of recall`.
        target: The metric to raise, where the caller names it.
        guards: Guards the caller names, each `METRIC:-MARGIN`, such as `recall:-0.05`.

    Raises:
        InputError: A metric is unknown, a guard cannot be read, or there is neither text nor target.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the objective has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    if not text.strip() and target is None:
        raise InputError("the objective is empty", hint="say what should improve, or name a metric with --target")
    clauses = _clauses(text)
    notes: list[str] = []
    named_target, direction = _read_target(clauses)
    chosen = _choose_target(named_target, direction, target, notes)
    chosen_guards = _choose_guards(_read_guards(clauses, notes), map(read_guard, guards), chosen, notes)
    if any(_ABSTAIN.search(clause) for clause in clauses):
        notes.append("rows without a verdict are unscored: they enter no mean and no loss, and their share is reported")
        if any(_ABSTAIN.search(clause) and _CHARGED.search(clause) for clause in clauses):
            notes.append(
                "abstentions are not charged as errors: the gate refuses to decide where too many are unscored"
            )
    own = _DIRECTIONS.get(chosen) or direction
    if direction and own and direction != own:
        notes.append(f"the text speaks of {_ERRORS[direction]}; the target {chosen} is about {_ERRORS[own]}")
    return Objective(text=text, target=chosen, direction=own, guards=chosen_guards, notes=tuple(notes))


def _clauses(text: str) -> list[str]:
    """Split a text into clauses; where one raises a metric and goes on to what may be lost, it is two."""
    plain = _AT_ANY_COST.sub(" ", text.lower())
    plain = _NUMBER_WORD.sub(lambda match: str(_NUMBER_WORDS[match[1]]), plain)
    clauses: list[str] = []
    for clause in _CLAUSE.split(plain):
        wish, allowance = _RAISING.search(clause), _ALLOWANCE.search(clause)
        if wish and allowance and _METRIC.search(clause, wish.end(), allowance.start()):
            clauses += [clause[: allowance.start()], clause[allowance.start() :]]
        else:
            clauses.append(clause)
    return [clause.strip() for clause in clauses if clause.strip()]


def read_guard(text: str) -> Guard:
    """Read `recall:-0.05` or `recall=0.05`: in both, the loss that is allowed.

    Raises:
        InputError: It is not a known metric with a margin between 0 and 1.
    """
    name, between, amount = text.partition("=" if "=" in text else ":")
    metric = metric_name(name)
    try:
        margin = abs(float(amount))
    except ValueError:
        margin = math.nan
    if not between or not 0.0 <= margin < 1.0:
        raise InputError(
            f"guard {text!r} is not METRIC=LOSS with a loss between 0 and 1",
            hint=f"a loss of three points is written {metric}=0.03, or {metric}:-0.03",
        )
    return Guard(metric=metric, margin=margin)


def metric_name(text: str) -> str:
    """Return the contract's name of a metric, however it is spelt.

    Raises:
        InputError: There is no such target; near names are given.
    """
    plain = text.strip().lower()
    match = _METRIC.fullmatch(plain)
    if match is not None and match.lastgroup:
        return match.lastgroup
    near = difflib.get_close_matches(plain.replace("-", "_"), TARGETS, n=3, cutoff=0.5)
    suggestion = f": near are {', '.join(near)}" if near else ""
    raise InputError(
        f"{text!r} is not a metric an objective can have{suggestion}",
        hint="it can be " + ", ".join(TARGETS),
    )


def _read_target(clauses: Sequence[str]) -> tuple[str | None, Direction | None]:
    """Return the first metric named as a wish, and the direction of errors complained of."""
    named: str | None = None
    direction: Direction | None = None
    for clause in clauses:
        metric = _METRIC.search(clause)
        is_guard = metric is not None and _ALLOWANCE.search(clause)
        if is_guard or _UNIMPORTANT.search(clause):
            continue
        if named is None and metric is not None:
            named = metric.lastgroup
        if direction is None:
            direction = _complaint(clause)
    return named, direction


def _complaint(clause: str) -> Direction | None:
    """Return which errors a clause complains of, None where it does not say."""
    if _TOO_HARD.search(clause):  # before the other, since "too strict" holds "strict"
        return "fn"
    if _TOO_EASY.search(clause):
        return "fp"
    worths = [m.lastgroup for m in _WORTH.finditer(clause)]
    never = _NEVER.search(clause) is not None
    if never and worths and _CALLING.search(clause):
        return "fp" if worths[-1] == "good" else "fn"
    if never and _PASSING.search(clause):
        return "fp"
    if never and _FAILING.search(clause):
        # Missing something bad lets it through; missing or rejecting anything else loses a good row.
        return "fp" if "bad" in worths and re.search(r"\b(?:miss|overlook)", clause) else "fn"
    if _FINDING.search(clause):
        return "fp" if "bad" in worths else "fn"
    if _CALLING.search(clause) and set(worths) == {"bad", "good"}:  # what is bad is called good, or the reverse
        return "fp" if worths[-1] == "good" else "fn"
    if _TOO_MANY.search(clause):
        return "fp"
    return None


def _choose_target(named: str | None, direction: Direction | None, flag: str | None, notes: list[str]) -> str:
    """Return the flag's metric, else the text's, else the one its complaint is about, else f1."""
    implied = named or {"fp": "precision", "fn": "recall", None: None}[direction]
    if flag is not None:
        chosen = metric_name(flag)
        if implied is not None and implied != chosen:
            notes.append(f"the text asks for {implied}; the target given with it, {chosen}, is followed")
        return chosen
    if implied is None:
        notes.append("the text names no metric and no kind of error: the target is f1")
        return "f1"
    if named is None:
        notes.append(f"the text complains of {_ERRORS[direction or 'fp']}: the target is {implied}")
    return implied


def _read_guards(clauses: Sequence[str], notes: list[str]) -> Iterator[Guard]:
    for clause in clauses:
        if not _ALLOWANCE.search(clause):
            continue
        metrics = dict.fromkeys(match.lastgroup for match in _METRIC.finditer(clause) if match.lastgroup)
        # The metric's own digit (f1, off by 1) is not the amount.
        rest = _METRIC.sub(" ", clause)
        for metric in metrics:
            if _FLOOR.search(rest):
                notes.append(
                    f"{clause!r} names a floor, which is not a guard: {metric} may fall by at most "
                    f"{100 * DEFAULT_MARGIN:g} points; say how far with --guard {metric}:-0.03"
                )
                yield Guard(metric=metric, margin=DEFAULT_MARGIN)
            else:
                yield Guard(metric=metric, margin=_margin(rest))


def _margin(clause: str) -> float:
    amount = _AMOUNT.search(clause)
    if amount is None:
        return DEFAULT_MARGIN
    number = float(amount["number"])
    # Without a unit, 3 is three points and 0.03 is a fraction.
    if amount["unit"] is not None or number >= 1.0:
        number /= 100.0
    return min(number, 0.99)


def _choose_guards(
    from_text: Iterable[Guard], from_flags: Iterable[Guard], target: str, notes: list[str]
) -> tuple[Guard, ...]:
    """Let flags overrule the text, drop a guard on the target, and guard its counterpart where nothing does."""
    guards: dict[str, Guard] = {}
    for guard in from_text:
        guards.setdefault(guard.metric, guard)
    for guard in from_flags:
        before = guards.get(guard.metric)
        if before is not None and before.margin != guard.margin:
            notes.append(
                f"the text lets {guard.metric} fall by {100 * before.margin:g} points; "
                f"the guard given with it, {100 * guard.margin:g} points, is followed"
            )
        guards[guard.metric] = guard
    if guards.pop(target, None) is not None:
        notes.append(f"a guard on the target {target} itself says nothing and is left out")
    counterpart = _COUNTERPARTS.get(target)
    if counterpart and counterpart not in guards:
        guards[counterpart] = Guard(metric=counterpart, margin=DEFAULT_MARGIN)
        notes.append(
            f"no guard on {counterpart} was read in it: it may fall by at most {100 * DEFAULT_MARGIN:g} points; "
            f"say how far with --guard {counterpart}=0.10"
        )
    return tuple(guards.values())
