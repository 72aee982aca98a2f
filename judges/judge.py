"""Ask a judge about rows: render, ask, read, in the order the rows came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, overload

from .asked_question import AskedQuestion
from .cascade import judge_in_cascade
from .errors import BudgetSpent, InputError, ModelError
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Outcome, Progress
from .models.heap import heap_at_rest
from .models.model import Completion, Request
from .prompt import JudgePrompt
from .reply import read_reply, why_unreadable
from .response_format import response_format
from .rows import Dataset, Row
from .scale import DecisionRule, OutputScale
from .token_confidence import TOP, require_logprobs, require_tokens, with_token_confidence
from .verdict import Answer, Unscored, Verdict

Confidence = Literal["ask", "tok"]
"""Whether the judge states how sure it is, or its tokens' log-probabilities tell."""

VERDICT_LIMIT = 512
"""Tokens of a verdict where neither the command nor the model's settings say otherwise."""

SIMULATED_FINGERPRINT = "simulated-"
"""How the simulated model signs its replies, so that it is known for what it is under any name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge is asked; everything here is part of each request's key."""

    temperature: float | None = 0.0
    max_tokens: int | None = None
    """Tokens of a reply; None: what the settings of the model say, else 512."""
    structured: bool = True
    """Whether to ask the endpoint to hold the reply to the prompt's JSON schema."""
    max_chars: int = 400_000
    """Characters of a row's inputs; a larger row is not sent and is unscored as `oversized`."""
    confidence: Confidence = "ask"
    """Where confidences come from; with `tok` an endpoint without log-probabilities is refused."""

    def oversized(self, row: Row) -> str | None:
        """Say why a row is too large to be sent; None where it is not."""
        size = sum(len(text) for text in row.inputs.values())
        if size <= self.max_chars:
            return None
        return f"{size:,} characters, the limit is {self.max_chars:,}"


@heap_at_rest()
def judge(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    rule: DecisionRule | None = None,
    repeat: int = 0,
    question: AskedQuestion | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> JudgedDataset:
    """Judge every row of a dataset and return the rows with their answers, in order.

    A row that fails is an `Unscored` answer with its reason; the others are not affected. The rows
    in the band of a judge's cascade are asked of the slow model too.

    Args:
        prompt: The judge.
        dataset: What to judge; its rows need the fields the prompt's template names.
        client: Where the answers come from; recorded ones are not asked again.
        settings: Sampling and limits.
        rule: The decision rule, such as a calibrated one of the registry; the prompt's own
            threshold unless given.
        repeat: Which repetition of the same questions this is; another number asks anew.
        question: How a decision model is asked; the judge's own question unless given.
        progress: Called in this thread while answers come in.

    Raises:
        PromptError: A row lacks a field the template names.
        InputError: Tok confidence is asked of a judge that has no grades, or the slow model of a
            cascade cannot be asked.
        ModelError: The endpoint refuses every request (a wrong key, an unknown model), or gives no
            log-probabilities where Tok confidence needs them.
        Interrupted: The person asked to stop; finished calls are kept.
    """
    settings = settings or JudgeSettings()
    if prompt.cascade is not None:
        # Without the cascade it is the same text under the same version, which was asked before.
        one = replace(prompt, cascade=None)
        ask = partial(
            judge, one, settings=settings, repeat=repeat, question=question, progress=progress
        )
        judged = judge_in_cascade(prompt.cascade, dataset, client, ask)
        judged = replace(judged, judge=f"{prompt.name}@{prompt.version}")
        return judged if rule is None else judged.under(rule)
    if settings.confidence == "tok":
        require_tokens(prompt)
    answers: dict[str, Answer] = {}
    sent: list[Row] = []
    for row in dataset.rows:
        if (detail := settings.oversized(row)) is not None:
            answers[row.id] = Unscored(row_id=row.id, reason="oversized", detail=detail)
        else:
            sent.append(row)
    if prompt.cases is not None:
        prompt = prompt.encoded_by(client.encoder)
        prompt.shown_cases.prepare(sent)
    wording = asked_judge(prompt, client, settings)
    if question is not None and isinstance(wording, AskedQuestion):
        wording = replace(question, prompt=prompt)
        if wording.beside:
            wording.ask_jointly(sent, client, repeat=repeat, progress=progress)
    requests = _RowRequests(sent, partial(wording.request, repeat=repeat))
    # For Tok confidence one row first, so that an endpoint without it is refused at once.
    first = 1 if settings.confidence == "tok" else 0
    outcomes = client.ask(requests[:first]) if first else []
    if first:
        _require_logprobs(prompt, outcomes, client)
    outcomes += client.ask(
        requests[first:],
        progress=progress,
        unreadable=lambda reply: why_unreadable(wording.read(reply)),
    )
    if first:
        _require_logprobs(prompt, outcomes, client)
    decides, simulated = isinstance(wording, AskedQuestion), client.model.simulated
    builds: set[str] = set()
    for row, outcome in zip(sent, outcomes, strict=True):
        if not isinstance(outcome, Completion):
            reason = "budget" if isinstance(outcome, BudgetSpent) else "endpoint"
            answers[row.id] = Unscored(row_id=row.id, reason=reason, detail=str(outcome)[:300])
            continue
        answer = wording.read(outcome, row_id=row.id)
        if settings.confidence == "tok":
            answer = with_token_confidence(prompt, answer, outcome)
        answers[row.id] = answer
        builds.add(outcome.model_returned)
        simulated = simulated or (outcome.fingerprint or "").startswith(SIMULATED_FINGERPRINT)
    judged = JudgedDataset(
        dataset=dataset,
        answers=tuple(answers[row.id] for row in dataset.rows),
        scale=wording.scale,
        judge=f"{prompt.name}@{prompt.version}",
        model=client.model.name,
        simulated=simulated,
        asked_scale=prompt.scale if decides else None,
        build=", ".join(sorted(builds - {""})) or None if decides else None,
    )
    return judged if rule is None else judged.under(rule)


@dataclass(frozen=True, kw_only=True)
class AskedText:
    """How a judge is asked of chat models; `AskedQuestion` has the same methods."""

    prompt: JudgePrompt
    settings: JudgeSettings

    @property
    def scale(self) -> OutputScale:
        """The scale of the verdicts."""
        return self.prompt.scale

    @cached_property
    def _form(self) -> Mapping[str, Any] | None:  # Any: JSON
        return response_format(self.prompt) if self.settings.structured else None

    def request(self, row: Row, *, repeat: int = 0) -> Request:
        """Return the request about one row."""
        return Request(
            messages=self.prompt.messages(row),
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
            default_max_tokens=VERDICT_LIMIT,
            top_logprobs=TOP if self.settings.confidence == "tok" else None,
            response_format=self._form,
            repeat=repeat,
        )

    def read(self, completion: Completion, *, row_id: str = "") -> Answer:
        """Turn a reply into a verdict, or into the reason why there is none."""
        return read_reply(self.prompt, completion, row_id=row_id)


def asked_judge(
    prompt: JudgePrompt, client: Client, settings: JudgeSettings
) -> AskedText | AskedQuestion:
    """Return how a judge is asked of a client's model.

    Raises:
        InputError: The judge is no question, or Tok confidence is asked of a decision model.
    """
    api = client.settings.api
    if api is None:
        return AskedText(prompt=prompt, settings=settings)
    if settings.confidence == "tok":
        raise InputError(
            f"{client.model.name} is a decision model, which answers without tokens",
            hint="leave out --confidence tok: its probabilities are the confidence",
        )
    question = AskedQuestion(prompt=prompt, api=api)
    _ = question.question  # refused before the first row is sent
    return question


def _require_logprobs(prompt: JudgePrompt, outcomes: list[Outcome], client: Client) -> None:
    """Refuse Tok confidence where replies with a verdict have no log-probabilities."""
    readable = []
    for outcome in outcomes:
        # A reply without a verdict proves nothing: it may have been cut off before the grade.
        if isinstance(outcome, Completion) and isinstance(read_reply(prompt, outcome), Verdict):
            readable.append(outcome)
    require_logprobs(readable, client.model.name)


class _RowRequests(Sequence[Request]):
    """Requests about rows, each made when it is needed: a row's rendered text is not kept."""

    def __init__(self, rows: Sequence[Row], make: Callable[[Row], Request]) -> None:
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Request]: ...
    def __getitem__(self, index: int | slice) -> Request | Sequence[Request]:
        if isinstance(index, slice):
            return _RowRequests(self._rows[index], self._make)
        return self._make(self._rows[index])


def judge_request(
    prompt: JudgePrompt, row: Row, *, settings: JudgeSettings, repeat: int = 0
) -> Request:
    """Return the request that asks a judge about one row, of a chat model."""
    return AskedText(prompt=prompt, settings=settings).request(row, repeat=repeat)


def require_answers(answers: Sequence[Answer], *, of: str = "row") -> None:
    """Raise where the endpoint is the reason that there is no verdict at all.

    Args:
        answers: Of all rows.
        of: What one answer is about, for the message.

    Raises:
        ModelError: There is no verdict; the message says why the first request failed.
    """
    failed = [
        answer for answer in answers if isinstance(answer, Unscored) and answer.reason == "endpoint"
    ]
    if failed and not any(isinstance(answer, Verdict) for answer in answers):
        raise unanswered_error(failed[0].detail, of=of)


def unanswered_error(detail: str, *, of: str) -> ModelError:
    """Return the error for an endpoint that answered nothing."""
    return ModelError(
        f"the endpoint answered no {of}: {detail}",
        retryable=True,
        hint=(
            "see that the server runs and that its address is right; the same command goes on with"
            " what is left"
        ),
    )
