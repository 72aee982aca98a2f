"""A judge as the typed question of a decision model, and the answer as a verdict.

What a decision model is asked is the judge's own text: role and criteria are the instructions, the
anchors are the levels, the inputs are the state. It answers with a probability for each grade, and
the verdict is the probability that the row is positive: of the grades at or above the judge's
threshold together. A choice is the label of highest probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from .distribution_reading import NoDistribution
from .errors import InputError
from .models.decision_wire import read_distribution, wire_body
from .models.model import Completion, Message, Request
from .models.question import DecisionApi, Option, Question, State, question_request
from .prompt import CRITERIA_PLACE, PLACEHOLDER, JudgePrompt, TextDumper, render
from .reply import why_broken
from .rows import Row
from .scale import PROBABILITY, OutputScale
from .verdict import Answer, Unscored, Verdict

PARSER = "distribution"
"""What `Verdict.parser` says of these verdicts."""
CASES = "decided_cases"
"""What the cases that a judge shows are called in the state."""
DISTRIBUTION_FIELDS = ("distribution", "expected_grade", "argmax_grade")
"""What `distribution_fields` returns."""


@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """How a judge is asked of decision models of one interface.

    Raises:
        InputError: The judge's scale is no question of that interface; see `question_of`.
    """

    prompt: JudgePrompt
    api: DecisionApi
    state_inputs: tuple[str, ...] = ()
    """The inputs in the state, where several judges share it."""
    varied: Question | None = None
    """The question with its options in another order or under other names; see
    `order_sensitivity`."""
    order: tuple[int, ...] = ()
    """Which of the judge's options stands at each place of it."""

    @cached_property
    def question(self) -> Question:
        """What is asked; the same for every row."""
        if self.varied is not None:
            return self.varied
        by_name = self.api == "systemone" or bool(self.state_inputs)
        question = question_of(self.prompt, by_name=by_name)
        question.require_for(self.api)
        return question

    @cached_property
    def message(self) -> Message:
        """What carries the question."""
        return self.question.message(self.api)

    @cached_property
    def good(self) -> tuple[int, ...]:
        """The places of the grades that are positive."""
        scale = self.prompt.scale
        if scale.kind == "probability":
            return (0,) if scale.low_is_good else (1,)
        return tuple(place for place, grade in enumerate(scale.levels) if scale.positive(grade))

    @cached_property
    def scale(self) -> OutputScale:
        """The scale of the verdicts."""
        return verdict_scale(self.prompt.scale)

    def state(self, row: Row) -> State:
        """Return what is judged: the inputs by name, or the filled template where the interface
        takes a text.
        """
        self.prompt.require_inputs(row)
        cases = self.prompt.shown_cases.text(row) if self.prompt.cases is not None else ""
        inputs = {name: row.inputs[name] for name in self.state_inputs or self.prompt.inputs}
        if self.state_inputs and self.api != "systemone":
            return "\n\n".join(f"{name}:\n{text}" for name, text in inputs.items())
        if self.api == "systemone":
            return {CASES: cases, **inputs} if cases else inputs
        return cases + render(self.prompt.template, row.inputs, salt="")

    def request(self, row: Row, *, repeat: int = 0) -> Request:
        """Return the request about one row."""
        return question_request([self.message], self.state(row), repeat=repeat)

    def empty_body(self) -> dict[str, Any]:  # Any: JSON
        """Return what is sent about a row whose texts are empty."""
        prompt = self.prompt.to_count()
        row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
        state = AskedQuestion(prompt=prompt, api=self.api).state(row)
        return wire_body(self.api, "MODEL", [self.question], state)

    def describe(self) -> str:
        """Show `empty_body` as YAML, and below it in one line what of the judge is not sent."""
        body = yaml.dump(
            self.empty_body(), Dumper=TextDumper, sort_keys=False, allow_unicode=True, width=110
        )
        return f"{body}# not sent: {', '.join(left_out(self.prompt, self.api)) or 'nothing'}"

    def read(self, completion: Completion, *, row_id: str = "") -> Answer:
        """Turn an answer into a verdict, or into the reason why there is none."""
        common = {
            "row_id": row_id,
            "reply_hash": completion.reply_hash,
            "tokens_in": completion.tokens_in,
            "tokens_out": completion.tokens_out,
            "cost": completion.cost,
            "latency": completion.latency,
        }
        broken = why_broken(completion)
        if broken is not None:
            return Unscored(reason=broken[0], detail=broken[1], **common)
        try:
            distribution = read_distribution(self.api, self.question, completion.text)
        except NoDistribution as error:
            return Unscored(reason="parse", detail=str(error), **common)
        if self.order:
            distribution = tuple(distribution[self.order.index(i)] for i in sorted(self.order))
        score, confidence = self._decide(distribution)
        return Verdict(
            score=score,
            positive=self.scale.positive(score),
            confidence=confidence,
            distribution=distribution,
            parser=PARSER,
            **common,
        )

    def _decide(self, distribution: Sequence[float]) -> tuple[float, float]:
        """Return score and confidence."""
        if self.prompt.scale.kind == "choice":
            best = max(range(len(distribution)), key=distribution.__getitem__)
            return float(best), distribution[best]
        # Sums of shares may end a digit above 1.
        positive = min(sum([distribution[place] for place in self.good]), 1.0)
        return positive, max(positive, 1.0 - positive)


def question_of(prompt: JudgePrompt, *, by_name: bool = False) -> Question:
    """Return the question that a judge is.

    Args:
        prompt: The judge.
        by_name: Whether inputs are given by name, so that the instructions name them.

    Raises:
        InputError: Its scale has too many grades or labels.
    """
    scale = prompt.scale
    instructions = _instructions(prompt, by_name=by_name)
    try:
        if scale.kind in ("probability", "binary"):
            return Question(kind="yes_no", instructions=instructions, options=_yes_no(scale))
        names = scale.labels or tuple(f"{grade:g}" for grade in scale.levels)
        options = tuple(Option(name, scale.anchors.get(name, "")) for name in names)
        kind = "choice" if scale.kind == "choice" else "score"
        return Question(kind=kind, instructions=instructions, options=options)
    except InputError as error:
        raise InputError(
            f"{prompt.name}@{prompt.version} is no question for a decision model: {error}",
            hint=error.hint,
        ) from None


def _yes_no(scale: OutputScale) -> tuple[Option, Option]:
    names = scale.labels or ("0", "1")
    no, yes = (
        scale.anchors.get(name, scale.anchors.get(str(grade), name if scale.labels else ""))
        for grade, name in enumerate(names)
    )
    return Option("no", no), Option("yes", yes)


def _instructions(prompt: JudgePrompt, *, by_name: bool) -> str:
    before, placed, after = prompt.system.strip().partition(CRITERIA_PLACE)
    criteria = prompt.criteria.strip()
    sections = [before + criteria + after] if placed else [before, criteria]
    if by_name:
        names = (*prompt.inputs, *([CASES] if prompt.cases is not None else []))
        fields = ", ".join(f"`{name}`" for name in names)
        sections.append(f"What is to be judged stands in the state: {fields}.")
    return "\n\n".join(section for section in sections if section)


def verdict_scale(scale: OutputScale) -> OutputScale:
    """Return the scale of what a decision model's answers say on a judge's scale: a probability,
    positive from a half on, but the labels of a choice.
    """
    return scale if scale.kind in ("choice", "probability") else PROBABILITY


def left_out(prompt: JudgePrompt, api: DecisionApi) -> tuple[str, ...]:
    """Return what of a judge a decision model is not sent, in words."""
    by_name = api == "systemone"
    parts = {
        "the template's words beside its fields": by_name
        and PLACEHOLDER.sub("", prompt.template).strip(),
        "the form of the reply": prompt.reply or prompt.reply_schema,
        "reasons and stated confidence": prompt.reply_fields["text"]
        or prompt.reply_fields["confidence"],
        f"{len(prompt.examples)} examples": prompt.examples,
    }
    return tuple(words for words, present in parts.items() if present)


def expected_grade(answer: Verdict, scale: OutputScale) -> float | None:
    """Return the mean grade of a verdict's distribution on the judge's own scale; None without a
    distribution or an order of grades.
    """
    if not answer.distribution or not scale.levels or scale.kind == "choice":
        return None
    return sum(g * p for g, p in zip(scale.levels, answer.distribution, strict=True))


def distribution_fields(answer: Answer, scale: OutputScale) -> dict[str, Any]:  # Any: JSON
    """Return what files and pages say of a decision model's answer beside its score: the
    probability of each grade or label of the judge's own scale, the expected and the most probable
    grade; None where there is none.
    """
    fields: dict[str, Any] = dict.fromkeys(DISTRIBUTION_FIELDS)  # Any: JSON
    if isinstance(answer, Unscored) or not answer.distribution:
        return fields
    shares = answer.distribution
    names = scale.labels or tuple(f"{grade:g}" for grade in scale.levels) or ("no", "yes")
    argmax = None
    if scale.levels and scale.kind != "choice":
        argmax = scale.levels[shares.index(max(shares))]
    values = dict(zip(names, shares, strict=True)), expected_grade(answer, scale), argmax
    return dict(zip(DISTRIBUTION_FIELDS, values, strict=True))
