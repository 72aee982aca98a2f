"""Answer questions from documents in several ways, with every reply recorded in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ....judges import ClientStats, JudgePrompt, JudgeSettings, write_beside
from ....judges.judge import unanswered_error
from ....judges.retrieval import Encode
from ....runs.actions.bench import Watch
from ....runs.config.command_options import ModelOptions, Via
from ....runs.config.environment import Environment, parse_budget
from ....runs.store.journal import create_run, run_session, set_state
from ....runs.store.run_clients import open_run_clients
from ....runs.store.workspace import Workspace
from ..answers import (
    Document,
    Grader,
    Question,
    Setup,
    SetupResult,
    compare_setups,
    correctness_inputs,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSetups:
    """Ways to answer from documents side by side, and what they cost."""

    run_id: str
    judge: str
    model: str
    answer_model: str
    simulated: bool
    documents: int
    questions: tuple[Question, ...]
    results: tuple[SetupResult, ...]
    stats: tuple[ClientStats, ...]

    @property
    def calls(self) -> int:
        """Calls that were paid for now."""
        return sum(stats.calls for stats in self.stats)

    @property
    def cost(self) -> float | None:
        """US dollars; None where a price is unknown."""
        costs = [stats.cost for stats in self.stats]
        return (
            None
            if not all(stats.price_known for stats in self.stats)
            else sum(cost or 0.0 for cost in costs)
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `answers compare --json` prints."""
        return {
            "run": self.run_id,
            "judge": self.judge,
            "model": self.model,
            "answer_model": self.answer_model,
            "simulated": self.simulated,
            "documents": self.documents,
            "questions": len(self.questions),
            "setups": [result.to_json() for result in self.results],
            "calls": self.calls,
            "cost": self.cost,
        }


def compare_answers(
    workspace: Workspace,
    prompt: JudgePrompt,
    documents: Sequence[Document],
    questions: Sequence[Question],
    setups: Sequence[Setup],
    models: ModelOptions,
    environment: Environment,
    *,
    answer_model: str | None,
    answer_tokens: int,
    encode: Encode | None,
    watch: Watch,
) -> ComparedSetups:
    """Answer and grade; a stopped comparison that is started again asks only what has no reply yet.

    Args:
        workspace: Where replies are recorded; the judge's rule is the one it keeps.
        prompt: A judge of correctness.
        documents: Where the answers are sought.
        questions: With their right answers.
        setups: The ways to compare.
        models: The judge's model and the budget of both.
        environment: Keys and addresses.
        answer_model: The model that answers; None for the judge's.
        answer_tokens: Tokens of an answer at most.
        encode: Vectors of texts; BM25 without one.
        watch: Called while replies come in.

    Raises:
        InputError: The judge takes other inputs, or a model's name is not valid.
        WorldError: The endpoint or the disk stopped it; replies that came are recorded.
    """
    correctness_inputs(prompt.inputs, f"the judge {prompt.name!r}")
    parse_budget(models.budget)
    judging: tuple[str, Via] = (models.model, models.via)
    answering: tuple[str, Via] = (answer_model or models.model, models.via)
    config = {
        "judge": f"{prompt.name}@{prompt.version}",
        "model": models.model,
        "answer_model": answering[0],
        "setups": [str(setup) for setup in setups],
    }
    registered = workspace.registry.kept_rule(prompt)
    run_id = create_run(workspace.database, "answers", config)
    with (
        run_session(workspace.database, run_id),
        open_run_clients(
            workspace,
            run_id,
            models,
            environment,
            models=tuple(dict.fromkeys((judging, answering))),
        ) as clients,
    ):
        grader = Grader(
            prompt=prompt,
            client=clients[judging],
            rule=registered and registered.rule,
            settings=JudgeSettings(max_tokens=models.max_tokens),
        )
        results, simulated = compare_setups(
            documents,
            questions,
            setups,
            answering=clients[answering],
            grader=grader,
            encode=encode,
            settings=JudgeSettings(max_tokens=answer_tokens),
            watch=watch,
        )
    compared = ComparedSetups(
        run_id=run_id,
        judge=f"{prompt.name}@{prompt.version}",
        model=models.model,
        answer_model=answering[0],
        simulated=simulated,
        documents=len(documents),
        questions=tuple(questions),
        results=tuple(results),
        stats=tuple(client.stats for client in clients.values()),
    )
    failures = [outcome.failure for result in results for outcome in result.outcomes]
    if all(outcome.correct is None for result in results for outcome in result.outcomes):
        set_state(workspace.database, run_id, "stopped")
        raise unanswered_error(next(filter(None, failures), "no reply"), of="question")
    return compared


def write_outcomes(compared: ComparedSetups, path: Path) -> None:
    """Write what became of each question in each way, a line each."""
    lines: list[bytes] = []
    for result in compared.results:
        for question, outcome in zip(compared.questions, result.outcomes, strict=True):
            lines.append(
                orjson.dumps(
                    {
                        "setup": str(result.setup),
                        "id": question.id,
                        "question": question.text,
                        "gold_answer": list(question.gold),
                        "answer": outcome.answer,
                        "quote": outcome.quote,
                        "correct": outcome.correct,
                        "similarity": outcome.similarity,
                        "document_found": outcome.document_found,
                        "evidence_found": outcome.evidence_found,
                        "failure": outcome.failure,
                        "simulated": compared.simulated,
                    },
                    option=orjson.OPT_APPEND_NEWLINE,
                )
            )
    write_beside(path, b"".join(lines).decode())
