"""`judgewright rag`: define, annotate, search, answers, route; each loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "define": "Draft what queries mean and what is sought, for relevance judges.",
    "annotate": "Judge a sample of a corpus for many queries.",
    "search": "Use a judge's labels for search: tune a ranking, train embeddings.",
    "answers": "Compare ways to answer from documents, and ways to grade answers.",
    "route": "Choose the source of a catalogue that should answer a question.",
}


class _Loaded(click.Group):
    """A group whose help is printed without importing any of its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Loaded)
def rag() -> None:
    """Judges at work in retrieval: label a corpus, tune a search, choose sources, compare ways to
    answer.
    """
