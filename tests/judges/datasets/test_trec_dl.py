"""TREC-DL: qrels, queries and passages are joined."""

import gzip
import json
from pathlib import Path

import pytest

from judgewright.judges import DataError, InputError
from judgewright.judges.datasets import Flat, ReadOptions, open_source


def read(qrels: Path, passages: str = "collection.tsv") -> list[Flat]:
    """Read a release."""
    return list(open_source("trec_dl", qrels, options(qrels, passages)).rows)


def options(qrels: Path, passages: str = "collection.tsv") -> ReadOptions:
    """Name the files beside the qrels."""
    queries = qrels.parent / "msmarco-test2019-queries.tsv"
    return ReadOptions(columns={"queries": str(queries), "passages": str(qrels.parent / passages)})


def test_judged_pairs_get_their_texts_and_the_rest_is_counted(releases: dict[str, Path]) -> None:
    """A pair whose passage is not in the collection is left out aloud; quotation marks stay as they
    are.
    """
    opened = open_source("trec_dl", releases["trec_dl"], options(releases["trec_dl"]))
    rows = list(opened.rows)
    assert [(row["query_id"], row["passage_id"], row["label"]) for row in rows] == [
        ("11", "p1", 3),
        ("11", "p2", 0),
        ("12", "p3", 1),
    ]
    assert rows[0]["passage"] == 'Odo Lamm was a "quoted" baker.'
    assert rows[0]["dataset"] == "2019qrels-pass"
    assert rows[0]["group_id"] == rows[1]["group_id"] != rows[2]["group_id"]
    assert opened.notes == ["judged pairs without a text in these files, left out: 1 of 4"]


def test_the_second_collections_compressed_parts_are_read_from_a_folder(
    releases: dict[str, Path],
) -> None:
    """Its parts are JSON Lines in .gz files without a telling name."""
    parts = releases["trec_dl"].parent / "msmarco_v2_passage"
    parts.mkdir()
    for n, (key, text) in enumerate((("p1", "One."), ("p2", "Two."), ("p3", "Three."))):
        with gzip.open(parts / f"msmarco_passage_0{n}.gz", "wt") as file:
            file.write(
                json.dumps({"pid": key, "passage": text, "spans": "(0,4)", "docid": "d"}) + "\n"
            )
    assert [row["passage"] for row in read(releases["trec_dl"], parts.name)] == [
        "One.",
        "Two.",
        "Three.",
    ]


def test_junk_grades_below_0_count_as_0(releases: dict[str, Path]) -> None:
    """As trec_eval has it."""
    releases["trec_dl"].write_text("11 0 p1 -2\n")
    assert [row["label"] for row in read(releases["trec_dl"])] == [0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("11 Q0 p1", "is not `qid 0 docid grade`"),
        ("11 Q0 p1 high", "is not"),
        ("11 Q0 p1 4", "grade 4 is above 3"),
    ],
)
def test_a_broken_qrel_is_named_with_its_line(
    releases: dict[str, Path], line: str, message: str
) -> None:
    """File and line stand in the message."""
    releases["trec_dl"].write_text(f"11 Q0 p2 0\n{line}\n")
    with pytest.raises(DataError, match=r"2019qrels-pass\.txt, line 2: .*" + message):
        read(releases["trec_dl"])


def test_files_of_another_year_are_noticed(releases: dict[str, Path]) -> None:
    """Not one pair has its texts."""
    releases["trec_dl"].write_text("11 Q0 msmarco_passage_1_2 3\n")
    with pytest.raises(DataError, match="none of 1 judged pairs has both its texts"):
        read(releases["trec_dl"])


def test_files_that_are_not_named_or_not_there_are_refused(releases: dict[str, Path]) -> None:
    """The hint has the whole command."""
    with pytest.raises(InputError, match="needs the qrels and the texts") as caught:
        list(open_source("trec_dl", releases["trec_dl"]).rows)
    assert "--map queries=FILE --map passages=FILE" in (caught.value.hint or "")
    with pytest.raises(DataError, match=r"gone\.tsv: there is no such file"):
        read(releases["trec_dl"], "gone.tsv")


def test_a_damaged_archive_is_a_data_error(releases: dict[str, Path]) -> None:
    """A cut download does not end in a traceback."""
    whole = gzip.compress("\n".join(f"q{i}\tsome text {i * i}" for i in range(2000)).encode())
    (releases["trec_dl"].parent / "collection.tsv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"collection\.tsv\.gz: the compressed file is damaged"):
        read(releases["trec_dl"], "collection.tsv.gz")
