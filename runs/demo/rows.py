"""The labelled rows that `judgewright demo` judges: stored, synthetic, and no benchmark.

Every sentence is ours, about houses, firms and people that do not exist. Each document states some
facts of its genre, and each statement is supported or not *by construction*; afterwards 2 of 100
labels were turned round at random, as happens in labels that people give.

One slice was made to be hard. Where the document is a table (`channel` = table), unsupported
statements are mostly true ones with a number or a name exchanged, so that a judge which goes by
shared words accepts more of them there; about half of the rows are supported in every channel, so
the slice differs in the judge's errors and not in its base rate. What a judge scores on these rows
says nothing about how good it is.
"""

from __future__ import annotations

import gzip
from importlib.resources import files
from itertools import islice
from pathlib import Path

import jsonlines
import orjson

from ...judges.errors import InputError
from ...judges.rows import Scalar

DOCUMENTS = 600
"""How many documents are stored, with three or four rows each."""
JUDGE = "groundedness"
OBJECTIVE = (
    "Precision matters most: do not call unsupported statements grounded. Do not lose more than 10"
    " points of recall."
)
DEMO_OPTIONS = (
    f"--objective={OBJECTIVE}",
    "--proposer=study,textgrad",
    "--steps=3",
    "--by=channel",
    "--model=simulated",
    "--yes",
)
"""What the demo types after `optimize`, its judge and its rows."""


def demo_rows(*, documents: int = 300) -> list[dict[str, Scalar]]:
    """Return the rows of the first documents.

    The columns are `id`, `source`, `statement`, `label` (0 or 1), `group_id` (the document),
    `genre`, `channel`, `statement_words`, `source_words`, `language` and `writer`.

    Raises:
        InputError: There are not so many documents.
    """
    if not 1 <= documents <= DOCUMENTS:
        raise InputError(f"documents is {documents!r}; ask for 1 to {DOCUMENTS}")
    stored = files("judgewright.runs.demo") / "documents.jsonl.gz"
    lines = gzip.decompress(stored.read_bytes()).splitlines()
    rows: list[dict[str, Scalar]] = []
    for number, line in enumerate(islice(lines, documents)):
        document = orjson.loads(line)
        group = f"doc-{number:04d}"
        for position, (statement, label, writer) in enumerate(document["statements"], start=1):
            rows.append(
                {
                    "id": f"{group}-{position}",
                    "source": document["source"],
                    "statement": statement,
                    "label": label,
                    "group_id": group,
                    "genre": document["genre"],
                    "channel": document["channel"],
                    "statement_words": len(statement.split()),
                    "source_words": len(document["source"].split()),
                    "language": "en",
                    "writer": writer,
                }
            )
    return rows


def write_demo_rows(path: Path, *, documents: int = 300) -> int:
    """Write the demo's rows as JSON lines and return how many there are; see `demo_rows`."""
    rows = demo_rows(documents=documents)
    with path.open("w", encoding="utf-8", newline="\n") as file, jsonlines.Writer(file) as writer:
        writer.write_all(rows)
    return len(rows)
