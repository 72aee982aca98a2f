"""Time: the last decision about a judge again, on a new model and the same holdout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import DecisionRule, InputError, JudgePrompt, SealedRows, load_prompt
from ...optimize import Objective
from ...slices import parse_predicate
from ..store.journal import list_runs
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .decide import HUNKS, Gated, Terms, answer_once, count_groups
from .gate import GateModel, TwoJudges, decide_with_model
from .run_summary import RunSummary, read_run, split_of_run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Past:
    """A decision that accepted a version, with all it takes to make it again."""

    run_id: str
    model: str
    before: JudgePrompt
    after: JudgePrompt
    holdout: SealedRows
    terms: Terms
    rules: Mapping[str, DecisionRule]
    data: str
    config: RunConfig | None = None
    """Of the optimization that accepted it, which says how rows are judged; None for a gate's
    decision.
    """


def recheck(workspace: Workspace, prompt: JudgePrompt, model: GateModel) -> Gated:
    """Make the last decision that accepted a version again on another model: its parent against it.

    It is a look in the ledger, on a line of the model's own: the first on a model spends what a
    first look may.

    Raises:
        InputError: No decision here accepted the version, its data have changed, or it was made on
            this very model.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    past, options = _last_accept(workspace, prompt), model.options
    if past.config is not None:
        model = model.judging_as(past.config)
    question = {"decision": past.run_id, "after": {"version": prompt.version}, **model.question()}
    question |= {"holdout": past.holdout.content_hash}
    rule = past.rules.get(prompt.version)
    fitted = (
        [f"the decision rule {rule.version} was fitted on {past.model}, and decides here too"]
        if rule
        else []
    )
    about = {
        "before": f"{past.before.name}@{past.before.version}",
        "after": f"{prompt.name}@{prompt.version}",
    }
    about |= {
        "data": past.data,
        "rows": len(past.holdout),
        "groups": past.holdout.groups,
        **past.terms.to_json(),
    }
    about |= {
        "rechecks": past.run_id,
        "gated_on": past.model,
        "notes": [
            *fitted,
            (
                f"run {past.run_id} accepted it on {past.model}; looks for another model are"
                " counted on its own line"
            ),
        ],
    }

    def answer(run_id: str) -> Any:  # Any: as decide_with_model
        prompts = past.before, past.after
        return decide_with_model(
            workspace,
            run_id,
            prompts,
            past.holdout,
            past.terms,
            model,
            rules=past.rules,
            purpose="recheck",
        )

    name = options.model.partition("@")[0]
    if name == past.model:
        raise InputError(
            f"run {past.run_id} accepted {prompt.name}@{prompt.version} on {name} itself",
            hint="--again is for another model; the answers of this one are in the record",
        )
    return answer_once(
        workspace, "recheck", {"question": question, "model": options.model}, about, answer
    )


def _last_accept(workspace: Workspace, prompt: JudgePrompt) -> _Past:
    for info in reversed(
        list_runs(workspace.database, "optimize", "gate", HUNKS) if workspace.exists else ()
    ):
        run = read_run(workspace, info.run_id)
        if info.kind == "optimize":
            version = run.best.version if run.best else None
            if version == prompt.version and run.decision is not None and run.decision.accepted:
                return _of_optimization(workspace, run)
            continue
        after = info.config["question"]["after"]
        # The verdicts of a file have a hash here in place of a version.
        if run.answer is None or not isinstance(after, dict) or after["version"] != prompt.version:
            continue
        if run.answer.decision.accepted:
            if info.kind == HUNKS:
                # The run that has the hunks was about another text of the same judge, on the same
                # rows.
                past = _of_optimization(
                    workspace, read_run(workspace, info.config["question"]["of"])
                )
                composed = load_prompt(info.config["after"], origin="the run's composed prompt")
                both = (past.before.version, composed.version)
                rules = {version: rule for rule in past.rules.values() for version in both}
                return replace(past, run_id=run.run_id, after=composed, rules=rules)
            if run.answer.model:
                return _of_gate(run, run.answer.model)
    raise InputError(
        f"no decision in this workspace accepted {prompt.name}@{prompt.version}",
        hint=(
            "--again repeats the last accept of `optimize` or `gate` on another model; to decide"
            " afresh name two judges"
        ),
    )


def _of_optimization(workspace: Workspace, run: RunSummary) -> _Past:
    config, after, rule = run.config, run.after, run.config.decision_rule
    assert run.started is not None
    assert after is not None
    return _Past(
        run_id=run.run_id,
        model=run.started.model,
        before=run.before,
        after=after,
        holdout=split_of_run(workspace, run).holdout,
        terms=replace(Terms.of_run(run), allow_opened=False),
        rules={} if rule is None else {run.before.version: rule, after.version: rule},
        data=Path(config.data).name,
        config=config,
    )


def _of_gate(run: RunSummary, model: str) -> _Past:
    config, question = run.record.config, run.record.config["question"]
    two = TwoJudges.from_json(config)
    dataset = two.dataset()
    if dataset.content_hash != question["holdout"]:
        raise InputError(
            f"{config['data']} has changed since run {run.run_id}", hint="put the old rows back"
        )
    objective = replace(Objective.from_json(question["objective"]), notes=())
    return _Past(
        run_id=run.run_id,
        model=model,
        before=two.before,
        after=two.after,
        holdout=SealedRows(dataset, name="holdout", groups=count_groups(dataset)),
        terms=Terms(
            objective=objective,
            slice=parse_predicate(question["slice"]) if question["slice"] else None,
            exclude=tuple(question["exclude"]),
        ),
        rules=two.rules,
        data=two.data.name,
    )
