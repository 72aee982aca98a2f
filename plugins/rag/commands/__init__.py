"""`judgewright rag`: define, annotate, search, answers, route; each loaded when it is called."""

from __future__ import annotations

import click

from ....runs.commands.help import LazyGroup

COMMANDS = {
    "define": "Draft what queries mean and what is sought, for relevance judges.",
    "annotate": "Judge a sample of a corpus for many queries.",
    "search": "Use a judge's labels for search: tune a ranking, train embeddings.",
    "answers": "Compare ways to answer from documents, and ways to grade answers.",
    "route": "Choose the source of a catalogue that should answer a question.",
}


@click.group(
    cls=LazyGroup,
    lazy={name: (f"{__name__}.{name}:{name}", text) for name, text in COMMANDS.items()},
)
def rag() -> None:
    """Judges at work in retrieval: label a corpus, tune a search, choose sources, compare ways to
    answer.
    """
