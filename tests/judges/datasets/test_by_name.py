"""Data sets by name: the hub's loader on a local folder, ir_datasets' objects, and what is said
without the extras.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.judges.datasets import fetched, open_collection, open_source, read_collection


@dataclass
class Query:
    """A query as ir_datasets has it."""

    query_id: str
    text: str


@dataclass
class Grade:
    """A qrel as ir_datasets has it."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass
class Passage:
    """A document as ir_datasets has it."""

    text: str


class Store:
    """Texts by id."""

    def get_many(self, doc_ids: list[str], /) -> dict[str, Passage]:
        """Return those that are there."""
        return {key: Passage(f"Text of {key}.") for key in doc_ids if key != "gone"}


class Three:
    """A collection with three judged pairs, made up."""

    def queries_iter(self) -> list[Query]:
        """Yield the queries."""
        return [Query("1", "larch bark")]

    def qrels_iter(self) -> list[Grade]:
        """Yield the grades, one of them junk."""
        return [Grade("1", "a", 3), Grade("1", "b", -2), Grade("1", "gone", 1)]

    def docs_store(self) -> Store:
        """Return the texts."""
        return Store()


def test_a_collection_by_name_gives_the_rows_its_files_would() -> None:
    """Grades below 0 are 0, and what lacks a text is counted."""
    notes: list[str] = []
    rows = list(read_collection(Three(), "some/dl-2019", notes))
    assert [(row["passage"], row["label"]) for row in rows] == [
        ("Text of a.", 3),
        ("Text of b.", 0),
    ]
    assert {row["dataset"] for row in rows} == {"some/dl-2019"}
    assert notes == ["judged pairs without a text in these files, left out: 1 of 3"]


@pytest.mark.skipif(
    importlib.util.find_spec("ir_datasets") is not None, reason="the extra `trec` is installed"
)
def test_without_ir_datasets_the_extra_is_named() -> None:
    """The hint says what to install and what works without."""
    with pytest.raises(InputError, match="ir_datasets") as caught:
        open_collection("msmarco-passage/trec-dl-2019/judged")
    assert "judgewright[trec]" in (caught.value.hint or "")


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is not None, reason="the extra `hub` is installed"
)
def test_without_datasets_the_extra_is_named() -> None:
    """The hint says what to install and what works without."""
    with pytest.raises(InputError, match="datasets") as caught, fetched("owner/name"):
        pass
    assert "judgewright[hub]" in (caught.value.hint or "")


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the extra `hub` is not installed"
)
@pytest.mark.filterwarnings("ignore")  # of the library's own
def test_what_the_hubs_loader_gives_is_read_like_the_release(
    releases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local folder goes the way of a name, without a network; several splits must be told
    apart.
    """
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "aggrefact"
    folder.mkdir()
    for part in ("dev", "test"):
        (folder / f"{part}.csv").write_text(releases["llm_aggrefact"].read_text())
    with fetched(str(folder), split="test") as path:
        rows = list(open_source("llm_aggrefact", path).rows)
    assert [row["label"] for row in rows] == [1, 0, 1]
    assert rows[0]["id"] == "aggrefact-test-1"
    assert not path.exists()
    with pytest.raises(InputError, match="several splits") as caught, fetched(str(folder)):
        pass
    assert "--hub-split" in (caught.value.hint or "")
    with pytest.raises(InputError, match="cannot be loaded"), fetched(str(folder), split="gold"):
        pass
