"""How far a decision model's verdicts hang on the order and the names of the possible answers.

The same rows are asked again with the options in another order, and with letters for names; what
they mean stays. A yes/no question has no order: it is asked as a choice of two, both ways round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np

from ..asked_question import AskedQuestion
from ..errors import InputError
from ..judge import JudgeSettings, judge
from ..judged_dataset import group_codes
from ..metrics.delta import SIGNED, mean_over_rows
from ..metrics.estimate import Estimate
from ..models.client import Client
from ..models.counters import Progress
from ..models.question import INTERFACES, Option
from ..prompt import JudgePrompt
from ..rows import Dataset
from ..scale import DecisionRule
from ..splits.parts import hash_of
from ..verdict import Verdict

SAMPLE = 500
"""Rows that are asked again at most, drawn by their ids."""
_SHIFTS = 3
_UNPAIRED = "no row has a verdict both ways"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderReport:
    """What each change of the options does to the verdicts on the same rows: the share `decided
    otherwise`, how far the probability of the positive side (or of the label that was chosen)
    `moved`, and its mean `shift`; intervals take the rows of a group together.
    """

    judge: str
    model: str
    simulated: bool
    rows: int
    changes: Mapping[str, Mapping[str, Estimate]]

    def describe(self) -> str:
        """Return the report as lines of text."""
        simulated = "SIMULATED: " if self.simulated else ""
        lines = [f"{simulated}{self.judge}: {self.rows} rows asked again, the options changed"]
        for name, one in self.changes.items():
            figures = ", ".join(f"{what} {estimate}" for what, estimate in one.items())
            lines.append(f"  {name}: {figures} (n = {one['shift'].n})")
        return "\n".join(lines)


def order_sensitivity(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    *,
    settings: JudgeSettings,
    rule: DecisionRule | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> OrderReport:
    """Ask a decision model about the same rows with the options in other orders and under letters.

    Args:
        prompt: The judge.
        dataset: Where the rows come from; labels play no part.
        client: Of the decision model.
        settings: Rows over its limit are not asked about.
        rule: What decides; a half unless given.
        progress: Called while answers come in.

    Raises:
        InputError: The client's model is a chat model.
        PromptError: A row lacks a field the template names.
    """
    api = client.settings.api
    if api is None:
        raise InputError(
            f"{client.model.name} is a chat model, whose question has no options to reorder",
            hint="name a decision model; --planted N plants instructions",
        )
    rows = [row for row in dataset.rows if settings.oversized(row) is None]
    sample = replace(dataset, rows=tuple(sorted(rows, key=lambda row: hash_of(0, row.id))[:SAMPLE]))
    one = replace(prompt, cascade=None)
    tables = {
        name: judge(one, sample, client, settings=settings, question=question, progress=progress)
        for name, question in variants(AskedQuestion(prompt=one, api=api)).items()
    }
    if rule is not None:
        tables = {name: table.under(rule) for name, table in tables.items()}
    own, groups = tables.pop("as it is"), group_codes(sample.rows)
    chooses = prompt.scale.kind == "choice"
    changes: dict[str, Mapping[str, Estimate]] = {}
    for name, after in tables.items():
        both = enumerate(zip(own.answers, after.answers, strict=True))
        pairs = [
            (i, a, b) for i, (a, b) in both if isinstance(a, Verdict) and isinstance(b, Verdict)
        ]
        moved = [a.score != b.score if chooses else a.positive != b.positive for _, a, b in pairs]
        shift = np.array([_share(b, a, chooses) - _share(a, a, chooses) for _, a, b in pairs])
        values = {"decided otherwise": np.array(moved, np.float64), "moved": np.abs(shift)}
        members = groups[[i for i, _, _ in pairs]]
        changes[name] = {
            what: mean_over_rows(each, members, missing=_UNPAIRED) for what, each in values.items()
        } | {"shift": mean_over_rows(shift, members, missing=_UNPAIRED, bounds=SIGNED)}
    return OrderReport(
        judge=f"{prompt.name}@{prompt.version}",
        model=client.model.name,
        simulated=own.simulated,
        rows=len(sample),
        changes=changes,
    )


def _share(verdict: Verdict, own: Verdict, chooses: bool) -> float:
    """Return the probability of the positive side, or of the label that was chosen at first."""
    return verdict.distribution[int(own.score)] if chooses else verdict.score


def variants(original: AskedQuestion) -> dict[str, AskedQuestion]:
    """Return a judge's question `as it is`, then with its options in other orders and under
    letters; the names of levels, which one interface alone is sent, stay for the others.
    """
    question = original.question
    if question.kind == "yes_no":
        question = replace(question, kind="choice")
    same = tuple(range(len(question.options)))
    orders = {"as it is": same, "reversed": same[::-1]}
    if question.kind == "choice" and len(same) > 2:
        orders = {f"shifted by {k}": same[k:] + same[:k] for k in range(1, len(same))[:_SHIFTS]}
        orders = {"as it is": same} | orders
    varied: dict[str, AskedQuestion] = {}
    for name, order in orders.items():
        options = tuple(question.options[place] for place in order)
        varied[name] = replace(original, varied=replace(question, options=options), order=order)
    if question.kind == "choice" or INTERFACES[original.api].names_levels:
        options = tuple(
            Option(f"{ascii_uppercase[i % 26]}{i // 26 or ''}", option.meaning or option.name)
            for i, option in enumerate(question.options)
        )
        lettered = replace(question, options=options)
        varied["named by letters"] = replace(original, varied=lettered, order=same)
    return varied
