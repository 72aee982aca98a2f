"""The command line: which commands there are. Each lives in a file of its own, loaded when it is
called.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..judges.errors import InputError
from .commands.help import LazyGroup, retired_command
from .plugins import brought, load, plugins

COMMANDS = {
    "demo": (
        "demo:demo",
        "Run all five steps on made-up rows and the simulated model; no key needed.",
    ),
    "bench": ("bench:bench", "Measure a judge against human labels."),
    "slices": ("slices:slices", "Find where a judge errs, from a run or a verdict file."),
    "loss": (
        "loss:loss",
        "Turn an objective into a loss, or check a loss; show what every outcome costs.",
    ),
    "optimize": (
        "optimize:optimize",
        "Improve a judge on its weak slice and put the result through the gate.",
    ),
    "gate": ("gate:gate", "Decide between two judges, or two verdict files, on a holdout."),
    "review": ("review:review", "Read runs on a page in the browser, and decide about them."),
    "export": ("export:export", "Write a judge for another tool, and prove it there."),
    "judges": ("judges:judges", "List, show and add judges."),
    "models": (
        "models:models",
        "List, add and test the models that --model can name; serve the simulated one.",
    ),
    "data": (
        "data:data",
        "Look at a data file, split it, or make one of an annotation tool's export.",
    ),
    "label": ("label:label", "Label rows in the terminal, one key each; write the labels."),
    "score": ("score:score", "Measure verdicts from any judge, read from a file."),
    "calibrate": (
        "calibrate:calibrate",
        "Fit a judge's threshold and calibration on validation rows.",
    ),
    "runs": ("runs:runs", "List, show, compare and resume runs; stop jobs."),
    "doctor": ("doctor:doctor", "Check all of a workspace: the file, replies, runs, looks."),
    "diff": ("accept:diff", "Show what a run wants to change in a prompt."),
    "accept": (
        "accept:accept",
        "Adopt the prompt that a run's gate accepted, or some of its hunks.",
    ),
    "reject": ("accept:reject", "Turn a run's prompt down, with a reason."),
}
RETIRED = {
    "plan": "type `optimize JUDGE DATA ... --plan`",
    "recheck": "type `gate JUDGE --again --model NAME`",
    **{
        word: f"type `judgewright rag {word}`"
        for word in ("define", "annotate", "search", "answers", "route")
    },
    "student": "type `judgewright students`",
    "tune": (
        "set --steps, --batch and --temperature of `optimize` by hand; "
        "in every study of `tune` more steps looked better"
    ),
    "jobs": "`runs list` shows jobs; `runs stop`, `resume` and `work` take them",
    "simulate": "type `models simulate`",
    "runs merge": "go on in one workspace; what is in the other stays readable there",
    "workspace": "workspaces are not merged; to keep what is old, copy the folder",
    "judges import": "type `judges add FILE`",
    **{
        f"judges add {name}": "print what the tool sends into a text file, and `judges add FILE`"
        for name in ("--from", "--with")
    },
    "judges new": "type `judges add --description TEXT --examples FILE --as NAME`",
    "judges diff": "type `judges show BEFORE AFTER`",
    "judges log": "type `judges list NAME`",
    "models show": "type `models list NAME`",
    "data sources": "type `data import`, without a source",
    "loss lint": "type `loss check`",
    "judges tag": "name the version, as in NAME@VERSION; `judges use` says what NAME means",
    "runs compare": "type `runs show RUN OTHER`",
    "runs flips": "type `runs show RUN --flips`",
    "runs export": "type `runs show RUN --out FOLDER`",
    "runs pause": "type `runs stop JOB`; `runs resume JOB` goes on",
    "data labels": "type `label`, which lists the queues, or `label QUEUE --out FILE`",
    "rag answers clarify": (
        "`bench interpretation_groundedness` and `answerability` measure readings of yours"
    ),
    "rag answers measure": "`bench` grades the answers; `rag answers compare` has ANLS",
    "--workers": "type `--engine dask=NUMBER`",
    "--scheduler": "type `--engine dask=URL`",
    "--parts": "type `--editable`",
    "--exchange": "type `--via files=DIR`",
    "--skip-incomplete": "leave such rows out of the file; Python's `load_dataset` still takes it",
    "--queries": "`pandas.merge` joins the three tables by their ids",
    "--verbose": "`--json` has each figure's definition",
    "--tree": "type `--where 'SLICE and CONDITION'`; a poorer part is listed under its slice",
    "--candidates": "a step asks for one proposal; raise --steps instead",
    "--pilot": "bench the judge first, and `--plan` takes its measured errors",
    "--unlabelled": "label rows first (`label --rows FILE --next 200`), then `gate A B LABELLED`",
    "--look-anyway": "type `--gate-anyway`",
    "--gradients": "a step has one gradient, over the whole brief; raise --steps instead",
    "--hunks": "`accept RUN --hunks 1,3` has the gate decide about some of the hunks",
    "data check --against": "the gate says which rows an earlier run saw, in whatever file",
    "data check --split-column": "`data split` and `optimize` keep near copies on one side",
    "data import --level": "published data sets are read as tables, by --column and --label",
    "data import --where": "import all, and choose rows of the file that it writes",
    "data import --limit": "import all; `--limit` of the commands that read the file is there",
    "bench --aggregate": "the lowest grade of a claim decides; `--json` has each claim's verdict",
    "optimize --aggregate": "the lowest grade of a claim decides",
    "bench --gain": "the smallest change that would show is printed in any case",
    "score --uncertain": "a rule of `score --expected` has the figures of DIRAS",
    "score --gain": "the smallest change that would show is printed in any case",
    "loss write --label-scale": "leave it out; a loss is tried on the judge's grades",
    "loss check --label-scale": "leave it out; a loss is tried on the judge's grades",
    **{
        f"models test {name}": "type `bench JUDGE ROWS --limit 20 --model NAME`"
        for name in ("--rows", "--judge", "--limit", "--max-tokens", "--column", "--label")
    },
    **{
        f"judges use {name}": "name the version, as in NAME@VERSION"
        for name in ("--label", "--remove")
    },
    **{
        f"slices {name}": "`--rows SLICE --errors` shows its errors; `score --audit` lists all"
        for name in ("--audit", "--marks")
    },
    **{
        f"gate {name}": "`label QUEUE --out FILE` writes the labels; then `gate A B LABELLED`"
        for name in ("--holdout", "--ask", "--second", "--abandon")
    },
    **{
        f"rag annotate {name}": "join labels to the annotations by query_id and document_id"
        for name in ("--labels", "--label", "--label-map", "--label-scale", "--outside")
    },
    **{
        f"rag annotate {name}": "call the columns query_id, document_id or id"
        for name in ("--query-id", "--document-id")
    },
    "rag annotate --matrix": "type `rag search pairs --matrix FILE`",
    "rag annotate --retriever": "type `--embedder MODEL`; without it BM25 retrieves",
    **{
        f"rag define {name}": "call the columns query, passage and label"
        for name in ("--query", "--passage", "--label")
    },
    "rag route ask --by": "type `score VERDICTS --by COLUMN`, or `slices VERDICTS`",
    "rag search pairs --form": "the first two columns of the triplets are the pairs",
    "rag search pairs --margin": "`--below` keeps doubtful negatives out",
    "rag search tune --run": "join the scores of the run as a column, and `--feature COLUMN`",
    "rag search tune --judge-label": "type `--verdicts FILE`",
    "rag search tune --fusion": "leave it out; both ways are tried",
    "students data --reasons": "add `rationale` of the verdicts to the chats",
    **{
        f"students judge {name}": "its verdicts have a `confidence`; take the rows below one"
        for name in ("--sure", "--unsure")
    },
    "demo --open": "type `judgewright review --workspace demo --open`",
    "runs show --format jsonl": "type `runs show RUN --json`, or `runs show RUN --flips --json`",
}
"""Commands, options (of one command or of any) and values that are gone, and what to do instead."""


class _WithPlugins(LazyGroup):
    """Our commands, those that plug-ins bring, and the words that are gone."""

    retired = RETIRED

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *brought("commands")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in RETIRED:
            return retired_command(cmd_name, RETIRED[cmd_name])
        command = super().get_command(ctx, cmd_name)
        if command is None and (path := brought("commands").get(cmd_name)):
            return load(path)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        if there := [(plugin.name, plugin.summary) for plugin in plugins()]:
            with formatter.section("Plug-ins"):
                formatter.write_dl(there)


@click.group(
    cls=_WithPlugins,
    lazy={
        name: (f"{__package__}.commands.{path}", text) for name, (path, text) in COMMANDS.items()
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    invoke_without_command=True,
)
@click.version_option(package_name="judgewright", prog_name="judgewright")
@click.pass_context
def cli(context: click.Context) -> None:
    """Measure an LLM judge against human labels, find where it errs, improve its prompt, prove it
    on a holdout.

    \b
    Begin:      judgewright    (at a terminal: a page in the browser, with the demo as a button)
    Try it:     judgewright demo
    Measure:    judgewright bench groundedness rows.jsonl --model your-model
    Improve:    judgewright optimize groundedness rows.jsonl --objective "raise precision" --model your-model

    --model is `simulated` (embedded, made up, no key), a model name at OPENAI_BASE_URL with
    OPENAI_API_KEY, NAME@https://host/v1 with JUDGEWRIGHT_API_KEY, or a name with settings of its
    own: judgewright models.
    """  # noqa: E501
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(context.get_help())
        return
    from .commands.review import open_page

    open_page()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    The exit code is 0 for done, 1 for a check that said no, 2 for a usage or input error, 3 for an
    endpoint, disk or budget error, and 4 for a run that was not sent to the gate; see `exit_code`.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with _ended_by_sigterm_as_by_ctrl_c():
            _run(arguments)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(3)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every failure is reported here
        from .commands.failure import report_failure

        sys.exit(report_failure(error, as_json="--json" in arguments))


def _run(arguments: list[str]) -> None:
    """Run a command; where the columns of its file have other names, run it with those that a
    person agrees to.
    """
    try:
        cli.main(arguments, prog_name="judgewright", standalone_mode=False)
    except InputError as error:
        from ..judges.files import UnclearColumnsError
        from .commands.confirm_columns import with_agreed_columns

        if not isinstance(error, UnclearColumnsError):
            raise
        agreed = with_agreed_columns(error, arguments)
        cli.main(agreed, prog_name="judgewright", standalone_mode=False)


@contextmanager
def _ended_by_sigterm_as_by_ctrl_c() -> Iterator[None]:
    """Let whoever stops a process, such as a scheduler of machines, stop it as a person does at a
    terminal.
    """
    free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not free or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
