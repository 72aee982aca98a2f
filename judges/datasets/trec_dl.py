"""TREC Deep Learning passages (Craswell et al., 2020 ff.): queries and passages with NIST's grades
0 to 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from ..files.problems import Problems, shorten
from .release import opened, read_objects
from .source import Flat, ReadOptions, Source

_PATTERNS = {
    "qrels": ("*qrel*",),
    "queries": ("*quer*.*", "*topic*.*"),
    "passages": ("*passage*", "*collection*", "*corpus*", "*document*"),
}
_OTHER_ROLE = {
    "qrels": re.compile("(?!)"),
    "queries": re.compile("qrel"),
    "passages": re.compile("qrel|quer|topic"),
}
_PLAIN = re.compile(r"\.(txt|tsv|jsonl|json|gz)$", re.IGNORECASE)
_IDS, _TEXTS = (
    ("pid", "docid", "id", "_id", "doc_id"),
    ("passage", "doc", "text", "contents", "body"),
)


@dataclass(frozen=True, slots=True)
class Qrel:
    """One human grade."""

    query_id: str
    passage_id: str
    grade: int


def read_trec_dl(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each judged pair whose texts are there; a query is a group.

    The path is a folder with the qrels (`*qrel*`), the queries (`*quer*` or `*topic*`) and the
    passages (`*passage*`, `*collection*`, `*corpus*` or `*document*`), or the qrels file itself.

    Raises:
        DataError: A file is missing or not in the format, or no judged pair has its texts.
    """
    folder = path if path.is_dir() else path.parent
    qrels_file = path if path.is_file() else _find(folder, "qrels")
    qrels = read_qrels(qrels_file)
    queries_file = options.queries or _find(folder, "queries")
    queries = dict(_texts(queries_file, Problems(queries_file), None))
    wanted = {qrel.passage_id for qrel in qrels}
    passages_at = options.passages or _find(folder, "passages")
    files = [passages_at]
    if passages_at.is_dir():
        files = [file for file in sorted(passages_at.iterdir()) if _PLAIN.search(file.name)]
    passages: dict[str, str] = {}
    for file in files:
        # The parts of a collection are gigabytes each, and only the wanted passages are read.
        if len(passages) == len(wanted):
            break
        passages |= _texts(file, Problems(file), wanted)
    yield from join_texts(
        qrels, queries, passages, dataset=_PLAIN.sub("", qrels_file.name), notes=notes
    )


def join_texts(
    qrels: Iterable[Qrel],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    *,
    dataset: str,
    notes: list[str],
) -> Iterator[Flat]:
    """Yield the rows of judged pairs whose texts are there, by id; the notes count the others.

    Raises:
        DataError: No pair has both texts.
    """
    complete = lacking = 0
    for qrel in qrels:
        query, passage = queries.get(qrel.query_id), passages.get(qrel.passage_id)
        if query is None or passage is None:
            lacking += 1
            continue
        complete += 1
        yield {
            "id": f"{qrel.query_id}-{qrel.passage_id}",
            "dataset": dataset,
            "group_id": f"query_{qrel.query_id}",
            "query": query,
            "passage": passage,
            "label": qrel.grade,
            "query_id": qrel.query_id,
            "passage_id": qrel.passage_id,
        }
    if not complete:
        raise DataError(
            f"none of {lacking:,} judged pairs has both its texts",
            hint=(
                "are queries and passages of the same year? DL21 to DL23 use the second MS MARCO"
                " collection"
            ),
        )
    if lacking:
        notes.append(
            f"judged pairs without a text in these files, left out: {lacking:,} of"
            f" {lacking + complete:,}"
        )


def read_qrels(path: Path) -> list[Qrel]:
    """Read `qid 0 docid grade` lines; a negative grade (junk) counts as 0, as trec_eval has it.

    Raises:
        DataError: A line has another form, or a grade is above 3.
    """
    problems = Problems(path)
    qrels: list[Qrel] = []
    with opened(path) as lines:
        for at, line in enumerate(lines, 1):
            parts = line.split()
            if not parts:
                continue
            try:
                query_id, _, passage_id, grade = parts
                qrels.append(Qrel(query_id, passage_id, max(0, int(grade))))
            except ValueError:
                problems.add(at, f"{shorten(line.strip())} is not `qid 0 docid grade`")
                continue
            if int(grade) > 3:
                problems.add(at, f"the grade {int(grade)} is above 3")
    problems.check()
    return qrels


def _find(folder: Path, role: str) -> Path:
    """Return the one file of a folder that looks like the `qrels`, the `queries` or the
    `passages`.
    """
    hint = "name the qrels file as PATH" if role == "qrels" else f"name it with --{role} FILE"
    for pattern in _PATTERNS[role]:
        files: list[Path] = []
        for path in sorted(folder.glob(pattern)):
            readable = path.is_dir() or _PLAIN.search(path.name)
            if readable and not _OTHER_ROLE[role].search(path.name.lower()):
                files.append(path)
        if len(files) > 1:
            names = ", ".join(path.name for path in files[:5])
            raise DataError(f"{folder}: several files could be the {role}: {names}", hint=hint)
        if files:
            return files[0]
    raise DataError(
        f"{folder}: no file looks like the {role} ({' or '.join(_PATTERNS[role])})", hint=hint
    )


def _texts(path: Path, problems: Problems, wanted: set[str] | None) -> Iterator[tuple[str, str]]:
    """Yield id and text out of `id TAB text` lines or JSON Lines."""
    if re.search(r"\.jsonl?(\.gz)?$", path.name, re.IGNORECASE) or _starts_as_json(path):
        for at, body in read_objects(path, problems):
            key = next((str(body[name]) for name in _IDS if name in body), None)
            text = next((body[name] for name in _TEXTS if isinstance(body.get(name), str)), None)
            if key is None or text is None:
                problems.add(
                    at, f"an id ({', '.join(_IDS)}) and a text ({', '.join(_TEXTS)}) are needed"
                )
            elif wanted is None or key in wanted:
                yield key, text
    else:
        with opened(path) as lines:
            for at, line in enumerate(lines, 1):
                key, tab, text = line.rstrip("\r\n").partition("\t")
                if not tab and key:
                    problems.add(at, f"{shorten(key)} is not an id, a tab and a text")
                elif key and (wanted is None or key in wanted):
                    yield key, text
    problems.check()


def _starts_as_json(path: Path) -> bool:
    """Tell JSON Lines in a .gz without a telling name, as the second collection's parts are."""
    with opened(path) as lines:
        return lines.read(1) == "{"


TREC_DL = Source(
    name="trec_dl",
    about="search queries on passages with NIST's grades 0..3",
    inputs=("query", "passage"),
    judge="context_relevance",
    licence="MS MARCO texts are for non-commercial research only",
    read=read_trec_dl,
)
