"""Documents and the questions that are asked about them, read from files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....judges.errors import DataError
from ....judges.files import Cell, Problems, kind_of, read_records
from ....judges.files.columns import as_text
from ....judges.files.records import Record
from ..annotation.collection import DOCUMENT_IDS, PASSAGE_NAMES, first_of
from .text_similarity import gold_answers

TEXT_NAMES = ("text", "document", "content", "body", *PASSAGE_NAMES)
QUESTION_NAMES = ("question", "query")
GOLD_NAMES = ("gold_answer", "gold", "reference_answer", "reference", "expected_answer", "expected")
"""`answer` too, in a file of questions that nobody has answered yet."""
EVIDENCE_NAMES = ("evidence", "gold_passage", "gold_chunk")
SUFFIXES = (".md", ".markdown", ".txt")
"""Files of a folder that are documents."""
SHORT = 200
"""Characters of a column that says something about a document, such as its title, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document."""

    id: str
    text: str
    """With `\\n` for line ends."""
    about: str = ""
    """What its other columns say of it, a line each; of a file in a folder its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and what is known of its answer."""

    id: str
    text: str
    gold: tuple[str, ...]
    """The answers that are right."""
    document: int | None = None
    """Position of the document that answers it."""
    evidence: tuple[int, int] | None = None
    """Where in that document."""


def read_documents(path: Path) -> tuple[Document, ...]:
    """Read a file with a document a line, or a folder of Markdown and text files.

    Raises:
        DataError: There is none, a line has no text, or two have the same id.
    """
    documents = _folder(path) if path.is_dir() else _documents(path)
    if not documents:
        raise DataError(f"{path}: there is no document")
    return documents


def _folder(path: Path) -> tuple[Document, ...]:
    documents: list[Document] = []
    for file in sorted(path.rglob("*")):
        if not (file.is_file() and file.suffix.lower() in SUFFIXES):
            continue
        name = file.relative_to(path).as_posix()
        try:
            text = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{file} is no UTF-8 text", hint="save it as UTF-8") from None
        except OSError as error:
            raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
        if text.strip():
            documents.append(Document(id=name, text=_lines(text), about=f"file: {name}"))
    if not documents:
        raise DataError(f"{path} has no file that ends in {', '.join(SUFFIXES)} and has a text")
    return tuple(documents)


def _documents(path: Path) -> tuple[Document, ...]:
    problems, records = _records(path)
    columns = {name: None for record in records for name in record.fields}
    text = first_of(TEXT_NAMES, tuple(columns))
    if text is None:
        raise DataError(
            f"{path}: no column holds the text of a document; it has"
            f" {', '.join(columns) or 'none'}",
            hint=f"call the column {TEXT_NAMES[0]!r}",
        )
    id_ = first_of(DOCUMENT_IDS, tuple(columns))
    documents: dict[str, Document] = {}
    for record in records:
        body = _cell(record.fields.get(text))
        name = _cell(record.fields.get(id_)) if id_ else ""
        name = name or str(record.at)
        if not body.strip():
            problems.add(record.at, f"field {text!r}: the document has no text")
        if name in documents:
            problems.add(record.at, f"field {id_!r}: another document is called {name!r}")
        about: list[str] = []
        for column, cell in record.fields.items():
            cell_text = " ".join(_cell(cell).split())
            if column not in (text, id_) and cell_text and len(cell_text) <= SHORT:
                about.append(f"{column}: {cell_text}")
        documents[name] = Document(id=name, text=_lines(body), about="\n".join(about))
    problems.check()
    return tuple(documents.values())


def read_questions(path: Path, documents: Sequence[Document]) -> tuple[Question, ...]:
    """Read questions with their right answers, and with document and evidence where the file has
    them.

    Raises:
        DataError: A question has no text or right answer, or names a document or evidence that is
            not there.
    """
    problems, records = _records(path)
    columns = tuple({name: None for record in records for name in record.fields})
    question, gold = first_of(QUESTION_NAMES, columns), first_of((*GOLD_NAMES, "answer"), columns)
    for what, names, column in (
        ("question", QUESTION_NAMES, question),
        ("right answer", GOLD_NAMES, gold),
    ):
        if column is None:
            raise DataError(
                f"{path}: no column holds the {what}; it has {', '.join(columns) or 'none'}",
                hint=f"call the column {names[0]!r}",
            )
    evidence = first_of(EVIDENCE_NAMES, columns)
    source = first_of(DOCUMENT_IDS[:-1], columns)
    at = {document.id: i for i, document in enumerate(documents)}
    questions: list[Question] = []
    for record in records:
        fields = record.fields
        text, right = _cell(fields.get(question or "")), gold_answers(fields.get(gold or ""))
        if not text.strip():
            problems.add(record.at, f"field {question!r}: there is no question")
        if not any(answer.strip() for answer in right):
            problems.add(record.at, f"field {gold!r}: there is no right answer")
        named = _cell(fields.get(source)) if source else ""
        document = at.get(named)
        if named and document is None:
            problems.add(record.at, f"field {source!r}: there is no document {named!r}")
        quoted = _lines(_cell(fields.get(evidence))) if evidence else ""
        span = None
        if quoted.strip() and document is not None:
            span = _find(quoted, documents[document].text)
            if span is None:
                problems.add(
                    record.at, f"field {evidence!r}: the document {named!r} does not hold this text"
                )
        questions.append(
            Question(
                id=_cell(fields.get("id")) or str(record.at),
                text=text,
                gold=right,
                document=document,
                evidence=span,
            )
        )
    problems.check()
    if not questions:
        raise DataError(f"{path}: there is no question")
    return tuple(questions)


def _records(path: Path) -> tuple[Problems, list[Record]]:
    kind_of(path)
    problems = Problems(path)
    records = list(read_records(path, problems))
    problems.check()
    return problems, records


def _find(quoted: str, text: str) -> tuple[int, int] | None:
    """Return where a text stands in another, whatever the white space between its words."""
    pattern = r"\s+".join(map(re.escape, quoted.split()))
    match = re.search(pattern, text)
    return None if match is None else match.span()


def _cell(cell: Cell) -> str:
    return as_text(cell) or ""


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
