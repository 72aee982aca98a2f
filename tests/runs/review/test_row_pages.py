"""Rows kept to be shown: narrowed, counted and paged like a list, and made anew where they do not
fit.
"""

import sqlite3
from pathlib import Path

import pytest

from judgewright.runs.review.row_pages import RowItem, read_row_pages, write_row_pages

ITEMS = [
    RowItem(
        row_id=f"row {n} \ud800",
        direction=("became wrong", "became right")[n % 2],
        error=("FP", "FN", "a called b")[n % 3],
        inside=n % 5 == 0,
        cuts={"channel": ("web", 'a "quoted"\n', "\ud800")[n % 3], "year": str(n % 4)},
        body={"n": n, "text": "\ud800\x00'--"},
    )
    for n in range(60)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of them."""
    write_row_pages(tmp_path / "pages" / "one.db", "now", {"note": "n"}, ITEMS)
    return tmp_path / "pages" / "one.db"


def test_rows_are_narrowed_and_paged_as_a_list_would_be(path: Path) -> None:
    """Every combination of what is asked, against the list itself."""
    pages = read_row_pages(path, "now")
    assert pages is not None
    assert pages.head == {"note": "n"}
    for direction in ("", "became right"):
        for error in ("", "FN"):
            for inside in (None, True, False):
                for cut in (
                    None,
                    ("channel", 'a "quoted"\n'),
                    ("channel", "\ud800"),
                    ("year", "3"),
                    ("year", "channel"),
                ):
                    wanted = [
                        item.body
                        for item in ITEMS
                        if direction in ("", item.direction)
                        and error in ("", item.error)
                        and inside in (None, item.inside)
                        and (cut is None or item.cuts[cut[0]] == cut[1])
                    ]
                    chosen = pages.chosen(direction=direction, error=error, inside=inside, cut=cut)
                    assert len(chosen) == len(wanted)
                    assert list(chosen) == chosen[:] == wanted
                    assert chosen[3:7] == wanted[3:7]
    assert pages.read(ITEMS[7].row_id) == ITEMS[7].body
    assert pages.read("row 7") is None


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
