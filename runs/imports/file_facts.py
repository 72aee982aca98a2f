"""What a file says of a judge beside its prompt: comments, labels, thresholds, and the schema of
its answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...judges import OutputScale

PASSES = re.compile(
    r"pass(?!word)|(?:^|_)hit(?:$|s$)|(?:^|_|is)ok(?:$|_|[A-Z])|accept|keep|kept|approv|good|publish|success|green|ship|release|deliver"
    r"|(?:^|_)gate(?:$|_)|admit|allow|enough|ready|(?:should|can|may)_(?:be_)?(?:send|sent|publish|ship|show|print|go)|akzept|acept|aprob|bestanden|gut|positive|is_?correct|is_?right|freigabe|freigegeben|besteht|zulässig|zulaessig|admis|valid[ée]|apto",
    re.IGNORECASE,
)
"""Names of what is true where a row passes."""
FAILS = re.compile(
    r"fail|flag|block|reject|(?:^|_|is)bad|hide|hidden|escalat|hallucinat|violat|unsafe|durchgefallen|alert|needs_|review|gesperrt|sperre|ablehn|abgelehnt|nacharbeit|invalid",
    re.IGNORECASE,
)
THRESHOLD_NAME = re.compile(
    r"(?:^|_)(?:threshold|thresh|cut_?off|pass_?mark|passing_?(?:score|grade)|min(?:imum)?_?(?:score|grade|rating|quality|points)"
    r"|(?:score|grade)_?min|pass_?(?:from|at|score|grade|level)|required_?(?:score|grade)|good_?enough|accept_?(?:from|at|score)|gate_?(?:at|score)|schwelle|schwellenwert|umbral|seuil)$",
    re.IGNORECASE,
)
"""Names of a threshold in code; `minScore` is read as `min_Score`."""
VERDICT_NAME = re.compile(
    r"^(?:\w*_)?(?:score|grade|rating|points?|stars?|ascore|verdict|label|outcome|result|decision|value|judge?ment|punkte|note|overall|quality|total"
    r"|bewertung|urteil|mark|level|veredicto|puntuacion|nota)$",
    re.IGNORECASE,
)
LABEL_LISTS = re.compile(
    r"^(?:rails|choices|labels|classes|categories|allowed_values|feedback_value_type|verdicts|options|grades|ratings"
    r"|choice_strings|levels|scale|stufen|skala|noten|urteile|niveaux|niveles)$",
    re.IGNORECASE,
)
LABEL_SCORES = re.compile(
    r"(?:choice_?scores|label_?to_?score|score_?map|scores?|grade_?to_?score|points|choices)$",
    re.IGNORECASE,
)
COUNTS = r"\b(?:len|sum|mean|count|max|min|Counter|total|average|avg)\b"
"""Functions whose result is of many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A value that code compares with a number or labels."""

    operator: str
    """`>=`, `>`, `<=`, `<`, or `in`."""
    number: float = 0.0
    labels: tuple[str, ...] = ()
    passes: bool | None = None
    """Whether the comparison is true for a row that passes; None where the code does not say."""
    of_verdict: bool = True
    """Whether what is compared has the name of a verdict."""
    counts: bool = False
    """Whether rows are only counted by it."""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What a file says beside its prompt."""

    comments: str = ""
    thresholds: tuple[float, ...] = ()
    """The numbers that it gives the name of a threshold."""
    elsewhere: str = ""
    """The code by which it takes a threshold from somewhere else."""
    compared: tuple[Compared, ...] = ()
    labels: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    """The grades that it names as such."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """The number that it gives each label."""
    answer_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """The fields of the JSON that it asks the endpoint for, each with what it says of it."""


NO_FACTS = FileFacts()


def ordered_by_scores(labels: Sequence[str], scores: Mapping[str, float]) -> tuple[str, ...] | None:
    """Return labels with the worst first by the numbers that the file gives them; None where it
    gives them none.
    """
    if not labels or set(labels) != set(scores) or len(set(scores.values())) != len(scores):
        return None
    return tuple(sorted(labels, key=lambda label: scores[label]))


def threshold_in_code(facts: FileFacts, scale: OutputScale) -> tuple[float | None, str]:
    """Return the grade of the scale from which a row passes, by the file's code, and the code that
    leaves it open.
    """
    if scale.kind not in ("graded", "probability"):
        return None, ""
    found: set[float] = set()
    for number in facts.thresholds:
        place = _place(number, scale)
        if place is None:
            return None, f"a threshold of {number:g}"
        found.add(place)
    for compared in _by_side(
        [one for one in facts.compared if not one.labels or one.passes is not None]
    ):
        place = _of_labels(compared, scale) if compared.labels else _of_number(compared, scale)
        if place == "open":
            return None, compared.code
        if place is not None:
            found.add(float(place))
    if len(found) > 1:
        return None, "several thresholds in its code"
    if found:
        return found.pop(), ""
    return None, facts.elsewhere


def split_in_code(facts: FileFacts, scale: OutputScale) -> tuple[float | None, str]:
    """Return the grade at which code parts labels from the others without a name for what passes;
    the better ones do.

    Where two comparisons part them in different places, the code is returned that leaves it open.
    """
    found: dict[float, None] = {}
    for compared in facts.compared if scale.kind == "graded" else ():
        if not compared.labels or compared.passes is not None:
            continue
        ends = {_of_labels(replace(compared, passes=passes), scale) for passes in (True, False)} - {
            None
        }
        grades = [end for end in ends if isinstance(end, float)]
        if not ends or (compared.counts and not compared.of_verdict):
            continue
        if compared.counts or not grades:
            return None, compared.code
        found[grades[0]] = None
        if len(found) > 1:
            return None, compared.code
    return next(iter(found), None), ""


def _by_side(compared: Sequence[Compared]) -> list[Compared]:
    """Return comparisons with the labels that pass as one, and those that fail: `x == "good" or x
    == "best"`.
    """
    joined: list[Compared] = []
    for side in (True, False):
        of_labels = [one for one in compared if one.labels and one.passes is side]
        if of_labels:
            labels = tuple(label for one in of_labels for label in one.labels)
            joined.append(replace(of_labels[0], labels=labels))
    return [one for one in compared if not one.labels] + joined


def probability_from(number: float, scale: OutputScale) -> float | None:
    """Return the grade for a probability from which a row passes; None where all rows would, or it
    is none.
    """
    grade = scale.written(number)
    return grade if scale.contains(grade) and grade > 0.0 else None


def _grades(scale: OutputScale) -> list[float]:
    if scale.kind == "probability":
        return [1.0, 0.0] if scale.low_is_good else [0.0, 1.0]
    if not scale.labels:
        return list(scale.levels)
    plain = all(re.fullmatch(r"-?[0-9.]+", label) for label in scale.labels)
    return [float(label) for label in scale.labels] if plain else []


def _place(number: float, scale: OutputScale, step: int = 0) -> float | None:
    """Return the grade for a number, so many steps better; None where it is none of the scale's."""
    if scale.kind == "probability":
        return None if step else probability_from(number, scale)
    grades = _grades(scale)
    if number not in grades or grades.index(number) + step >= len(grades):
        return None
    at = grades.index(number) + step
    return float(at) if scale.labels else grades[at]


def _of_number(compared: Compared, scale: OutputScale) -> float | str | None:
    grades = _grades(scale) or [0.0, 1.0]
    low, high = min(grades), max(grades)
    if compared.operator == "in" or not low <= compared.number <= high:
        return None
    if compared.passes is None:
        return "open" if low < compared.number < high else None
    rises = grades[0] < grades[-1]
    upward = compared.operator in (">=", ">")
    if (upward == compared.passes) != rises:
        return "open"
    itself = (compared.operator in (">=", "<=")) == compared.passes
    place = _place(compared.number, scale, 0 if itself else 1)
    return "open" if place is None else place


def _of_labels(compared: Compared, scale: OutputScale) -> float | str | None:
    if not scale.labels or len(scale.labels) < 3:
        return None
    folded = [label.casefold() for label in scale.labels]
    places = sorted(
        {folded.index(label.casefold()) for label in compared.labels if label.casefold() in folded}
    )
    if not places:
        return None
    if len(places) == len(folded):
        return None  # a list of all of them
    if compared.passes and places == list(range(places[0], len(folded))):
        return float(places[0])
    if (
        not compared.passes
        and places == list(range(places[-1] + 1))
        and places[-1] + 1 < len(folded)
    ):
        return float(places[-1] + 1)
    return "open"
