"""Gains that are lost in the noise, and the smallest that are not."""

import pytest

from judgewright.judges import BINARY, Dataset, InputError, JudgedDataset, Row, Verdict
from judgewright.judges.metrics import clustered_se, influence
from judgewright.judges.reliability import Noise, minimum_detectable_change, noise_note


def table(labels: list[int], said: list[int], groups: list[str] | None = None) -> JudgedDataset:
    """Rows with labels and decisions."""
    where = groups or [""] * len(labels)
    rows = [
        Row(id=f"r{i}", inputs={}, label=y, group=g)
        for i, (y, g) in enumerate(zip(labels, where, strict=True))
    ]
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(s), positive=bool(s)) for i, s in enumerate(said)
    )
    return JudgedDataset(dataset=Dataset.of(rows, labels=BINARY), answers=answers, scale=BINARY)


@pytest.mark.parametrize(
    ("n", "churn", "points"),
    [
        (200, 0.25, 5.7),
        (500, 0.25, 3.6),
        (1000, 0.25, 2.5),
        (1000, 0.5, 3.6),
        (1000, 0.1, 1.6),
        (5000, 0.25, 1.1),
    ],
)
def test_the_detectable_change_is_that_of_the_simulated_tables(
    n: int, churn: float, points: float
) -> None:
    """F1 of a judge with precision and recall of .8 on balanced classes, as in part 4 of
    SLICES_AND_STATS.md.
    """
    labels = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0] * (n // 10)
    said = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0] * (n // 10)
    found = minimum_detectable_change("f1", table(labels, said), churn=churn)
    assert found is not None
    assert 100 * found.size == pytest.approx(points, rel=0.12)
    assert f"{n:,} rows" in found.basis


def test_what_groups_share_before_and_after_does_not_count() -> None:
    """Queries on which the judge errs on every other row widen the interval of F1 more than that of
    a difference.
    """
    labels, said = [1, 0] * 500, [1, 0] * 250 + [1, 1, 0, 0] * 125
    judged = table(labels, said, [f"g{i // 20}" for i in range(1000)])
    own = clustered_se(influence("f1", judged.positive, judged.predicted), judged.groups)
    found = minimum_detectable_change("f1", judged)
    assert found is not None
    assert found.size < 0.6 * 2.49 * own


def test_without_errors_or_groups_no_change_is_detectable() -> None:
    """None, and a metric of grades is refused."""
    assert minimum_detectable_change("f1", table([0, 1], [0, 1])) is None
    assert minimum_detectable_change("f1", table([0, 1, 1], [0, 0, 1], ["g", "g", "g"])) is None
    assert minimum_detectable_change("recall", table([0, 0], [0, 1])) is None
    with pytest.raises(InputError, match="not a metric of decisions"):
        minimum_detectable_change("off_by_one", table([0, 1], [0, 1]))


def test_the_note_names_the_strongest_basis_and_only_where_it_is_true() -> None:
    """A gain above all noise gets no note; noise of another metric does not count."""
    small, large = (
        Noise(metric="f1", size=s, basis=b, n=9) for s, b in ((0.012, "repeats"), (0.014, "rows"))
    )
    other = Noise(metric="recall", size=0.5, basis="other", n=9)
    assert noise_note("f1", 0.01, small, large, other, None) == (
        "the gain you ask for (0.010) is below the noise (0.014: rows)"
    )
    assert noise_note("f1", 0.013, small, other) is None
