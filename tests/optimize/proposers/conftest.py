"""A workbench as the run lays it out: simulated judge and optimizer, made-up training rows,
everything overheard.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import (
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Registry,
    Row,
    judge,
    load_dataset,
)
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated
from judgewright.optimize import Brief, Goal, Target, build_brief
from judgewright.optimize.losses import default_loss, read_objective, row_losses
from judgewright.optimize.proposers import Trial, Workbench
from judgewright.runs.demo import write_demo_rows

OBJECTIVE = read_objective(
    "Precision matters most: do not call unsupported statements grounded.",
    target="precision",
)
GOAL = Goal(
    objective=OBJECTIVE, target=Target(predicate=None, why="all rows"), loss=default_loss(OBJECTIVE)
)


NOTES = (
    "A number in the statement is not the one in the source.",
    "The name of the person is another one.",
    None,
    "The source says the opposite, so they contradict each other.",
)
"""What annotators said, row by row in turn."""


@dataclass(kw_only=True)
class AppState:
    """A prompt, a brief of it, a workbench, and all that went through the workbench."""

    prompt: JudgePrompt
    brief: Brief
    train: Trial
    client: Client
    reply: Callable[[Request], str] | None = None
    """Answers in place of the simulated optimizer."""
    seed: int = 3
    asked: list[Request] = field(default_factory=list)
    tried: list[tuple[JudgePrompt, tuple[str, ...]]] = field(default_factory=list)

    @property
    def bench(self) -> Workbench:
        """What the proposer is given."""
        return Workbench(
            ask=self.ask,
            train=self.train,
            dataset=self.train.judged.dataset,
            try_out=self.try_out,
            seed=self.seed,
        )

    def ask(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer, and keep what was asked."""
        self.asked += requests
        if self.reply is not None:
            return [Completion(text=self.reply(request)) for request in requests]
        return [outcome for outcome in self.client.ask(requests) if isinstance(outcome, Completion)]

    def try_out(self, prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
        """Judge training rows, and keep which."""
        assert {row.id for row in rows} <= {row.id for row in self.train.judged.dataset.rows}
        self.tried.append((prompt, tuple(row.id for row in rows)))
        return weighed(
            judge(prompt, replace(self.train.judged.dataset, rows=tuple(rows)), self.client)
        )


def weighed(judged: JudgedDataset) -> Trial:
    """Weigh a table with the default loss."""
    inside = np.ones(len(judged.rows), np.bool_)
    return Trial(judged=judged, losses=row_losses(default_loss(OBJECTIVE), judged, inside))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """About a hundred made-up labelled rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=30)
    prompt = Registry().get("groundedness")
    rows = load_dataset(path, inputs=prompt.inputs, scale=prompt.scale)
    noted = (
        replace(row, meta={**row.meta, "note": NOTES[i % len(NOTES)]})
        for i, row in enumerate(rows.rows)
    )
    return replace(rows, rows=tuple(noted))


@pytest.fixture
def client() -> Iterator[Client]:
    """The simulated model behind the real client."""
    with Client(Simulated()) as opened:
        yield opened


@pytest.fixture
def new_desk(data: Dataset, client: Client) -> Callable[..., AppState]:
    """Lay out a desk; keyword arguments are fields of it."""

    def lay(prompt: JudgePrompt | None = None, **fields: object) -> AppState:
        prompt = prompt or Registry().get("groundedness")
        train = weighed(judge(prompt, data, client))
        brief = build_brief(prompt, train.judged, goal=GOAL)
        return AppState(prompt=prompt, brief=brief, train=train, client=client, **fields)  # type: ignore[arg-type]

    return lay


@pytest.fixture
def desk(new_desk: Callable[..., AppState]) -> AppState:
    """The plain desk."""
    return new_desk()


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is home and working directory, so that whatever a library leaves behind
    is seen.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path
