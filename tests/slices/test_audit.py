"""Which of a slice's errors are shown, how many wrong labels would explain it, and what marks make
of its metric.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from judgewright.judges import InputError, JudgedDataset
from judgewright.judges.metrics import Estimate
from judgewright.judges.reliability import Finding, read_audit, write_audit
from judgewright.slices import apply_marks, audit_slice, parse_predicate
from judgewright.slices.audit import _figure

from ..judged_tables import judged_table

TABLES = parse_predicate("kind = table")


def table(n: int = 900, seed: int = 0) -> JudgedDataset:
    """A judge that lets bad rows through in tables, three rows of a document."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["table", "text"], n, p=[0.3, 0.7])
    label = rng.random(n) < 0.5
    said = np.where(label, rng.random(n) < 0.9, rng.random(n) < np.where(kind == "table", 0.5, 0.1))
    sure = rng.uniform(0.5, 1.0, n).round(3)
    return judged_table(
        label,
        said,
        columns={"kind": kind.tolist()},
        groups=[f"d{i // 3}" for i in range(n)],
        confidence=sure,
        text="text",
    )


def of_tables(judged: JudgedDataset) -> np.ndarray:
    """Which rows are tables."""
    return np.array([row.meta["kind"] == "table" for row in judged.rows])


def test_the_slices_false_positives_are_listed_the_surest_first_and_spread_over_groups() -> None:
    """Twenty of them, no document twice while another has not been heard, within a turn by
    confidence.
    """
    judged = table()
    audit = audit_slice(judged, TABLES)
    wrong = {
        row.id
        for row, y, p, t in zip(
            judged.rows, judged.positive, judged.predicted, of_tables(judged), strict=True
        )
        if t and p and not y
    }
    listed = audit.errors.suspects
    assert (audit.direction, len(listed), audit.errors.found) == ("fp", 20, len(wrong))
    assert {s.row.id for s in listed} <= wrong
    assert max(Counter(s.row.group for s in listed).values()) == 1
    given = [s.confidence or 0.0 for s in listed]
    assert given == sorted(given, reverse=True)
    everyone = audit_slice(judged, TABLES, limit=10_000).errors.suspects
    assert {s.row.id for s in everyone} == wrong
    turns = Counter[str]()
    order = []
    for suspect in everyone:
        order.append(turns[suspect.row.group])
        turns[suspect.row.group] += 1
    assert order == sorted(order)


def test_the_share_that_would_explain_the_gap_closes_it_and_one_label_less_does_not() -> None:
    """Recomputed with scikit-learn: turn so many labels, and precision is that of the rest."""
    judged = table()
    audit = audit_slice(judged, TABLES)
    inside = of_tables(judged)
    rest = precision_score(judged.positive[~inside], judged.predicted[~inside])
    assert audit.rest.value == pytest.approx(rest)
    assert audit.value.value == pytest.approx(
        precision_score(judged.positive[inside], judged.predicted[inside])
    )
    assert audit.needed is not None
    count = round(audit.needed * audit.errors.found)
    fp = np.flatnonzero(inside & judged.predicted & ~judged.positive)
    reached = []
    for turned in (count - 1, count):
        label = judged.positive.copy()
        label[fp[:turned]] = True
        reached.append(precision_score(label[inside], judged.predicted[inside]) >= rest)
    assert reached == [False, True]
    assert (
        f"{audit.needed:.0%} of its {audit.errors.found} false positives would have to be wrong"
        in audit.describe()
    )


def test_a_gap_that_is_none_or_that_labels_cannot_explain_is_said_to_be() -> None:
    """The good side of the data has no gap; a slice without errors of that kind cannot be explained
    by them.
    """
    judged = table()
    good = audit_slice(judged, parse_predicate("kind = text"))
    assert good.needed == 0
    assert "no gap" in good.describe()
    stuck = audit_slice(judged, TABLES, metric="accuracy", direction="fn")
    assert stuck.needed is None
    assert "would stay" in stuck.describe()


@pytest.mark.parametrize(
    ("metric", "score"),
    [("precision", precision_score), ("recall", recall_score), ("f1", f1_score)],
)
def test_the_metric_after_the_audit_is_that_of_the_corrected_labels(
    metric: str, score: object
) -> None:
    """Every second listed error is a wrong label; scikit-learn on the corrected rows of the
    slice.
    """
    judged = table()
    audit = audit_slice(judged, TABLES, metric=metric)
    listed = [suspect.row.id for suspect in audit.errors.suspects]
    findings = {
        id: Finding(mark="wrong label" if i % 2 else "real error") for i, id in enumerate(listed)
    }
    found = apply_marks(judged, audit, findings)
    inside = of_tables(judged)
    corrected = judged.positive ^ np.array([r.id in set(listed[1::2]) for r in judged.rows])
    assert callable(score)
    assert found.before.value == pytest.approx(
        score(judged.positive[inside], judged.predicted[inside])
    )
    assert found.after.value == pytest.approx(score(corrected[inside], judged.predicted[inside]))
    assert found.after.low is not None
    assert found.after.low < found.after.value < (found.after.high or 0)
    assert (found.wrong.value, found.wrong.n) == (0.5, len(listed))
    assert found.marks == {
        "real error": len(listed[::2]),
        "wrong label": len(listed[1::2]),
        "unclear": 0,
    }
    assert (
        f"{len(listed[1::2])} of the {len(listed)} errors marked are wrong labels"
        in found.describe()
    )


def test_nothing_marked_is_no_share() -> None:
    """Without marks there is no share of wrong labels, and the sentence says so."""
    judged = table(300)
    found = apply_marks(judged, audit_slice(judged, TABLES), {})
    assert found.wrong.value is None
    assert "nothing is marked" in found.describe()


def test_the_errors_travel_as_the_audit_file_of_labels(tmp_path: Path) -> None:
    """`write_audit` writes them, a person marks two lines, `read_audit` brings those back."""
    judged, path = table(), tmp_path / "audit.jsonl"
    audit = audit_slice(judged, TABLES)
    write_audit(audit.errors, path)
    lines = path.read_text().splitlines()
    assert len(lines) == 20
    for i, mark in ((0, "wrong label"), (3, "real error")):
        lines[i] = lines[i].replace('"mark": ""', f'"mark": "{mark}"')
    path.write_text("\n".join(lines))
    found = apply_marks(judged, audit, read_audit(path))
    assert (found.marks["wrong label"], found.marks["real error"]) == (1, 1)
    assert any(note.startswith(f"{audit.errors.found - 2} of the slice's") for note in found.notes)


def test_a_figure_that_does_not_exist_says_why() -> None:
    """In a word and the reason, beside those that do."""
    assert (
        _figure(Estimate.undefined(3, "no row is labelled positive"))
        == "n/a (no row is labelled positive)"
    )
    assert _figure(Estimate(value=0.5, low=0.4, high=0.6, n=9)) == "0.500 [0.400, 0.600] (n = 9)"


def test_what_cannot_be_audited_is_refused() -> None:
    """A metric undefined on one side, one that counts no decisions, a row of another slice."""
    judged = table(300)
    with pytest.raises(InputError, match="undefined inside"):
        audit_slice(judged, parse_predicate("kind = figure"))
    for metric in ("off_by_one", "ece"):
        with pytest.raises(InputError, match=metric):
            audit_slice(judged, TABLES, metric=metric)
    audit = audit_slice(judged, TABLES)
    outside = next(row.id for row in judged.rows if row.meta["kind"] == "text")
    with pytest.raises(InputError, match="not in the data"):
        apply_marks(judged, audit, {outside: Finding(mark="unclear")})
