"""A judge from a description and a few labelled rows: a model drafts the role and the criteria, the
rest follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import BudgetSpent, ModelError
from .instruction import ASKING, Unfilled, ask_instruction, load_instruction
from .judge import JudgeSettings
from .models.client import Client
from .scale import OutputScale

MOST_EXAMPLES = 20
"""Rows that are shown to the model."""
EXAMPLE_CHARS = 4_000
"""Characters of each text of them that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledExample:
    """A row with the verdict that a person gives it."""

    inputs: Mapping[str, str]
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a model wrote for a new judge."""

    role: str
    criteria: str
    simulated: bool


def draft_judge(
    description: str,
    examples: Sequence[LabelledExample],
    scale: OutputScale,
    client: Client,
    *,
    settings: JudgeSettings = ASKING,
) -> Draft:
    """Have a model write the role and the criteria of a judge.

    Args:
        description: What is judged, in a person's words.
        examples: Rows of the same fields; the first `MOST_EXAMPLES` are shown. None may come from a
            holdout.
        scale: The verdicts.
        client: Where the answer comes from.
        settings: Sampling and limits.

    Raises:
        ModelError: The reply cannot be used.
        BudgetSpent: The budget was spent before the model was asked.
    """
    item = {
        "description": description,
        "fields": ", ".join(examples[0].inputs),
        "scale": f"{', '.join(scale.labels)} (the worst first)"
        if scale.labels
        else scale.describe(),
        "examples": "\n\n".join(
            _shown(number, one) for number, one in enumerate(examples[:MOST_EXAMPLES], 1)
        ),
    }
    (answer,) = ask_instruction(load_instruction("draft_judge"), [item], client, settings=settings)
    if isinstance(answer, Unfilled):
        if answer.reason == "budget":
            raise BudgetSpent("the budget ended before the model was asked")
        raise ModelError(f"the model drafted no judge: {answer.reason}: {answer.detail}")
    rules = [" ".join(rule.split()) for rule in answer.texts("criteria") if rule.strip()]
    role = " ".join(answer.text("role").split())
    if not role or not rules:
        raise ModelError("the model's draft has no role, or no criteria")
    if "{{" in role + "".join(rules):
        raise ModelError("the model's draft holds {{, which stands for a field here")
    return Draft(
        role=role, criteria="\n".join(f"- {rule}" for rule in rules), simulated=answer.simulated
    )


def _shown(number: int, example: LabelledExample) -> str:
    texts = "\n".join(f"{name}: {text[:EXAMPLE_CHARS]}" for name, text in example.inputs.items())
    return f"[{number}]\n{texts}\nverdict: {example.label}"
