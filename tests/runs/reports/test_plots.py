"""Pictures: the numbers in them are right, they are the same each time, and no text in them can do
anything.
"""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import Estimate, ece, reliability_bins, wilson
from judgewright.runs.reports import (
    INK,
    LABEL_CELLS,
    MOST_STEPS,
    Picture,
    confusion_chart,
    f1_by_threshold,
    metric_intervals,
    metrics_by_slice,
    reliability_curve,
    threshold_curve,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "$x^2$ costs $5",
    r"\$\frac{1}{0}$",
    "two\nlines",
    "right\u202eto left",
    "long " * 60,
    "nul\x00 and bell\x07",
    "not in XML \ufffe\uffff",
    "half a pair \ud800",
    'id="figure" href="#x"',
    "漢字のとても長いラベルが続いています",
    "_hidden",
    "",
)


def estimate(value: float, low: float | None, high: float | None, n: int = 50) -> Estimate:
    """Return an estimate."""
    return Estimate(value=value, low=low, high=high, n=n)


def rows(n: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and probabilities that go together."""
    rng = np.random.default_rng(seed)
    probability = rng.random(n).round(2)
    return rng.random(n) < probability**2, probability


def pictures() -> list[Picture]:
    """Return one of each kind."""
    label, probability = rows()
    values = {
        "a": estimate(0.7, 0.6, 0.8),
        "b": estimate(0.5, None, None),
        "c": Estimate.undefined(0, "no row"),
    }
    return [
        reliability_curve(label, probability),
        confusion_chart([[50, 3], [4, 20]], ["negative", "positive"]),
        f1_by_threshold(threshold_curve(label, probability), chosen=0.5),
        metrics_by_slice("f1", values, overall=estimate(0.65, 0.6, 0.7)),
        metric_intervals("kappa", values),
    ]


def words(svg: str) -> list[str]:
    """Return what stands in the text elements."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@given(
    pairs=st.lists(
        st.tuples(st.booleans(), st.floats(0, 1) | st.sampled_from([i / 20 for i in range(21)])),
        min_size=1,
    ),
    bins=st.integers(1, 20),
    edges=st.sampled_from(["linspace", "tenths"]),
)
@settings(max_examples=150, deadline=None)
def test_the_bins_give_back_the_calibration_error(
    pairs: list[tuple[bool, float]], bins: int, edges: str
) -> None:
    """Weighted by their rows, the distances from the diagonal are `ece`, and no row is in two bins
    or in none.
    """
    label, probability = np.array([y for y, _ in pairs]), np.array([p for _, p in pairs])
    found = reliability_bins(label, probability, bins=bins, edges=edges)  # type: ignore[arg-type]
    full = [b for b in found if b.share.n]
    error = sum(b.share.n * abs(b.share.value - b.probability) for b in full) / len(label)  # type: ignore[operator]
    assert error == pytest.approx(float(ece(label, probability, bins=bins, edges=edges)), abs=1e-12)  # type: ignore[arg-type]
    assert sum(b.share.n for b in found) == len(label)
    assert all(b.probability is None and b.share.value is None for b in found if b.share.n == 0)


def test_the_bins_are_scikit_learns_with_wilsons_intervals() -> None:
    """Shares and mean probabilities agree with `calibration_curve`."""
    from sklearn.calibration import calibration_curve

    label, probability = rows()
    found = [b for b in reliability_bins(label, probability) if b.share.n]
    shares, means = calibration_curve(label, probability, n_bins=10)
    np.testing.assert_allclose([b.share.value for b in found], shares)
    np.testing.assert_allclose([b.probability for b in found], means)
    first = found[0].share
    assert (first.low, first.high) == wilson(round(shares[0] * first.n), first.n)


def test_the_float_edge_falls_as_the_edges_say() -> None:
    """1 - 0.7 is a hair above 0.3: in the third bin with linspace's edges, in the fourth with
    tenths.
    """
    label, probability = np.array([True]), np.array([1 - 0.7])
    places = [
        [b.share.n for b in reliability_bins(label, probability, edges=edges)].index(1)
        for edges in ("linspace", "tenths")
    ]
    assert places == [2, 3]


@given(pairs=st.lists(st.tuples(st.booleans(), st.integers(-3, 5) | st.floats(0, 1)), min_size=1))
@settings(max_examples=150, deadline=None)
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


def test_a_picture_draws_its_estimates() -> None:
    """The dots stand at the values and the bars span the intervals; hollow without one, a word
    without a value.
    """
    values = {
        "a": estimate(0.7, 0.6, 0.8),
        "b": estimate(0.5, None, None),
        "c": Estimate.undefined(7, "no row"),
    }
    picture = metrics_by_slice("f1", values, overall=estimate(0.65, 0.6, 0.7))
    lines = [np.asarray(line.get_xydata()).tolist() for line in picture.figure.axes[0].lines]
    assert lines == [[[0.6, 0], [0.8, 0]], [[0.7, 0]], [[0.5, 1]], [[0.65, 0], [0.65, 1]]]
    assert [line.get_markerfacecolor() for line in picture.figure.axes[0].lines[1:3]][1] == "none"
    said = words(picture.to_svg())
    assert {"a", "b", "c", "n/a", "50", "7", "all 0.650", "f1"} <= set(said)
    assert (
        "a: 0.7000 [0.6000, 0.8000], n 50; b: 0.5000, n 50; c: n/a (no row), n 7"
        in picture.description
    )


def test_the_reliability_curve_states_its_error_and_draws_its_bins() -> None:
    """The title names ECE, bins and edges; the dots are the bins."""
    label, probability = rows()
    picture = reliability_curve(label, probability, bins=5, edges="tenths")
    expected = float(ece(label, probability, bins=5, edges="tenths"))
    assert f"ECE {expected:.3f} (5 bins, edges tenths)" in words(picture.to_svg())
    bins = reliability_bins(label, probability, bins=5, edges="tenths")
    drawn = picture.figure.axes[0].lines[1].get_xydata()
    np.testing.assert_allclose(drawn, [(b.probability, b.share.value) for b in bins])
    assert [bar.get_height() for bar in picture.figure.axes[1].patches] == [b.share.n for b in bins]
    with pytest.raises(InputError, match="nothing to draw"):
        reliability_curve(label[:0], probability[:0])
    with pytest.raises(InputError, match="outside"):
        reliability_curve(label, probability * 100)


def test_the_confusion_chart_shows_counts_and_shares_of_the_row() -> None:
    """Of 4 rows that people call 1, the judge calls 3 the same."""
    said = words(confusion_chart([[1200, 0, 0], [1, 3, 0], [0, 0, 0]], ["0", "1", "2"]).to_svg())
    assert {"1,200", "100%", "25%", "75%", "3"} <= set(said)
    assert said.count("0") == 2 + 6  # two labels, six empty cells
    wide = confusion_chart([[1] * 20] * 20, [f"level {i}" for i in range(20)])
    assert "5%" not in words(wide.to_svg())


def test_a_curve_of_many_thresholds_stays_small() -> None:
    """The ends of the curve are drawn, and no more steps than can be seen."""
    score = np.random.default_rng(0).random(10_000)
    curve = threshold_curve(score > 0.3, score)
    picture = f1_by_threshold(curve, chosen=0.5)
    drawn = np.asarray(picture.figure.axes[0].lines[2].get_xydata())
    assert len(drawn) <= MOST_STEPS
    assert drawn[0].tolist() == [curve.threshold[0], curve.f1[0]]
    assert drawn[-1].tolist() == [curve.threshold[-1], curve.f1[-1]]
    assert len(picture.to_svg()) < 100_000
    assert "in use: 0.5" in words(picture.to_svg())


def test_pictures_are_the_same_each_time() -> None:
    """Byte for byte, and without the date; what the person set for matplotlib neither counts nor
    changes.
    """
    import matplotlib

    first = [picture.to_svg(prefix="p") for picture in pictures()]
    with matplotlib.rc_context({"svg.fonttype": "path", "lines.linewidth": 9.0, "font.size": 30.0}):
        assert [picture.to_svg(prefix="p") for picture in pictures()] == first
        assert matplotlib.rcParams["lines.linewidth"] == 9.0
    assert not re.search(r"20\d\d-\d\d-\d\d", "".join(first))


def test_pictures_stand_together_in_a_page() -> None:
    """Each has ids of its own that its references find, and no style sheet, colour or address of
    the outside.
    """
    svgs = [picture.to_svg(prefix=f"p{i}") for i, picture in enumerate(pictures())]
    roots = [ElementTree.fromstring(svg) for svg in svgs]
    ids = [element.get("id") for root in roots for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for i, (svg, root) in enumerate(zip(svgs, roots, strict=True)):
        references = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg)) | {
            root.attrib["aria-describedby"]
        }
        assert references == {name for name in ids if name and name.startswith(f"p{i}-")}
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            *("svg", "title", "desc", "defs", "g", "path", "use", "text", "clipPath", "rect"),
        }
        assert svg.replace("http://www.w3.org/2000/svg", "").count("http") == 0
        assert INK not in svg
        assert "currentColor" in svg


def test_a_picture_is_told_to_those_who_cannot_see_it() -> None:
    """Role, label, title and description are there and say something."""
    for picture in pictures():
        root = ElementTree.fromstring(picture.to_svg(prefix="p"))
        assert (root.get("role"), root.get("aria-label")) == ("img", picture.title)
        assert (root[0].tag, root[0].text) == (f"{SVG}title", picture.title)
        assert (root[1].tag, root[1].text) == (f"{SVG}desc", picture.description)
        assert picture.title
        assert picture.description


def test_hostile_labels_come_through_inert() -> None:
    """Markup, mathematics, controls and long texts are shown as they are or cut, on one line."""
    values = {name: estimate(0.5, 0.4, 0.6) for name in HOSTILE}
    k = len(HOSTILE)
    charts = [
        metrics_by_slice(HOSTILE[0], values, overall=estimate(0.5, 0.4, 0.6)),
        metric_intervals(HOSTILE[1], values),
        confusion_chart(np.eye(k, dtype=int).tolist(), HOSTILE),
    ]
    for chart in charts:
        svg = chart.to_svg()
        root = ElementTree.fromstring(svg)
        assert not [
            e
            for e in root.iter()
            if "script" in e.tag or any(name.startswith("on") for name in e.attrib)
        ]
        assert all(c.isprintable() for text in words(svg) for c in text)
        assert all(len(text) <= LABEL_CELLS for text in words(svg))
        assert chart.to_png().startswith(b"\x89PNG")
    said = words(charts[0].to_svg())
    assert {
        "<script>alert(1)</script>",
        "$x^2$ costs $5",
        r"\$\frac{1}{0}$",
        r"two\nlines",
        "_hidden",
    } <= set(said)
    assert {r"right\u{202e}to left", r"nul\x00 and bell\x07", r"half a pair \u{d800}"} <= set(said)
    assert "long long long long long lo…" in said
    assert "漢字のとても長いラベルが続…" in said


def test_a_png_is_written_on_white(tmp_path: Path) -> None:
    """It can be read back, and its corner is white."""
    from matplotlib.image import imread

    for i, picture in enumerate(pictures()):
        path = tmp_path / f"{i}.png"
        path.write_bytes(picture.to_png(dpi=100))
        image = imread(path)
        assert image.shape[1] == 460
        assert image[0, 0].tolist() == [1, 1, 1, 1]
        assert image.min() < 0.2


def test_drawing_leaves_pyplot_alone() -> None:
    """No window system and no global figure is touched."""
    code = (
        "import sys; from judgewright.runs.reports.plots import confusion_chart as c;before ="
        " 'matplotlib' in sys.modules;c([[1, 0], [0, 1]], ['a', 'b']).to_svg(); print(before,"
        " 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
