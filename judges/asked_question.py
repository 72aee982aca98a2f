"""A judge as the typed question of a decision model, and the answer as a verdict.

What a decision model is asked is the judge's own text: role and criteria are the instructions, the
anchors are the levels, the inputs are the state. It answers with a probability for each grade, and
the verdict is the probability that the row is positive: of the grades at or above the judge's
threshold together. A choice is the label of highest probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import yaml

from .errors import BudgetSpent, InputError
from .models.model import Completion, Message, Request
from .models.question import INTERFACES, DecisionApi, Option, Question, State, question_request
from .prompt import CRITERIA_PLACE, PLACEHOLDER, JudgePrompt, TextDumper, render
from .reply import answer_of
from .rows import Row
from .scale import PROBABILITY, OutputScale
from .verdict import Answer

if TYPE_CHECKING:
    from .models.client import Client
    from .models.counters import Progress

_AT_A_TIME = 1_000
"""Rows whose joint requests are made at a time."""
CASES = "decided_cases"
"""What the cases that a judge shows are called in the state."""


@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """How a judge is asked of decision models of one interface.

    Raises:
        InputError: The judge's scale has too many grades or labels for that interface.
    """

    prompt: JudgePrompt
    api: DecisionApi
    shared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By row: the inputs in a state that several judges share; empty where each has its own."""
    beside: tuple[AskedQuestion, ...] = ()
    """The questions of other judges that go out with it."""
    varied: Question | None = None
    """The question with its options in another order or under other names; see
    `order_sensitivity`."""
    order: tuple[int, ...] = ()
    """Which of the judge's options stands at each place of it."""

    @property
    def by_name(self) -> bool:
        """Whether the inputs go by name, and not as the filled template."""
        return INTERFACES[self.api].by_name

    @cached_property
    def question(self) -> Question:
        """What is asked; the same for every row."""
        if self.varied is not None:
            return self.varied
        prompt, scale = self.prompt, self.prompt.scale
        names = scale.labels or tuple(f"{grade:g}" for grade in scale.levels)
        options = tuple(Option(name, scale.anchors.get(name, "")) for name in names)
        kind = "choice" if scale.kind == "choice" else "score"
        if scale.kind in ("probability", "binary"):
            kind, options = "yes_no", _yes_no(scale)
        try:
            question = Question(kind=kind, instructions=self._instructions(), options=options)
            question.require_for(self.api)
        except InputError as error:
            raise InputError(
                f"{prompt.name}@{prompt.version} is no question for a decision model: {error}",
                hint=error.hint,
            ) from None
        return question

    def _instructions(self) -> str:
        prompt, criteria = self.prompt, self.prompt.criteria.strip()
        before, placed, after = prompt.system.strip().partition(CRITERIA_PLACE)
        sections = [before + criteria + after] if placed else [before, criteria]
        if self.by_name or self.shared:
            fields = ", ".join(f"`{name}`" for name in prompt.inputs)
            sections.append(f"What is to be judged stands in the state: {fields}.")
        return "\n\n".join(section for section in sections if section)

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
        if self.shared:
            inputs = self.shared[row.id]
            template = "\n\n".join(f"{{{{{name}}}}}" for name in inputs)
            return inputs if self.by_name else render(template, inputs, salt="")
        self.prompt.require_inputs(row)
        cases = self.prompt.shown_cases.text(row) if self.prompt.cases_by_row else ""
        if self.by_name:
            inputs = {name: row.inputs[name] for name in self.prompt.inputs}
            return {CASES: cases, **inputs} if cases else inputs
        return cases + render(self.prompt.template, row.inputs, salt="")

    def request(self, row: Row, *, repeat: int = 0) -> Request:
        """Return the request about one row."""
        return question_request([self.message], self.state(row), repeat=repeat)

    @property
    def shared_inputs(self) -> tuple[str, ...]:
        """Names of the inputs in a state that several judges share."""
        return tuple(next(iter(self.shared.values()), ()))

    def ask_jointly(
        self,
        rows: Sequence[Row],
        client: Client,
        *,
        repeat: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """Ask this and the questions beside it about the rows that lack an answer to one of them,
        and record each answer as if it was asked alone.

        Raises:
            BudgetSpent: It does not cover all rows; what was answered is kept.
        """
        from .models.decision_wire import split_answers

        questions = (self, *self.beside)
        messages = [one.message for one in questions]
        for first in range(0, len(rows), _AT_A_TIME):
            part = rows[first : first + _AT_A_TIME]
            alone = [[one.request(row, repeat=repeat) for one in questions] for row in part]
            recorded = [client.recorded(each) for each in zip(*alone, strict=True)]
            lacking = [i for i, there in enumerate(zip(*recorded, strict=True)) if not all(there)]
            together = [
                question_request(messages, self.state(part[i]), repeat=repeat) for i in lacking
            ]
            outcomes = client.ask(together, progress=progress) if together else []
            answered = [
                pair
                for i, outcome in zip(lacking, outcomes, strict=True)
                if isinstance(outcome, Completion) and outcome.refusal is None
                for pair in zip(alone[i], split_answers(outcome), strict=True)
            ]
            client.keep(answered)
            if spent := [one for one in outcomes if isinstance(one, BudgetSpent)]:
                raise spent[0]

    def empty_body(self) -> dict[str, Any]:  # Any: JSON
        """Return what is sent about a row whose texts are empty."""
        from .models.decision_wire import wire_body

        prompt = self.prompt.to_count()
        row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
        shared = {"": dict.fromkeys(self.shared_inputs, "")} if self.shared else {}
        state = AskedQuestion(prompt=prompt, api=self.api, shared=shared).state(row)
        questions = [one.question for one in (self, *self.beside)]
        return wire_body(self.api, "MODEL", questions, state)

    def describe(self) -> str:
        """Show `empty_body` as YAML, and below it in one line what of the judges is not sent."""
        body = self.empty_body()
        text = yaml.dump(body, Dumper=TextDumper, sort_keys=False, allow_unicode=True, width=110)
        left_out = dict.fromkeys(words for one in (self, *self.beside) for words in one.left_out)
        return f"{text}# not sent: {', '.join(left_out) or 'nothing'}"

    def read(self, completion: Completion, *, row_id: str = "") -> Answer:
        """Turn an answer into a verdict, or into the reason why there is none."""
        return answer_of(completion, self._read, row_id=row_id)

    def _read(self, text: str) -> dict[str, Any]:  # Any: fields of a verdict
        from .models.decision_wire import read_distribution

        shares = read_distribution(self.api, self.question, text)
        if self.order:
            shares = tuple(shares[self.order.index(i)] for i in sorted(self.order))
        if self.prompt.scale.kind == "choice":
            confidence = max(shares)
            score = float(shares.index(confidence))
        else:
            # Sums of shares may end a digit above 1.
            score = min(sum([shares[place] for place in self.good]), 1.0)
            confidence = max(score, 1.0 - score)
        return {
            "score": score,
            "positive": self.scale.positive(score),
            "confidence": confidence,
            "distribution": shares,
            "parser": "distribution",
        }

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the judge is not sent, in words."""
        prompt, fields = self.prompt, self.prompt.reply_fields
        parts = {
            "the template's words beside its fields": self.by_name
            and PLACEHOLDER.sub("", prompt.template).strip(),
            "the form of the reply": prompt.reply or prompt.reply_schema,
            "reasons and stated confidence": fields["text"] or fields["confidence"],
            "decided cases": prompt.cases is not None and (self.shared or not prompt.cases_by_row),
        }
        return tuple(words for words, present in parts.items() if present)


def _yes_no(scale: OutputScale) -> tuple[Option, Option]:
    names = scale.labels or ("0", "1")
    no, yes = (
        scale.anchors.get(name, scale.anchors.get(str(grade), name if scale.labels else ""))
        for grade, name in enumerate(names)
    )
    return Option("no", no), Option("yes", yes)


def verdict_scale(scale: OutputScale) -> OutputScale:
    """Return the scale of what a decision model's answers say on a judge's scale: a probability,
    positive from a half on, but the labels of a choice.
    """
    return scale if scale.kind in ("choice", "probability") else PROBABILITY
