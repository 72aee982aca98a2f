"""How each arm's judge is made from labelled rows, and how it is judged across the folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from drawn_rows import Task, read_rows
from request_files import ALONE, PLAIN, WITH_CASES, Exchange, Missing

from judgewright.judges import CaseBank, Cases, Dataset, JudgedDataset, JudgePrompt
from judgewright.optimize import (
    Goal,
    NoProposal,
    PhraseIndex,
    RunSettings,
    Study,
    Target,
    TextGrad,
    Trial,
    Workbench,
    build_brief,
    check_candidate,
    column_values,
    default_loss,
    find_target,
    read_objective,
)
from judgewright.optimize.brief import Attempt
from judgewright.optimize.options import BRIEF_TOKENS

OBJECTIVE = read_objective("raise precision; recall may fall by 10 points")
ARMS = {
    "A": "as it ships",
    "A'": "as it ships, asked again",
    "B": "TextGrad, view errors, one step",
    "B2": "TextGrad, view all, two steps",
    "C": "study: TextGrad, view all, one step",
    "D": "four decided cases, near, balanced",
    "F": "four decided cases, random, balanced",
    "CD": "C with D's cases",
    "D10": "D asked again, ten rows a file",
    "G": "64 decided cases, the same for all rows",
}
CONTROLS = ("D10", "G")
"""Asked only where somebody wants them."""
COUNT, MANY = 4, 64
SEED = 0


def arms_of(task: Task, *, sealed: bool) -> list[str]:
    """Return the arms of a task."""
    dropped = {*CONTROLS} if sealed else {*CONTROLS, "A'"}
    if task.name != "groundedness":
        dropped.add("CD")
    return [arm for arm in ARMS if arm not in dropped]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One task and where its files are."""

    task: Task
    folder: Path
    exchange: Exchange
    say: Callable[[str], None]

    def rows(self, part: str, fold: int | None = None) -> Dataset:
        """Return rows of a part."""
        return read_rows(self.folder / "data", self.task, part, fold)

    def across_folds(self, arm: str) -> JudgedDataset:
        """Return all open rows, each judged by what was made of the other fold."""
        whole = self.rows("open")
        if arm == "A":
            return self.exchange.judge(self.task.prompt, whole, self._what("open", arm))
        waiting: list[Exception] = []
        parts: list[JudgedDataset] = []
        for fold in (0, 1):
            what = self._what("open", arm, f"fold {fold}")
            try:
                prompt = self.made(arm, 1 - fold)
                parts.append(self._asked(arm, prompt, self.rows("open", fold), what))
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
        prompt = self.made(arm, None)
        what = self._what("sealed", arm)
        return self._asked(arm, prompt, self.rows("sealed"), what)

    def _asked(self, arm: str, prompt: JudgePrompt, rows: Dataset, what: str) -> JudgedDataset:
        most = PLAIN if prompt.cases is None or arm == "G" else WITH_CASES
        return self.exchange.judge(
            prompt,
            rows,
            what,
            repeat=int(arm in ("A'", "D10")),
            most=ALONE if arm == "D10" else most,
        )

    def made(self, arm: str, fold: int | None) -> JudgePrompt:
        """Make an arm's judge from the rows of a fold; from all open rows without one."""
        prompt = self.task.prompt
        if arm in ("B", "B2", "C", "CD"):
            prompt = self._written("C" if arm == "CD" else arm, fold)
        if arm in ("D", "D10", "F", "CD", "G"):
            training = self.rows("open", fold)
            bank = CaseBank.of(training.rows, training.labels, prompt.inputs)
            by = {"F": "random", "G": "fixed"}.get(arm, "near")
            count = MANY if arm == "G" else COUNT
            prompt = replace(prompt, cases=Cases(bank=bank, count=count, by=by))
        return prompt

    def _written(self, arm: str, fold: int | None) -> JudgePrompt:
        first = self._step(arm, self.task.prompt, fold, step=1)
        return self._step(arm, first, fold, step=2) if arm == "B2" else first

    def _step(self, arm: str, prompt: JudgePrompt, fold: int | None, *, step: int) -> JudgePrompt:
        """Take one step from a prompt; what breaks a rule, or nothing, leaves it as it is."""
        shipped, training = self.task.prompt, self.rows("open", fold)
        all_open = self.exchange.judge(shipped, self.rows("open"), self._what("open", "A"))
        ids = {row.id for row in training.rows}
        in_use = all_open.only([i for i, row in enumerate(all_open.dataset.rows) if row.id in ids])
        where = "all open rows" if fold is None else f"fold {fold}"
        judged, past = in_use, ()
        if prompt.version != shipped.version:
            what = self._what("open", "C", f"again on the rows it is from, {where}")
            judged = self.exchange.judge(prompt, training, what)
            past = (Attempt(prompt=prompt, kept=True),)
        view = "errors" if arm == "B" else "all"
        goal = self._goal(in_use, by_slice=view == "errors")
        brief: Any = build_brief(
            prompt,
            judged,
            goal=goal,
            past=past,
            in_use=None if judged is in_use else in_use,
            budget=BRIEF_TOKENS[view],
        )
        if view == "all":
            columns = column_values(judged, columns=self.task.columns)
            brief = replace(Study.of(brief), columns=columns)
        what = self._what("open", "C" if (arm, step) == ("B2", 1) else arm, where, f"step {step}")
        bench = Workbench(
            ask=self.exchange.write_as(what),
            train=Trial(judged=judged, losses=goal.row_losses(judged)),
            try_out=_no_trial,
            seed=SEED,
        )
        proposer = TextGrad(parts=("criteria", "anchors"), view=view)
        proposal = proposer.propose(prompt, brief, bench, step=step)
        if isinstance(proposal, NoProposal):
            self.say(f"{what}: no proposal: {proposal.reason}")
            return prompt
        broken = check_candidate(
            shipped,
            proposal.prompt,
            phrases=PhraseIndex(training.rows),
            editable=proposer.parts,
            training=training.rows,
        )
        if broken:
            self.say(f"{what}: breaks a rule: {'; '.join(one.detail for one in broken)}")
            return prompt
        return proposal.prompt

    def _goal(self, in_use: JudgedDataset, *, by_slice: bool) -> Goal:
        target = Target(predicate=None, why="all rows are read")
        if by_slice:
            services: Any = SimpleNamespace(record=lambda event: None)
            settings = RunSettings(slice_columns=self.task.columns, seed=SEED)
            target = find_target(in_use, OBJECTIVE, services, settings)
        return Goal(objective=OBJECTIVE, target=target, loss=default_loss(OBJECTIVE))

    def _what(self, part: str, arm: str, *more: str) -> str:
        return " ".join((self.task.name, part, arm, *more))


def _no_trial(*_: object) -> Trial:
    raise ValueError("no arm tries prompts while it writes")
