"""What a person decides about a run: accept its prompt, or some hunks of it, or reject it.

Some hunks make another text than the run's, so that the run's decision does not speak for it. It
gets a decision of its own in a run of the kind `hunks`: one more look at that holdout, at what such
a look may spend. All hunks together are the run's own prompt, for which its decision stands.
"""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import (
    ClientStats,
    DecisionRule,
    InputError,
    Interrupted,
    JudgePrompt,
    JudgewrightError,
    Splits,
)
from ...judges.models import Watch, unwatched
from ...judges.registry import KeptRule
from ...optimize import BY_GATE, PhraseIndex, check_candidate
from ...optimize.events import DecisionRecord, HunksRefused, Reviewed, write_part
from ...optimize.holdout.ledger import seen_rows
from ...optimize.hunks import compose
from ...optimize.run_event import write_event
from ..config.environment import Environment
from ..store.banks import keep_banks
from ..store.journal import RunJournal, list_runs
from ..store.ledger import HoldoutLedger
from ..store.run_config import editable_parts, open_proposers
from ..store.workspace import Workspace
from .decide import HUNKS, Duel, Gated, GateModel, answer_once
from .run_summary import RunSummary, read_optimization, require_same_models, split_of_run

GIT_SECONDS = 2.0
"""How long git may take to say who somebody is."""


class NotAccepted(JudgewrightError):
    """The gate has not accepted this prompt (exit code 1)."""


def record_review(
    workspace: Workspace, run_id: str, *, accept: bool, who: str | None, comment: str
) -> JudgePrompt | None:
    """Write a person's decision into the run; an accepted prompt becomes the current version of its
    judge.

    Args:
        run_id: A finished run.
        accept: Whether the prompt is accepted or rejected.
        who: Who decides; see `identity` for who it is unless given.

    Returns:
        The accepted prompt; None when it was rejected.

    Raises:
        InputError: The run has not finished, or somebody has decided about it.
        NotAccepted: There is no prompt to accept, or the gate did not accept it.
    """
    run = read_optimization(workspace, run_id)
    decision = run.decided
    if accept and (decision.accepted is False or run.after is None):
        by_gate = decision.outcome in BY_GATE
        why = "the gate did not accept this prompt" if by_gate else decision.outcome
        raise NotAccepted(f"{why}: {decision.reason}")
    run = _claim(workspace, run_id)
    if not accept or run.after is None:
        _write_review(workspace, run, "rejected", run.after, who=who, comment=comment)
        return None
    note = f"run {run.run_id}, gated on {run.config.model}: {run.decided.reason}"
    accepted = _current(workspace, run, replace(run.after, note=note))
    if run.new_rule is not None:
        workspace.registry.keep_rule(accepted, _fitted_rule(run, accepted, run.new_rule))
    else:
        _keep_rule_of_parent(workspace, run, accepted)
    _write_review(workspace, run, "accepted", accepted, who=who, comment=comment)
    return accepted


def _claim(workspace: Workspace, run_id: str) -> RunSummary:
    """Wait for the turn to write, and read the run again: somebody may have decided meanwhile.

    Raises:
        InputError: The run has not finished, or somebody has decided about it.
    """
    workspace.database.claim(run_id)
    run = read_optimization(workspace, run_id)
    run.require_unreviewed()
    return run


def _current(workspace: Workspace, run: RunSummary, prompt: JudgePrompt) -> JudgePrompt:
    """Make a prompt that the gate accepted the current version of its judge."""
    registry, before = workspace.registry, run.before
    if prompt.version != before.version:
        prompt = replace(prompt, parent=before.version)
    if before.version not in {version.version for version in registry.versions(before.name)}:
        registry.keep(before, current=False)
    keep_banks(workspace, prompt)
    registry.keep(prompt)
    return prompt


def _keep_rule_of_parent(workspace: Workspace, run: RunSummary, prompt: JudgePrompt) -> None:
    """Keep the rule under which the gate decided; its calibration is the parent's."""
    decides = run.config.judge_settings.api is not None
    rule = workspace.registry.kept_rule(run.before, decides=decides)
    if rule and run.config.rule == rule.rule.to_json():
        own = rule.model_copy(update={"judge": f"{prompt.name}@{prompt.version}"})
        workspace.registry.keep_rule(prompt, own)


def _fitted_rule(run: RunSummary, prompt: JudgePrompt, rule: DecisionRule) -> KeptRule:
    """Return the rule that a run chose for its new prompt, with what it was chosen on."""
    assert run.started is not None
    assert run.chances is not None
    return KeptRule(
        rule=rule,
        judge=f"{prompt.name}@{prompt.version}",
        asked_at=prompt.scale.threshold,
        dataset=run.started.data,
        dataset_hash=run.started.data_hash,
        rows=run.chances.rows,
        model=run.started.model,
        confidence=run.config.confidence,
        metric=run.started.objective.target,
        simulated=run.simulated,
        api=run.config.judge_settings.api,
    )


def _write_review(
    workspace: Workspace,
    run: RunSummary,
    verb: str,
    prompt: JudgePrompt | None,
    *,
    who: str | None,
    comment: str,
    hunks: HunkChoice | None = None,
) -> None:
    """Write who decided what. It comes last: cut off before it, the same command can be given again
    and ends the same.
    """
    review = Reviewed(
        verb=verb,
        who=who or identity(workspace.root),
        comment=comment,
        version=prompt.version if prompt else None,
        prompt=prompt.to_yaml() if prompt else None,
        hunks=hunks.hunks if hunks else None,
        of=hunks.of if hunks else None,
        gated=hunks.gated.run_id if hunks and hunks.gated else None,
    )
    RunJournal(workspace.database, run.run_id).append(review.kind, write_event(review))


def identity(folder: Path) -> str:
    """Say who the person at the keyboard is: what git calls them in this folder, else their user
    name.
    """
    name, email = (_ask_git(folder, key) for key in ("user.name", "user.email"))
    return f"{name} <{email}>" if name and email else name or email or getpass.getuser()


def _ask_git(folder: Path, key: str) -> str:
    """Return a value of git's configuration; empty where git is not there, has none, or does not
    answer.
    """
    command = ["git", "config", "--get", key]
    try:
        done = subprocess.run(  # noqa: S603  # nothing in it comes from outside
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkChoice:
    """What became of a choice of hunks."""

    run_id: str
    """The run whose diff it is."""
    hunks: tuple[int, ...]
    of: int
    """How many there are."""
    prompt: JudgePrompt
    """The composed prompt: the very text that was judged."""
    decision: DecisionRecord
    """The run's own, where all were chosen."""
    gated: Gated | None = None
    """The question that was put to the gate; None where all were chosen and the run's own decision
    stands.
    """
    adopted: JudgePrompt | None = None
    """The registered prompt; None where the gate did not accept it."""

    def __str__(self) -> str:
        return f"hunk{'s' * (len(self.hunks) > 1)} {', '.join(map(str, self.hunks))} of {self.of}"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `accept --hunks --json` prints."""
        return {
            "run": self.run_id,
            "accepted": self.adopted is not None,
            "judge": f"{self.adopted.name}@{self.adopted.version}" if self.adopted else None,
            "hunks": list(self.hunks),
            "of": self.of,
            "prompt": self.prompt.to_yaml(),
            "decision": write_part(self.decision),
            "gate": self.gated.to_json() if self.gated else None,
        }


def accept_hunks(
    workspace: Workspace,
    run_id: str,
    chosen: Collection[int],
    environment: Environment,
    *,
    who: str | None,
    comment: str,
    watch: Watch = unwatched,
    budget: str | None = None,
) -> HunkChoice:
    """Compose the chosen hunks of a finished run's diff, have the gate decide, and adopt what it
    accepts.

    Asking for the same hunks again spends no other look, and a question that was cut off is gone on
    with.

    Args:
        run_id: The run; that its gate did not accept the whole diff is no hindrance.
        chosen: Numbers of hunks, as `judgewright diff` shows them.
        who: Who decides; git's user, or else the user name, unless given.
        budget: A new budget for the run, all that was spent for it included; its own unless given.

    Raises:
        InputError: There are no such hunks, the run has not finished, somebody has decided about
            it, its rows have changed, or only the workspace names the address of its model; nothing
            is spent.
        NotAccepted: The composed prompt breaks what a candidate must leave as it is; nothing is
            spent.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    choice = _compose(read_optimization(workspace, run_id), chosen)
    run = _claim(workspace, run_id)
    if run.after is not None and choice.prompt.version == run.after.version:
        adopted = None
        if choice.decision.accepted:
            adopted = record_review(workspace, run_id, accept=True, who=who, comment=comment)
        return replace(choice, adopted=adopted)
    config = run.config
    environment.require_named(config.model, who=f"run {run_id}")
    require_same_models(run, environment)
    others = list_runs(workspace.database, HUNKS)
    model = GateModel(
        options=replace(config, budget=budget or config.budget),
        environment=environment.for_run(config.model_settings),
        watch=watch,
        same_budget=(
            run_id,
            *(info.run_id for info in others if info.config["question"]["of"] == run_id),
        ),
    ).judging_as(config)
    try:
        gated = _put_to_gate(workspace, run, choice, model)
    except (Interrupted, KeyboardInterrupt):
        again = f"judgewright accept {run_id} --hunks {','.join(map(str, choice.hunks))}"
        raise Interrupted(
            "stopped; the question and its look are kept",
            hint=f"go on with: {again}{environment.keyring().flags()}",
        ) from None
    decision = gated.answer.decision
    choice = replace(choice, decision=decision, gated=gated)
    if not gated.accepted:
        return choice
    note = f"{choice} of run {run_id}, gated on {config.model}: {decision.reason}"
    adopted = _current(workspace, run, replace(choice.prompt, note=note))
    _keep_rule_of_parent(workspace, run, adopted)
    _write_review(workspace, run, "accepted", adopted, who=who, comment=comment, hunks=choice)
    return replace(choice, adopted=adopted)


def _compose(run: RunSummary, chosen: Collection[int]) -> HunkChoice:
    decision, diff = run.decided, run.diff()
    if diff is None:
        raise InputError(
            f"run {run.run_id!r} found no better prompt; there are no hunks to choose from"
        )
    numbers = tuple(sorted(set(chosen)))
    if not numbers:
        raise InputError(
            "no hunk was chosen", hint=f"judgewright diff {run.run_id} shows their numbers"
        )
    prompt = compose(diff, numbers)
    return HunkChoice(
        run_id=run.run_id, hunks=numbers, of=len(diff.hunks), prompt=prompt, decision=decision
    )


def _put_to_gate(
    workspace: Workspace, run: RunSummary, choice: HunkChoice, model: GateModel
) -> Gated:
    """Have the gate decide between the run's first prompt and the composed one, on the run's
    holdout.
    """
    prompt, parts = choice.prompt, split_of_run(workspace, run)
    keep_banks(workspace, prompt)
    _require_allowed(workspace, run, choice, parts)
    duel = replace(Duel.of_run(run, prompt, parts.holdout), purpose=HUNKS)

    def answer(own: str) -> tuple[dict[str, Any], ClientStats]:  # Any: JSON
        ledger = HoldoutLedger(workspace.database)
        ledger.remember(seen_rows(own, parts), allow_opened=run.config.allow_opened)
        return duel.decide(workspace, own, model)

    hunks = list(choice.hunks)
    note = f"{choice} of run {run.run_id}; its own decision was about all of them"
    about = duel.about([note]) | {"of": run.run_id, "hunks": hunks}
    question = {"of": run.run_id, "after": {"version": prompt.version}}
    config = {"question": question, "model": run.config.model, "hunks": hunks}
    return answer_once(workspace, HUNKS, config | {"after": prompt.to_yaml()}, about, answer)


def _require_allowed(
    workspace: Workspace, run: RunSummary, choice: HunkChoice, parts: Splits
) -> None:
    """Hold the composed prompt against the invariants, as a proposal is; what it breaks is
    journaled by name.
    """
    violations = check_candidate(
        run.before,
        choice.prompt,
        phrases=PhraseIndex((*parts.training.rows, *parts.validation.rows)),
        editable=editable_parts(open_proposers(run.config)),
        training=parts.training.rows,
    )
    if violations:
        version = choice.prompt.version
        event = HunksRefused(hunks=choice.hunks, version=version, violations=violations)
        RunJournal(workspace.database, run.run_id).append(event.kind, write_event(event))
        why = "; ".join(f"{violation.name}: {violation.detail}" for violation in violations)
        raise NotAccepted(f"{choice} make a prompt that may not be tried: {why}")
