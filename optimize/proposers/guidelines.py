"""Guidelines: the reasons that annotators gave are distilled into rules, merged, and offered one by
one.

The requests that distil name nothing that changes from step to step, so that each is paid once a
run; rules are merged anew only where the prompt that they are added to has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...judges import (
    DATA_NOTICE,
    Completion,
    Filled,
    Instruction,
    JudgePrompt,
    Message,
    Request,
    Row,
    number_lines,
    read_answer,
    render,
)
from ..brief import Brief
from ..brief_figures import describe_goal
from ..invariants import PhraseIndex
from ..passages import focus_of, shown_inputs
from .prompt_parts import Part
from .proposer import NoProposal, Proposal, StepBound
from .texts import TEXT_LIMIT
from .workbench import Workbench

T = TypeVar("T")

MOST_REASONS = 120
"""Reasons read at most; those of the rows with the largest losses, where there are more."""
EACH = 10
"""Reasons in one request."""
ROW_BYTES = 900
REASON_BYTES = 600
MOST_WORDS, RULE_BYTES = 60, 600
"""The longest rule."""
SIBLINGS = 4
"""Proposals of one step are offered different rules: they go by turns over so many that are left.
"""
_TRY = 100_000
"""Added to the repeat index for each further try."""
_DISTIL = Instruction(
    name="distil_rules",
    system=(
        "You distil rules from annotators' reasons. Each line is a row of an LLM judge: the grade"
        " that a person gave it, why, and its texts. Write for each line the general rule of"
        " grading that its reason follows, in one or two sentences that a judge can apply to rows"
        " it has never seen, with the limit within which it holds. Name no person, number,"
        " quotation or topic of the row. Where a reason says nothing beyond its own row, write an"
        " empty text."
    ),
    template="{{lines}}",
    reply=(
        'Answer with a JSON object that has one field:\n"rules": a list with one text for each'
        " line, in their order."
    ),
    fields={"rules": "texts"},
)
_MERGE = Instruction(
    name="merge_rules",
    system=(
        "You merge rules for an LLM judge. You are shown the judge's prompt, where it errs, and"
        " numbered rules that were distilled from annotators' reasons. Join rules that say the"
        " same. Where two contradict each other, keep the one that more rows follow, and take the"
        " other in as its limit. Leave out what the criteria say already, and what would break the"
        " rightly judged rows. Keep the wording of a rule that needs no change. Give 30 at most."
        " Each text begins with the numbers of the rules that went into it, in square brackets: [2,"
        " 5] The rule."
    ),
    template="{{rules}}",
    reply=(
        'Answer with a JSON object that has one field:\n"rules": the list of merged rules, the most'
        " useful first."
    ),
    fields={"rules": "texts"},
)
_NUMBERED = re.compile(r"\s*\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]\s*(\S.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, and the rows whose reasons led to it."""

    text: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """Offers one rule a proposal, as a sentence at the end of the criteria, until all have been
    offered.
    """

    name: str = field(default="guidelines", init=False)
    parts: tuple[Part, ...] = field(default=("criteria",), init=False)
    retries: int = 2
    """How often a reply that cannot be used is asked for again."""

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`: reasons are distilled once a run, rules merged in every step."""
        batches = -(-min(MOST_REASONS, training_rows) // EACH)
        tries = 1 + self.retries
        return StepBound(optimizer=tries, again=self.retries, once=batches * tries, exchanges=tries)

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        column = brief.explanation
        if column is None:
            return NoProposal("no column of annotators' reasons is named (--explanation COLUMN)")
        noted = rows_with_reasons(bench, column)
        if not noted:
            return NoProposal(f"no training row of the slice has a reason in the column {column!r}")
        rules, reason = self._distil(noted, column, brief, bench)
        if not rules:
            return NoProposal(reason or "the reasons give no rule that holds for other rows")
        rules, reason = self._merge(rules, brief, bench)
        if not rules:
            return NoProposal(reason or "the criteria say already what the reasons ask for")
        tried = [prompt.criteria, *(attempt.prompt.criteria for attempt in brief.past)]
        left = [
            rule
            for rule in _by_loss(rules, bench)
            if not any(rule.text in criteria for criteria in tried)
        ]
        if not left:
            return NoProposal(f"all {len(rules)} rules that the reasons give have been offered")
        rule = left[(step - 1) % min(len(left), SIBLINGS)]
        break_ = "\n" if "\n" in prompt.criteria else " "
        return Proposal(
            prompt=prompt.edited(
                criteria=f"{prompt.criteria.rstrip()}{break_}{rule.text}", note=f"guidelines {step}"
            ),
            gradient=(
                f"a rule from the reasons of {len(rule.rows)} row{'s' * (len(rule.rows) != 1)}:"
                f" {rule.text}"
            ),
            quoted=tuple(row.id for row in noted),
        )

    def _distil(
        self, noted: Sequence[Row], column: str, brief: Brief, bench: Workbench
    ) -> tuple[list[Rule], str]:
        """Return a rule for each reason that gives one; equal ones are one rule already."""
        focus = focus_of(noted)
        batches = [noted[i : i + EACH] for i in range(0, len(noted), EACH)]
        goal = describe_goal(brief.goal, brief.prompt)
        texts: list[str] = []
        for batch in batches:
            lines = number_lines([_line(row, column, focus, brief) for row in batch])
            texts.append(
                f"{goal}\n\n{render(_DISTIL.template, {'lines': lines}, salt=_DISTIL.version)}"
            )
        readers = [_reader_of_lines(len(batch)) for batch in batches]
        answers, reason = self._ask(_DISTIL, texts, readers, bench)
        # A rule that quotes the row it comes from is none, and would be refused.
        phrases = PhraseIndex(noted)
        rows_of: dict[str, list[str]] = {}
        for batch, answer in zip(batches, answers, strict=True):
            for row, text in zip(batch, answer or [""] * len(batch), strict=True):
                text = " ".join(text.split())
                if text and phrases.quoted(text, allowed=brief.prompt.criteria) is None:
                    rows_of.setdefault(text, []).append(row.id)
        return [Rule(text, tuple(rows)) for text, rows in rows_of.items()], reason

    def _merge(
        self, rules: Sequence[Rule], brief: Brief, bench: Workbench
    ) -> tuple[list[Rule], str]:
        """Join duplicates and settle conflicts, beside what the judge gets right and wrong
        today.
        """
        # Without what earlier steps tried: the same prompt gets the same rules, and the request is
        # paid once.
        shown = replace(brief, past=())
        lines = number_lines([f"{rule.text} (of {len(rule.rows)} rows)" for rule in rules])
        text = f"{shown.text()}\n\n# Rules from annotators' reasons\n"
        text += render(_MERGE.template, {"rules": lines}, salt=_MERGE.version)
        [merged], reason = self._ask(_MERGE, [text], [_reader_of_merged(rules)], bench)
        return list(merged or ()), reason

    def _ask(
        self,
        instruction: Instruction,
        texts: Sequence[str],
        readers: Sequence[Callable[[Sequence[str]], list[T]]],
        bench: Workbench,
    ) -> tuple[list[list[T] | None], str]:
        """Ask for all answers at once, and again for those that cannot be used; return them, and
        why one is missing.
        """
        answers: list[list[T] | None] = [None] * len(texts)
        reasons = [""] * len(texts)
        for attempt in range(self.retries + 1):
            left = [i for i, answer in enumerate(answers) if answer is None]
            if not left:
                break
            replies = bench.ask(
                [_request(instruction, texts[i], reasons[i], attempt) for i in left]
            )
            for i, reply in zip(left, replies, strict=True):
                answers[i], reasons[i] = _read(instruction, reply, readers[i])
        unusable = [
            reason for reason, answer in zip(reasons, answers, strict=True) if answer is None
        ]
        return (
            answers,
            f"no usable rules after {self.retries + 1} replies: {unusable[-1]}" if unusable else "",
        )


def rows_with_reasons(bench: Workbench, column: str) -> list[Row]:
    """Return the training rows of the target with a reason, in their order; of many those with the
    largest losses.
    """
    cost = dict(zip((row.id for row in bench.rows), bench.train.costs.tolist(), strict=True))
    noted = [row for row in bench.rows if str(row.meta.get(column) or "").strip()]
    chosen = {row.id for row in sorted(noted, key=lambda row: -cost[row.id])[:MOST_REASONS]}
    return [row for row in noted if row.id in chosen]


def _line(row: Row, column: str, focus: str, brief: Brief) -> str:
    labels = brief.train.judged.dataset.labels
    label = row.label or 0.0
    grade = labels.name(label) if labels.kind == "choice" else f"{label:g}"
    inputs = shown_inputs(row, "", focus, ROW_BYTES)
    reason = " ".join(str(row.meta[column]).split()).encode()[:REASON_BYTES].decode(errors="ignore")
    texts = "; ".join(f"{name}: {text}" for name, text in inputs.items())
    return f"grade {grade}; reason: {reason}; {texts}"


def _request(instruction: Instruction, text: str, reason: str, attempt: int) -> Request:
    user = f"{text}\n\n{instruction.reply}"
    if reason:
        user += f"\n\nYour last answer could not be used: {reason}."
    return Request(
        messages=(
            Message("system", f"{instruction.system}\n\n{DATA_NOTICE}"),
            Message("user", user),
        ),
        temperature=0.0,
        default_max_tokens=TEXT_LIMIT,
        response_format=instruction.response_format,
        repeat=attempt * _TRY,
        purpose="optimizer",
    )


def _read(
    instruction: Instruction, reply: Completion, reader: Callable[[Sequence[str]], list[T]]
) -> tuple[list[T] | None, str]:
    """Return what a reply says, or None and why it cannot be used."""
    answer = read_answer(instruction, reply)
    if not isinstance(answer, Filled):
        return None, answer.detail or answer.reason
    try:
        return reader(answer.texts("rules")), ""
    except ValueError as error:
        return None, str(error)


def _reader_of_lines(count: int) -> Callable[[Sequence[str]], list[str]]:
    """Read one text, which may be empty, for each line that was shown."""

    def read(texts: Sequence[str]) -> list[str]:
        if len(texts) != count:
            raise ValueError(f"it has {len(texts)} texts for {count} lines")
        _require_short(texts)
        return list(texts)

    return read


def _reader_of_merged(rules: Sequence[Rule]) -> Callable[[Sequence[str]], list[Rule]]:
    """Read merged rules with the numbers of those that went into them."""

    def read(texts: Sequence[str]) -> list[Rule]:
        merged: list[Rule] = []
        for text in texts:
            match = _NUMBERED.fullmatch(text)
            if match is None:
                raise ValueError(
                    f"{text[:60]!r} does not begin with the numbers of rules in square brackets"
                )
            numbers = [int(number) for number in match[1].split(",")]
            unknown = [number for number in numbers if not 1 <= number <= len(rules)]
            if unknown:
                raise ValueError(f"there is no rule {unknown[0]}")
            rows = dict.fromkeys(row for number in numbers for row in rules[number - 1].rows)
            merged.append(Rule(" ".join(match[2].split()), tuple(rows)))
        _require_short([rule.text for rule in merged])
        return merged

    return read


def _require_short(texts: Iterable[str]) -> None:
    for text in texts:
        words = len(text.split())
        if words > MOST_WORDS or len(text.encode()) > RULE_BYTES:
            raise ValueError(f"a rule has {words:,} words, and {MOST_WORDS} are the most")


def _by_loss(rules: Sequence[Rule], bench: Workbench) -> list[Rule]:
    """Order rules by what the rows behind them cost today, those that more rows follow first where
    that is equal.
    """
    cost = dict(zip((row.id for row in bench.rows), bench.train.costs.tolist(), strict=True))
    return sorted(
        rules, key=lambda rule: (-sum(cost.get(row, 0.0) for row in rule.rows), -len(rule.rows))
    )
