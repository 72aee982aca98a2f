"""The functions of `import judgewright as jw`: each does what the command of its name does, and
returns a value.

Everything heavy is imported when a function is called, so that importing the package stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast

from ..judges.errors import InputError
from .results import (
    Bench,
    Calibration,
    Gate,
    JudgeList,
    Labels,
    Planned,
    Rows,
    Run,
    RunList,
    Slices,
    VerdictScore,
)

if TYPE_CHECKING:
    from ..judges import JudgedDataset, JudgePrompt
    from ..judges.function_judge import JudgeFunction
    from ..judges.metrics.fitted_rule import Method
    from .actions.run_summary import RunSummary
    from .config.environment import Environment
    from .config.place import Place
    from .store.run_config import RunConfig
    from .store.workspace import Workspace

    JudgeName = str | Path | JudgePrompt
    """A judge's name, `name@version`, YAML file, or the prompt itself, such as `run.after`."""

Guards = Mapping[str, float] | Iterable[str] | str | None
"""Losses allowed: `{"recall": 0.05}`, or as the command line spells them, `recall=0.05` or
`recall:-0.05`.
"""


class OptimizeSettings(TypedDict, total=False):
    """What `optimize` and `plan` take beside judge, rows, objective and model; see `optimize`."""

    target: str | None
    guard: Guards
    floor: Mapping[str, float] | None
    yes: bool
    holdout: object
    split_column: str | None
    slice: str
    steps: int
    folds: int
    proposer: str
    editable: Sequence[str]
    cases: int
    cases_by: str
    explanation: str | None
    optimizer_model: str | None
    budget: str | None
    seed: int


def load_rows(
    data: object,
    *,
    label: str | None = None,
    id: str | None = None,
    group: str | None = None,
    columns: Mapping[str, str] | Literal["guess"] | None = None,
    label_scale: str | None = None,
    label_map: Mapping[str, float | None] | None = None,
    limit: int | None = None,
    skip_incomplete: bool = False,
    audited: str | Path | None = None,
) -> Rows:
    """Load labelled rows from a path, a DataFrame, a list of dicts or a Hugging Face dataset.

    Args:
        data: The rows; a file may be JSONL, JSON, CSV, TSV or Parquet.
        label: The column of the human label; `label` unless given.
        id: The column of the row's id; `id` where there is one, else the row's number.
        group: The column whose rows stay on one side of a split; `group_id` or `group` where there
            is one.
        columns: A judge's input to the column that holds it, where the two differ in name; `guess`
            takes what names and contents say, of the label too, and refuses where that is in doubt.
        label_scale: `binary`, `probability`, `low-probability` or `LOW..HIGH@THRESHOLD`; read from
            the labels unless given.
        label_map: What words of the label stand for, such as `{"factual": 1, "hallucinated": 0}`;
            None for no label.
        limit: How many rows to take at most.
        skip_incomplete: Whether to leave out rows that lack an input instead of refusing all.
        audited: A file with marks of an audit, or with ids and labels: the labels that it corrects
            count.

    Raises:
        DataError: The rows cannot be read; up to ten problems are named by their rows.
    """
    from ..judges import parse_label_scale
    from ..judges.files import rows_in_memory, write_grade_map

    source = Path(data) if isinstance(data, str | Path) else rows_in_memory(data)
    reading: dict[str, Any] = {"label": label, "id": id, "group": group, "limit": limit}
    named = columns if columns == "guess" else dict(columns or {})
    reading |= {"columns": named, "skip_incomplete": skip_incomplete}
    if label_scale is not None:
        parse_label_scale(label_scale)
    reading["label_scale"] = label_scale
    if label_map:
        reading["label_map"] = write_grade_map(label_map)
    if audited is not None:
        reading["audited"] = str(Path(audited).resolve())
    return Rows.of(source, reading)


def load_verdicts(
    data: object, **columns: Any
) -> JudgedDataset:  # Any: the arguments of `judges.load_verdicts`
    """Load verdicts that some judge gave elsewhere, with the human labels beside them.

    Args:
        data: A path, a DataFrame, a list of dicts or a Hugging Face dataset.
        columns: `label`, `score`, `confidence`, `threshold`, `group`, `id`, `scale` and the other
            arguments of `judgewright.judges.load_verdicts`.
    """
    from ..judges import load_verdicts as load
    from ..judges.files import rows_in_memory

    return load(Path(data) if isinstance(data, str | Path) else rows_in_memory(data), **columns)


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
        judge: A judge's name, `name@version` or YAML file; or a function that gets a row as a dict,
            without its label, and returns a score.
        rows: What `load_rows` returns or takes.
        model: Who is asked: `simulated` (made up, no key), a name, or `NAME@https://host/v1`. Not
            for a function.
        scale: The scale of a function's scores, such as `probability`, `low-probability@0.3` where
            low is good, or `0..3@2`; booleans, 0 and 1 need none.
        by: A column for whose values the judge is measured too.
        budget: Dollars such as `5.00`, or tokens such as `200000tokens`.
        seal: Whether to set a holdout aside first, as `optimize` would, which no later call reads.
        sealed: Whether to read rows that were set aside too, which is a look.
        workspace: The folder of the workspace; the nearest one above unless given.
    """
    from .actions.bench import bench_function, rows_for_function, run_bench
    from .actions.first_figure import first_figure
    from .config.command_options import BenchOptions, ModelOptions
    from .store.bench_config import BenchSource
    from .terminal import progress_on_stderr

    table = _rows(rows)
    source = table.source
    with _open(workspace) as opened:
        if callable(judge):
            if model is not None:
                raise InputError("a function is its own model: leave out model")
            reading = table.fitting().reading
            dataset = rows_for_function(table.source, reading, opened.registry)
            function = cast("JudgeFunction", judge)
            result = bench_function(
                opened, function, dataset, scale=_scale(scale), by=by, seal=seal, sealed=sealed
            )
        else:
            if scale is not None:
                raise InputError("the prompt of a judge states its scale; scale is for a function")
            prompt = _prompt(opened, judge)
            table = table.fitting(prompt)
            dataset = table.dataset(prompt)
            with progress_on_stderr() as watch:
                result = run_bench(
                    opened,
                    prompt,
                    dataset,
                    BenchOptions(by=by),
                    ModelOptions(model=_require_model(model), budget=budget),
                    _environment(opened, model),
                    watch=watch,
                    source=(
                        BenchSource(path=source, reading=table.reading)
                        if isinstance(source, Path)
                        else None
                    ),
                    seal=seal,
                    sealed=sealed,
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
        sealed: Whether to read rows that were set aside too, which is a look.
        workspace: The folder of the workspace, whose ledger counts looks at sealed rows.
    """
    from .actions.score import ScoreOptions, measure_one
    from .store.sealed_rows import seal_judges

    judged = _verdicts(verdicts)
    with _open(workspace) as opened:
        ((judged, seal),) = seal_judges(opened, [judged], show_all=False, by="score", sealed=sealed)
    judged = judged.noting(*seal.notes(), *seal.look_note())
    measured = measure_one(judged, ScoreOptions(by=by))
    return VerdictScore(score=measured, title=judged.judge)


def find_slices(
    judged: object,
    *,
    metric: str | None = None,
    columns: Iterable[str] = (),
    exclude: Iterable[str] = (),
    max_depth: int = 3,
    min_support: int | None = None,
    seed: int = 0,
    sealed: bool = False,
    workspace: str | Path | None = None,
) -> Slices:
    """Find the slices of the data where a judge errs, confirmed on rows that did not choose them.

    Args:
        judged: What `bench` or `load_verdicts` returned, the path of a verdict file, or a run's id.
        metric: The metric that should be poor on the slice; precision, or `accuracy_grades` of
            classes, unless given.
        columns: The only columns to search; all that do not leak the label unless given.
        exclude: Columns to leave out.
        max_depth: Conditions in a slice at most.
        min_support: Rows in a slice at least; 30 or 0.5 % unless given.
        seed: Of the two folds.
        sealed: Whether to read a file's rows that were set aside too, which is a look.
        workspace: The folder of the workspace; rows sealed to one of its runs are not searched.
    """
    from .actions.find_slices import Search, open_rows, read_judged, search

    settings = Search(
        metric=metric,
        columns=tuple(columns),
        exclude=tuple(exclude),
        max_depth=max_depth,
        min_support=min_support,
        seed=seed,
    )
    if isinstance(judged, Bench):
        if sealed:
            raise InputError("sealed is for verdicts; of a bench the rows it read are searched")
        table, title = judged.open_rows, judged.title
    else:
        with _open(workspace) as opened:
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
        judge: A judge's name, `name@version` or YAML file.
        rows: What `load_rows` returns or takes.
        model: Who is asked.
        metric: What the threshold maximises.
        method: How confidence is calibrated: `isotonic`, `platt` or `none`.
        budget: Dollars such as `5.00`, or tokens such as `200000tokens`.
        workspace: The folder of the workspace.
    """
    from ..judges import JudgeSettings
    from .actions.calibrate import run_calibration
    from .config.command_options import ModelOptions
    from .terminal import progress_on_stderr

    table = _rows(rows)
    with _open(workspace) as opened, progress_on_stderr() as watch:
        prompt = _prompt(opened, judge)
        result = run_calibration(
            opened,
            prompt,
            table.dataset(prompt),
            models=ModelOptions(model=model, budget=budget),
            environment=_environment(opened, model),
            settings=JudgeSettings(),
            metric=metric,
            method=method,
            shares=None,
            watch=watch,
        )
    return Calibration(
        result=result, title=f"{result.kept.judge} on the validation rows of {table.source.name}"
    )


def optimize(
    judge: JudgeName,
    rows: object,
    *,
    objective: str,
    model: str,
    target: str | None = None,
    guard: Guards = None,
    floor: Mapping[str, float] | None = None,
    yes: bool = False,
    holdout: object = None,
    split_column: str | None = None,
    slice: str = "auto",
    steps: int = 3,
    folds: int = 2,
    proposer: str = "cases,study,textgrad",
    editable: Sequence[str] = (),
    cases: int = 4,
    cases_by: str = "near",
    explanation: str | None = None,
    optimizer_model: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    new: bool = False,
    workspace: str | Path | None = None,
) -> Run:
    """Improve a judge's prompt on the slice where it errs, and let a sealed holdout decide.

    The same call goes on with a run that was stopped, and returns one that has ended without a call
    and without a look at the holdout; `new` begins another one.

    Args:
        judge: A judge's name, `name@version` or YAML file; a Python function has no prompt to
            improve.
        rows: What `load_rows` returns or takes; rows in memory are kept in the workspace as a file.
        objective: What to improve: exact words such as `raise precision; recall may fall by 5
            points`, or a sentence that the model reads.
        model: Who is asked.
        target: The metric to improve; overrides what the objective says.
        guard: Losses allowed, such as `{"recall": 0.05}`.
        floor: What must be reached with 95 % confidence, such as `{"precision": 0.9}`.
        yes: Whether to take the model's reading of an objective in words.
        holdout: Rows to seal, all of them and no other, as `rows` takes them.
        split_column: A column that says of each row whether it is of train, validation (dev) or
            test; test is sealed.
        slice: `auto`, `all`, a saved slice's file, or conditions such as `dataset = ragtruth`.
        steps: Of each proposer; after which it stops is chosen too.
        folds: Parts of the open rows; prompts are written from all but one and judged on that one,
            each in turn. 1: written from one half, judged on the other.
        proposer: Who writes new prompts, comma-separated: `cases`, `study`, `textgrad`, `rewrite`,
            `gepa` or `mipro`.
        editable: Parts of the prompt that may change, of `criteria`, `anchors`, `system`,
            `cases`, `reply`; what the proposer usually changes unless given.
        cases: Decided cases that the judge is shown before each row, where an arm shows any.
        cases_by: Which ones: `near` (most like the row), `fixed` or `random`.
        explanation: The column with annotators' reasons, which the optimizer model reads.
        optimizer_model: The model that writes loss and criteria; the judge's unless given.
        budget: Dollars such as `5.00`, or tokens such as `200000tokens`.
        seed: Of minibatches and resamples; never of the split.
        new: Whether to begin a new run, though the same one was begun or has ended before.
        workspace: The folder of the workspace; the nearest one above unless given.

    Raises:
        InputError: The judge is a function, or the rows or a name cannot be used.
        WorldError: The endpoint, the budget or the disk stopped it; the message says how to go on.
    """
    given = locals()  # first, while it holds the arguments alone
    from .actions.optimize import start_run
    from .terminal import progress_on_stderr

    chosen = {name: given[name] for name in OptimizeSettings.__annotations__}
    settings = cast("OptimizeSettings", chosen)
    with _open(workspace) as opened, progress_on_stderr() as watch:
        config = _configure(opened, judge, rows, objective, model, settings)
        environment = _environment(opened, model, optimizer_model)
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

    Args:
        judge: As for `optimize`.
        rows: As for `optimize`.
        objective: As for `optimize`.
        model: Who would be asked.
        workspace: The folder of the workspace; the nearest one above unless given.
        settings: The other arguments of `optimize`, such as `guard` and `budget`.

    Raises:
        InputError: The run could not start.
    """
    from .actions.plan import plan_run

    with _open(workspace) as opened:
        config = _configure(opened, judge, rows, objective, model, settings)
        environment = _environment(opened, model, settings.get("optimizer_model"))
        return Planned(plan=plan_run(opened, config, environment))


def _configure(
    opened: Workspace,
    judge: JudgeName,
    rows: object,
    objective: str,
    model: str,
    settings: OptimizeSettings,
) -> RunConfig:
    """Return the configuration of a run, as the command makes it of its options."""
    from ..slices import read_slice
    from .actions.read_objective import saved_slices
    from .store.banks import banks_of
    from .store.run_config import RunConfig

    if callable(judge):
        raise InputError(
            "a Python function has no prompt to optimize",
            hint="measure it with bench, slice it with find_slices, decide about it with gate",
        )
    table, prompt = _rows(rows), _prompt(opened, judge)
    reading = dict(table.fitting(prompt).reading)
    options: dict[str, Any] = dict(settings)  # Any: as `OptimizeSettings` has them
    holdout, slice_ = options.pop("holdout", None), options.pop("slice", "auto")
    if slice_ not in ("auto", "all"):
        slice_ = str(read_slice(slice_, saved_slices(opened)))
    return RunConfig(
        prompt=prompt.to_yaml(),
        banks=prompt.write_bank(banks_of(opened)),
        data=str(_file_of(table, opened)),
        objective=objective,
        model=model,
        guards=_guards(options.pop("guard", None)),
        floors=_floors(options.pop("floor", None)),
        editable=tuple(options.pop("editable", ())),
        holdout=None if holdout is None else str(_file_of(_rows(holdout), opened)),
        slice=slice_,
        id_=reading.pop("id", None),
        **{"steps": 3, **options},
        **reading,
    )


def load_run(run: str = "latest", *, workspace: str | Path | None = None) -> Run:
    """Open a finished optimization run again, to read it or to decide about it.

    Args:
        run: A run's id, the beginning of one, its name, or `latest`.
        workspace: The folder of the workspace.
    """
    from .actions.run_summary import read_optimization
    from .store.journal import find_run

    with _open(workspace) as opened:
        opened.require("name its folder with workspace")
        run_id = find_run(opened.database, run, kinds=("optimize",), come_to=("everything",))
        return _run(opened, read_optimization(opened, run_id))


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
        budget: Dollars such as `5.00`, or tokens such as `200000tokens`.
        workspace: The folder of the workspace; the nearest one above unless given.

    Raises:
        InputError: The file holds no prompt, or what it leaves open is not said; the message asks.
    """
    from dataclasses import replace

    from ..judges import JudgePrompt, parse_label_scale
    from .actions.keep_judge import keep_judge
    from .actions.read_prompt import read_with_model
    from .config.command_options import AskOptions
    from .imports import NO_READING, AddOptions, read_own_prompts, several, understand

    with _open(workspace) as opened:
        prompt = source if isinstance(source, JudgePrompt) else None
        if not isinstance(source, JudgePrompt):
            options = AddOptions(
                name=name,
                labels=tuple(labels),
                scale=parse_label_scale(scale) if scale else None,
                threshold_open=bool(scale) and "@" not in str(scale),
                threshold=threshold,
                verdict=verdict,
                criteria=criteria,
            )
            prompts, reading = read_own_prompts(Path(source)), NO_READING
            judge = prompts[0]
            if model is not None:
                asking, environment = (
                    AskOptions(model=model, budget=budget),
                    _environment(opened, model),
                )
                judge, reading, _ = read_with_model(opened, prompts, asking, environment)
            elif len(prompts) > 1:
                raise several(prompts)
            understood = understand(judge, options, reading)
            prompt, open_ = understood.prompt, understood.questions
            if prompt is None:
                asked = "\n  ".join(question.text for question in open_)
                answers = ", ".join(dict.fromkeys(question.option for question in open_))
                raise InputError(
                    f"{Path(source).name}: it is open\n  {asked}",
                    hint=f"say {answers}, or name a model",
                )
        assert prompt is not None
        prompt = replace(prompt, name=name or prompt.name)
        keep_judge(opened, prompt, None)
    return prompt


def label(
    rows: object,
    labels: Callable[[dict[str, Any]], float | None] | Mapping[str, float] | None = None,
    *,
    judge: str | None = None,
    ask: str = "",
    again: bool = False,
    annotator: str | None = None,
    workspace: str | Path | None = None,
) -> Labels:
    """Label rows: with a function, with labels by row id, or by a person.

    What a function has labelled when it fails is kept; rows that were set aside are not asked
    about. Without `labels` the
    queue waits for a person: `label(rows).open()` opens its page in the browser.

    Args:
        rows: What `load_rows` returns or takes, to ask about its rows without a label; or what
            `label` returned, to go on with it.
        labels: A function of a row as a dict (its id, texts and other columns, without its label)
            that returns a label, or None for a row that has none; or labels by row id.
        judge: Show this judge's inputs, and label on its scale.
        ask: What is asked, in your words.
        again: Whether to ask about rows that have a label too.
        annotator: Who labels; your login name unless given.
        workspace: The folder of the workspace; the nearest one above unless given.

    Raises:
        InputError: Every row has a label, or a label is not on the scale.
    """
    from .labels.session import LabelSession, login_name

    place = rows.workspace if isinstance(rows, Labels) else workspace
    with _open(place) as opened:
        if isinstance(rows, Labels):
            queue = rows.queue
        else:
            queue = _make_queue(opened, _rows(rows), judge=judge, ask=ask, again=again)
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


def _make_queue(opened: Workspace, table: Rows, *, judge: str | None, ask: str, again: bool) -> str:
    from dataclasses import replace

    from .labels.queue import create_queue, list_rows, read_rows_to_label
    from .store.sealed_rows import read_open

    prompts = () if judge is None else (opened.registry.get(judge),)
    table = table.fitting(*prompts, label_needed=False)
    path, reading = _file_of(table, opened), dict(table.reading)
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
    floor: Mapping[str, float] | None = None,
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
        target: The metric that should be better; overrides what the objective says.
        guard: Losses allowed, such as `{"recall": 0.05}`.
        floor: What must be reached with 95 % confidence, such as `{"precision": 0.9}`.
        model: Who is asked, where a judge is a prompt.
        scale: The scale of a function's scores.
        budget: Dollars such as `5.00`, or tokens such as `200000tokens`.
        workspace: The folder of the workspace, whose ledger counts the look.
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
    prompts = [judge for judge in (before, after) if isinstance(judge, str | Path | JudgePrompt)]
    with _open(workspace) as opened:
        judge = _prompt(opened, prompts[0]) if len(prompts) == 2 else None
        words = ObjectiveWords(
            text=objective, target=target, guards=_guards(guard), floors=_floors(floor)
        )
        settled = words.read(judge, slices=saved_slices(opened))
        terms = Terms(
            objective=settled, slice=parse_predicate(settled.slice) if settled.slice else None
        )
        if len(prompts) == 2:
            return Gate(gated=_gate_prompts(opened, prompts, rows, terms, model, budget))
        sides = [
            _side(judge, rows, model=model, scale=scale, budget=budget, opened=opened)
            for judge in (before, after)
        ]
        versions = (version_of(sides[0]), version_of(sides[1]))
        return Gate(
            gated=gate_verdicts(
                opened, *pair_verdicts(sides[0], sides[1]), terms, known_as=versions
            )
        )


def export(
    judge: JudgeName,
    *,
    to: str,
    out: str | Path,
    force: bool = False,
    workspace: str | Path | None = None,
) -> Path:
    """Write a judge for another tool, with where it was gated, and return the path.

    Args:
        judge: A judge's name, `name@version` or YAML file.
        to: The tool or format, such as `mlflow`, `dspy` or `promptfoo`.
        out: The folder to write; a name with a suffix for an export of one file.
        force: Whether to overwrite what is there, also what no export wrote.
        workspace: The folder of the workspace.
    """
    from .actions.export import export_context
    from .exports import named_target, write_export

    target = named_target(to)
    with _open(workspace) as opened:
        context = export_context(opened, _prompt(opened, judge))
    write_export(context, target, Path(out), force=force)
    return Path(out)


def list_judges(*, workspace: str | Path | None = None) -> JudgeList:
    """List the judges of a workspace and those that come with the package."""
    with _open(workspace) as opened:
        return JudgeList(opened.registry.get(name) for name in opened.registry.names())


def list_runs(*, workspace: str | Path | None = None) -> RunList:
    """List the runs of a workspace, newest first."""
    from .reports.run_table import describe_run
    from .store import journal

    with _open(workspace) as opened:
        records = reversed(journal.list_runs(opened.database)) if opened.exists else ()
        return RunList(describe_run(opened, record) for record in records)


def _open(folder: str | Path | Place | None) -> Workspace:
    """Open the workspace that a call names, else the one that a command started here would take."""
    from .config.environment import read_environment
    from .config.place import Place, read_place
    from .store.workspace import find_workspace
    from .terminal import say_waiting

    if isinstance(folder, Place):
        named = folder
    else:
        named = read_place(folder) if folder is not None else read_environment().workspace
    return find_workspace(Path.cwd(), given=named, on_wait=say_waiting)


def _environment(opened: Workspace, *models: str | None) -> Environment:
    from .config.environment import read_environment

    return read_environment().in_workspace(opened.root).naming(*models)


def _require_model(model: str | None) -> str:
    if model is None:
        raise InputError(
            'no model is named: add model="NAME", "NAME@https://host/v1", or "simulated" (made up,'
            " no key)"
        )
    return model


def _prompt(opened: Workspace, judge: JudgeName) -> JudgePrompt:
    return opened.registry.get(str(judge)) if isinstance(judge, str | Path) else judge


def _rows(rows: object) -> Rows:
    return rows if isinstance(rows, Rows) else load_rows(rows)


def _verdicts(verdicts: object) -> JudgedDataset:
    from ..judges import JudgedDataset

    if isinstance(verdicts, Bench):
        return verdicts.judged
    return verdicts if isinstance(verdicts, JudgedDataset) else load_verdicts(verdicts)


def _scale(text: str | None) -> Any:  # Any: an OutputScale or None
    from ..judges import parse_label_scale

    return None if text is None else parse_label_scale(text)


def _guards(guard: Guards) -> tuple[str, ...]:
    """Return guards as the command line spells them."""
    if guard is None:
        return ()
    if isinstance(guard, str):
        return (guard,)
    if isinstance(guard, Mapping):
        return tuple(f"{metric}:-{abs(loss):g}" for metric, loss in guard.items())
    return tuple(guard)


def _floors(floor: Mapping[str, float] | None) -> tuple[str, ...]:
    return tuple(f"{metric}={value:g}" for metric, value in (floor or {}).items())


def _file_of(table: Rows, opened: Workspace) -> Path:
    """Return the file of rows, which a run reads again when it is resumed; rows in memory are
    written to one.
    """
    from .store.kept_rows import keep_rows

    return table.source if isinstance(table.source, Path) else keep_rows(opened, table.source)


def _run(opened: Workspace, summary: RunSummary) -> Run:
    return Run(
        run_id=summary.run_id,
        workspace=opened.place if opened.place.address else opened.root,
        summary=summary,
        record=summary.decided,
    )


def _gate_prompts(
    opened: Workspace,
    judges: Sequence[JudgeName],
    rows: object,
    terms: Any,
    model: str | None,
    budget: str | None,
) -> Any:  # Any: Terms in, Gated out; both are imported where they are used
    from .actions.decide import GateModel
    from .actions.gate import TwoJudges, gate_judges
    from .config.command_options import ModelOptions
    from .terminal import progress_on_stderr

    if rows is None:
        raise InputError(
            "two judges need the rows of a holdout", hint="name them as the third argument"
        )
    table = _rows(rows)
    before, after = (_prompt(opened, judge) for judge in judges)
    options = ModelOptions(model=_require_model(model), budget=budget)
    environment = _environment(opened, model)
    two = TwoJudges.of(
        opened,
        before,
        after,
        _file_of(table, opened),
        table.fitting(before, after).reading,
        decides=environment.settings(options.model).api is not None,
    )
    with progress_on_stderr() as watch:
        gate_model = GateModel(options=options, environment=environment, watch=watch)
        return gate_judges(opened, two, terms, gate_model)


def _side(
    judge: object,
    rows: object,
    *,
    model: str | None,
    scale: str | None,
    budget: str | None,
    opened: Workspace,
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
    return bench(
        cast("JudgeName", judge), rows, model=model, budget=budget, workspace=opened.place
    ).judged
