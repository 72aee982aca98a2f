"""What a run added and what earns nothing is taken out at the end, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from judgewright.judges import BINARY, Client, Completion, Dataset, JudgePrompt, OutputScale, Request, Row
from judgewright.optimize import (
    Brief,
    NoProposal,
    Proposal,
    RunSettings,
    Services,
    Workbench,
    optimize,
    parse_loss,
    read_objective,
)

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = JudgePrompt(
    name="j",
    system="You judge.",
    criteria="Say 1 to what is good. Be calm.",
    template="{{text}}",
    reply='Reply as {"score": 0 or 1, "confidence": 0 to 1}.',
    scale=OutputScale(low=0, high=1, threshold=1),
)
EARNS, IDLE = "Red things are bad.", "Think about the sea."


class Literal:
    """A judge that calls all good but red things, and those too unless it is told of them."""

    name, endpoint, simulated = "literal", "simulated:literal", True

    async def complete(self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()) -> Completion:
        """Answer by the one rule that matters."""
        told = "Red things are bad" in request.messages[0].content
        row = request.messages[-1].content
        boats = "Boats are good" in request.messages[0].content and "boat" in row
        good = boats or not (told and "red" in row)
        return Completion(text=f'{{"score": {int(good)}, "confidence": 0.9}}')

    async def close(self) -> None:
        """Nothing is open."""


class Once:
    """Proposes one text."""

    name, parts = "once", ("criteria",)

    def __init__(self, *sentences: str) -> None:
        self.sentences = sentences

    def propose(self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int) -> Proposal | NoProposal:
        """Add the sentences."""
        return Proposal(prompt=prompt.edited(criteria=" ".join((prompt.criteria, *self.sentences))), gradient="g")


class Repairing:
    """Proposes a rule that breaks a guard, and, asked to repair it, its exception."""

    name, parts = "repairing", ("criteria",)

    def __init__(self) -> None:
        self.repairs: list[Brief] = []

    def propose(self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int) -> Proposal | NoProposal:
        """Add the rule, or the exception."""
        if brief.role == "repair":
            self.repairs.append(brief)
        sentence = "Boats are good." if brief.role == "repair" else EARNS
        if sentence in prompt.criteria:
            return NoProposal("nothing more")
        return Proposal(prompt=prompt.edited(criteria=f"{prompt.criteria} {sentence}"), gradient="g")


@pytest.mark.timeout(120)
def test_a_candidate_that_breaks_a_guard_is_the_parent_of_the_next_step() -> None:
    """Its brief is of that candidate, beside the prompt that it was to replace; the repaired one is kept."""
    texts = [("red boat" if i % 9 == 0 else "red car" if i % 3 == 0 else "blue thing") for i in range(600)]
    rows = tuple(
        Row(id=f"r{i}", inputs={"text": f"{text} {i * 7919}"}, label=float("red car" not in text))
        for i, text in enumerate(texts)
    )
    journal, proposer = MemoryJournal(), Repairing()
    with Client(Literal()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposer=proposer,  # type: ignore[arg-type]  # its parts are a tuple of one
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        settings = RunSettings(
            steps=2,
            candidates=1,
            slice="all",
            ablate="none",
            loss=parse_loss(
                '{"expression": "fp + 0.5 * fn", "declares": {"fp_costs_more_than_fn": true}}', written_by="person"
            ),
        )
        objective = read_objective("raise precision", judge=PROMPT, guards=("recall:-0.05",))
        optimize(PROMPT, Dataset.of(rows, labels=BINARY), objective, services, settings)
    first, second = [event.payload for event in journal.events() if event.kind == "step"]
    assert first["result"].startswith(("worse: recall moved", "worse: it breaks a guard"))
    (brief,) = proposer.repairs
    assert brief.prompt.version == first["version"] == second["parent"]
    assert brief.other is not None
    assert brief.other.prompt == PROMPT
    assert "red boat" in brief.text()
    assert (second["role"], second["result"]) == ("repair", "kept")


def run(*sentences: str, ablate: str) -> tuple[str | None, Mapping[str, Any] | None]:
    """The criteria that a run of one step ends with, and what it wrote of the ablation."""
    rows = tuple(
        Row(id=f"r{i}", inputs={"text": f"{'red' if i % 3 == 0 else 'blue'} thing {i * 7919}"}, label=float(i % 3 != 0))
        for i in range(240)
    )
    data = Dataset.of(rows, labels=BINARY)
    journal = MemoryJournal()
    with Client(Literal()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposer=Once(*sentences),  # type: ignore[arg-type]  # its parts are a tuple of one
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        settings = RunSettings(
            steps=1,
            candidates=1,
            slice="all",
            ablate=ablate,  # type: ignore[arg-type]  # one of the three
            loss=parse_loss('{"expression": "fp + 0.5 * fn"}', written_by="person"),
        )
        outcome = optimize(PROMPT, data, read_objective("raise accuracy", judge=PROMPT), services, settings)
    found = [event.payload for event in journal.events() if event.kind == "pruned"]
    return (outcome.after.criteria if outcome.after else None), (found[0] if found else None)


@pytest.mark.timeout(60)
def test_a_sentence_that_earns_nothing_goes_and_one_that_does_stays() -> None:
    """Two were added; the person's own idle sentence is theirs, unless all are asked for."""
    criteria, event = run(EARNS, IDLE, ablate="added")
    assert criteria == f"{PROMPT.criteria} {EARNS}"
    assert event is not None
    assert event["kept"]
    assert [(line["text"], line["earned"] is None) for line in event["sentences"]] == [(EARNS, False), (IDLE, True)]
    criteria, _ = run(EARNS, IDLE, ablate="all")
    assert criteria == EARNS
    criteria, event = run(EARNS, IDLE, ablate="none")
    assert (criteria, event) == (f"{PROMPT.criteria} {EARNS} {IDLE}", None)
