"""The functions of `import judgewright as jw`: each does what the command of its name does, and
returns a value. What several of them take is described in the docstring of `judgewright`.

Everything heavy is imported when a function is called, so that importing the package stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from ..judges.errors import InputError
from .arguments import (
    Floors,
    Guards,
    OptimizeSettings,
    asking_of,
    configure,
    environment_of,
    file_of,
    floors_of,
    guards_of,
    load_verdicts,
    open_workspace,
    prompt_of,
    rows_of,
    scale_of,
)
from .results import (
    Bench,
    Calibration,
    Gate,
    JudgeList,
    Labels,
    Planned,
    Run,
    RunList,
    Slices,
    VerdictScore,
)

if TYPE_CHECKING:
    from ..judges import JudgedDataset, JudgePrompt
    from ..judges.function_judge import JudgeFunction
    from ..judges.metrics.fitted_rule import Method
    from ..judges.models.question import DecisionApi
    from .actions.decide import Gated, Terms
    from .actions.run_summary import RunSummary
    from .arguments import JudgeName
    from .config.place import Place
    from .store.workspace import Workspace

    LabelFunction = Callable[[dict[str, Any]], float | None]  # Any: a row's columns


def bench(
    judge: JudgeName | JudgeFunction,
    rows: object,
    *,
    model: str | None = None,
    scale: str | None = None,
    by: str | None = None,
    budget: str | None = None,
    seal: bool = False,
    sealed: bool = False,
    workspace: str | Path | Place | None = None,
) -> Bench:
    """Measure a judge against the human labels of rows.

    Args:
        judge: A judge; or a function that gets a row as a dict, without its label, and returns a
            score, and asks no `model`.
        by: A column for whose values the judge is measured too.
        seal: Whether to set a holdout aside first, as `optimize` would, which no later call reads.
    """
    from .actions.bench import bench_function, rows_for_function, run_bench
    from .actions.first_figure import first_figure
    from .config.command_options import BenchOptions
    from .store.bench_config import BenchSource
    from .terminal import progress_on_stderr

    table = rows_of(rows)
    how: dict[str, Any] = {"seal": seal, "sealed": sealed}  # Any: arguments of both below
    with open_workspace(workspace) as opened:
        if callable(judge):
            if model is not None:
                raise InputError("a function is its own model: leave out model")
            dataset = rows_for_function(table.source, table.reading, opened.registry)
            result = bench_function(opened, judge, dataset, scale=scale_of(scale), by=by, **how)
        else:
            if scale is not None:
                raise InputError("the prompt of a judge states its scale; scale is for a function")
            prompt = prompt_of(opened, judge)
            options, environment = asking_of(opened, model, budget)
            dataset = table.dataset(prompt, opened, options)
            if isinstance(table.source, Path):
                how["source"] = BenchSource(data=str(table.source), reading=table.reading)
            with progress_on_stderr() as watch:
                column = BenchOptions(by=by)
                result = run_bench(
                    opened, prompt, dataset, column, options, environment, watch=watch, **how
                )
    return Bench(
        title=f"{result.judged.judge} on {table.source.name}",
        judged=result.judged,
        benchmark=result.benchmark,
        by={f"{by} = {value}": part for value, part in result.by.items()},
        open_rows=result.shown,
        notes=(*dataset.notes, *result.notes),
        summary=result.summary or first_figure(result.benchmark.to_json()),
    )


def score(
    verdicts: object,
    *,
    by: str | None = None,
    sealed: bool = False,
    workspace: str | Path | None = None,
) -> VerdictScore:
    """Measure verdicts from anywhere against the human labels beside them.

    Args:
        verdicts: What `load_verdicts` returns or takes.
        by: A column for whose values the judge is measured too.
    """
    from .actions.score import ScoreOptions, measure_one
    from .store.sealed_rows import seal_judges

    judged = _verdicts(verdicts)
    with open_workspace(workspace) as opened:
        ((judged, seal),) = seal_judges(opened, [judged], show_all=False, by="score", sealed=sealed)
    judged = judged.noting(*seal.notes(), *seal.look_note())
    measured = measure_one(judged, ScoreOptions(by=by), shown=seal.shown(judged))
    return VerdictScore(score=measured, title=judged.judge)


def _verdicts(verdicts: object) -> JudgedDataset:
    from ..judges import JudgedDataset

    if isinstance(verdicts, Bench):
        return verdicts.judged
    return verdicts if isinstance(verdicts, JudgedDataset) else load_verdicts(verdicts)


def find_slices(
    judged: object,
    *,
    metric: str | None = None,
    columns: Iterable[str] = (),
    sealed: bool = False,
    workspace: str | Path | None = None,
) -> Slices:
    """Find the slices of the data where a judge errs, confirmed on rows that did not choose them.

    Args:
        judged: What `bench` or `load_verdicts` returned, the path of a verdict file, or a run's id.
        metric: The metric that should be poor on the slice; precision, or `accuracy_grades` of
            classes, unless given.
        columns: The only columns to search; all that do not leak the label unless given.
    """
    from .actions.find_slices import Search, open_rows, read_judged, search

    settings = Search(metric=metric, columns=tuple(columns))
    if isinstance(judged, Bench):
        if sealed:
            raise InputError("sealed is for verdicts; of a bench the rows it read are searched")
        table, title = judged.open_rows, judged.title
    else:
        with open_workspace(workspace) as opened:
            if isinstance(judged, str | Path):
                table = read_judged(str(judged), opened, sealed=sealed)
            else:
                table = open_rows(opened, _verdicts(judged), show_all=False, sealed=sealed)
        title = Path(judged).name if isinstance(judged, str | Path) else table.judge
    return Slices(report=search(table, settings), judged=table, title=title)


def calibrate(
    judge: JudgeName,
    rows: object,
    *,
    model: str,
    metric: str = "f1",
    method: Method = "isotonic",
    budget: str | None = None,
    workspace: str | Path | None = None,
) -> Calibration:
    """Fit a judge's threshold and confidence on validation rows alone, and keep the rule with the
    judge.

    Args:
        metric: What the threshold maximises.
        method: How confidence is calibrated: `isotonic`, `platt` or `none`.
    """
    from ..judges import JudgeSettings
    from .actions.calibrate import run_calibration
    from .terminal import progress_on_stderr

    table = rows_of(rows)
    with open_workspace(workspace) as opened, progress_on_stderr() as watch:
        prompt = prompt_of(opened, judge)
        options, environment = asking_of(opened, model, budget)
        result = run_calibration(
            opened,
            prompt,
            table.dataset(prompt),
            models=options,
            environment=environment,
            settings=JudgeSettings(),
            metric=metric,
            method=method,
            shares=None,
            watch=watch,
        )
    title = f"{result.kept.judge} on the validation rows of {table.source.name}"
    return Calibration(result=result, title=title)


def optimize(
    judge: JudgeName,
    rows: object,
    *,
    objective: str,
    model: str,
    new: bool = False,
    workspace: str | Path | None = None,
    **settings: Unpack[OptimizeSettings],
) -> Run:
    """Improve a judge's prompt on the slice where it errs, and let a sealed holdout decide.

    The same call goes on with a run that was stopped, and returns one that has ended without a call
    and without a look at the holdout; `new` begins another one.

    Args:
        rows: Labelled rows; those in memory are kept in the workspace as a file.
        objective: What to improve: exact words such as `raise precision; recall may fall by 5
            points`, or a sentence that the model reads.
        new: Whether to begin a new run, though the same one was begun or has ended before.
        settings: Options of the command by their names, which `judgewright optimize --help-all`
            describes: `target`, `guard`, `floor`, `yes`, `split_column`, `slice`, `steps`, `folds`,
            `proposer`, `editable` (a list), `cases`, `cases_by`, `explanation`, `optimizer_model`,
            `budget`, `seed`; and `holdout`, the rows to seal, all of them and no other.

    Raises:
        InputError: The judge is a function, or the rows or a name cannot be used.
        WorldError: The endpoint, the budget or the disk stopped it; the message says how to go on.
    """
    from .actions.optimize import start_run
    from .terminal import progress_on_stderr

    with open_workspace(workspace) as opened, progress_on_stderr() as watch:
        config = configure(opened, judge, rows, settings, objective=objective, model=model)
        environment = environment_of(opened, model, config.optimizer_model)
        result = start_run(
            opened, config, environment, new=new, watch=watch, on_event=lambda event: None
        )
        return _run(opened, result.run)


def plan(
    judge: JudgeName,
    rows: object,
    *,
    objective: str,
    model: str,
    workspace: str | Path | None = None,
    **settings: Unpack[OptimizeSettings],
) -> Planned:
    """Say what `optimize` would ask and cost with the same arguments, and which gain its gate could
    show; nothing is asked.

    Raises:
        InputError: The run could not start.
    """
    from .actions.plan import plan_run

    with open_workspace(workspace) as opened:
        config = configure(opened, judge, rows, settings, objective=objective, model=model)
        environment = environment_of(opened, model, config.optimizer_model)
        return Planned(plan=plan_run(opened, config, environment))


def load_run(run: str = "latest", *, workspace: str | Path | None = None) -> Run:
    """Open a finished optimization run again, to read it or to decide about it.

    Args:
        run: A run's id, the beginning of one, its name, or `latest`.
    """
    from .actions.run_summary import read_optimization
    from .store.journal import find_run

    with open_workspace(workspace) as opened:
        opened.require("name its folder with workspace")
        run_id = find_run(opened.database, run, kinds=("optimize",), come_to=("everything",))
        return _run(opened, read_optimization(opened, run_id))


def _run(opened: Workspace, summary: RunSummary) -> Run:
    return Run(
        run_id=summary.run_id,
        workspace=opened.place if opened.place.address else opened.root,
        summary=summary,
        record=summary.decided,
    )


def add_judge(
    source: str | Path | JudgePrompt,
    *,
    name: str | None = None,
    labels: Sequence[str] = (),
    scale: str | None = None,
    threshold: str | None = None,
    verdict: str | None = None,
    criteria: str | None = None,
    model: str | None = None,
    budget: str | None = None,
    workspace: str | Path | None = None,
) -> JudgePrompt:
    """Keep a judge of your own in the workspace, under its name, and return it.

    A name that is taken keeps its meaning; the judge that is returned can be passed on all the
    same. `judgewright judges add` reads more: several prompts in a file, other tools' judges.

    Args:
        source: A file with one prompt (a text, a chat, YAML, code), or a prompt.
        name: What to call the judge; the file's name unless given.
        labels: The labels of its answer, the worst first, such as `["FAIL", "PASS"]`.
        scale: `LOW..HIGH@THRESHOLD`, `binary` or `probability`.
        threshold: The worst grade or label with which a row is positive.
        verdict: Where the verdict stands in an answer, such as `last line`, or a field of JSON.
        criteria: The words that optimization may edit: the first and last, with `...` between.
        model: Who reads what is not said here.

    Raises:
        InputError: The file holds no prompt, or what it leaves open is not said; the message asks.
    """
    from dataclasses import replace

    from ..judges import JudgePrompt
    from .actions.keep_judge import keep_judge
    from .actions.read_prompt import read_own
    from .config.command_options import AskOptions
    from .imports import AddOptions

    options = AddOptions(
        name=name,
        labels=tuple(labels),
        scale=scale,
        threshold=threshold,
        verdict=verdict,
        criteria=criteria,
    )
    with open_workspace(workspace) as opened:
        prompt = source
        if not isinstance(prompt, JudgePrompt):
            asking = AskOptions(model=model, budget=budget)
            prompt = read_own(opened, Path(prompt), options, asking, environment_of(opened, model))
        prompt = replace(prompt, name=name or prompt.name)
        keep_judge(opened, prompt, None)
    return prompt


def label(
    rows: object,
    labels: LabelFunction | Mapping[str, float] | None = None,
    *,
    judge: str | None = None,
    ask: str = "",
    again: bool = False,
    annotator: str | None = None,
    workspace: str | Path | None = None,
) -> Labels:
    """Label rows: with a function, with labels by row id, or by a person.

    What a function has labelled when it fails is kept; rows that were set aside are not asked
    about. Without `labels` the queue waits for a person: `label(rows).open()` opens its page in the
    browser.

    Args:
        rows: What `load_rows` returns or takes, to ask about its rows without a label; or what
            `label` returned, to go on with it.
        labels: A function of a row as a dict (its id, texts and other columns, without its label)
            that returns a label, or None for a row that has none; or labels by row id.
        judge: Show this judge's inputs, and label on its scale.
        ask: What is asked, in your words.
        again: Whether to ask about rows that have a label too.
        annotator: Who labels; your login name unless given.

    Raises:
        InputError: Every row has a label, or a label is not on the scale.
    """
    from .labels.session import LabelSession, login_name

    with open_workspace(rows.workspace if isinstance(rows, Labels) else workspace) as opened:
        if isinstance(rows, Labels):
            queue = rows.queue
        else:
            queue = _make_queue(opened, rows, judge=judge, ask=ask, again=again)
        session = LabelSession(opened, queue, annotator or login_name())
        if isinstance(labels, Mapping):
            session.label_all(lambda row: labels.get(row["id"]))
        elif labels is not None:
            session.label_all(labels)
        progress = session.progress()
        if labels is not None:
            session.end(done=not progress.left)
        return Labels(
            queue=session.run_id,
            annotator=session.annotator,
            workspace=opened.place if opened.place.address else opened.root,
            labelled=progress.labelled,
            skipped=progress.skipped,
            left=progress.left or 0,
        )


def _make_queue(
    opened: Workspace, rows: object, *, judge: str | None, ask: str, again: bool
) -> str:
    from dataclasses import replace

    from .labels.queue import create_queue, list_rows, read_rows_to_label
    from .store.sealed_rows import read_open

    table = rows_of(rows)
    path, reading = file_of(table, opened), dict(table.reading)
    read = read_open(opened, read_rows_to_label(opened.registry, path, reading, judge=judge))
    read.enter(opened, by="label")
    config = list_rows(read.dataset, path=path, reading=reading, again=again)
    return create_queue(opened, replace(config, question=ask))


def gate(
    before: object,
    after: object,
    rows: object = None,
    *,
    objective: str = "",
    target: str | None = None,
    guard: Guards = None,
    floor: Floors = None,
    model: str | None = None,
    scale: str | None = None,
    budget: str | None = None,
    workspace: str | Path | None = None,
) -> Gate:
    """Decide once, on a holdout, whether one judge may replace another; every decision is a look at
    that holdout.

    Args:
        before: The judge in use: a name, a function, or verdicts that `bench` or `load_verdicts`
            returned.
        after: The judge that may replace it.
        rows: The holdout's rows; not needed where both sides are verdicts.
        objective: What should be better, in exact words such as `raise precision`.
        model: Who is asked, where a judge is a prompt.
    """
    from ..judges import JudgePrompt
    from ..optimize import ObjectiveWords
    from ..slices import parse_predicate
    from .actions.decide import Terms
    from .actions.gate import gate_verdicts
    from .actions.read_objective import saved_slices
    from .actions.verdict_pairs import pair_verdicts
    from .store.sealed_rows import version_of

    if not objective.strip() and target is None:
        raise InputError("better at what?", hint='say it, such as target="precision"')
    words = ObjectiveWords(
        text=objective,
        target=target,
        guards=guards_of(guard),
        floors=floors_of(floor),
    )
    with open_workspace(workspace) as opened:
        prompts = None
        if isinstance(before, str | Path | JudgePrompt) and isinstance(
            after, str | Path | JudgePrompt
        ):
            prompts = (prompt_of(opened, before), prompt_of(opened, after))
        goal = words.read(prompts and prompts[0], slices=saved_slices(opened))
        where = parse_predicate(goal.slice) if goal.slice else None
        terms = Terms(objective=goal, slice=where)
        if prompts is not None:
            return Gate(gated=_gate_prompts(opened, prompts, rows, terms, model, budget))
        asking = {"model": model, "scale": scale, "budget": budget}
        old, new = (_side(judge, rows, opened, **asking) for judge in (before, after))
        versions = (version_of(old), version_of(new))
        return Gate(gated=gate_verdicts(opened, *pair_verdicts(old, new), terms, known_as=versions))


def _gate_prompts(
    opened: Workspace,
    prompts: tuple[JudgePrompt, JudgePrompt],
    rows: object,
    terms: Terms,
    model: str | None,
    budget: str | None,
) -> Gated:
    from .actions.decide import GateModel
    from .actions.gate import TwoJudges, gate_judges
    from .terminal import progress_on_stderr

    if rows is None:
        raise InputError(
            "two judges need the rows of a holdout", hint="name them as the third argument"
        )
    table = rows_of(rows)
    options, environment = asking_of(opened, model, budget)
    path, reading = file_of(table, opened), table.reading
    two = TwoJudges.of(opened, *prompts, path, reading, environment.settings(options.model))
    with progress_on_stderr() as watch:
        asked = GateModel(options=options, environment=environment, watch=watch)
        return gate_judges(opened, two, terms, asked)


def _side(
    judge: object,
    rows: object,
    opened: Workspace,
    *,
    model: str | None,
    scale: str | None,
    budget: str | None,
) -> JudgedDataset:
    """Return one side of a gate as verdicts, asking the judge where it has not been asked yet."""
    from ..judges import JudgedDataset

    if isinstance(judge, Bench | JudgedDataset):
        return _verdicts(judge)
    if rows is None:
        raise InputError(
            "a judge that is yet to be asked needs the rows of a holdout", hint="name them as rows"
        )
    if callable(judge):
        return bench(cast("JudgeFunction", judge), rows, scale=scale, workspace=opened.place).judged
    named = cast("JudgeName", judge)
    return bench(named, rows, model=model, budget=budget, workspace=opened.place).judged


def export(
    judge: JudgeName,
    *,
    to: str,
    out: str | Path,
    api: DecisionApi | None = None,
    force: bool = False,
    workspace: str | Path | None = None,
) -> Path:
    """Write a judge for another tool, with where it was gated, and return the path.

    Where the last run on it changed nothing, that and the version are said on stderr.

    Args:
        to: The tool or format, such as `mlflow`, `dspy` or `promptfoo`.
        out: The folder to write; a name with a suffix for an export of one file.
        api: The interface of the decision model that is asked, as a question; of chat models
            unless given.
        force: Whether to overwrite what is there, also what no export wrote.
    """
    from .actions.export import export_context
    from .actions.verification import not_adopted
    from .exports import named_target, write_export
    from .terminal import say

    target = named_target(to)
    with open_workspace(workspace) as opened:
        context = export_context(opened, prompt_of(opened, judge), api=api)
        if note := not_adopted(opened, context.prompt):
            say(f"note: {note}", to_stderr=True)
    write_export(context, target, Path(out), force=force)
    return Path(out)


def list_judges(*, workspace: str | Path | None = None) -> JudgeList:
    """List the judges of a workspace and those that come with the package."""
    with open_workspace(workspace) as opened:
        return JudgeList(opened.registry.get(name) for name in opened.registry.names())


def list_runs(*, workspace: str | Path | None = None) -> RunList:
    """List the runs of a workspace, newest first."""
    from .reports.run_table import describe_run

    with open_workspace(workspace) as opened:
        return RunList(describe_run(opened, record) for record in reversed(opened.runs()))
