"""Ask a model one question, to see whether its endpoint can be used and what a call takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...judges import (
    Completion,
    JudgeSettings,
    Prices,
    Registry,
    Unscored,
    load_dataset,
)
from ...judges.files.rows_in_memory import rows_in_memory
from ...judges.judge import asked_judge
from ...judges.models import Client, MemoryRecord
from ..config.environment import Environment, open_model
from ..demo import JUDGE, demo_rows

SECONDS = 60.0
"""For which the answer is awaited, with a person looking on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrial:
    """What came back from one question to a model."""

    model: str
    base_url: str
    simulated: bool
    reply: Completion
    verdict: str
    """What was read in the reply; empty where there is no verdict in it."""
    unreadable: str
    """Why there is none."""
    notes: tuple[str, ...]
    """What the endpoint refused or ignored."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `models test --json` prints."""
        reply = self.reply
        return {
            "model": self.model,
            "base_url": self.base_url,
            "simulated": self.simulated,
            "verdict": self.verdict,
            "unreadable": self.unreadable,
            "latency": reply.latency,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "reasoning": reply.reasoning_tokens,
            "cost": reply.cost,
            "notes": list(self.notes),
        }


def try_model(name: str, environment: Environment) -> ModelTrial:
    """Ask a model one question, about a built-in row that is made up; nothing is recorded.

    Args:
        name: The model, as `--model` takes it.
        environment: Names, base URL, keys and prices. The user names the model in this command.

    Raises:
        InputError: The name cannot be used, or its key is missing.
        ModelError: The endpoint cannot be asked.
    """
    from .bench import describe_parameters

    environment.require_named(name, who=f"the model {name!r}")
    environment.require_keys(name)
    settings, watch = environment.settings(name), environment.watch
    prompt = Registry().get(JUDGE)
    source = rows_in_memory(demo_rows(documents=1), name="the built-in rows")
    rows = load_dataset(source, inputs=prompt.inputs, scale=prompt.scale, limit=1)
    with Client(
        open_model(name, environment),
        settings=settings,
        record=MemoryRecord(),
        prices=Prices(settings.price),
        watch=None if watch is None else lambda _, progress: watch("the test", progress),
        tries=1,
        row_seconds=SECONDS,
        widens=False,
    ) as client:
        asked = asked_judge(prompt, client, JudgeSettings())
        reply = client.ask_one(asked.request(rows.rows[0]))
        answer = asked.read(reply)
        if isinstance(answer, Unscored):
            verdict, unreadable = "", f"{answer.reason}: {answer.detail}"
        else:
            verdict, unreadable = "grounded" if answer.positive else "not grounded", ""
        return ModelTrial(
            model=client.model.name,
            base_url=client.model.endpoint,
            simulated=client.model.simulated,
            reply=reply,
            verdict=verdict,
            unreadable=unreadable,
            notes=describe_parameters(client.stats.dropped, client.stats.ignored),
        )
