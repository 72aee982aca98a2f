"""The judges of the table: thirteen that ship, thirteen that are strange in some way, and five that
show decided cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from judgewright.judges import (
    BINARY,
    Case,
    CaseBank,
    Cases,
    DecisionRule,
    JudgePrompt,
    OutputScale,
    Platt,
    Registry,
)
from judgewright.judges.models import ModelSettings

HOSTILE = (
    'Braces {a} {{b}} {{{c}}} {% raw %} {# c #} ${x} $$ %s %(y)s "quotes" \'\'\' """ \\n \\ <b>'
    " 漢字 \u202e end"
)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A judge, how it is asked, and by which rule it decides."""

    prompt: JudgePrompt
    why: str
    """What is strange in it."""
    positive: Callable[[float], bool]
    """The decision on a grade, written down here and not read from the rule."""
    rule: DecisionRule
    settings: ModelSettings = field(default_factory=ModelSettings)
    levels: tuple[float, ...] = ()
    """Every grade, or the most telling ones of a long or endless scale; the lowest first."""
    words: tuple[str, ...] = ()
    """How a reply names each of them; empty for numbers."""
    numbers: tuple[float, ...] = ()
    """The number that a reply has for each of them, where that is another."""


_AT_LEAST_2 = (
    "answer_correctness",
    "answer_relevance",
    "context_relevance",
    "groundedness",
    "groundedness_no_reason",
)
_AT_LEAST_2 += ("interpretation_groundedness", "search_relevance")
_YES = ("answerability", "diras", "diras_no_definition", "diras_no_reason")


def shipped() -> list[Tried]:
    """Return the judges that ship, with their scales as their files say them."""
    found: list[Tried] = []
    for name in Registry().names():
        prompt, graded = Registry().get(name), name in _AT_LEAST_2
        levels: tuple[float, ...] = (
            (0.0, 1.0, 2.0, 3.0) if graded or name == "routing" else (0.0, 1.0)
        )
        positive, words = _at_least(2.0 if graded else 1.0), ("no", "yes") if name in _YES else ()
        if name == "routing":
            words = ("orders", "inventory", "support", "staff")
        if name == "diras_probability":
            levels, positive = (0.0, 0.25, 0.49, 0.5, 0.51, 1.0), _at_least(0.5)
        found.append(
            Tried(
                prompt=prompt,
                why="ships",
                positive=positive,
                rule=prompt.rule,
                levels=levels,
                words=words,
            )
        )
    return found


def strange() -> list[Tried]:
    """Return thirteen judges that a tool may get wrong."""
    usual = Registry().get("groundedness")
    numbers = (0.0, 1.0, 2.0, 3.0)
    case = Case({"source": "{ice} {{source}}\r\n", "statement": "Ice is cold."}, 0)
    prose = replace(
        usual, reply="End with a line: Score: and a whole number from 0 to 3.", reply_schema={}
    )
    graded = OutputScale(kind="graded", labels=("F", "D", "C", "B", "A"), threshold=3.0)
    passing = OutputScale(kind="binary", labels=("FAIL", "PASS"), threshold=1.0)
    german = OutputScale(kind="binary", labels=("nicht erfüllt", "erfüllt"), threshold=1.0)
    probability = Registry().get("diras_probability")
    calibration = Platt(slope=0.8, intercept=-1.1)

    def calibrated(grade: float) -> bool:
        inside = min(max(grade, 1e-6), 1 - 1e-6)
        return 1 / (1 + math.exp(1.1 - 0.8 * math.log(inside / (1 - inside)))) >= 0.4

    chosen = OutputScale(
        kind="choice", labels=("in the text", "outside the text", "nowhere"), threshold=1.0
    )
    fields = {"evaluation.notes": "text", "evaluation.score": "score"}
    return [
        _tried(
            "hostile",
            "signs of every template language in every text, and 20,000 letters",
            replace(usual, system=HOSTILE, criteria=HOSTILE + "x" * 20_000, reply=HOSTILE),
            levels=numbers,
            at=2,
        ),
        _tried(
            "chat",
            "a case with signs in it, and a reply in prose",
            replace(prose, cases=Cases(bank=CaseBank(cases=(case,)), by="fixed")),
            numbers,
            2,
        ),
        _tried(
            "brackets",
            "the verdict in [[...]], from 1 to 10",
            replace(
                prose,
                reply='Give your rating as "[[rating]]".',
                reply_mark="[[...]]",
                scale=OutputScale(low=1, high=10, threshold=6.0),
            ),
            tuple(map(float, range(1, 11))),
            6,
        ),
        _tried(
            "opening_word",
            "PASS or FAIL at the start of a reply in prose",
            replace(
                prose,
                reply="Begin with PASS or FAIL, then say why.",
                reply_mark="start",
                scale=passing,
            ),
            (0.0, 1.0),
            1,
            ("FAIL", "PASS"),
        ),
        _tried(
            "last_line",
            "grades from F to A on the last line",
            replace(
                prose,
                reply="End with the grade alone on the last line.",
                reply_mark="last line",
                scale=graded,
            ),
            tuple(map(float, range(5))),
            3,
            graded.labels,
        ),
        _tried(
            "inner_field",
            "from 0 to 100, in an object within the object",
            replace(usual, reply_schema=fields, scale=OutputScale(low=0, high=100, threshold=61.0)),
            (0.0, 1.0, 60.0, 61.0, 99.0, 100.0),
            61,
        ),
        _tried(
            "deutsch",
            "labels of two words with an umlaut",
            replace(
                usual,
                criteria=(
                    "Die Aussage muss aus der Quelle folgen. Größe, Maß und Datum müssen stimmen."
                ),
                reply=(
                    'Antworte als JSON: "begründung", dann "urteil": "erfüllt" oder "nicht'
                    ' erfüllt".'
                ),
                reply_schema={"begründung": "text", "urteil": "score"},
                scale=german,
            ),
            (0.0, 1.0),
            1,
            german.labels,
        ),
        _tried(
            "below_zero",
            "from -2 to 2, and the threshold between two grades",
            replace(usual, scale=OutputScale(low=-2, high=2, threshold=0.5)),
            (-2.0, -1.0, 0.0, 1.0, 2.0),
            0.5,
        ),
        Tried(
            prompt=replace(probability, name="calibrated"),
            why="a calibrated probability",
            positive=calibrated,
            rule=DecisionRule(threshold=0.4, calibration=calibration),
            levels=(0.0, 0.25, 0.7, 0.71, 0.72, 1.0),
        ),
        Tried(
            prompt=replace(
                probability,
                name="low_is_good",
                criteria=(
                    "Say how likely it is that the paragraph is of no use. A score of 0.3 or less"
                    " passes."
                ),
                scale=OutputScale(kind="probability", threshold=0.7, low_is_good=True),
            ),
            why="a probability of which low is good",
            positive=_at_least(0.7),
            rule=DecisionRule(threshold=0.7),
            levels=(0.0, 0.3, 0.69, 0.7, 0.71, 1.0),
            numbers=(1.0, 0.7, 0.31, 0.3, 0.29, 0.0),
        ),
        _tried(
            "choosing",
            "one of three labels of several words, in prose",
            replace(
                prose,
                reply="End with a line: Label: and the label.",
                reply_mark="Label: ...",
                scale=chosen,
            ),
            (0.0, 1.0, 2.0),
            1,
            chosen.labels,
        ),
        _tried(
            "bare",
            "one field, which tools use themselves, no criteria, and settings of its own",
            replace(usual, system="", criteria="", template="{{context}}", reply=""),
            numbers,
            2,
            settings=ModelSettings(
                temperature=0.7, max_tokens=77, extra_body={"reasoning_effort": "low", "top_p": 0.9}
            ),
        ),
        replace(
            _tried(
                "strict",
                "only the highest grade is positive, and the model takes no temperature",
                replace(usual, system="Judge. {{criteria}} Be brief."),
                numbers,
                3,
                settings=ModelSettings(temperature="omit"),
            ),
            rule=DecisionRule(threshold=3.0),
        ),
    ]


WORDS = ("ferry", "harbour", "mayor", "jobs", "bridge", "tax", "school", "ü", "海の家", "vote")


def with_cases() -> list[Tried]:
    """Return a judge of each kind of scale, with cases chosen in each way."""
    usual, yes_or_no = Registry().get("groundedness"), Registry().get("answerability")
    probability, routing = Registry().get("diras_probability"), Registry().get("routing")
    grades, halves = ("0", "1", "2", "3"), (0.0, 0.25, 0.49, 0.5, 0.51, 1.0)
    numbers = (0.0, 1.0, 2.0, 3.0)
    near = Cases(bank=_bank(usual, 300, grades))
    fixed = Cases(bank=_bank(usual, 9, grades), by="fixed", count=3)
    drawn = Cases(bank=_bank(yes_or_no, 40, ("no", "yes")), by="random", max_tokens=400)
    people = Cases(bank=_bank(probability, 60, ("0", "1"), BINARY), balanced=False)
    labels = Cases(bank=_bank(routing, 60, routing.scale.labels), count=6)
    names = ("orders", "inventory", "support", "staff")
    return [
        _tried("near_cases", "the nearest cases", replace(usual, cases=near), numbers, 2),
        _tried("fixed_cases", "three fixed cases", replace(usual, cases=fixed), numbers, 2),
        _tried(
            "random_cases",
            "cases that are drawn, within a limit of tokens",
            replace(yes_or_no, cases=drawn),
            (0.0, 1.0),
            1,
            ("no", "yes"),
        ),
        _tried(
            "people_cases",
            "cases of another scale than the judge's, and not balanced",
            replace(probability, cases=people),
            halves,
            0.5,
        ),
        _tried("label_cases", "of labels", replace(routing, cases=labels), numbers, 1, names),
    ]


def _bank(
    prompt: JudgePrompt, size: int, people: Sequence[str], labels: OutputScale | None = None
) -> CaseBank:
    """Return cases whose texts share words; one is hostile, but for what a template refuses."""
    cases: list[Case] = []
    for number in range(size):
        words = [WORDS[(number * k + k * k) % len(WORDS)] for k in range(1, 31)]
        inputs = {name: " ".join([name, *words, str(number)]) for name in prompt.inputs}
        if number == 3:
            inputs[prompt.inputs[0]] = HOSTILE.replace("{{{", "{ { {").replace("{{", "{ {")
        reason = "They say so.\n" if number % 2 else ""
        label = people[number % len(people)]
        cases.append(Case(inputs=inputs, label=label, reason=reason, id=f"case {number}"))
    return CaseBank(cases=tuple(cases), labels=labels)


def _tried(
    name: str,
    why: str,
    prompt: JudgePrompt,
    levels: tuple[float, ...],
    at: float,
    words: tuple[str, ...] = (),
    settings: ModelSettings | None = None,
) -> Tried:
    prompt = replace(prompt, name=name)
    return Tried(
        prompt=prompt,
        why=why,
        positive=_at_least(at),
        rule=prompt.rule,
        settings=settings or ModelSettings(),
        levels=levels,
        words=words,
    )


def _at_least(threshold: float) -> Callable[[float], bool]:
    return lambda grade: grade >= threshold
