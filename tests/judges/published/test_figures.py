"""The published figures that stand beside ours: read as printed, named, and checked against each
other.
"""

from decimal import Decimal

import pytest

from judgewright.judges import InputError
from judgewright.judges.published import PublishedRow, load_published

SETS = (
    "groundedness",
    "context_relevance",
    "answer_relevance",
    "search",
    "diras",
    "relevance_definitions",
)


def row(evaluator: str, *, of: str) -> PublishedRow:
    """The published row of an evaluator."""
    return next(r for r in load_published([of]) if r.evaluator == evaluator)


def test_every_set_names_its_source_and_its_data() -> None:
    """Nothing published stands without where it is from and what it was measured on."""
    rows = load_published()
    assert tuple(dict.fromkeys(r.set for r in rows)) == SETS
    assert all(r.source and r.data and r.metrics for r in rows)
    assert all(r.misprints.keys() <= r.metrics.keys() for r in rows)


def test_figures_keep_the_digits_that_were_printed() -> None:
    """1.0000 is not 1.0, and a percentage becomes the fraction it stands for."""
    assert (
        str(row("MLflow answer relevance", of="answer_relevance").metrics["precision"]) == "1.0000"
    )
    assert row("GPT-4 Point-Ask, with definition", of="diras").metrics["uncertainty_ap"] == Decimal(
        "0.5401"
    )
    assert (
        str(row("GPT-4 Point-Ask, with definition", of="diras").metrics["diras_mean"]) == "0.8000"
    )


@pytest.mark.parametrize("kind", ["answer_relevance", "context_relevance", "groundedness"])
def test_printed_f1_follows_from_printed_precision_and_recall(kind: str) -> None:
    """A slip of a finger in the file would show here; macro averages over sub-sets may differ in
    the second digit.
    """
    for found in load_published([kind]):
        p, r = float(found.metrics["precision"]), float(found.metrics["recall"])
        assert float(found.metrics["f1"]) == pytest.approx(2 * p * r / (p + r), abs=0.015)


def test_the_mean_of_diras_shows_its_misprint() -> None:
    """Only with 91.20 for the calibration do the four groups average the printed 80.00."""
    found = row("GPT-4 Point-Ask, with definition", of="diras")
    others = [float(found.metrics[name]) for name in ("uncertainty_ap", "f1", "diras_ranking")]
    right = float(found.misprints["diras_calibration"].figure)
    assert round((sum(others) + right) / 4, 4) == float(found.metrics["diras_mean"])
    assert round((sum(others) + float(found.metrics["diras_calibration"])) / 4, 4) != float(
        found.metrics["diras_mean"]
    )


def test_the_mean_over_the_tracks_is_the_printed_one() -> None:
    """Both judges of the search report, over the three years."""
    rows = load_published(["search"])
    for evaluator in ("Cortex Search judge", "UMBRELA"):
        *years, mean = [float(r.metrics["off_by_one"]) for r in rows if r.evaluator == evaluator]
        assert sum(years) / 3 == pytest.approx(mean, abs=0.0006)


def test_sets_are_asked_for_by_name() -> None:
    """In the order asked for and once each; an unknown name lists the known ones."""
    assert next(r.set for r in load_published(["diras", "search", "diras"])) == "diras"
    assert len(load_published(["search", "search"])) == len(load_published(["search"]))
    with pytest.raises(InputError, match="'triad'") as caught:
        load_published(["triad"])
    assert all(name in (caught.value.hint or "") for name in SETS)


def test_a_row_as_json_says_that_it_was_published() -> None:
    """A reader of the JSON cannot take it for a measurement."""
    body = row("TruLens groundedness, after", of="groundedness").to_json()
    assert body["published"] is True
    assert body["counts"] == {"fp": 1088, "fn": 624}
    assert body["metrics"] == {"precision": 0.783, "recall": 0.8515, "f1": 0.8082, "kappa": 0.5358}
