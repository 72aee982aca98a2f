"""TREC-DL: qrels, queries and passages are joined."""

import gzip
import json
from pathlib import Path

import pytest

from judgewright.judges import DataError, InputError
from judgewright.judges.datasets import Flat, Opened, ReadOptions, open_source
from judgewright.runs.actions.make_data import data_sources

FILES = {
    "2019qrels-pass.txt": "11 Q0 p1 3\n11 Q0 p2 0\n12 Q0 p3 1\n12 Q0 gone 2\n",
    "queries.tsv": "11\twho was Odo Lamm\n12\tlarch bark\n13\tnever judged\n",
    "collection.tsv": 'p1\tOdo Lamm was a "quoted" baker.\np2\tA lamp.\nx9\tNot asked for.\n'
    "p3\tBark of the larch is burnt.\n",
}
"""A tiny release; every text is made up."""


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    """The release's file of grades, beside its texts."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "2019qrels-pass.txt"


def opened(qrels: Path, passages: str = "collection.tsv") -> Opened:
    """A release with its notes."""
    columns = {"queries": str(qrels.with_name("queries.tsv"))}
    options = ReadOptions(columns=columns | {"passages": str(qrels.with_name(passages))})
    return open_source("trec_dl", qrels, options, sources=data_sources())


def read(qrels: Path, passages: str = "collection.tsv") -> list[Flat]:
    """Its rows."""
    return list(opened(qrels, passages).rows)


def test_judged_pairs_get_their_texts_and_the_rest_is_counted(qrels: Path) -> None:
    """A pair whose passage is not in the collection is left out aloud; quotation marks stay as they
    are.
    """
    release = opened(qrels)
    rows = list(release.rows)
    assert [(row["query_id"], row["passage_id"], row["label"]) for row in rows] == [
        ("11", "p1", 3),
        ("11", "p2", 0),
        ("12", "p3", 1),
    ]
    assert rows[0]["passage"] == 'Odo Lamm was a "quoted" baker.'
    assert rows[0]["dataset"] == "2019qrels-pass"
    assert rows[0]["group_id"] == rows[1]["group_id"] != rows[2]["group_id"]
    assert release.notes == ["judged pairs without a text in these files, left out: 1 of 4"]


def test_the_second_collections_compressed_parts_are_read_from_a_folder(
    qrels: Path,
) -> None:
    """Its parts are JSON Lines in .gz files without a telling name."""
    parts = qrels.parent / "msmarco_v2_passage"
    parts.mkdir()
    for n, (key, text) in enumerate((("p1", "One."), ("p2", "Two."), ("p3", "Three."))):
        with gzip.open(parts / f"msmarco_passage_0{n}.gz", "wt") as file:
            file.write(
                json.dumps({"pid": key, "passage": text, "spans": "(0,4)", "docid": "d"}) + "\n"
            )
    assert [row["passage"] for row in read(qrels, parts.name)] == [
        "One.",
        "Two.",
        "Three.",
    ]


def test_junk_grades_below_0_count_as_0(qrels: Path) -> None:
    """As trec_eval has it."""
    qrels.write_text("11 0 p1 -2\n")
    assert [row["label"] for row in read(qrels)] == [0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("11 Q0 p1", "is not `qid 0 docid grade`"),
        ("11 Q0 p1 high", "is not"),
        ("11 Q0 p1 4", "grade 4 is above 3"),
    ],
)
def test_a_broken_qrel_is_named_with_its_line(qrels: Path, line: str, message: str) -> None:
    """File and line stand in the message."""
    qrels.write_text(f"11 Q0 p2 0\n{line}\n")
    with pytest.raises(DataError, match=r"2019qrels-pass\.txt, line 2: .*" + message):
        read(qrels)


def test_files_of_another_year_are_noticed(qrels: Path) -> None:
    """Not one pair has its texts."""
    qrels.write_text("11 Q0 msmarco_passage_1_2 3\n")
    with pytest.raises(DataError, match="none of 1 judged pairs has both its texts"):
        read(qrels)


def test_files_that_are_not_named_or_not_there_are_refused(qrels: Path) -> None:
    """The hint has the whole command."""
    with pytest.raises(InputError, match="needs the qrels and the texts") as caught:
        list(open_source("trec_dl", qrels, sources=data_sources()).rows)
    assert "--map queries=FILE --map passages=FILE" in (caught.value.hint or "")
    with pytest.raises(DataError, match=r"gone\.tsv: there is no such file"):
        read(qrels, "gone.tsv")


def test_a_damaged_archive_is_a_data_error(qrels: Path) -> None:
    """A cut download does not end in a traceback."""
    whole = gzip.compress("\n".join(f"q{i}\tsome text {i * i}" for i in range(2000)).encode())
    (qrels.parent / "collection.tsv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"collection\.tsv\.gz: the compressed file is damaged"):
        read(qrels, "collection.tsv.gz")
