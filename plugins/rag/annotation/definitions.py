"""Relevance definitions: what a query means and what is sought, written down before passages are
judged.

Drafted by a model from the query alone, or improved with passages that experts marked as relevant
(Ni et al. 2024, DIRAS). Passages of the holdout must not be among them: through the definition the
judge would know their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....judges.errors import DataError
from ....judges.files.problems import Problems
from ....judges.files.reading import load_dataset
from ....judges.files.records import Record, read_records
from ....judges.instruction import (
    ASKING,
    Filled,
    Instruction,
    Unfilled,
    ask_instruction,
    load_instruction,
    number_lines,
)
from ....judges.judge import JudgeSettings
from ....judges.models.client import Client
from ....judges.models.counters import Progress
from ....judges.scale import OutputScale

QUERY_COLUMNS = ("query", "question")
PASSAGE_COLUMNS = ("passage", "paragraph", "text")
COLUMN = "relevance_definition"
"""The column a definition is written to, and the input of the judges that read one."""

MOST_PASSAGES = 10
"""Marked passages shown for one query; the first ones of the file."""
PASSAGE_CHARS = 2_000
"""Characters of each of them that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query, and the definition it has already."""

    text: str
    definition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a query means and what is sought, or why there is no answer."""

    query: str
    meaning: str = ""
    examples: tuple[str, ...] = ()
    passages: int = 0
    """Marked passages it was improved with; 0 for a draft."""
    origin: str = ""
    """`name@version` of the instruction, or `given` for one that was there and stays."""
    unanswered: Unfilled | None = None
    """Why the last request for it has no answer; an earlier text stays."""
    simulated: bool = False

    @property
    def text(self) -> str:
        """The definition as a judge reads it; empty where there is none."""
        if not self.examples:
            return self.meaning
        examples = "\n".join(f"- {example}" for example in self.examples)
        return f"{self.meaning}\n\nSought are, for example:\n{examples}"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return one line of a definitions file; the definition is null where there is none."""
        return {
            "query": self.query,
            COLUMN: self.text or None,
            "passages": self.passages,
            "origin": self.origin,
            "simulated": self.simulated,
            "unanswered": self.unanswered.reason if self.unanswered else None,
            "detail": self.unanswered.detail if self.unanswered else "",
        }


def draft_definitions(
    queries: Sequence[Query],
    client: Client,
    *,
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> list[Definition]:
    """Draft a definition for each query from its text alone; one without a readable answer has no
    text and says why.
    """
    instruction = load_instruction("define_relevance")
    items = [{"query": query.text} for query in queries]
    answers = ask_instruction(instruction, items, client, settings=settings, progress=progress)
    definitions: list[Definition] = []
    for query, answer in zip(queries, answers, strict=True):
        definitions.append(_answered(Definition(query=query.text), instruction, answer, 0))
    return definitions


def improve_definitions(
    definitions: Sequence[Definition],
    marked: Mapping[str, Sequence[str]],
    client: Client,
    *,
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> list[Definition]:
    """Improve definitions with passages that experts marked as relevant.

    Those without a text or without a marked passage stay as they are; so does one whose request
    failed, and says so.

    Args:
        definitions: Drafts.
        marked: Relevant passages of each query; the first `MOST_PASSAGES` are shown. None may come
            from the holdout.
        client: Where the answers come from.
        settings: Sampling and limits.
        progress: Called while answers come in.
    """
    instruction = load_instruction("improve_definition")
    passages: dict[int, list[str]] = {}
    items: list[dict[str, str]] = []
    for i, old in enumerate(definitions):
        if old.text and marked.get(old.query):
            passages[i] = [text[:PASSAGE_CHARS] for text in marked[old.query][:MOST_PASSAGES]]
            lines = number_lines(passages[i])
            items.append({"query": old.query, "definition": old.text, "passages": lines})
    answers = ask_instruction(instruction, items, client, settings=settings, progress=progress)
    improved = list(definitions)
    for i, answer in zip(passages, answers, strict=True):
        improved[i] = _answered(definitions[i], instruction, answer, len(passages[i]))
    return improved


def _answered(
    old: Definition, instruction: Instruction, answer: Filled | Unfilled, passages: int
) -> Definition:
    if isinstance(answer, Unfilled):
        return replace(old, unanswered=answer)
    meaning = answer.text("meaning").strip()
    if not meaning:
        return replace(
            old, unanswered=Unfilled(reason="parse", detail="the meaning in the reply is empty")
        )
    examples = (" ".join(text.split()) for text in answer.texts("examples"))
    return Definition(
        query=old.query,
        meaning=meaning,
        examples=tuple(example for example in examples if example),
        passages=passages,
        origin=f"{instruction.name}@{instruction.version}",
        simulated=old.simulated or answer.simulated,
    )


def given_definition(query: Query) -> Definition:
    """Return the definition that a query came with."""
    return Definition(
        query=query.text, meaning=query.definition, origin="given" if query.definition else ""
    )


def read_queries(path: Path) -> tuple[Query, ...]:
    """Read the distinct queries of a data file, in the order they first occur, with the definitions
    they have.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet, with a column `query` or `question`.

    Raises:
        DataError: The file, or a row of it, cannot be used.
    """
    records, name = _records(path)
    queries: dict[str, Query] = {}
    for record in records:
        text, definition = str(record.fields[name]), record.fields.get(COLUMN)
        # Not every row of a query needs to have its definition.
        if text not in queries or (definition and not queries[text].definition):
            queries[text] = Query(text=text, definition=str(definition or "").strip())
    return tuple(queries.values())


def define_rows(path: Path, definitions: Sequence[Definition]) -> list[dict[str, Any]]:
    """Return the rows of a data file, each with the definition of its query in the column
    `relevance_definition`.

    Raises:
        DataError: The file, or a row of it, cannot be used.
    """
    records, name = _records(path)
    texts = {definition.query: definition.text for definition in definitions}
    rows = []
    for record in records:
        rows.append({**record.fields, COLUMN: texts.get(str(record.fields[name])) or None})
    return rows


def read_marked(path: Path) -> dict[str, list[str]]:
    """Read the passages that experts marked as relevant, by query, in the order of the file.

    A label counts as relevant from the threshold of its scale on: 1 of 0/1, 2 of 0..3, one half of
    a share.

    Args:
        path: Rows with a `query` or `question`, a `passage`, `paragraph` or `text`, and a `label`.
            None of them may belong to the holdout.

    Raises:
        DataError: The file, or a row of it, cannot be used.
    """
    names = _names(read_records(path, Problems(path)))
    columns = {
        "query": _column(path, names, QUERY_COLUMNS),
        "passage": _column(path, names, PASSAGE_COLUMNS),
    }
    dataset = load_dataset(path, inputs=("query", "passage"), scale=OutputScale(), columns=columns)
    marked: dict[str, list[str]] = {}
    for row in dataset.rows:
        if row.label is not None and dataset.positive(row):
            marked.setdefault(row.inputs["query"], []).append(row.inputs["passage"])
    return marked


def _records(path: Path) -> tuple[list[Record], str]:
    """Return every record of a file, and the column of the query, which each of them has."""
    problems = Problems(path)
    records = list(read_records(path, problems))
    problems.check()
    name = _column(path, _names(records), QUERY_COLUMNS)
    for record in records:
        if not str(record.fields.get(name) or "").strip():
            problems.add(record.at, f"field {name!r} is empty")
    problems.check()
    return records, name


def _names(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record.fields))


def _column(path: Path, names: Sequence[str], candidates: Sequence[str]) -> str:
    for name in candidates:
        if name in names:
            return name
    columns = ", ".join(repr(name) for name in names[:20]) or "none: the file has no rows"
    raise DataError(
        f"{path}: there is no column {' or '.join(map(repr, candidates))}; the columns are"
        f" {columns}",
        hint=f"call one of them {candidates[0]!r}",
    )
