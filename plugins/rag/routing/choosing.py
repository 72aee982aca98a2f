"""Let a judge choose among the candidates of each question, and tell where the right source was
lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ....judges.errors import BudgetSpent
from ....judges.judge import SIMULATED_FINGERPRINT, JudgeSettings, judge_request
from ....judges.judged_dataset import JudgedDataset
from ....judges.models.client import Client
from ....judges.models.counters import Progress
from ....judges.models.model import Completion, Request
from ....judges.prompt import JudgePrompt
from ....judges.reply import read_reply
from ....judges.rows import Dataset
from ....judges.scale import BINARY
from ....judges.verdict import Answer, Unscored, Verdict
from .candidates import Candidates

Chosen = Sequence[tuple[int, ...]]


def narrowed(prompt: JudgePrompt, sources: Sequence[int]) -> JudgePrompt:
    """Return the judge with some of its labels, in its order; the same judge where these are
    all.
    """
    keep = sorted(sources)
    if len(keep) == len(prompt.scale.labels):
        return prompt
    labels = tuple(prompt.scale.labels[i] for i in keep)
    anchors = {
        label: prompt.scale.anchors[label] for label in labels if label in prompt.scale.anchors
    }
    return replace(
        prompt, scale=replace(prompt.scale, labels=labels, anchors=anchors, high=len(labels) - 1)
    )


def choose(
    prompt: JudgePrompt,
    dataset: Dataset,
    candidates: Candidates,
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> JudgedDataset:
    """Ask a judge about each question with its candidates alone; one candidate is taken without a
    call.

    Args:
        prompt: Chooses among all sources of the catalogue; its scale's order is the catalogue's.
        dataset: The questions.
        candidates: Of each row of the dataset.
        client: Where answers come from; recorded ones are not asked again.
        settings: Sampling and limits.
        progress: Called while answers come in.
    """
    settings = settings or JudgeSettings()
    narrow: dict[tuple[int, ...], JudgePrompt] = {}
    answers: list[Answer | None] = []
    sent: list[int] = []
    requests: list[Request] = []
    for at, (row, near) in enumerate(zip(dataset.rows, candidates.nearest, strict=True)):
        keep = tuple(sorted(near))
        if not keep:
            answers.append(
                Unscored(row_id=row.id, reason="parse", detail="no source is open to this row")
            )
            continue
        if len(keep) == 1:
            answers.append(_verdict(prompt, row.id, keep[0]))
            continue
        if keep not in narrow:
            narrow[keep] = narrowed(prompt, keep)
        answers.append(None)
        sent.append(at)
        requests.append(judge_request(narrow[keep], row, settings=settings))
    simulated = client.model.simulated
    for at, outcome in zip(sent, client.ask(requests, progress=progress), strict=True):
        row_id, keep = dataset.rows[at].id, tuple(sorted(candidates.nearest[at]))
        if not isinstance(outcome, Completion):
            reason = "budget" if isinstance(outcome, BudgetSpent) else "endpoint"
            answers[at] = Unscored(row_id=row_id, reason=reason, detail=str(outcome)[:300])
            continue
        answer = read_reply(narrow[keep], outcome, row_id=row_id)
        if isinstance(answer, Verdict):
            score = float(keep[int(answer.score)])
            answer = replace(answer, score=score, positive=prompt.scale.positive(score))
        answers[at] = answer
        simulated = simulated or (outcome.fingerprint or "").startswith(SIMULATED_FINGERPRINT)
    return JudgedDataset(
        dataset=dataset,
        answers=tuple(answer for answer in answers if answer is not None),
        scale=prompt.scale,
        judge=f"{prompt.name}@{prompt.version}",
        model=client.model.name,
        simulated=simulated,
    )


def first_retrieved(prompt: JudgePrompt, dataset: Dataset, candidates: Candidates) -> JudgedDataset:
    """Return the choice of the nearest source, for which no model is asked."""
    answers: list[Answer] = []
    for row, near in zip(dataset.rows, candidates.nearest, strict=True):
        if near:
            answers.append(_verdict(prompt, row.id, near[0]))
        else:
            answers.append(
                Unscored(row_id=row.id, reason="parse", detail="no source is open to this row")
            )
    return JudgedDataset(
        dataset=dataset,
        answers=tuple(answers),
        scale=prompt.scale,
        judge=f"first by {candidates.retriever}",
    )


def among(dataset: Dataset, chosen: Chosen) -> JudgedDataset:
    """Return for each labelled row whether the right source is among some; its accuracy is their
    recall.
    """
    rows, answers = [row for row in dataset.rows if row.label is not None], list[Answer]()
    for row, sources in zip(dataset.rows, chosen, strict=True):
        if row.label is not None:
            among_sources = int(row.label) in sources
            answers.append(
                Verdict(
                    row_id=row.id, score=float(among_sources), positive=among_sources, parser="rule"
                )
            )
    right = Dataset.of((replace(row, label=1.0) for row in rows), labels=BINARY, name=dataset.name)
    return JudgedDataset(dataset=right, answers=tuple(answers), scale=BINARY)


def _verdict(prompt: JudgePrompt, row_id: str, source: int) -> Verdict:
    return Verdict(
        row_id=row_id, score=float(source), positive=prompt.scale.positive(source), parser="rule"
    )
