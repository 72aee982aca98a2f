"""LLM-AggreFact, DIRAS, ClimRetrieve, FinanceBench, HotpotQA."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from judgewright.judges import DataError
from judgewright.judges.datasets import Flat, Opened, ReadOptions, open_source


def opened(name: str, path: Path, **options: object) -> tuple[list[Flat], Opened]:
    """Read a release and give its rows with what was said."""
    source = open_source(name, path, ReadOptions(**options))  # type: ignore[arg-type]
    return list(source.rows), source


def test_aggrefact_keeps_the_sub_dataset_and_groups_by_document(releases: dict[str, Path]) -> None:
    """Documents that differ in spaces only are one; the identifier is kept."""
    rows, _ = opened("llm_aggrefact", releases["llm_aggrefact"])
    assert [row["dataset"] for row in rows] == ["RAGTruth", "RAGTruth", "Reveal"]
    assert rows[0]["group_id"] == rows[1]["group_id"] != rows[2]["group_id"]
    assert rows[0]["contamination_identifier"] == "0" * 8


def test_aggrefact_reads_shards_of_parquet_from_a_folder(tmp_path: Path) -> None:
    """Ids carry the shard's name, so that they do not meet."""
    body = {"dataset": ["Reveal"], "doc": ["A lamp."], "claim": ["A lamp it is."], "label": [1]}
    for shard in ("test-00000-of-00002", "test-00001-of-00002"):
        pyarrow.parquet.write_table(pyarrow.table(body), tmp_path / f"{shard}.parquet")
    rows, _ = opened("llm_aggrefact", tmp_path)
    assert [row["id"] for row in rows] == ["test-00000-of-00002-1", "test-00001-of-00002-1"]


@pytest.mark.parametrize("label", ["2", "maybe", ""])
def test_aggrefact_refuses_a_label_that_is_none(releases: dict[str, Path], label: str) -> None:
    """Line and field are named."""
    path = releases["llm_aggrefact"]
    path.write_text(path.read_text().replace("Hale built it.,0", f"Hale built it.,{label}"))
    with pytest.raises(DataError, match=r"dev\.csv, line 3: field 'label'"):
        opened("llm_aggrefact", path)


def test_diras_grades_partial_relevance_with_a_half(releases: dict[str, Path]) -> None:
    """The release's `hard` is `uncertain`; annotators are compared without regard to case."""
    rows, _ = opened("diras", releases["diras"])
    assert [(row["label"], row["label_text"]) for row in rows] == [
        (0, "no"),
        (1, "yes"),
        (0.5, "partially"),
    ]
    assert [row["uncertain"] for row in rows] == [0, 1, 0]
    assert [row["annotators_agree"] for row in rows] == [True, False, True]
    assert [row["meta_annotation"] for row in rows] == [None, "yes", None]
    assert len({row["group_id"] for row in rows}) == 1


def test_diras_refuses_a_gold_label_that_is_none(releases: dict[str, Path]) -> None:
    """A note of an annotator is no label."""
    path = releases["diras"]
    path.write_text(path.read_text().replace("0,partially", "0,not sure"))
    with pytest.raises(DataError, match="field 'gold': 'not sure' is none of"):
        opened("diras", path)


def test_climretrieve_says_that_nobody_gave_its_zeros_and_drops_what_leaks(
    releases: dict[str, Path],
) -> None:
    """Columns on the likeness to marked passages are not in the rows."""
    rows, source = opened("climretrieve", releases["climretrieve"])
    assert [(row["label"], row["label_origin"]) for row in rows] == [
        (3, "expert"),
        (0, "automatic"),
    ]
    assert not {"relevant_text", "relevant_text_sim", "sim_text_relevance"} & rows[0].keys()
    assert source.notes == ["grades of 0 that no person gave, they matched no marked passage: 1"]


@pytest.mark.parametrize(("written", "grade"), [("2", 2), ("2.0", 2), ("3 (fully)", 3)])
def test_climretrieves_experts_table_is_told_by_its_columns(
    tmp_path: Path, written: str, grade: int
) -> None:
    """Grades are read as people wrote them; rows without a marked passage are counted."""
    head = (
        "Document,Question,Relevant,Context,Page,Source From,Source Relevance Score,Unsure"
        " Flag,Addressed directly"
    )
    path = tmp_path / "base.csv"
    path.write_text(
        f"{head}\nR.pdf,Targets?,We aim.,We aim. So.,3,Text,{written},0,1\nR.pdf,Targets?,,,,,,,\n"
    )
    rows, source = opened("climretrieve", path)
    assert [(row["label"], row["passage"], row["report"], row["uncertain"]) for row in rows] == [
        (grade, "We aim.", "R.pdf", "0")
    ]
    assert source.notes == ["rows without a marked passage or without its grade, left out: 1"]


@pytest.mark.parametrize("written", ["2.5", "4", "high", "23"])
def test_climretrieve_refuses_other_grades(releases: dict[str, Path], written: str) -> None:
    """The message has the value."""
    path = releases["climretrieve"]
    path.write_text(path.read_text().replace("Are targets set?,3,", f"Are targets set?,{written},"))
    with pytest.raises(
        DataError, match=f"line 2: field 'relevance': '{written}' is none of 0, 1, 2, 3"
    ):
        opened("climretrieve", path)


def test_financebench_has_refusals_as_wrong_and_a_question_as_a_group(
    releases: dict[str, Path],
) -> None:
    """Ids tell models and modes apart; what is left out or counted is said."""
    rows, source = opened("financebench", releases["financebench"])
    assert [(row["gold_answer"], row["answer"], row["label"]) for row in rows] == [
        ("1577", "$1,577 million.", 1),
        ("1577", "I do not know.", 0),
        ("No.", "Yes.", 0),
    ]
    assert [row["id"] for row in rows] == ["fb_1-m-oracle", "fb_1-m-closedBook", "fb_2-m-oracle"]
    assert rows[0]["group_id"] == rows[1]["group_id"] != rows[2]["group_id"]
    assert source.notes == [
        "refusals, which count as wrong answers: 1",
        "empty answers, left out: 1",
    ]
    path = releases["financebench"]
    path.write_text(path.read_text().replace("Incorrect Answer", "Unsure"))
    with pytest.raises(
        DataError, match="line 3: field 'label': 'Unsure' is none of correct answer"
    ):
        opened("financebench", path)


def test_a_check_of_diras_is_relevant_where_the_person_says_so(releases: dict[str, Path]) -> None:
    """The student's guess where the person found it right, else the other; the benchmark's own
    label is a column.
    """
    rows, source = opened("diras_checks", releases["diras_checks"])
    found = [
        (row["dataset"], row["confidence_bin"], row["label"], row["benchmark_label"])
        for row in rows
    ]
    assert found == [
        ("asqa", "98-100", 1, 0),
        ("asqa", "98-100", 0, 0),
        ("rag_bench", "0-90", 1, 1),
    ]
    assert any("left out: 1" in note for note in source.notes)
    path = releases["diras_checks"] / "asqa_test_data_98-100.csv"
    path.write_text(path.read_text().replace(",Yes,0", ",Perhaps,0"))
    with pytest.raises(
        DataError, match="field 'llama_guess' and 'annotation': 'Perhaps 0' is none"
    ):
        opened("diras_checks", path)


@pytest.mark.parametrize("seed", range(3))
def test_hotpotqa_has_each_question_with_its_own_answer_and_with_another(
    releases: dict[str, Path], seed: int
) -> None:
    """Two questions share the answer `no`; neither gets it as its negative."""
    rows, _ = opened("hotpotqa", releases["hotpotqa"], seed=seed)
    assert [row["label"] for row in rows] == [1, 0] * 10
    gold = {row["group_id"]: row["answer"] for row in rows if row["label"]}
    assert all(row["gold_answer"] == gold[row["group_id"]] for row in rows)
    assert all((row["answer"] == row["gold_answer"]) == row["label"] for row in rows)
    assert rows != opened("hotpotqa", releases["hotpotqa"], seed=seed + 1)[0]


def test_hotpotqas_columns_on_the_hub_are_read_as_well(tmp_path: Path) -> None:
    """There `id` stands for `_id`; where all answers are the same there is no negative."""
    path = tmp_path / "hub.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"x{i}", "question": f"{i}?", "answer": "no"}) + "\n" for i in (1, 2)
        )
    )
    rows, _ = opened("hotpotqa", path)
    assert [row["id"] for row in rows] == ["x1-gold", "x2-gold"]
