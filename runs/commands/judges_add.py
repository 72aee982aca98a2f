"""`judgewright judges add`: a prompt of one's own, or a judge that a model drafts from words."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ...judges.prompt import MARKED_PLACES
from ...optimize.options import changed_options, option
from ..config.command_options import AskOptions, ExchangeOptions
from ..imports.add_options import AddOptions
from ..terminal import answer, inline, say, say_json, visible
from .decorators import options_of, read_options, writes_workspace
from .help import Command
from .judges_draft import DraftOptions, add_drafted, body_of, positive_of, say_next

if TYPE_CHECKING:
    from ...judges import JudgePrompt, Message
    from ..imports import ForeignJudge, ModelReading, Question, Understood
    from ..store.workspace import Workspace

ADD = """\
Example:    judgewright judges add judge.txt --as politeness --model your-model
No model:   judgewright judges add judge.txt --labels FAIL,PASS --verdict 'last line' --criteria 'A reply passes ... the customer'
In code:    judgewright judges add evaluate.py --string PROMPT --model your-model
Of ours:    judgewright judges add handover
By words:   judgewright judges add --as politeness --description "A reply is polite when it greets." --examples three.jsonl --model your-model
"""  # noqa: E501
_data = partial(option, "Data")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class SourceOptions(AddOptions):
    """Which judge is added, what its words leave open, and what is done with it."""

    string: str | None = _data(
        None,
        "Which prompt of a file with several is meant, by the name of its string or its keys.",
    )
    check: bool = _output(False, "Show what is understood, and save nothing.")
    show_request: bool = _output(
        False, "Show what --model sends of the file, send nothing and save nothing."
    )
    yes: bool = _output(False, "Save without asking.")
    out: Path | None = _output(
        None, "Write the judge as YAML [default: keep it in the workspace].", kind="out"
    )


@dataclass(frozen=True, kw_only=True)
class ReaderOptions(ExchangeOptions, AskOptions):
    """Which model reads the prompt, and how it is reached."""


OFTEN = """
--description --examples --as --field --fill --string --model --labels --scale
--threshold --verdict --reply --criteria --check --out --workspace --json
"""
"""The options that `--help` shows."""


@click.command("add", cls=Command, often=OFTEN, epilog=ADD)
@click.argument("source", required=False)
@options_of(source_options=SourceOptions, draft=DraftOptions, models=ReaderOptions)
@writes_workspace
def add(
    source: str | None,
    source_options: SourceOptions,
    draft: DraftOptions,
    models: ReaderOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Add the judge in SOURCE, a file: a text, a chat, YAML, code, an object that another tool
    saved, or an export of ours.

    Its words, field names and form of answer stay. What was understood is shown before anything is
    saved. Labels, scale, criteria and where the verdict stands are read by the model after --model,
    whose every quotation is looked up in the text; what it leaves open, and without a model all of
    it, is asked at a terminal, and said with an option elsewhere.

    Without SOURCE, a model drafts a judge from --description and --examples.
    """
    options = source_options
    if draft.is_given:
        add_drafted(
            workspace,
            draft,
            models,
            name=options.name,
            labels=options.labels,
            scale=options.scale,
            out=options.out,
            as_json=as_json,
        )
    elif source is not None and _is_export(Path(source)):
        _add_export(Path(source), options, workspace, as_json=as_json)
    elif source is not None:
        _add_prompt(source, options, models, workspace, as_json=as_json)
    else:
        raise InputError(
            "which judge is added?",
            hint=(
                "judgewright judges add FILE; or say it: --as NAME --description TEXT --examples"
                " FILE --model NAME"
            ),
        )


def _is_export(path: Path) -> bool:
    from ..exports.manifest import MANIFEST_NAME

    beside = path.with_name(f"{path.name}.{MANIFEST_NAME}")
    return path.is_dir() or beside.is_file()


def _add_export(path: Path, options: SourceOptions, workspace: Workspace, *, as_json: bool) -> None:
    from ..actions.keep_judge import keep_judge
    from ..imports import read_back

    if options.fields or options.fills or options.scale:
        raise InputError("--field, --fill and --scale do not go with an export: it says all itself")
    back = read_back(path)
    prompt = replace(back.prompt, name=options.name or back.prompt.name)
    path_of_judge, spec = keep_judge(workspace, prompt, options.out)
    origin = {"from": f"an export of ours for {back.target}"}
    if as_json:
        say_json(body_of(prompt, path=path_of_judge, notes=back.notes) | origin)
        return
    spec_text = f"{prompt.name}@{prompt.version} from an export for {back.target}"
    say(f"{spec_text}, written to {path_of_judge}")
    for note in back.notes:
        say(f"  {inline(note)}")
    say_next(prompt, spec)


def _add_prompt(
    source: str,
    chosen: SourceOptions,
    models: ReaderOptions,
    workspace: Workspace,
    *,
    as_json: bool,
) -> None:
    from ..actions.keep_judge import keep_judge
    from ..imports import (
        NO_READING,
        read_own_prompts,
        reading_messages,
        understand,
    )

    options: AddOptions = chosen
    judges = read_own_prompts(Path(source), chosen.string)
    if chosen.show_request:
        _show_request(reading_messages(judges), as_json=as_json)
        return
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if models.model:
        judge, reading = _model_reading(judges, models, workspace, quiet=as_json)
    else:
        judge, reading = _the_one(judges, asking=asking), NO_READING
    understood = understand(judge, options, reading)
    while understood.questions and asking:
        _say_text(understood)
        try:
            answered = _ask(options, understood.questions[0])
            understood, options = understand(judge, answered, reading), answered
        except InputError as error:  # the same question comes again
            say(str(error))
    prompt = understood.prompt
    if not as_json:
        _say_text(understood)
    if prompt is None:
        by = (
            "the model leaves"
            if models.model
            else "without --model NAME, which reads it, it leaves"
        )
        raise _open_questions(source, understood, options, by)
    if not as_json:
        _say_understood(understood, prompt)
    if chosen.check:
        if as_json:
            say_json(_json(understood, prompt) | {"path": None, "spec": None})
        return
    if asking and not chosen.yes and not click.confirm(f"Save it as {prompt.name}?", default=True):
        say("nothing was saved")
        return
    path, spec = keep_judge(workspace, prompt, chosen.out)
    if as_json:
        say_json(_json(understood, prompt) | {"path": path, "spec": spec})
        return
    say(f"{prompt.name}@{prompt.version} written to {path}")
    say_next(prompt, spec)


def _show_request(messages: Sequence[Message], *, as_json: bool) -> None:
    listed = [{"role": one.role, "content": one.content} for one in messages]
    texts = [f"{one.role}:\n{visible(str(one.content))}\n" for one in messages]
    answer({"messages": listed}, "\n".join(texts), as_json=as_json)


def _the_one(judges: Sequence[ForeignJudge], *, asking: bool) -> ForeignJudge:
    """Return the one prompt of a file; which of several is the judge is asked at a terminal."""
    from ..imports import several

    if len(judges) == 1:
        return judges[0]
    if not asking:
        raise several(judges)
    names = [judge.string for judge in judges]
    kind = click.Choice(names)
    chosen = click.prompt("which of its prompts is the judge? (--string NAME)", type=kind)
    return judges[names.index(chosen)]


def _open_questions(
    source: str, understood: Understood, options: AddOptions, by: str
) -> InputError:
    """Return the error that asks what is open, with the command in which all else is filled in."""
    command = ["judgewright judges add", quote(source)]
    if options.name:
        command.append(f"--as {quote(options.name)}")
    if understood.judge.string:
        command.append(f"--string {quote(understood.judge.string)}")
    for flag, pairs in (("--field", options.fields), ("--fill", options.fills)):
        command += [f"{flag} {quote(f'{theirs}={value}')}" for theirs, value in pairs.items()]
    for name, value in understood.known.items():
        command.append(f"--{name} {quote(value)}" if value else f"--{name}")
    command += [f"--{question.option} ..." for question in understood.questions]
    questions = "\n  ".join(map(str, understood.questions))
    return InputError(f"{Path(source).name}: {by} open:\n  {questions}", hint=" ".join(command))


def _model_reading(
    judges: Sequence[ForeignJudge], models: ReaderOptions, workspace: Workspace, *, quiet: bool
) -> tuple[ForeignJudge, ModelReading]:
    """Have the model read the prompt, and say what of its reading does not stand there."""
    from ..actions.read_prompt import read_with_model
    from .model_access import asking_environment

    environment = asking_environment(workspace.root, models.model)
    judge, reading, notes = read_with_model(workspace, judges, models, environment)
    for note in notes if not quiet else ():
        say(f"note: {inline(note)}")
    return judge, reading


def _ask(options: AddOptions, question: Question) -> AddOptions:
    """Ask one question at the terminal, and read the answer as its option is read."""
    answer = click.prompt(inline(str(question))).strip()
    name = question.option
    if name == "scale" and "," in answer:
        name = "labels"
    if name == "field" and "=" not in answer:
        answer = f"{answer}={answer}"
    if name == "fill":
        theirs, ours = question.labels
        is_field = answer.casefold() in ("yes", "y", theirs.casefold())
        name, answer = ("field", f"{theirs}={ours}") if is_field else (name, f"{theirs}={answer}")
    given: dict[str, Any] = {}  # Any: each field has its own type
    for field, _, value in changed_options(
        read_options(AddOptions, [f"--{name}={answer}"]), AddOptions
    ):
        pairs = isinstance(value, dict)
        given[field.name] = {**getattr(options, field.name), **value} if pairs else value
    return replace(options, **given)


def _say_text(understood: Understood) -> None:
    """Print the prompt with what each line was taken for beside it."""
    for taken_for, line in understood.marked:
        say(f"  {taken_for:>8} | {line}".rstrip())
    say("")


def _say_understood(understood: Understood, prompt: JudgePrompt) -> None:
    first, last = understood.criteria_lines or (0, 0)
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    say(f"{prompt.name}, from {inline(understood.judge.tool)} {inline(understood.judge.location)}")
    say(f"  inputs     {', '.join(prompt.inputs)}")
    say(f"  scale      {inline(prompt.scale.describe())}{positive_of(prompt)}")
    say(f"  answer     {inline(describe_answer(prompt))}")
    say(
        f"  criteria   {lines}, {len(prompt.criteria):,} characters; optimization edits these and"
        " nothing else"
    )
    if prompt.cases is not None:
        say(f"  cases      {prompt.cases.describe()}")
    for note in understood.notes:
        say(f"  {inline(note)}")


def describe_answer(prompt: JudgePrompt) -> str:
    """Say where the verdict stands in a reply."""
    score = next((name for name, kind in prompt.reply_schema.items() if kind == "score"), None)
    if score is not None:
        others = [name for name in prompt.reply_schema if name != score]
        return f"JSON, the verdict in {score!r}" + (
            f", beside {', '.join(others)}" if others else ""
        )
    if prompt.reply_mark in MARKED_PLACES:
        return f"text, the verdict at its {prompt.reply_mark}"
    if prompt.reply_mark:
        return f"text, the verdict in {prompt.reply_mark}"
    return "text that is the verdict, or with it after 'Score:', 'Verdict:' or such a word"


def _json(understood: Understood, prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    body = body_of(prompt, criteria=prompt.criteria, answer=describe_answer(prompt))
    body |= {"labels": prompt.scale.labels, "threshold": prompt.scale.threshold}
    body |= {"from": understood.judge.tool, "fields": dict(understood.fields)}
    return body | {"notes": list(understood.notes)}
