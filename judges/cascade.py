"""A cascade: a fast model judges every row, and a slow one those where the fast one's probability
lies in a band.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict

from .errors import PromptError
from .scale import OutputScale
from .verdict import Answer, Unscored, as_given

if TYPE_CHECKING:
    from .judged_dataset import JudgedDataset
    from .models.client import Client
    from .rows import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """Who is asked second, and where; all but `share` is part of the judge's version.

    Raises:
        PromptError: The model is none by name, or the band is none.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    model: str
    """The slow model, by the name that people give to `--model`; an address may not stand here."""
    low: float
    high: float
    """The ends of the band, which belong to it: probabilities as the fast model gives them, before
    any calibration."""
    share: float = 1.0
    """Of the rows that lay in the band where it was chosen; plans are priced by it."""

    def __post_init__(self) -> None:
        if not self.model.strip() or "@" in self.model or "://" in self.model:
            raise PromptError(
                f"cascade: model {self.model!r} is not the name of a model",
                hint="a judge's file says no address: judgewright models add NAME --base-url URL",
            )
        if not 0 <= self.low <= self.high <= 1 or not 0 <= self.share <= 1:
            raise PromptError(
                f"cascade: {self.low:g} to {self.high:g} is no band, or {self.share} no share",
                hint="write probabilities, such as low: 0.2 and high: 0.8",
            )

    @property
    def asks_all(self) -> bool:
        """Whether the slow model judges every row, so that the fast one is not asked at all."""
        return self.low <= 0 and self.high >= 1

    def asks(self, answer: Answer, scale: OutputScale) -> bool:
        """Whether the slow model decides after the fast one's verdict: its probability lies in the
        band, or it gave none.
        """
        p = raw_probability(answer, scale)
        return not isinstance(answer, Unscored) and (p is None or self.low <= p <= self.high)


def raw_probability(answer: Answer, scale: OutputScale) -> float | None:
    """Return the probability that a row is positive, as the judge gave it; None where it gave
    none.
    """
    given = as_given(answer)
    if isinstance(given, Unscored):
        return None
    return given.score if scale.kind == "probability" else given.probability


def judge_in_cascade(
    cascade: Cascade,
    dataset: Dataset,
    client: Client,
    ask: Callable[[Dataset, Client], JudgedDataset],
) -> JudgedDataset:
    """Judge rows with the fast model, whose client opens the slow one, then those in the band with
    that, each time by `ask`; a row that either fails on is unscored.

    Raises:
        InputError: The client cannot open the slow model, or this user has not named it.
    """
    slow = client.second(cascade.model)  # refused before anything is paid for
    fast = ask(replace(dataset, rows=()) if cascade.asks_all else dataset, client)
    by_row = {answer.row_id: answer for answer in fast.answers}
    sent = [
        row for row in dataset.rows if cascade.asks_all or cascade.asks(by_row[row.id], fast.scale)
    ]
    simulated = fast.simulated
    if sent:
        judged = ask(replace(dataset, rows=tuple(sent)), slow)
        simulated = simulated or judged.simulated
        for answer in judged.answers:
            by_row[answer.row_id] = decided_by_slow(answer, judged, fast.scale)
    answers = tuple(by_row[row.id] for row in dataset.rows)
    return replace(fast, dataset=dataset, answers=answers, simulated=simulated)


def decided_by_slow(answer: Answer, judged: JudgedDataset, scale: OutputScale) -> Answer:
    """Return a slow model's answer as it stands among those of the fast one, on their scale.

    Among probabilities and other grades its score is the end of the scale that it decided for, so
    that every threshold agrees with it; its confidence stays.
    """
    if isinstance(answer, Unscored):
        return replace(answer, detail=f"{judged.model}: {answer.detail}")
    score = answer.score
    if scale.kind == "probability" or not scale.same_grades(judged.scale):
        score = float(scale.high if answer.positive else scale.low)
    given = replace(answer, score=score, model=judged.model)
    return given if given.confidence is None else replace(given, before=given)
