"""Rows kept to be shown: narrowed, counted and paged like a list, and made anew where they do not
fit.
"""

import itertools
import sqlite3
from pathlib import Path

import pytest

from judgewright.runs.review.row_pages import cut_of, read_row_pages, write_row_pages

CHANNELS = ("web", 'a "quoted"\n', "\ud800")
ITEMS = [
    (
        f"row {n} \ud800",
        {
            "n": n,
            "text": "\ud800\x00'--",
            "direction": ("became wrong", "became right")[n % 2],
            "error": ("FP", "FN", "a called b")[n % 3],
            "in_slice": n % 5 == 0,
            "cuts": [cut_of("channel", CHANNELS[n % 3]), cut_of("year", str(n % 4))],
        },
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
    cuts = (None, ("channel", CHANNELS[1]), ("channel", "\ud800"), ("year", "3"), ("year", "x"))
    asked = itertools.product(("", "became right"), ("", "FN"), ("", True, False), cuts)
    for direction, error, in_slice, cut in asked:
        wanted = [
            body
            for _, body in ITEMS
            if direction in ("", body["direction"])
            and error in ("", body["error"])
            and (in_slice == "" or in_slice is body["in_slice"])
            and (cut is None or cut_of(*cut) in body["cuts"])
        ]
        chosen = pages.chosen(direction=direction, error=error, in_slice=in_slice, cut=cut)
        assert len(chosen) == len(wanted)
        assert list(chosen) == chosen[:] == wanted
        assert chosen[3:7] == wanted[3:7]
    assert pages.read(ITEMS[7][0]) == ITEMS[7][1]
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
