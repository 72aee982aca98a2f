"""TREC Deep Learning passages (Craswell et al., 2020 ff.): queries and passages with NIST's grades
0 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError
from ..files.problems import Problems, shorten
from .release import opened, read_objects
from .source import Flat, ReadOptions, Source

_NAMES = {
    "qrels": ("qrel",),
    "queries": ("quer", "topic"),
    "passages": ("passage", "collection", "corpus", "document"),
}
"""What the names of files have in them; of a name that has several, the first role counts."""
_FORMATS = (".txt", ".tsv", ".jsonl", ".json", ".gz")
_IDS = ("pid", "docid", "id", "_id", "doc_id")
_TEXTS = ("passage", "doc", "text", "contents", "body")


def read_trec_dl(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each judged pair whose texts are there; a query is a group.

    The path is a folder with the qrels (`*qrel*`), the queries (`*quer*` or `*topic*`) and the
    passages (`*passage*`, `*collection*`, `*corpus*` or `*document*`), or the qrels file itself.

    Raises:
        DataError: A file is missing or not in the format, or no judged pair has its texts.
    """
    folder = path if path.is_dir() else path.parent
    qrels_file = path if path.is_file() else _find(folder, "qrels")
    qrels = _read_qrels(qrels_file)
    queries = dict(_texts(options.queries or _find(folder, "queries"), None))
    wanted = {passage for _, passage, _ in qrels}
    passages_at = options.passages or _find(folder, "passages")
    files = [passages_at]
    if passages_at.is_dir():
        files = [file for file in sorted(passages_at.iterdir()) if file.suffix in _FORMATS]
    passages: dict[str, str] = {}
    for file in files:
        # The parts of a collection are gigabytes each, and only the wanted passages are read.
        if len(passages) == len(wanted):
            break
        passages |= _texts(file, wanted)
    complete = 0
    for query, passage, grade in qrels:
        if query not in queries or passage not in passages:
            continue
        complete += 1
        yield {
            "id": f"{query}-{passage}",
            "dataset": _stem(qrels_file),
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


def _stem(path: Path) -> str:
    while path.suffix in _FORMATS:
        path = path.with_suffix("")
    return path.name


def _find(folder: Path, role: str) -> Path:
    """Return the one file of a folder whose name says that it has what a role needs."""
    files: list[Path] = []
    for path in sorted(folder.iterdir()):
        roles = (one for one, names in _NAMES.items() if any(name in path.name for name in names))
        if next(roles, None) == role and (path.is_dir() or path.suffix in _FORMATS):
            files.append(path)
    if len(files) == 1:
        return files[0]
    hint = "name the qrels file as PATH" if role == "qrels" else f"name it with --{role} FILE"
    if files:
        names = ", ".join(path.name for path in files[:5])
        raise DataError(f"{folder}: several files could be the {role}: {names}", hint=hint)
    patterns = " or ".join(f"*{name}*" for name in _NAMES[role])
    raise DataError(f"{folder}: no file looks like the {role} ({patterns})", hint=hint)


def _texts(path: Path, wanted: set[str] | None) -> Iterator[tuple[str, str]]:
    """Yield id and text out of `id TAB text` lines or JSON Lines."""
    problems = Problems(path)
    with opened(path) as lines:
        # The second collection's parts have no telling name.
        is_json = lines.read(1) == "{"
    if is_json:
        for at, body in read_objects(path, problems):
            key = next((str(body[name]) for name in _IDS if name in body), None)
            text = next((body[name] for name in _TEXTS if isinstance(body.get(name), str)), None)
            if key is None or text is None:
                needed = f"an id ({', '.join(_IDS)}) and a text ({', '.join(_TEXTS)})"
                problems.add(at, f"{needed} are needed")
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


TREC_DL = Source(
    name="trec_dl",
    about="search queries on passages with NIST's grades 0..3",
    inputs=("query", "passage"),
    judge="context_relevance",
    licence="MS MARCO texts are for non-commercial research only",
    read=read_trec_dl,
)
