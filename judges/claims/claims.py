"""Groundedness claim by claim: split a response, judge each claim against the whole source, join
the verdicts.

A long response is hard to judge at once: one invented sentence hides among ten true ones. Claim by
claim the judge sees one assertion at a time, and a reader sees which of them the verdict hangs on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import InputError, PromptError
from ..instruction import ASKING, Unfilled
from ..judge import JudgeSettings, judge
from ..judged_dataset import JudgedDataset
from ..models.client import Client
from ..models.counters import Progress
from ..prompt import JudgePrompt
from ..rows import Dataset, Row
from ..scale import DecisionRule, OutputScale
from ..verdict import Answer, Unscored, Verdict
from .join import join_claims
from .split import Split, Splitter, Trivial, split_responses

FIELD = "statement"
"""The input of a judge that is split into claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSettings:
    """How responses are split into claims; see `split_responses`."""

    splitter: Splitter = "sentence"
    trivial: Trivial = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of a response, and the verdict on it."""

    text: str
    trivial: bool
    """Whether it asserts nothing; then it was not judged."""
    strayed: bool
    """Whether the splitter made it up; then it was not judged."""
    answer: Answer | None
    """The judge's; None for a claim that was not judged."""

    @property
    def evidence(self) -> str:
        """What the judge quotes from the source; empty where it quotes nothing."""
        return self.answer.rationale if isinstance(self.answer, Verdict) else ""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return text, flags, evidence and verdict; the verdict fields are null for a claim without
        one.
        """
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
        """Show each claim with its evidence and verdict, and the verdict on the response, as lines
        of text.
        """
        summary = f"{self.row_id}: {_verdict_text(self.answer)}"
        if isinstance(self.answer, Verdict):
            summary += f"; {self.answer.rationale}"
        lines = [summary]
        for i, claim in enumerate(self.claims):
            verdict = _verdict_text(claim.answer)
            if claim.trivial:
                verdict = "trivial, not judged"
            elif claim.strayed:
                verdict = "not in the response, not judged"
            if i == self.deciding:
                verdict += " <- decides"
            lines.append(f"  {i + 1}. {' '.join(claim.text.split())}")
            lines.append(f"     {verdict}")
            if claim.evidence:
                lines.append("     evidence: " + claim.evidence.replace("\n", " | "))
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return id, verdict, the reason for it, and the claims."""
        reason = self.answer.rationale if isinstance(self.answer, Verdict) else self.answer.detail
        return {
            "id": self.row_id,
            **_answer_json(self.answer),
            "why": reason,
            "deciding": self.deciding,
            "claims": [claim.to_json() for claim in self.claims],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedResponses:
    """Responses judged claim by claim; `judged` is the table that metrics, slices and the gate
    read.
    """

    judged: JudgedDataset
    responses: tuple[ClaimedResponse, ...]
    settings: ClaimSettings

    def __repr__(self) -> str:
        return f"ClaimedResponses({self.judged!r}, {self.counts['claims']:,} claims)"

    @property
    def counts(self) -> dict[str, int]:
        """How many responses and claims there are, and how many claims were trivial, strayed,
        supported, unscored.
        """
        kinds = ("claims", "trivial", "strayed", "supported", "unsupported", "unscored")
        counts = {"responses": len(self.responses), **dict.fromkeys(kinds, 0)}
        for response in self.responses:
            for claim in response.claims:
                counts["claims"] += 1
                counts["trivial"] += claim.trivial
                counts["strayed"] += claim.strayed
                if isinstance(claim.answer, Verdict):
                    counts["supported" if claim.answer.positive else "unsupported"] += 1
                elif claim.answer is not None:
                    counts["unscored"] += 1
        return counts

    def only(self, row_ids: Collection[str]) -> ClaimedResponses:
        """Return the same with the claims of some rows alone; the table keeps every row."""
        responses = tuple(response for response in self.responses if response.row_id in row_ids)
        return replace(self, responses=responses)

    def describe(self, *, limit: int | None = None) -> str:
        """Show the settings, the counts, and the responses one by one, at most `limit`."""
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items())
        how = self.settings
        settings = f"split by {how.splitter}, trivial claims by {how.trivial}"
        simulated = "SIMULATED: " if self.judged.simulated else ""
        lines = [f"{simulated}{counts}; {settings}"]
        lines += [response.describe() for response in self.responses[:limit]]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return settings, counts and every response with its claims."""
        return {
            "judge": self.judged.judge,
            "model": self.judged.model,
            "simulated": self.judged.simulated,
            **asdict(self.settings),
            "counts": self.counts,
            "responses": [response.to_json() for response in self.responses],
        }


def judge_as(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    claims: ClaimSettings | None,
    *,
    settings: JudgeSettings | None = None,
    rule: DecisionRule | None = None,
    repeat: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> JudgedDataset:
    """Judge rows claim by claim, or whole where no settings of claims are given.

    A response with a claim that the budget did not cover is unscored, whatever its other claims
    say: what is decided may not hang on which of them happened to be judged.

    Args:
        prompt, dataset, client, settings, rule, repeat, progress: As `judge` takes them.
        claims: How responses are split; None to judge each whole.

    Raises:
        InputError, PromptError, ModelError, Interrupted: See `judge` and `judge_claims`.
    """
    if claims is None:
        return judge(
            prompt, dataset, client, settings=settings, rule=rule, repeat=repeat, progress=progress
        )
    claimed = judge_claims(
        prompt,
        dataset,
        client,
        claims,
        settings=settings,
        rule=rule,
        repeat=repeat,
        progress=progress,
    )
    answers: list[Answer] = []
    for response in claimed.responses:
        unpaid = [one for one in (claim.answer for claim in response.claims) if _is_unpaid(one)]
        if unpaid:
            detail = f"{len(unpaid)} of {len(response.claims)} claims are not covered by the budget"
            answers.append(Unscored(row_id=response.row_id, reason="budget", detail=detail))
        else:
            answers.append(response.answer)
    return replace(claimed.judged, answers=tuple(answers))


def _is_unpaid(answer: Answer | None) -> bool:
    return isinstance(answer, Unscored) and answer.reason == "budget"


def require_claims(prompt: JudgePrompt) -> None:
    """Refuse, before anything is paid for, a judge that cannot judge claim by claim.

    Raises:
        InputError: It has no such input, or its scale has no order.
    """
    if FIELD not in prompt.inputs:
        hint = f"it has {', '.join(prompt.inputs)}"
        raise InputError(f"the judge {prompt.name!r} has no input {FIELD!r} to split", hint=hint)
    if prompt.scale.kind == "choice":
        raise InputError(
            f"verdicts on claims cannot be joined: the labels {', '.join(prompt.scale.labels)} have"
            " no order"
        )


def judge_claims(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    claims: ClaimSettings | None = None,
    *,
    settings: JudgeSettings | None = None,
    rule: DecisionRule | None = None,
    repeat: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> ClaimedResponses:
    """Judge responses claim by claim: each claim against the whole source, then back to the
    response.

    A response has the lowest grade of its claims and the confidence of that claim, so that one
    unsupported claim makes it unsupported. One none of whose claims asserts anything counts as
    fully supported, as does one that abstains (the judge's criteria say so for each claim that
    does). A response without any text, or whose splitting failed, is unscored.

    Args:
        prompt: The judge; it sees one claim at a time in `FIELD` and every other input whole.
        dataset: The responses; the field to split stands among their inputs.
        client: Where the answers come from.
        claims: How responses are split.
        settings: How the judge is asked.
        rule: What decides about a claim; the prompt's own threshold unless given.
        repeat: Which repetition of the claims' judging this is; the splitting is not repeated.
        progress: Called while answers come in, of each round of requests anew.

    Raises:
        InputError: The prompt has no such input, or its scale has no order.
        PromptError: A row lacks an input of the prompt.
        ModelError: The endpoint refuses every request.
        Interrupted: The person asked to stop; finished calls are recorded.
    """
    how = claims or ClaimSettings()
    require_claims(prompt)
    for row in dataset.rows:
        if FIELD not in row.inputs:
            raise PromptError(
                f"row {row.id!r} has no field {FIELD!r}; the prompt {prompt.name!r} needs it"
            )
    split_settings = ASKING
    if settings is not None:
        # A list of claims is longer than a verdict.
        split_settings = replace(settings, max_tokens=ASKING.max_tokens)
    splits = split_responses(
        [row.inputs[FIELD] for row in dataset.rows],
        client,
        splitter=how.splitter,
        trivial=how.trivial,
        settings=split_settings,
        progress=progress,
    )
    claim_rows: list[Row] = []
    for row, split in zip(dataset.rows, splits, strict=True):
        for number, claim in enumerate(() if isinstance(split, Unfilled) else split, 1):
            if not claim.trivial and not claim.strayed:
                # The label is the whole response's and says nothing about one claim.
                inputs = {**row.inputs, FIELD: claim.text}
                claim_rows.append(
                    Row(id=_claim_id(row, number), inputs=inputs, group=row.group or row.id)
                )
    each_claim = Dataset.of(claim_rows, labels=dataset.labels)
    table = judge(
        prompt, each_claim, client, settings=settings, rule=rule, repeat=repeat, progress=progress
    )
    answers = {answer.row_id: answer for answer in table.answers}
    responses: list[ClaimedResponse] = []
    for row, split in zip(dataset.rows, splits, strict=True):
        responses.append(_response(row, split, answers, table.scale))
    judged = JudgedDataset(
        dataset=dataset,
        answers=tuple(response.answer for response in responses),
        scale=table.scale,
        judge=f"{table.judge} by claim ({how.splitter}, trivial {how.trivial}, min)",
        model=table.model,
        simulated=table.simulated,
    )
    return ClaimedResponses(judged=judged, responses=tuple(responses), settings=how)


def _claim_id(row: Row, number: int) -> str:
    return f"{row.id}#{number}"


def _response(
    row: Row, split: Split, answers: Mapping[str, Answer], scale: OutputScale
) -> ClaimedResponse:
    if isinstance(split, Unfilled):
        unsplit = Unscored(row_id=row.id, reason=split.reason, detail=split.detail)
        return ClaimedResponse(row_id=row.id, claims=(), answer=unsplit)
    if not split:
        detail = "the response holds no text: there is nothing to judge"
        empty = Unscored(row_id=row.id, reason="parse", detail=detail)
        return ClaimedResponse(row_id=row.id, claims=(), answer=empty)
    claims: list[Claim] = []
    for number, claim in enumerate(split, 1):
        # None for a claim that was not judged.
        answer = answers.get(_claim_id(row, number))
        claims.append(
            Claim(text=claim.text, trivial=claim.trivial, strayed=claim.strayed, answer=answer)
        )
    if all(claim.answer is None for claim in claims):
        # It asserts nothing, so that the source need not support anything.
        reason = f"none of the {len(claims)} claims asserts anything"
        verdict = Verdict(
            row_id=row.id,
            score=float(scale.high),
            positive=True,
            rationale=f"fully supported by convention: {reason}",
            parser="claims:none",
        )
        return ClaimedResponse(row_id=row.id, claims=tuple(claims), answer=verdict)
    joined = join_claims(row.id, [(claim.text, claim.answer) for claim in claims])
    return ClaimedResponse(
        row_id=row.id, claims=tuple(claims), answer=joined.answer, deciding=joined.deciding
    )


def _verdict_text(answer: Answer | None) -> str:
    if answer is None:
        return "not judged"
    if isinstance(answer, Unscored):
        return f"unscored ({answer.reason}: {answer.detail})"
    verdict = "supported" if answer.positive else "NOT supported"
    confidence = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
    return f"{verdict} (score {answer.score:g}{confidence})"


def _answer_json(answer: Answer | None) -> dict[str, Any]:  # Any: JSON
    verdict = answer if isinstance(answer, Verdict) else None
    unscored = answer if isinstance(answer, Unscored) else None
    return {
        "score": verdict and verdict.score,
        "supported": verdict and verdict.positive,
        "confidence": verdict and verdict.confidence,
        "unscored": unscored and unscored.reason,
        "detail": unscored.detail if unscored else "",
    }
