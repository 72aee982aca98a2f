"""The picture of slices: its numbers are those of the rows, it is the same each time, and text in
it is inert.
"""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, JudgedDataset, Row, Verdict
from judgewright.judges.metrics import Estimate
from judgewright.runs.reports import (
    NAME_CELLS,
    NAME_LINES,
    Picture,
    SliceBar,
    draw_slices,
    plot_found,
    plot_measured,
    tabulate_found,
    tabulate_measured,
    write_picture,
)
from judgewright.slices import find_slices, measure_slice, parse_predicate

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "$x^2$",
    "two\nlines",
    "right\u202eleft",
    "long " * 80,
    "\x00\x07",
    "\ufffe",
    "\ud800",
)


def judged() -> JudgedDataset:
    """A judge that lets bad rows through where `kind = a`."""
    rng = np.random.default_rng(0)
    n = 3000
    kind = rng.choice(["a", "b", "c"], n)
    label = rng.random(n) < 0.5
    said = np.where(label, rng.random(n) > 0.1, rng.random(n) < np.where(kind == "a", 0.5, 0.1))
    rows = [
        Row(id=f"r{i}", inputs={}, label=float(y), meta={"kind": str(k)}, group=f"g{i // 3}")
        for i, (y, k) in enumerate(zip(label, kind, strict=True))
    ]
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(p), positive=bool(p)) for i, p in enumerate(said)
    )
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY, name="made"), answers=answers, scale=BINARY
    )


def bar(
    name: str, value: Estimate, rest: float | None = 0.7, fp: int = 5, fn: int = 3, state: str = ""
) -> SliceBar:
    """One line of a picture."""
    return SliceBar(name=name, value=value, rest=rest, support=60, fp=fp, fn=fn, state=state)


def estimate(value: float = 0.5) -> Estimate:
    """A value with its interval."""
    return Estimate(value=value, low=value - 0.1, high=value + 0.1, n=40)


def words(picture: Picture) -> list[str]:
    """What stands in the text elements, in their order."""
    return [
        element.text or ""
        for element in ElementTree.fromstring(picture.to_svg()).iter(f"{SVG}text")
    ]


def test_the_numbers_drawn_are_those_of_the_rows() -> None:
    """Support and errors counted with NumPy; values, rests and intervals those of the report; all
    rows first.
    """
    table = judged()
    report = find_slices(table)
    bars = tabulate_found(report, table)
    assert [b.name for b in bars] == [
        "all rows",
        *(f"{i}  {s.predicate}" for i, s in enumerate(report.slices, 1)),
    ]
    wrong = table.positive != table.predicted
    assert (bars[0].fp, bars[0].fn) == (
        (wrong & table.predicted).sum(),
        (wrong & ~table.predicted).sum(),
    )
    assert bars[0].support == len(table.scored)
    for drawn, found in zip(bars[1:], report.slices, strict=True):
        inside = found.predicate.mask(table.rows)
        assert drawn.support == found.support == inside.sum()
        assert drawn.fp == (wrong & table.predicted & inside).sum()
        assert drawn.fn == (wrong & ~table.predicted & inside).sum()
        assert (drawn.value.value, drawn.rest, drawn.value.n) == (found.value, found.rest, found.n)
        assert (drawn.value.low, drawn.value.high) == (found.low, found.high)
        assert drawn.state.startswith(found.standing)


def test_ones_own_slice_stands_beside_the_rows_elsewhere() -> None:
    """Their supports and errors add up to all rows."""
    table = judged()
    inside, outside = tabulate_measured(
        measure_slice(table, parse_predicate("kind = b"), metric="f1"), table
    )
    assert inside.support + outside.support == len(table.scored)
    assert inside.fp + outside.fp == (table.predicted & ~table.positive).sum()
    assert "chosen by hand" in inside.state
    assert inside.rest == outside.value.value


def test_names_values_and_counts_can_be_read() -> None:
    """Every slice's name and state, its rows, the axes and the legend; the description carries the
    numbers.
    """
    table = judged()
    report = find_slices(table)
    picture = plot_found(report, table)
    shown = words(picture)
    said = " ".join(shown)
    assert "all rows" in shown
    assert "1 kind = a, confirmed" in " ".join(said.split())
    assert f"{report.slices[0].support:,}" in shown
    assert {"false positives", "false negatives", "errors, % of rows", "rows"} <= set(shown)
    assert f"{report.slices[0].value:.4f}" in picture.description
    assert f"{report.slices[0].rest:.4f} elsewhere" in picture.description


def test_the_same_slices_give_the_same_bytes() -> None:
    """SVG and PNG alike."""
    table = judged()
    report = find_slices(table)
    first, second = plot_found(report, table), plot_found(report, table)
    assert first.to_svg() == second.to_svg()
    assert first.to_png() == second.to_png()


@settings(deadline=None, max_examples=25)
@given(st.text(max_size=300) | st.sampled_from(HOSTILE))
@example(
    "0000" + "\x1f" * 4 + "0000000\ue00000一\U001000a9"
)  # a wide letter just before the end of a line
@example("一" * 29 + " " + "narrow " * 9)
def test_no_name_can_do_anything_in_a_picture(name: str) -> None:
    """Well-formed, without elements of its own, and at most two lines."""
    picture = draw_slices(name, [bar(name, estimate(), state="confirmed, n = 40")])
    svg = picture.to_svg()
    root = ElementTree.fromstring(svg)
    assert not [
        e
        for e in root.iter()
        if e.tag.removeprefix(SVG) in ("script", "style", "foreignObject", "a")
    ]
    plain = draw_slices("m", [bar("n", estimate(), state="confirmed, n = 40")])
    assert len(words(picture)) <= len(words(plain)) + NAME_LINES - 1
    assert all(len(line) <= NAME_CELLS for line in words(picture))
    assert "confirmed" in " ".join(words(picture))


@pytest.mark.parametrize(
    "value",
    [
        Estimate.undefined(0, "no row"),
        Estimate(value=0.4, low=None, high=None, n=9, reason="all rows are one group"),
        estimate(-0.3),
    ],
)
def test_what_is_undefined_or_negative_is_drawn_as_that(value: Estimate) -> None:
    """No value, no interval, a kappa below zero; no rest, no errors."""
    picture = draw_slices("kappa", [bar("all rows", value, rest=None, fp=0, fn=0)])
    assert ("n/a" in words(picture)) == (value.value is None)
    assert picture.to_png().startswith(b"\x89PNG")


def test_the_ending_decides_the_format(tmp_path: Path) -> None:
    """.svg and .png in either case; others and folders that are not there are refused."""
    picture = plot_measured(
        measure_slice(judged(), parse_predicate("kind = a"), metric="precision"), judged()
    )
    write_picture(picture, tmp_path / "a.SVG")
    write_picture(picture, tmp_path / "a.png")
    ElementTree.parse(tmp_path / "a.SVG")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"a\.jpg"):
        write_picture(picture, tmp_path / "a.jpg")
    for name in ("no/a.svg", "no/a.png"):
        with pytest.raises(InputError, match="cannot write"):
            write_picture(picture, tmp_path / name)


def test_drawing_asks_for_no_display_and_leaves_settings_alone() -> None:
    """As with every picture of the house."""
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw_slices("precision", [bar("all rows", estimate())]).to_svg()
    assert dict(matplotlib.rcParams) == before
