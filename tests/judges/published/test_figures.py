"""The published figures that stand beside ours: read as printed, named, and checked against each
other.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.judges.published import PublishedRow, load_published

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "published"
SETS = (
    "groundedness",
    "context_relevance",
    "answer_relevance",
    "search",
    "diras",
    "relevance_definitions",
)


def published(*names: str) -> tuple[PublishedRow, ...]:
    """The rows of some of our files."""
    return load_published(FOLDER / f"{name}.yaml" for name in names)


def row(evaluator: str, *, of: str) -> PublishedRow:
    """The published row of an evaluator."""
    return next(r for r in published(of) if r.evaluator == evaluator)


def test_every_set_names_its_source_and_its_data() -> None:
    """Nothing published stands without where it is from and what it was measured on."""
    rows = published(*SETS)
    assert tuple(dict.fromkeys(r.set for r in rows)) == SETS
    assert all(r.source and r.data and r.metrics for r in rows)
    assert {path.stem for path in FOLDER.iterdir()} == set(SETS)


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
    for found in published(kind):
        p, r = float(found.metrics["precision"]), float(found.metrics["recall"])
        assert float(found.metrics["f1"]) == pytest.approx(2 * p * r / (p + r), abs=0.015)


def test_files_are_read_in_the_order_asked_for_and_once_each(tmp_path: Path) -> None:
    """A file that is not there, or has another shape, is named with what is wrong."""
    assert next(r.set for r in published("diras", "search", "diras")) == "diras"
    assert published("search", "search") == published("search")
    with pytest.raises(InputError, match=r"triad\.yaml: cannot be read"):
        published("triad")
    path = tmp_path / "mine.yaml"
    for text, reason in (
        ("source: a\ndata: b\n", "rows: Field required"),
        ("- 1\n", "published figures"),
        ("a: [", "published figures"),
        ("source: a\ndata: b\nrows: [{evaluator: c, metrics: {f1: high}}]\n", "f1: Input should"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=reason) as caught:
            load_published([path])
        assert "docs/published" in (caught.value.hint or "")


def test_a_row_as_json_says_that_it_was_published() -> None:
    """A reader of the JSON cannot take it for a measurement."""
    body = row("TruLens groundedness, after", of="groundedness").to_json()
    assert body["published"] is True
    assert body["counts"] == {"fp": 1088, "fn": 624}
    assert body["metrics"] == {"precision": 0.783, "recall": 0.8515, "f1": 0.8082, "kappa": 0.5358}
