"""Some hunks of a run's diff: the prompt composed of them, put through the gate on the run's holdout, and adopted.

What is composed is another text than the run's, so that the run's decision does not speak for it. It gets a decision
of its own in a run of the kind `hunks`: one more look at that holdout, at what such a look may spend. All hunks
together are the run's own prompt, for which its decision stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import ClientStats, InputError, Interrupted, JudgePrompt, Splits, split_dataset
from ...optimize import PhraseIndex, check_candidate
from ...optimize.holdout.ledger import remember_split
from ...optimize.hunks import compose
from ..config.environment import Allowance, Environment, parse_budget
from ..store.calls import CallStore
from ..store.journal import RunJournal, list_runs
from ..store.ledger import HoldoutLedger
from ..store.run_config import open_proposer
from ..store.workspace import Workspace
from .gate import Asking, Watch, decide_with_model
from .gate_decision import HUNKS, Gated, answer_once
from .run_result import Finding, NotAccepted, finding, promote_prompt, settle


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
    decision: Mapping[str, Any]  # Any: JSON
    gated: Gated | None
    """The question that was put to the gate; None where all were chosen and the run's own decision stands."""
    adopted: JudgePrompt | None
    """The prompt on the shelf; None where the gate did not accept it."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `accept --hunks --json` prints."""
        return {
            "run": self.run_id,
            "accepted": self.adopted is not None,
            "judge": f"{self.adopted.name}@{self.adopted.version}" if self.adopted else None,
            "hunks": list(self.hunks),
            "of": self.of,
            "prompt": self.prompt.to_yaml(),
            "decision": dict(self.decision),
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
    watch: Watch,
    budget: str | None = None,
) -> HunkChoice:
    """Compose the chosen hunks of a finished run's diff, have the gate decide, and adopt what it accepts.

    Asking for the same hunks again spends no other look, and a question that was cut off is gone on with.

    Args:
        workspace: Where the run is.
        run_id: The run; that its gate did not accept the whole diff is no hindrance.
        chosen: Numbers of hunks, as `judgewright diff` shows them.
        environment: Base URL and keys for the run's model.
        who: Who decides; git's user, or else the user name, unless given.
        comment: Why.
        watch: Called while answers come in.
        budget: A new budget for the run, all that was spent for it included; its own unless given.

    Raises:
        InputError: There are no such hunks, the run has not finished, somebody has decided about it, its rows have
            changed, or only the workspace names the address of its model; nothing is spent.
        NotAccepted: The composed prompt breaks what a candidate must leave as it is; nothing is spent.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    found = finding(workspace, run_id)
    choice = _compose(found, chosen)
    workspace.database.claim()
    found = finding(workspace, run_id)  # again: while this waited for its turn, somebody may have decided
    found.require_open()
    if choice.whole:
        adopted = (
            settle(workspace, run_id, adopt=True, who=who, comment=comment) if found.decision["accepted"] else None
        )
        return choice.answered(found.decision, gated=None, adopted=adopted)
    config = found.config
    environment.require_named(config.model, who=f"run {found.run_id}")

    def asking(own: str) -> Asking:
        return Asking(
            model=config.model,
            environment=environment,
            allowance=_left(workspace, found.run_id, own, parse_budget(budget or config.budget)),
            concurrency=config.concurrency,
            watch=watch,
            max_tokens=config.max_tokens,
        )

    gated = _put_to_gate(workspace, choice, asking, flags=environment.keyring().flags())
    decision, adopted = gated.found["decision"], None
    if gated.accepted:
        note = f"{choice} of run {found.run_id}, gated on {config.model}: {decision['reason']}"
        about = {"hunks": list(choice.numbers), "of": choice.of, "gated": gated.run_id}
        noted = replace(choice.prompt, note=note)
        adopted = promote_prompt(workspace, found, noted, who=who, comment=comment, about=about)
    return choice.answered(decision, gated=gated, adopted=adopted)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Hunks of a finding and the prompt composed of them."""

    found: Finding
    numbers: tuple[int, ...]
    of: int
    prompt: JudgePrompt
    whole: bool
    """Whether it is the run's own new prompt."""

    def __str__(self) -> str:
        return f"hunk{'s' * (len(self.numbers) > 1)} {', '.join(map(str, self.numbers))} of {self.of}"

    def answered(
        self, decision: Mapping[str, Any], *, gated: Gated | None, adopted: JudgePrompt | None
    ) -> HunkChoice:  # Any: JSON
        """Return what became of it."""
        return HunkChoice(
            run_id=self.found.run_id,
            hunks=self.numbers,
            of=self.of,
            prompt=self.prompt,
            decision=decision,
            gated=gated,
            adopted=adopted,
        )


def _compose(found: Finding, chosen: Collection[int]) -> _Choice:
    diff = found.split()
    if diff is None:
        raise InputError(f"run {found.run_id!r} found no better prompt; there are no hunks to choose from")
    numbers = tuple(sorted(set(chosen)))
    if not numbers:
        raise InputError("no hunk was chosen", hint=f"judgewright diff {found.run_id} shows their numbers")
    prompt = compose(diff, numbers)
    whole = prompt.version == diff.after.version
    return _Choice(found=found, numbers=numbers, of=len(diff.hunks), prompt=prompt, whole=whole)


def _put_to_gate(workspace: Workspace, choice: _Choice, asking: Callable[[str], Asking], *, flags: str) -> Gated:
    """Have the gate decide between the run's first prompt and the composed one, on the run's holdout.

    Args:
        workspace: Where the run is.
        choice: The composed prompt and where it comes from.
        asking: Says who is asked, for the run in which the question is kept.
        flags: Options with which the same command may go on.
    """
    found, prompt, config = choice.found, choice.prompt, choice.found.config
    parts = split_dataset(config.dataset(), shares=config.shares)
    _require_allowed(workspace, choice, parts)
    rule = config.decision_rule
    rules = {} if rule is None else {found.before.version: rule, prompt.version: rule}

    def answer(own: str) -> tuple[dict[str, Any], ClientStats]:  # Any: JSON
        ledger = HoldoutLedger(workspace.database)
        remember_split(ledger, own, parts, allow_opened=config.allow_opened)
        prompts = found.before, prompt
        return decide_with_model(
            workspace,
            own,
            prompts,
            parts.holdout,
            found.terms,
            asking(own),
            rules=rules,
            ledger=ledger,
            purpose=HUNKS,
        )

    about = {"before": f"{prompt.name}@{found.before.version}", "after": f"{prompt.name}@{prompt.version}"}
    about |= {"data": Path(config.data).name, "rows": len(parts.holdout), "groups": parts.holdout.groups}
    about |= {"of": found.run_id, "hunks": list(choice.numbers), **found.terms.to_json()}
    about["notes"] = [f"{choice} of run {found.run_id}; its own decision was about all of them"]
    question = {"of": found.run_id, "after": {"version": prompt.version}}
    kept = {"question": question, "model": config.model, "hunks": list(choice.numbers), "after": prompt.to_yaml()}
    try:
        return answer_once(workspace, HUNKS, kept, about, answer)
    except (Interrupted, KeyboardInterrupt):
        again = f"judgewright accept {found.run_id} --hunks {','.join(map(str, choice.numbers))}{flags}"
        raise Interrupted("stopped; the question and its look are kept", hint=f"go on with: {again}") from None


def _require_allowed(workspace: Workspace, choice: _Choice, parts: Splits) -> None:
    """Hold the composed prompt against the invariants, as a proposal is; what it breaks is journaled by name."""
    found = choice.found
    violations = check_candidate(
        found.before,
        choice.prompt,
        phrases=PhraseIndex((*parts.train.rows, *parts.validation.rows)),
        editable=open_proposer(found.config).parts,
        training=parts.train.rows,
    )
    if violations:
        broken = {"version": choice.prompt.version, "violations": [asdict(violation) for violation in violations]}
        RunJournal(workspace.database, found.run_id).append("refused", {"hunks": list(choice.numbers), **broken})
        named = "; ".join(f"{violation.name}: {violation.detail}" for violation in violations)
        raise NotAccepted(f"{choice} make a prompt that may not be tried: {named}")


def _left(workspace: Workspace, run_id: str, own: str, allowance: Allowance) -> Allowance:
    """Return what a run's budget leaves for a choice of hunks after the walk and all other choices."""
    known = [info for info in list_runs(workspace.database) if info.kind == HUNKS and info.run_id != own]
    others = [run_id, *(info.run_id for info in known if info.config["question"]["of"] == run_id)]
    spent = [CallStore(workspace.database, other).spending() for other in others]
    money, tokens = allowance.money, allowance.tokens
    if money is not None:
        money = max(0.0, money - sum(one.settled_cost + one.in_doubt_cost for one in spent))
    if tokens is not None:
        tokens = max(0, tokens - sum(one.settled_tokens + one.in_doubt_tokens for one in spent))
    return Allowance(money=money, tokens=tokens)
