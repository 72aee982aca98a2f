"""`judgewright judges add`: bring in a prompt of one's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ...judges.files.small_file import read_small_text
from ..config.options import CallOptions
from ..terminal import inline, say, say_json, visible
from .help import Command, GroupedOption
from .options import json_option, options_of, read_pairs, writes_workspace
from .output_paths import OutFile

if TYPE_CHECKING:
    from ...judges import JudgePrompt
    from ..imports import AddOptions, ForeignJudge, ModelReading, Question, Understood
    from ..store.workspace import Workspace

ADD = """\
Example:    judgewright judges add judge.txt --as politeness
Labels:     judgewright judges add judge.txt --labels FAIL,PASS
In code:    judgewright judges add evaluate.py --string PROMPT
The rules:  judgewright judges add judge.txt --criteria 'A reply passes when ... the customer'
A model:    judgewright judges add judge.txt --model your-model
Look only:  judgewright judges add judge.txt --check
"""


@click.command("add", cls=Command, epilog=ADD)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "name", help="What to call the judge [default: the file's name].")
@click.option(
    "--string",
    help="Which prompt of a file with several is meant, by the name of its string or its keys.",
    cls=GroupedOption,
    group="Data",
)
@click.option(
    "--labels",
    help="The labels of its answer, the worst first, such as FAIL,PASS.",
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--choice", is_flag=True, help="The labels have no order.", cls=GroupedOption, group="Judging"
)
@click.option(
    "--scale",
    help=(
        "LOW..HIGH@THRESHOLD, binary or probability; 6..1 where 1 is the best, low-probability@0.3"
        " where low is good and 0.3 still passes [default: as the words say]."
    ),
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--threshold",
    help=(
        "The worst grade or label of a reply with which a row is positive [default: the middle;"
        " above it, of labels]."
    ),
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--verdict",
    metavar="FIELD",
    help="Which field of a JSON answer is the verdict.",
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--criteria",
    metavar="'FIRST ... LAST'",
    help="The words that optimization may edit: the first and last.",
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="THEIRS=OURS",
    help="What to call a field [default: its name].",
    cls=GroupedOption,
    group="Data",
)
@click.option(
    "--fill",
    "fills",
    multiple=True,
    metavar="THEIRS=TEXT",
    help="The text of a field that is no row's; =@FILE reads it.",
    cls=GroupedOption,
    group="Data",
)
@click.option("--check", is_flag=True, help="Show what is understood, and save nothing.")
@click.option(
    "--show-request",
    is_flag=True,
    help="Show what --model sends of the file, send nothing and save nothing.",
)
@click.option("--yes", is_flag=True, help="Save without asking.")
@click.option(
    "--out", type=OutFile(), help="Write the judge as YAML [default: keep it in the workspace]."
)
@options_of(models=CallOptions)
@writes_workspace
@json_option
def add(
    file: Path,
    name: str | None,
    string: str | None,
    labels: str | None,
    choice: bool,
    scale: str | None,
    threshold: str | None,
    verdict: str | None,
    criteria: str | None,
    fields: tuple[str, ...],
    fills: tuple[str, ...],
    check: bool,
    show_request: bool,
    yes: bool,
    out: Path | None,
    models: CallOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Add a prompt of your own: a text, a chat, YAML, code, or an object that another tool saved.

    Its words, field names and form of answer stay. What was understood is shown before anything is
    saved; what the words leave open is asked at a terminal, and said with an option elsewhere.

    With --model a model reads the prompt too. What it quotes is looked up in the text, and goes
    before what Judgewright reads there by itself; where the two differ, a note says so.
    """
    from ...judges.scale import parse_label_scale
    from ..actions.keep_judge import keep_judge
    from ..imports import (
        AddOptions,
        ModelReading,
        read_own_prompt,
        read_own_prompts,
        reading_messages,
        settle,
    )

    options = AddOptions(
        name=name,
        fields=read_pairs(fields, "--field", "THEIRS=OURS", may_be_empty=True),
        fills=read_fills(fills),
        scale=parse_label_scale(scale) if scale else None,
        labels=read_labels(labels),
        choice=choice,
        threshold=threshold,
        verdict=verdict,
        criteria=criteria,
    )
    if show_request:
        asked = reading_messages(read_own_prompts(file, string))
        messages = [{"role": one.role, "content": one.content} for one in asked]
        if as_json:
            say_json({"messages": messages})
            return
        for message in messages:
            say(f"{message['role']}:\n{visible(str(message['content']))}\n")
        return
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if models.model:
        judge, reading = _model_reading(
            read_own_prompts(file, string), models, workspace, quiet=as_json
        )
    else:
        judge, reading = read_own_prompt(file, string), ModelReading()
    settled = settle(judge, options, reading)
    while settled.questions and asking:
        _say_text(settled.found)
        options = _ask(options, settled.questions[0])
        settled = settle(judge, options, reading)
    found = settled.found
    if settled.questions or found.prompt is None:
        if not as_json:
            _say_text(found)
        first, *more = settled.questions
        raise InputError(f"{file.name}: {first}", hint="; ".join(map(str, more)) or None)
    prompt = found.prompt
    if not as_json:
        _say_text(found)
        _say_understood(found, prompt, settled.notes)
        if not models.model:
            say(
                "  Read by rules alone, which misread about one such prompt in four: compare, or"
                " add --model NAME."
            )
    if check:
        if as_json:
            say_json(_json(found, prompt, settled.notes) | {"path": None, "spec": None})
        return
    if asking and not yes and not click.confirm(f"Save it as {prompt.name}?", default=True):
        say("nothing was saved")
        return
    path, spec = keep_judge(workspace.registry, prompt, out)
    if as_json:
        say_json(_json(found, prompt, settled.notes) | {"path": path, "spec": spec})
        return
    say(f"{prompt.name}@{prompt.version} written to {path}")
    if "@" in spec:
        say(
            f"  {prompt.name!r} means what it meant before; to change that: judgewright judges use"
            f" {spec}"
        )
    say(f"Measure it: judgewright bench {spec} ROWS --model NAME")


def _model_reading(
    judges: Sequence[ForeignJudge], models: CallOptions, workspace: Workspace, *, quiet: bool
) -> tuple[ForeignJudge, ModelReading]:
    """Have the model read the prompt, and say what of its reading does not stand there."""
    from ..actions.read_prompt import read_with_model
    from .model_access import asking_environment

    environment = asking_environment(workspace.root, models.model)
    judge, reading, notes = read_with_model(workspace, judges, models, environment)
    for note in notes if not quiet else ():
        say(f"note: {inline(note)}")
    return judge, reading


def read_fills(fills: tuple[str, ...]) -> dict[str, str]:
    """Read the texts of `--fill`, each given or in a file."""
    texts = read_pairs(fills, "--fill", "THEIRS=TEXT", may_be_empty=True)
    return {theirs: _text_of(text) for theirs, text in texts.items()}


def _text_of(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return read_small_text(Path(text[1:]))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--fill cannot read {text[1:]!r}: {error}") from None


def read_labels(labels: str | None) -> tuple[str, ...]:
    """Read `--labels`: two or more, with commas; empty where it is not given."""
    if labels is None:
        return ()
    listed = tuple(label.strip() for label in labels.split(","))
    if len(listed) < 2 or not all(listed):
        raise InputError(
            f"--labels {labels!r} are not two or more labels",
            hint="write them as FAIL,PASS, the worst first",
        )
    return listed


def _ask(options: AddOptions, question: Question) -> AddOptions:
    """Ask one question at the terminal; an answer that does not fit is asked for again."""
    from ...judges.scale import parse_label_scale

    said = click.prompt(inline(str(question))).strip()
    try:
        if question.option == "labels" or (question.option == "scale" and "," in said):
            return replace(options, labels=read_labels(said))
        if question.option == "scale":
            return replace(options, scale=parse_label_scale(said))
        if question.option == "fill":
            theirs, ours = question.labels
            if said.casefold() in ("yes", "y", theirs.casefold()):
                return replace(options, fields={**options.fields, theirs: ours})
            return replace(options, fills={**options.fills, theirs: said})
        if question.option == "verdict":
            return replace(options, verdict=said)
        if question.option == "threshold" and "," in said:
            return replace(options, labels=read_labels(said))
        if question.option == "threshold":
            return replace(options, threshold=said if said in question.labels else _number(said))
        return replace(options, criteria=said)
    except InputError as error:
        say(str(error))
        return options


def _number(said: str) -> str:
    try:
        float(said)
    except ValueError:
        raise InputError(f"{said!r} is no number") from None
    return said


def _say_text(found: Understood) -> None:
    """Print the prompt with what each line was taken for beside it."""
    for taken_for, line in found.marked:
        say(f"  {taken_for:>8} | {line}".rstrip())
    say("")


def _say_understood(found: Understood, prompt: JudgePrompt, notes: tuple[str, ...]) -> None:
    first, last = found.criteria_lines or (0, 0)
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    say(f"{prompt.name}, from {inline(found.judge.tool)} {inline(found.judge.location)}")
    say(f"  inputs     {', '.join(prompt.inputs)}")
    say(f"  scale      {inline(prompt.scale.describe())}{positive_of(prompt)}")
    say(f"  answer     {inline(describe_answer(prompt))}")
    say(
        f"  criteria   {lines}, {len(prompt.criteria):,} characters; optimization edits these and"
        " nothing else"
    )
    if prompt.examples:
        say(f"  examples   {len(prompt.examples)}")
    for note in (*notes, *found.notes):
        say(f"  {inline(note)}")


def positive_of(prompt: JudgePrompt) -> str:
    """Say which of two labels is the positive one."""
    if prompt.scale.kind != "binary":
        return ""
    negative, positive = prompt.scale.labels or ("0", "1")
    return f" ({negative} is 0, {positive} is 1, positive)"


def describe_answer(prompt: JudgePrompt) -> str:
    """Say where the verdict stands in a reply."""
    score = next((name for name, kind in prompt.reply_schema.items() if kind == "score"), None)
    if score is not None:
        others = [name for name in prompt.reply_schema if name != score]
        return f"JSON, the verdict in {score!r}" + (
            f", beside {', '.join(others)}" if others else ""
        )
    if prompt.reply_mark in ("start", "last line"):
        return f"text, the verdict at its {prompt.reply_mark}"
    if prompt.reply_mark:
        return f"text, the verdict in {prompt.reply_mark}"
    return "text that is the verdict, or with it after 'Score:', 'Verdict:' or such a word"


def _json(
    found: Understood, prompt: JudgePrompt, notes: tuple[str, ...]
) -> dict[str, Any]:  # Any: JSON
    return {
        "name": prompt.name,
        "version": prompt.version,
        "from": found.judge.tool,
        "inputs": prompt.inputs,
        "fields": dict(found.fields),
        "scale": prompt.scale.describe(),
        "labels": prompt.scale.labels,
        "threshold": prompt.scale.threshold,
        "answer": describe_answer(prompt),
        "criteria": prompt.criteria,
        "notes": [*notes, *found.notes],
    }
