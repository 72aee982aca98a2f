"""TREC Deep Learning passages (Craswell et al., 2020 ff.): queries and passages with NIST's grades
0 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....judges.datasets.release import opened
from ....judges.datasets.source import Flat, ReadOptions, Source
from ....judges.errors import DataError, InputError
from ....judges.files.problems import Problems, shorten
from ....judges.files.records import parse_strictly

_FORMATS = (".txt", ".tsv", ".jsonl", ".json", ".gz")
_IDS = ("pid", "docid", "id", "_id", "doc_id")
_TEXTS = ("passage", "doc", "text", "contents", "body")


def read_trec_dl(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each judged pair whose texts are there; a query is a group.

    The path is the qrels file; the column `queries` names a file, `passages` a file or a folder,
    with `id TAB text` lines or JSON Lines.

    Raises:
        InputError: The queries or the passages are not named.
        DataError: A file is not in the format, or no judged pair has its texts.
    """
    columns = options.columns
    if not {"queries", "passages"} <= columns.keys():
        raise InputError(
            "trec_dl needs the qrels and the texts they are about",
            hint=(
                "data import trec_dl QRELS --map queries=FILE --map passages=FILE --out rows.jsonl"
            ),
        )
    qrels = _read_qrels(path)
    queries = dict(_texts(Path(columns["queries"]), None))
    ids = {passage for _, passage, _ in qrels}
    files = [Path(columns["passages"])]
    if files[0].is_dir():
        files = [file for file in sorted(files[0].iterdir()) if file.suffix in _FORMATS]
    passages: dict[str, str] = {}
    for file in files:
        # The parts of a collection are gigabytes each, and only the wanted passages are read.
        if len(passages) == len(ids):
            break
        passages |= _texts(file, ids)
    complete = 0
    for query, passage, grade in qrels:
        if query not in queries or passage not in passages:
            continue
        complete += 1
        yield {
            "id": f"{query}-{passage}",
            "dataset": path.name.partition(".")[0],
            "group_id": f"query_{query}",
            "query": queries[query],
            "passage": passages[passage],
            "label": grade,
            "query_id": query,
            "passage_id": passage,
        }
    if not complete:
        raise DataError(
            f"none of {len(qrels):,} judged pairs has both its texts",
            hint=(
                "are queries and passages of the same year? DL21 to DL23 use the second MS MARCO"
                " collection"
            ),
        )
    if lacking := len(qrels) - complete:
        left_out = "judged pairs without a text in these files, left out"
        notes.append(f"{left_out}: {lacking:,} of {len(qrels):,}")


def _read_qrels(path: Path) -> list[tuple[str, str, int]]:
    """Read `qid 0 docid grade` lines; a negative grade (junk) counts as 0, as trec_eval has it."""
    problems = Problems(path)
    qrels: list[tuple[str, str, int]] = []
    with opened(path) as lines:
        for at, line in enumerate(lines, 1):
            parts = line.split()
            if not parts:
                continue
            try:
                query, _, passage, grade = parts
                qrels.append((query, passage, max(0, int(grade))))
            except ValueError:
                problems.add(at, f"{shorten(line.strip())} is not `qid 0 docid grade`")
                continue
            if int(grade) > 3:
                problems.add(at, f"the grade {int(grade)} is above 3")
    problems.check()
    return qrels


def _texts(path: Path, ids: set[str] | None) -> Iterator[tuple[str, str]]:
    """Yield id and text out of `id TAB text` lines or JSON Lines."""
    problems = Problems(path)
    with opened(path) as lines:
        for at, line in enumerate(lines, 1):
            # The second collection's parts are JSON Lines without a telling name.
            pair = _of_json(line) if line.startswith("{") else line.rstrip("\r\n").partition("\t")
            if pair is None or (not pair[1] and pair[0]):
                needed = "an id, a tab and a text, and no object that has both"
                problems.add(at, f"{shorten(line.strip())} is not {needed}")
            elif pair[0] and (ids is None or pair[0] in ids):
                yield pair[0], pair[-1]
    problems.check()


def _of_json(line: str) -> tuple[str, str, str] | None:
    try:
        body = parse_strictly(line)
    except ValueError:
        return None
    key = next((str(body[name]) for name in _IDS if name in body), None)
    text = next((body[name] for name in _TEXTS if isinstance(body.get(name), str)), None)
    return None if key is None or text is None else (key, "\t", text)


TREC_DL = Source(
    name="trec_dl",
    about="qrels with NIST's grades 0..3, with --map queries=FILE and --map passages=FILE",
    read=read_trec_dl,
)
