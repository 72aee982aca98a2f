"""How each arm's judge is made from labelled rows, and how it is judged across the folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drawn_rows import FOLDS, Task, read_folds, read_rows
from request_files import Exchange, Missing

from judgewright.judges import CaseBank, Cases, Dataset, JudgedDataset, JudgePrompt
from judgewright.optimize import (
    Goal,
    NoProposal,
    PhraseIndex,
    Study,
    Target,
    TextGrad,
    Trial,
    Workbench,
    build_brief,
    check_candidate,
    column_values,
    default_loss,
    read_objective,
)
from judgewright.optimize.options import BRIEF_TOKENS

OBJECTIVE = read_objective("raise precision; recall may fall by 10 points")
ARMS = {
    "A": "as it ships",
    "D": "four decided cases, near, balanced",
}
WRITTEN = "C"
"""The arm whose prompt a model writes: study, TextGrad with a view of all rows, one step. The third
walk left it out.
"""
CASES = 4


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One task and where its files are."""

    task: Task
    folder: Path
    exchange: Exchange
    say: Callable[[str], None]

    def rows(self, part: str) -> Dataset:
        """Return rows of a part."""
        return read_rows(self.folder / "data", self.task, part)

    def folds(self) -> list[list[int]]:
        """Return positions of the open rows of each fold."""
        number = read_folds(self.folder / "data", self.task)
        rows = self.rows("open").rows
        return [
            [i for i, row in enumerate(rows) if number[row.id] == fold] for fold in range(FOLDS)
        ]

    def across_folds(self, arm: str) -> JudgedDataset:
        """Return all open rows, each judged by what was made of the other folds."""
        whole = self.rows("open")
        if arm == "A":
            return self.exchange.judge(self.task.prompt, whole, f"{self.task.name} open A")
        waiting: list[Exception] = []
        parts: list[JudgedDataset] = []
        for fold, positions in enumerate(self.folds()):
            held = _rows_at(whole, positions)
            try:
                what = f"{self.task.name} open {arm} fold {fold}"
                parts.append(self.exchange.judge(self.made(arm, fold), held, what))
            except Missing as error:
                waiting.append(error)
        if waiting:
            raise Missing("; ".join(map(str, waiting)))
        answers = {answer.row_id: answer for part in parts for answer in part.answers}
        return replace(
            parts[0], dataset=whole, answers=tuple(answers[row.id] for row in whole.rows)
        )

    def sealed(self, arm: str) -> JudgedDataset:
        """Return all sealed rows, judged by what was made of all open rows."""
        what = f"{self.task.name} sealed {arm}"
        return self.exchange.judge(self.made(arm, None), self.rows("sealed"), what)

    def made(self, arm: str, without: int | None) -> JudgePrompt:
        """Make an arm's judge from the open rows without a fold; from all of them with None."""
        prompt, whole = self.task.prompt, self.rows("open")
        folds = enumerate(self.folds())
        training = sorted(i for fold, rows in folds if fold != without for i in rows)
        if arm == WRITTEN:
            judged = self.exchange.judge(prompt, whole, f"{self.task.name} open A")
            where = "all open rows" if without is None else f"fold {without}"
            return self._studied(judged.only(training), f"{self.task.name} open {arm} {where}")
        if arm == "D":
            rows = _rows_at(whole, training)
            bank = CaseBank.of(rows.rows, rows.labels, prompt.inputs)
            return replace(prompt, cases=Cases(bank=bank, count=CASES, by="near"))
        return prompt

    def _studied(self, judged: JudgedDataset, what: str) -> JudgePrompt:
        """Take one step; what breaks a rule, or nothing, leaves the prompt as it ships."""
        shipped, training = self.task.prompt, judged.dataset.rows
        target = Target(predicate=None, why="all rows are read")
        goal = Goal(objective=OBJECTIVE, target=target, loss=default_loss(OBJECTIVE))
        brief: Any = build_brief(shipped, judged, goal=goal, budget=BRIEF_TOKENS["all"])
        columns = column_values(judged, columns=self.task.columns)
        bench = Workbench(
            ask=self.exchange.write_as(what),
            train=Trial(judged=judged, losses=goal.row_losses(judged)),
            dataset=judged.dataset,
            try_out=_no_trial,
            seed=0,
        )
        proposer = TextGrad(parts=("criteria", "anchors"), view="all")
        brief = replace(Study.of(brief), columns=columns)
        proposal = proposer.propose(shipped, brief, bench, step=1)
        if isinstance(proposal, NoProposal):
            self.say(f"{what}: no proposal: {proposal.reason}")
            return shipped
        broken = check_candidate(
            shipped,
            proposal.prompt,
            phrases=PhraseIndex(training),
            editable=proposer.parts,
            training=training,
        )
        if broken:
            self.say(f"{what}: breaks a rule: {'; '.join(one.detail for one in broken)}")
            return shipped
        return proposal.prompt


def _rows_at(dataset: Dataset, positions: list[int]) -> Dataset:
    rows = [dataset.rows[i] for i in positions]
    return Dataset.of(rows, labels=dataset.labels, name=dataset.name)


def _no_trial(*_: object) -> Trial:
    raise ValueError("no arm tries prompts while it writes")
