"""Rows kept to be shown: read one by one, and made anew where they do not fit."""

import sqlite3
from pathlib import Path

import pytest

from judgewright.runs.review.row_pages import read_row_pages, write_row_pages

ITEMS = [(f"row {n} \ud800", {"n": n, "texts": {"a": "\ud800\x00'--"}}) for n in range(60)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of them."""
    write_row_pages(tmp_path / "pages" / "one.db", "now", {"note": "n"}, ITEMS)
    return tmp_path / "pages" / "one.db"


def test_rows_are_read_one_by_one(path: Path) -> None:
    """By their ids, their numbers, or words that stand in them; hostile ones too."""
    pages = read_row_pages(path, "now")
    assert pages is not None
    assert pages.head == {"note": "n"}
    assert list(pages.ids()) == [row_id for row_id, _ in ITEMS]
    assert pages.count() == 60
    assert pages.read(ITEMS[7][0]) == pages.at(8) == ITEMS[7][1]
    assert pages.read("row 7") is None
    assert pages.numbers_with("ROW 7", ("texts",)) == [8]
    assert len(pages.numbers_with("\ud800", ("texts",))) == 60


def test_what_does_not_fit_is_made_anew(path: Path, tmp_path: Path) -> None:
    """Another state, another program's file, half a file, none; nobody else may read it."""
    assert path.stat().st_mode & 0o077 == 0
    assert read_row_pages(path, "later") is None
    assert read_row_pages(tmp_path / "none.db", "now") is None
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW more AS SELECT 1")
    connection.close()
    assert read_row_pages(path, "now") is None
    path.write_bytes(path.read_bytes()[:1000])
    assert read_row_pages(path, "now") is None
    path.write_bytes(b"nonsense" * 1000)
    assert read_row_pages(path, "now") is None
    write_row_pages(path, "now", {}, [])
    assert read_row_pages(path, "now") is not None
    assert [one.name for one in path.parent.iterdir()] == ["one.db"]
