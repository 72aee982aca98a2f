"""Groundedness claim by claim: split a response, judge each claim against the whole source, join the verdicts.

A long response is hard to judge at once: one invented sentence hides among ten true ones. Claim by claim the judge
sees one assertion at a time, and a reader sees which of them the verdict hangs on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError, PromptError
from ..instruction import ASKING, Unfilled
from ..judge import JudgeSettings, judge
from ..judged import JudgedDataset
from ..models.client import Client, Progress
from ..prompt import JudgePrompt
from ..rows import Dataset, Row
from ..scale import DecisionRule, OutputScale
from ..verdict import Answer, Unscored, Verdict
from .join import Aggregate, aggregate_scale, join_claims
from .split import Split, SplitClaim, Splitter, Trivial, split_responses

_ABSTAINS = re.compile(
    r"\b(?:i|we) (?:do not|don['’]t|can ?not|can['’]t|could not|couldn['’]t) (?:know|tell|say|answer|find|determine)\b"
    r"|\bno (?:answer|information) (?:is|was|can be|could be) (?:known|given|available|found)\b"
    r"|\bunable to (?:answer|find|determine)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of a response, and what became of it."""

    text: str
    trivial: bool
    """Whether it asserts nothing; then it was not judged."""
    strayed: bool
    """Whether the splitter made it up; then it was not judged."""
    answer: Answer | None
    """What the judge said; None for a claim that was not judged."""

    @property
    def evidence(self) -> str:
        """What the judge found in the source, in its own words; empty where it said nothing."""
        return self.answer.rationale if isinstance(self.answer, Verdict) else ""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return text, flags, evidence and verdict; the verdict fields are null for a claim without one."""
        flags = {"text": self.text, "trivial": self.trivial, "strayed": self.strayed}
        return flags | {"evidence": self.evidence, **_answer_json(self.answer)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedResponse:
    """A response, its claims, and the verdict that follows from theirs."""

    row_id: str
    claims: tuple[Claim, ...]
    answer: Answer
    deciding: int | None = None
    """Position of the claim that the verdict hangs on; None where no single one decides."""

    def describe(self) -> str:
        """Show each claim with its evidence and verdict, and the verdict on the response, as lines of text."""
        why = f"; {self.answer.rationale}" if isinstance(self.answer, Verdict) else ""
        lines = [f"{self.row_id}: {_verdict_text(self.answer)}{why}"]
        for i, claim in enumerate(self.claims):
            mark = " <- decides" if i == self.deciding else ""
            lines.append(f"  {i + 1}. {' '.join(claim.text.split())}")
            lines.append(f"     {_claim_text(claim)}{mark}")
            if claim.evidence:
                lines.append(f"     evidence: {' | '.join(claim.evidence.split(chr(10)))}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return id, verdict, the reason for it, and the claims."""
        body = {"id": self.row_id, **_answer_json(self.answer), "why": _said(self.answer), "deciding": self.deciding}
        return body | {"claims": [claim.to_json() for claim in self.claims]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedResponses:
    """Responses judged claim by claim; `judged` is the table that metrics, slices and the gate read."""

    judged: JudgedDataset
    responses: tuple[ClaimedResponse, ...]
    splitter: Splitter
    trivial: Trivial
    aggregate: Aggregate

    def __repr__(self) -> str:
        return f"ClaimedResponses({self.judged!r}, {self.counts['claims']:,} claims)"

    @property
    def counts(self) -> dict[str, int]:
        """How many responses and claims there are, and how many claims were trivial, strayed, supported, unscored."""
        found = dict.fromkeys(("claims", "trivial", "strayed", "supported", "unsupported", "unscored"), 0)
        for claim in (claim for response in self.responses for claim in response.claims):
            found["claims"] += 1
            found["trivial"] += claim.trivial
            found["strayed"] += claim.strayed
            found["supported"] += isinstance(claim.answer, Verdict) and claim.answer.positive
            found["unsupported"] += isinstance(claim.answer, Verdict) and not claim.answer.positive
            found["unscored"] += isinstance(claim.answer, Unscored)
        return {"responses": len(self.responses), **found}

    def only(self, row_ids: Collection[str]) -> ClaimedResponses:
        """Return the same with the claims of some rows alone; the table stays whole."""
        return replace(self, responses=tuple(one for one in self.responses if one.row_id in row_ids))

    def describe(self, *, most: int | None = None) -> str:
        """Show how the verdicts were made and the responses one by one, at most so many."""
        counted = ", ".join(f"{n:,} {what}" for what, n in self.counts.items())
        simulated = "SIMULATED: " if self.judged.simulated else ""
        made = f"split by {self.splitter}, trivial claims by {self.trivial}, joined by {self.aggregate}"
        head = f"{simulated}{counted}; {made}"
        return "\n".join((head, *(response.describe() for response in self.responses[:most])))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return settings, counts and every response with its claims."""
        origin = {"judge": self.judged.judge, "model": self.judged.model, "simulated": self.judged.simulated}
        settings = {"splitter": self.splitter, "trivial": self.trivial, "aggregate": self.aggregate}
        return (
            origin
            | settings
            | {"counts": self.counts, "responses": [response.to_json() for response in self.responses]}
        )


def judge_claims(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    *,
    field: str = "statement",
    settings: JudgeSettings | None = None,
    rule: DecisionRule | None = None,
    splitter: Splitter = "sentence",
    trivial: Trivial = "model",
    aggregate: Aggregate = "min",
    progress: Callable[[Progress], None] | None = None,
) -> ClaimedResponses:
    """Judge responses claim by claim: each claim against the whole source, then back to the response.

    A response none of whose claims asserts anything counts as fully supported, as does one that abstains (the judge's
    criteria say so for each claim that does); its rationale says which. A response without any text, or whose
    splitting failed, is unscored.

    Args:
        prompt: The judge; it sees one claim at a time in `field` and every other input whole.
        dataset: The responses; the field to split stands among their inputs.
        client: Where the answers come from.
        field: The input that is split.
        settings: How the judge is asked.
        rule: What decides about a claim; the prompt's own threshold unless given.
        splitter: How responses are split; see `split_responses`.
        trivial: Who picks out claims that assert nothing, which are then not judged.
        aggregate: `min`: the lowest grade of a claim, on the judge's scale, so that one unsupported claim makes the
            response unsupported; it has the confidence of that claim. `mean`: the mean grade on [0, 1], positive from
            the judge's threshold on. `share`: the share of supported claims, positive when all of them are.
        progress: Called while answers come in, of each round of requests anew.

    Raises:
        InputError: The prompt has no such input, or its scale has no order.
        PromptError: A row lacks an input of the prompt.
        ModelError: The endpoint refuses every request.
        Interrupted: The person asked to stop; finished calls are kept.
    """
    _check(prompt, dataset, field)
    aggregate_scale(prompt.scale, aggregate)  # refuses a scale without order before anything is paid for
    asking = ASKING if settings is None else replace(settings, max_tokens=ASKING.max_tokens)
    responses = [row.inputs[field] for row in dataset.rows]
    splits = split_responses(responses, client, splitter=splitter, trivial=trivial, settings=asking, progress=progress)
    pairs = list(zip(dataset.rows, splits, strict=True))
    asked = Dataset.of((each for row, split in pairs for each in _rows(row, field, split)), labels=dataset.labels)
    table = judge(prompt, asked, client, settings=settings, rule=rule, progress=progress)
    answers = {answer.row_id: answer for answer in table.answers}
    found = tuple(_response(row, split, answers, table.scale, aggregate) for row, split in pairs)
    judged = JudgedDataset(
        dataset=dataset,
        answers=tuple(response.answer for response in found),
        scale=aggregate_scale(table.scale, aggregate),
        judge=f"{table.judge} by claim ({splitter}, trivial {trivial}, {aggregate})",
        model=table.model,
        simulated=table.simulated,
    )
    return ClaimedResponses(judged=judged, responses=found, splitter=splitter, trivial=trivial, aggregate=aggregate)


def _check(prompt: JudgePrompt, dataset: Dataset, field: str) -> None:
    if field not in prompt.inputs:
        raise InputError(
            f"the judge {prompt.name!r} has no input {field!r} to split", hint=f"it has {', '.join(prompt.inputs)}"
        )
    without = next((row for row in dataset.rows if field not in row.inputs), None)
    if without is not None:
        raise PromptError(f"row {without.id!r} has no field {field!r}; the prompt {prompt.name!r} needs it")


def _judged(claim: SplitClaim) -> bool:
    return not (claim.trivial or claim.strayed)


def _claim_id(row: Row, number: int) -> str:
    return f"{row.id}#{number}"


def _rows(row: Row, field: str, split: Split) -> Iterator[Row]:
    """The rows the judge is asked about: one for each claim that asserts something, without the label."""
    if isinstance(split, Unfilled):
        return
    for number, claim in enumerate(split, 1):
        if _judged(claim):
            inputs = {**row.inputs, field: claim.text}
            yield Row(id=_claim_id(row, number), inputs=inputs, group=row.group or row.id)


def _response(
    row: Row, split: Split, answers: Mapping[str, Answer], scale: OutputScale, aggregate: Aggregate
) -> ClaimedResponse:
    if isinstance(split, Unfilled):
        return ClaimedResponse(
            row_id=row.id, claims=(), answer=Unscored(row_id=row.id, reason=split.reason, detail=split.detail)
        )
    claims = tuple(
        Claim(
            text=claim.text,
            trivial=claim.trivial,
            strayed=claim.strayed,
            answer=answers[_claim_id(row, number)] if _judged(claim) else None,
        )
        for number, claim in enumerate(split, 1)
    )
    if not claims:
        nothing = Unscored(
            row_id=row.id, reason="parse", detail="the response holds no text: there is nothing to judge"
        )
        return ClaimedResponse(row_id=row.id, claims=(), answer=nothing)
    if all(claim.answer is None for claim in claims):
        return ClaimedResponse(
            row_id=row.id, claims=claims, answer=_unopposed(row, claims, aggregate_scale(scale, aggregate))
        )
    joined = join_claims(row.id, [(claim.text, claim.answer) for claim in claims], scale, aggregate)
    return ClaimedResponse(row_id=row.id, claims=claims, answer=joined.answer, deciding=joined.deciding)


def _unopposed(row: Row, claims: tuple[Claim, ...], scale: OutputScale) -> Verdict:
    """The verdict on a response that asserts nothing: there is nothing that the source would have to support."""
    abstains = any(_ABSTAINS.search(claim.text) for claim in claims)
    why = "the response abstains" if abstains else f"none of the {len(claims)} claims asserts anything"
    rationale = f"fully supported by convention: {why}"
    return Verdict(row_id=row.id, score=float(scale.high), positive=True, rationale=rationale, parser="claims:none")


def _claim_text(claim: Claim) -> str:
    if claim.trivial:
        return "trivial, not judged"
    if claim.strayed:
        return "not in the response, not judged"
    return _verdict_text(claim.answer)


def _verdict_text(answer: Answer | None) -> str:
    if isinstance(answer, Verdict):
        sure = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
        return f"{'supported' if answer.positive else 'NOT supported'} (score {answer.score:g}{sure})"
    return "not judged" if answer is None else f"unscored ({answer.reason}: {answer.detail})"


def _said(answer: Answer) -> str:
    return answer.rationale if isinstance(answer, Verdict) else answer.detail


def _answer_json(answer: Answer | None) -> dict[str, Any]:  # Any: JSON
    verdict = answer if isinstance(answer, Verdict) else None
    return {
        "score": verdict.score if verdict else None,
        "supported": verdict.positive if verdict else None,
        "confidence": verdict.confidence if verdict else None,
        "unscored": answer.reason if isinstance(answer, Unscored) else None,
        "detail": answer.detail if isinstance(answer, Unscored) else "",
    }
