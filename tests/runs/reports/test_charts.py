"""Pictures of a run: what they say, that they are well-formed and inert, and the same each time."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from judgewright.judges.metrics import reliability_bins
from judgewright.runs.reports import confusion, reliability, slices_chart, sparkline, trajectory
from judgewright.runs.reports.charts import fit_label

from ...function_calls import count_calls
from ..stored_events import OBJECTIVE, run_of

HOSTILE = "x = <script>alert(1)</script> \x1b]52;c;AA\x07 \u202e \ufffe"
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
