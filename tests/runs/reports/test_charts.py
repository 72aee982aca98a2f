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
    metric_intervals,
    metric_rows,
    plot_found,
    plot_measured,
    reliability,
    slices_chart,
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


def test_confusion_tables_show_counts_and_shares_of_people() -> None:
    """Both benchmarks as they stand in the journal; an empty one divides by nothing."""
    before = {"n": 100, "confusion": {"tp": 30, "fp": 20, "fn": 10, "tn": 40}}
    after = {"n": 100, "confusion": {"tp": 28, "fp": 5, "fn": 12, "tn": 55}}
    root = parse(confusion(before, after))
    assert [word for word in words(root) if word.endswith("%")] == [
        *("67%", "33%", "25%", "75%", "92%", "8%", "30%", "70%"),
    ]
    assert "before: people no, judge yes: 20" in root.attrib["aria-label"]
    assert len(shapes(parse(confusion(before)), "right")) == 2
    parse(confusion({"n": 0, "confusion": dict.fromkeys(("tp", "fp", "fn", "tn"), 0)}))


def test_reliability_draws_every_bin_that_has_rows() -> None:
    """One dot a bin, at its share; without probabilities it says so."""
    rng = np.random.default_rng(0)
    label, probability = rng.random(400) < 0.5, rng.random(400)
    bins = reliability_bins(label, probability)
    dots = shapes(parse(reliability(bins)), "bin")
    assert len(dots) == 10
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


def estimate(value: float = 0.5, low: float | None = 0.4, high: float | None = 0.6) -> Estimate:
    """A value with its interval."""
    return Estimate(value=value, low=low, high=high, n=50)


def test_f1_of_a_threshold_is_counted_by_hand() -> None:
    """At 0.5 two of two are right, one of three is missed; where it is highest is said."""
    curve = threshold_curve(np.array([0, 1, 1, 1]) > 0, np.array([0.1, 0.3, 0.5, 0.9]))
    at = curve.threshold.tolist().index(0.5)
    assert (curve.precision[at], curve.recall[at]) == (1.0, pytest.approx(2 / 3))
    assert curve.f1[at] == pytest.approx(0.8)
    assert "F1 is highest on these rows at 0.3, where it is 1.000" in curve.describe(None)


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
    kinds, label = rng.choice(["a", "b", "c"], 3000), rng.random(3000) < 0.5
    yes = np.where(label, rng.random(3000) > 0.1, rng.random(3000) < 0.1 + 0.4 * (kinds == "a"))
    rows, answers = [], []
    for i, (kind, truth, said) in enumerate(zip(kinds.tolist(), label, yes, strict=True)):
        about = {"label": float(truth), "meta": {"kind": kind}, "group": f"g{i // 3}"}
        rows.append(Row(id=f"r{i}", inputs={}, **about))
        answers.append(Verdict(row_id=f"r{i}", score=float(said), positive=bool(said)))
    data = Dataset.of(rows, labels=BINARY, name="made")
    return JudgedDataset(dataset=data, answers=tuple(answers), scale=BINARY)


def test_slices_are_drawn_as_they_were_found_or_measured(tmp_path: Path) -> None:
    """Each with its figure, its rows and the rest; the file is an SVG, and nothing else."""
    table = judged()
    report = find_slices(table)
    described = parse(plot_found(report)).attrib["aria-label"]
    for one in report.slices:
        assert f"{one.predicate}: {one.value:.4f} [{one.low:.4f}, {one.high:.4f}]" in described
        assert f"n {one.n:,}, {one.rest:.4f} elsewhere" in described
    measured = measure_slice(table, parse_predicate("kind = b"), metric="f1")
    picture = plot_measured(measured)
    assert {"kind = b", "elsewhere", f"{measured.value.n:,}"} <= set(words(parse(picture)))
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
    """Well-formed, without elements of its own, and on one line."""
    for picture in (
        metric_rows(name, [MetricRow(name=name, value=estimate(), rest=0.7)]),
        confusion_chart([[1, 2], [3, 4]], [name, "other"]),
    ):
        assert all(len(text) <= NAME_CELLS for text in words(parse(picture)))
