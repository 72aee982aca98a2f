"""Pictures of a run: what they say, that they are well-formed and inert, and the same each time."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, JudgedDataset, Row, Verdict
from judgewright.judges.metrics import Estimate, reliability_bins
from judgewright.runs.reports import (
    MOST_STEPS,
    NAME_CELLS,
    MetricRow,
    confusion,
    confusion_chart,
    f1_by_threshold,
    fit_label,
    found_rows,
    measured_rows,
    metric_intervals,
    metric_rows,
    plot_found,
    plot_measured,
    reliability,
    slices_chart,
    sparkline,
    threshold_curve,
    trajectory,
    write_picture,
)
from judgewright.slices import find_slices, measure_slice, parse_predicate

from ...function_calls import count_calls
from ..stored_events import OBJECTIVE, run_of

HOSTILE = "x = <script>alert(1)</script> \x1b]52;c;AA\x07 \u202e \ufffe"
HOSTILE_NAMES = (
    HOSTILE,
    "$x^2$ costs $5",
    "two\nlines",
    "long " * 80,
    "half a pair \ud800",
    "漢字のとても長いラベルが続いています",
    "",
)
SVG = "{http://www.w3.org/2000/svg}"


def parse(svg: str) -> ElementTree.Element:
    """Read the element, and make sure that nothing in it acts or is fetched."""
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"]
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert names <= {"svg", "text", "title", "line", "circle", "rect", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {
        name for name in attributes if name.startswith("on") or name in ("href", "style", "id")
    }
    assert not re.search(r"[\x00-\x08\x1b\u202e]", svg)
    return root


def shapes(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    """The shapes of a class."""
    return [e for e in root.iter() if e.attrib.get("class") == f"chart-{kind}"]


def words(root: ElementTree.Element) -> list[str]:
    """The text that stands in the picture."""
    return [e.text or "" for e in root.iter(f"{SVG}text")]


def tips(found: list[ElementTree.Element]) -> list[str]:
    """What shapes say when pointed at."""
    return [e.findtext(f"{SVG}title") or "" for e in found]


WALK = (
    ("started", {"objective": OBJECTIVE | {"target": "recall"}}),
    ("split", {"rows": {"validation": 1234}}),
    ("validation", {"version": "a", "loss": 0.4, "precision": 0.5, "recall": 0.75}),
    ("step", {"step": 1, "result": "refused", "batch_loss": 0.3}),
    ("step", {"step": 2, "result": "kept", "loss": 0.3, "precision": 0.6, "recall": 0.7}),
    (
        "step",
        {"step": 3, "result": "worse: " + HOSTILE, "loss": 0.35, "precision": None, "recall": 0.6},
    ),
)


def test_the_trajectory_marks_what_was_kept_and_what_was_never_validated() -> None:
    """Full dots for the start and each kept step, hollow ones for the rest, a cross for what had no
    loss.
    """
    root = parse(trajectory(run_of(*WALK)))
    assert tips(
        [e for e in shapes(root, "kept") if "loss" in (e.findtext(f"{SVG}title") or "")]
    ) == [
        "start: loss 0.4000; the prompt as it was",
        "step 2: loss 0.3000; kept",
    ]
    crosses = [e for e in shapes(root, "refused") if e.text == "×"]
    assert tips(crosses) == ["step 1: refused"]
    hollow = [e for e in shapes(root, "refused") if e.tag.endswith("circle")]
    assert len(hollow) == 2  # loss and recall; precision was undefined
    assert {e.attrib["fill"] for e in hollow} == {"none"}
    assert "1,234 rows" in root.attrib["aria-label"]
    panels = [word for word in words(root) if word in ("loss", "recall", "precision")]
    assert panels == ["loss", "recall", "precision"]  # the target first


def test_a_dots_height_is_its_value() -> None:
    """Between the two ends of its panel, in proportion; the line follows the best prompt so far."""
    root = parse(
        trajectory(
            run_of(*WALK[:3], ("step", {"step": 1, "result": "worse", "loss": 0.3, "recall": 1.0}))
        )
    )
    by_tip = {(e.findtext(f"{SVG}title") or "").split(";")[0]: e for e in root.iter(f"{SVG}circle")}
    top, bottom = (
        float(by_tip[name].attrib["cy"]) for name in ("start: loss 0.4000", "step 1: loss 0.3000")
    )
    assert top < bottom
    three = [
        *WALK[:3],
        *(("step", {"step": i, "result": "worse", "loss": v}) for i, v in ((1, 0.2), (2, 0.3))),
    ]
    dots = {
        (e.findtext(f"{SVG}title") or "").split(";")[0]: e
        for e in parse(trajectory(run_of(*three))).iter()
    }
    high, low, middle = (
        float(dots[name].attrib["cy"])
        for name in ("start: loss 0.4000", "step 1: loss 0.2000", "step 2: loss 0.3000")
    )
    assert middle == pytest.approx((high + low) / 2)


@pytest.mark.parametrize("upto", range(len(WALK) + 1))
def test_a_run_under_way_can_be_drawn_at_any_moment(upto: int) -> None:
    """However far it is, the picture stands."""
    parse(trajectory(run_of(*WALK[:upto])))


def test_many_steps_do_not_write_their_numbers_over_each_other() -> None:
    """A thousand steps have at most a dozen or so numbers."""
    long = [("step", {"step": i, "result": "worse", "loss": 0.4 + i / 1e4}) for i in range(1, 1001)]
    root = parse(trajectory(run_of(*WALK[:3], *long)))
    assert len([word for word in words(root) if word.isdigit()]) <= 13


def test_a_text_is_cut_in_one_pass() -> None:
    """Ten times the text costs ten times the calls, not a hundred times; a wide letter takes two
    cells.
    """
    assert fit_label("一" * 10, 8) == "一一一…"
    short, long = (
        count_calls(lambda length=length: fit_label("word " * length, 2 * length))
        for length in (40, 400)
    )
    assert long < 12 * short


def test_confusion_tables_show_counts_shares_of_people_and_what_moved() -> None:
    """Both benchmarks as they stand in the journal; an empty one divides by nothing."""
    before = {"n": 100, "confusion": {"tp": 30, "fp": 20, "fn": 10, "tn": 40}}
    after = {"n": 100, "confusion": {"tp": 28, "fp": 5, "fn": 12, "tn": 55}}
    said = words(parse(confusion(before, after)))
    assert "FP, 33%" in said
    assert "FP, 8%" in said
    assert "−15" in said
    assert "+2" in said
    assert len(shapes(parse(confusion(before)), "right")) == 2
    parse(confusion({"n": 0, "confusion": dict.fromkeys(("tp", "fp", "fn", "tn"), 0)}))


def test_reliability_draws_every_bin_that_has_rows() -> None:
    """One dot a bin and side, at its share; without probabilities it says so."""
    rng = np.random.default_rng(0)
    label, probability = rng.random(400) < 0.5, rng.random(400)
    bins = reliability_bins(label, probability)
    root = parse(reliability(bins, bins[:3]))
    dots = [e for e in shapes(root, "before") if e.tag.endswith("circle")]
    assert len(dots) == 10
    assert len([e for e in shapes(root, "after") if e.tag.endswith("circle")]) == 3
    heights = [float(e.attrib["cy"]) for e in dots]
    shares = [b.share.value or 0 for b in bins]
    assert np.argsort(heights).tolist() == np.argsort(shares)[::-1].tolist()
    assert "no verdict carries a probability" in words(
        parse(reliability(reliability_bins(label[:0], label[:0] * 1.0)))
    )


def test_slices_are_inert_whatever_their_names_hold() -> None:
    """A predicate out of the data is text; confirmed slices are full, the others hollow; no more
    than a dozen.
    """
    one = {"metric": "f1", "value": 0.3, "rest": 0.6, "low": 0.2, "high": 0.4, "n": 50, "p": 0.01}
    found = [{**one, "predicate": HOSTILE, "confirmed": i == 0} for i in range(20)]
    root = parse(slices_chart([*found[:1], {**found[1], "low": None, "high": None}, *found[2:]]))
    dots = [e for e in shapes(root, "slice") if e.tag.endswith("circle")]
    assert len(dots) == 12
    assert [e.attrib["fill"] == "none" for e in dots] == [False] + [True] * 11
    parse(slices_chart([]))


def test_a_picture_is_the_same_each_time() -> None:
    """Nothing of the clock or of a counter enters it."""
    assert trajectory(run_of(*WALK)) == trajectory(run_of(*WALK))


def test_a_sparkline_has_one_sign_a_value() -> None:
    """The least is the lowest block, the most the highest; what is missing is a cross; equal values
    stand level.
    """
    assert sparkline([0.2, None, 0.9, 0.55]) == "▁×█▅"
    assert sparkline([0.3, 0.3]) == "▅▅"
    assert sparkline([]) == ""
    assert sparkline([None]) == "×"


def estimate(value: float = 0.5, low: float | None = 0.4, high: float | None = 0.6) -> Estimate:
    """A value with its interval."""
    return Estimate(value=value, low=low, high=high, n=50)


@given(pairs=st.lists(st.tuples(st.booleans(), st.integers(-3, 5) | st.floats(0, 1)), min_size=1))
@settings(max_examples=100, deadline=None)
def test_the_threshold_curve_is_scikit_learns(pairs: list[tuple[bool, float]]) -> None:
    """Precision and recall at every distinct score; F1 is their harmonic mean, or 0."""
    from sklearn.metrics import precision_recall_curve

    label, score = np.array([y for y, _ in pairs]), np.array([s for _, s in pairs], np.float64)
    if not label.any():
        with pytest.raises(InputError, match="no row is labelled positive"):
            threshold_curve(label, score)
        return
    curve = threshold_curve(label, score)
    precision, recall, threshold = precision_recall_curve(label, score)
    np.testing.assert_allclose(curve.threshold, threshold)
    np.testing.assert_allclose(curve.precision, precision[:-1])
    np.testing.assert_allclose(curve.recall, recall[:-1])
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)[:-1]
    np.testing.assert_allclose(curve.f1, f1)
    assert curve.f1[curve.best] == pytest.approx(f1.max())


def test_a_curve_of_many_thresholds_stays_small() -> None:
    """No more steps than can be seen; the threshold in use is marked."""
    score = np.random.default_rng(0).random(10_000)
    svg = f1_by_threshold(threshold_curve(score > 0.3, score), used=0.5)
    root = parse(svg)
    assert len(shapes(root, "f1")[0].attrib["d"].split("L")) <= 2 * MOST_STEPS
    assert "| in use: 0.5" in words(root)
    assert "The threshold in use is 0.5." in root.attrib["aria-label"]
    grades = threshold_curve(np.array([False, True, True]), np.array([0.0, 1.0, 2.0]))
    assert {"0", "1", "2"} <= set(words(parse(f1_by_threshold(grades))))


def test_a_confusion_table_has_counts_and_shares_of_any_number_of_labels() -> None:
    """Of 4 rows that people call 1, the judge calls 3 the same; a wide table has no numbers."""
    written = words(parse(confusion_chart([[1200, 0, 0], [1, 3, 0], [0, 0, 0]], ["0", "1", "2"])))
    assert {"1,200", "100%", "25%", "75%", "3"} <= set(written)
    assert written.count("0") == 2 + 6  # two labels, six empty cells
    wide = confusion_chart([[1] * 20] * 20, [f"level {i}" for i in range(20)])
    assert "5%" not in words(parse(wide))


def test_values_stand_with_intervals_and_n() -> None:
    """The dots stand at the values and the bars span the intervals; hollow without one, a word
    without a value.
    """
    values = {
        "a": estimate(0.7, 0.6, 0.8),
        "b": estimate(0.5, None, None),
        "c": Estimate.undefined(7, "no row"),
    }
    root = parse(metric_intervals("f1", values, overall=estimate(0.65)))
    dots = [e for e in shapes(root, "slice") if e.tag.endswith("circle")]
    bars = [e for e in shapes(root, "slice") if e.tag.endswith("line")]
    assert [e.attrib["fill"] == "none" for e in dots] == [False, True]
    (bar,) = bars
    assert float(bar.attrib["x1"]) < float(dots[0].attrib["cx"]) < float(bar.attrib["x2"])
    assert {"a", "b", "c", "n/a", "50", "7", "all 0.650"} <= set(words(root))
    described = root.attrib["aria-label"]
    assert "a: 0.7000 [0.6000, 0.8000], n 50; b: 0.5000, n 50; c: n/a (no row), n 7" in described


def judged() -> JudgedDataset:
    """A judge that lets bad rows through where `kind = a`."""
    rng = np.random.default_rng(0)
    n = 3000
    kind = rng.choice(["a", "b", "c"], n)
    label = rng.random(n) < 0.5
    yes = np.where(label, rng.random(n) > 0.1, rng.random(n) < np.where(kind == "a", 0.5, 0.1))
    rows = [
        Row(id=f"r{i}", inputs={}, label=float(y), meta={"kind": str(k)}, group=f"g{i // 3}")
        for i, (y, k) in enumerate(zip(label, kind, strict=True))
    ]
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(p), positive=bool(p)) for i, p in enumerate(yes)
    )
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY, name="made"), answers=answers, scale=BINARY
    )


def test_the_picture_of_slices_has_the_numbers_of_the_rows() -> None:
    """Support and errors counted with NumPy; values and intervals those of the report; all rows
    first.
    """
    table = judged()
    report = find_slices(table)
    rows = found_rows(report, table)
    assert [row.name for row in rows] == [
        "all rows",
        *(f"{i}  {s.predicate}" for i, s in enumerate(report.slices, 1)),
    ]
    wrong = table.positive != table.predicted
    assert rows[0].support == len(table.scored)
    for drawn, found in zip(rows[1:], report.slices, strict=True):
        inside = found.predicate.mask(table.rows)
        assert drawn.support == found.support == inside.sum()
        fp = (wrong & table.predicted & inside).sum()
        fn = (wrong & ~table.predicted & inside).sum()
        assert drawn.errors == (fp, fn)
        assert (drawn.value.value, drawn.rest, drawn.value.n) == (found.value, found.rest, found.n)
        assert (drawn.value.low, drawn.value.high) == (found.low, found.high)
        assert drawn.state.startswith(found.standing)
    root = parse(plot_found(report, table))
    assert plot_found(report, table) == plot_found(report, table)
    assert "all rows" in words(root)
    assert {"false positives", "false negatives", "errors, % of rows", "rows"} <= set(words(root))
    assert f"{report.slices[0].support:,}" in words(root)
    assert f"{report.slices[0].rest:.4f} elsewhere" in root.attrib["aria-label"]


def test_ones_own_slice_stands_beside_the_rows_elsewhere(tmp_path: Path) -> None:
    """Their supports and errors add up to all rows; the file is an SVG, and nothing else."""
    table = judged()
    measured = measure_slice(table, parse_predicate("kind = b"), metric="f1")
    inside, outside = measured_rows(measured, table)
    assert (inside.support or 0) + (outside.support or 0) == len(table.scored)
    assert "chosen by hand" in inside.state
    assert inside.rest == outside.value.value
    picture = plot_measured(measured, table)
    write_picture(picture, tmp_path / "a.SVG")
    ElementTree.parse(tmp_path / "a.SVG")
    with pytest.raises(InputError, match=r"an \.svg file, not 'a\.png'"):
        write_picture(picture, tmp_path / "a.png")
    with pytest.raises(InputError, match="cannot write"):
        write_picture(picture, tmp_path / "no/a.svg")


@settings(deadline=None, max_examples=25)
@given(st.text(max_size=300) | st.sampled_from(HOSTILE_NAMES))
@example("0000" + "\x1f" * 4 + "0000000\ue00000一\U001000a9")
@example("一" * 29 + " " + "narrow " * 9)
def test_no_name_can_do_anything_in_a_picture(name: str) -> None:
    """Well-formed, without elements of its own, on one line, and the state is never cut."""
    row = MetricRow(
        name=name,
        value=estimate(),
        rest=0.7,
        errors=(5, 3),
        support=60,
        state="confirmed, n = 40",
    )
    pictures = [
        metric_rows(name, [row]),
        metric_intervals(name, {name: estimate()}),
        confusion_chart([[1, 2], [3, 4]], [name, "other"]),
    ]
    for picture in pictures:
        written = words(parse(picture))
        assert all(len(text) <= NAME_CELLS for text in written)
    assert any(text.endswith(", confirmed, n = 40") for text in words(parse(pictures[0])))
