"""What is said first of a benchmark: every number is counted again, every case has its words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    JudgedDataset,
    OutputScale,
    Unscored,
    load_verdicts,
    measure,
)
from judgewright.runs.actions.first_figure import FirstFigure, first_figure, summarize
from judgewright.runs.reports.first_sentence import first_sentences

from ... import judged_tables

GRADED, CHOICE = OutputScale(), OutputScale(kind="choice", labels=("billing", "technical", "other"))
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "verdicts"


def judged_table(people: ArrayLike, judge: ArrayLike, *, scale: OutputScale) -> JudgedDataset:
    """Make a table of lists or arrays."""
    labels, scores = np.asarray(people).tolist(), np.asarray(judge).tolist()
    return judged_tables.judged_table(labels, scores, scale=scale)


def figure_of(judged: JudgedDataset) -> FirstFigure:
    """Summarize rows of which none is sealed."""
    return summarize(judged, measure(judged).to_json(), shown=judged)


def said_of(judged: JudgedDataset) -> list[str]:
    """Return the sentences."""
    return first_sentences(figure_of(judged).to_json())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=130))
def test_every_number_that_is_said_is_in_the_rows(pairs: list[tuple[int, int]]) -> None:
    """Counts are those of sklearn's table, and each percentage is one of them in whole per cent."""
    people, judge = np.array(pairs).T
    figure = figure_of(judged_table(people, judge, scale=BINARY))
    (tn, fp), (fn, tp) = confusion_matrix(people, judge, labels=[0, 1]).tolist()
    assert figure.agreed is not None
    assert figure.bad_called_good is not None
    assert figure.good_called_bad is not None
    assert (figure.agreed.count, figure.agreed.of) == (tn + tp, len(people))
    assert (figure.bad_called_good.count, figure.bad_called_good.of) == (fp, fp + tn)
    assert (figure.good_called_bad.count, figure.good_called_bad.of) == (fn, fn + tp)
    if figure.kappa is not None:
        assert figure.kappa["value"] == pytest.approx(cohen_kappa_score(people, judge))
    lines = [
        line
        for line in first_sentences(figure.to_json())
        if line.startswith(("Your judge agrees", "It calls"))
    ]
    shares = [(tn + tp, len(people)), (fp, fp + tn), (fn, fn + tp)]
    whole = {f"{100 * count / of:.0f}" for count, of in shares if of}
    for number in re.findall(r"(\d+) % of", " ".join(lines)):
        assert number in {*whole, "1", "99"}  # under 1 %, over 99 %
    for count, of in re.findall(r"\((\d+) of (\d+)\)", " ".join(lines)):
        assert (int(count), int(of)) in shares


def test_a_judge_that_errs_both_ways_is_said_with_the_larger_share_first() -> None:
    """Three hundred rows, as a newcomer has them."""
    people = [0] * 90 + [1] * 210
    judge = [1] * 28 + [0] * 62 + [0] * 38 + [1] * 172
    first, errors = said_of(judged_table(people, judge, scale=BINARY))
    assert first.startswith("Your judge agrees with people on 78 % of 300 rows (kappa 0.49 [0.3")
    assert errors == (
        "It calls 31 % of the bad ones good (28 of 90), and 18 % of the good ones bad (38 of 210)."
    )


def test_a_constant_is_said_first() -> None:
    """Where always answering yes would do as well, that is what is read before any figure."""
    lines = said_of(
        judged_table([1] * 80 + [0] * 20, [1] * 60 + [0] * 20 + [1] * 15 + [0] * 5, scale=BINARY)
    )
    assert lines[0].startswith(
        "The judge is no better than a constant: always answering yes would agree"
    )
    assert "kappa" not in lines[1]


def test_few_rows_have_an_interval_and_no_percentage() -> None:
    """Nine rows."""
    warning, first, errors = said_of(
        judged_table([0] * 4 + [1] * 5, [1, 0, 0, 0] + [1] * 5, scale=BINARY)
    )
    assert warning.startswith(
        "These rows do not show that the judge agrees with people beyond chance"
    )
    assert "on 8 of 9 rows" in first
    assert "so few rows leave" in first
    assert errors.startswith("It calls 1 of the 4 bad ones good (95 % interval ")
    assert "none of the 5 good ones bad (95 % interval 0 to " in errors


def test_labels_of_one_kind_show_nothing_of_the_other() -> None:
    """Nobody knows what the judge makes of a bad row."""
    lines = said_of(judged_table([1] * 40, [1] * 30 + [0] * 10, scale=BINARY))
    assert lines[-1] == (
        "People call every one of these rows good: nothing here shows what it makes of a bad one."
    )


def test_without_a_label_it_says_what_it_can() -> None:
    """How many the judge calls good, and how to get labels."""
    judged = judged_table([0] * 30, [1] * 21 + [0] * 9, scale=BINARY)
    rows = tuple(replace(row, label=None) for row in judged.dataset.rows)
    (line,) = said_of(replace(judged, dataset=replace(judged.dataset, rows=rows)))
    assert "It calls 70 % of 30 rows good." in line
    assert line.endswith("judgewright label --rows FILE --next 100")


def test_unscored_rows_are_said() -> None:
    """They count in nothing."""
    judged = judged_table([0, 1] * 60, [0, 1] * 60, scale=BINARY)
    lost = Unscored(row_id=judged.dataset.rows[0].id, reason="parse", detail="")
    lines = said_of(replace(judged, answers=(lost, *judged.answers[1:])))
    assert "119 rows" in lines[0]
    assert lines[-1] == "1 row has no verdict and enters none of this."


def test_of_a_choice_the_commonest_confusion_is_named() -> None:
    """By the labels of the scale."""
    people, judge = (
        [0] * 30 + [1] * 30 + [2] * 30,
        [0] * 20 + [2] * 9 + [1] + [1] * 28 + [0] * 2 + [2] * 30,
    )
    first, confused = said_of(judged_table(people, judge, scale=CHOICE))
    assert first.startswith("Your judge agrees with people on 87 % of 90 rows (kappa 0.8")
    assert (
        confused == "Most often confused: of 30 rows that people call 'billing' it calls 9 'other'."
    )


def graded(seed: int = 4) -> JudgedDataset:
    """Return a lenient judge whose grade 2 is mostly wrong."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, 400) * 3
    right, wrong = (
        rng.choice([2, 3], 400, p=[0.2, 0.8]),
        rng.choice([0, 2, 3], 400, p=[0.3, 0.6, 0.1]),
    )
    return judged_table(people, np.where(people == 3, right, wrong), scale=GRADED)


def test_another_threshold_is_said_with_what_it_decides_on_these_rows() -> None:
    """What the sentence has is counted again."""
    judged = graded()
    line = next(line for line in said_of(judged) if line.startswith("On these rows a threshold"))
    bad, good = judged.label == 0, judged.label == 3
    now, then = judged.score >= 2, judged.score >= 3
    assert line.startswith(
        f"On these rows a threshold of 3 instead of 2 would call {100 * then[bad].mean():.0f} %"
        f" of the bad ones good in place of {100 * now[bad].mean():.0f} %, at"
        f" {100 * (~then[good]).mean() - 100 * (~now[good]).mean():.0f} points of recall (kappa +"
    )
    assert line.endswith("on rows that did not choose it).")
    assert "good: 2 or more" in said_of(judged)[0]


def test_a_threshold_that_gains_no_more_than_noise_is_not_said() -> None:
    """Verdicts by a coin have a best threshold too; one in forty passes a bound of 97.5 %."""
    named = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        people, judge = rng.integers(0, 2, 200) * 3, rng.integers(0, 4, 200)
        named += any(
            "a threshold of" in line for line in said_of(judged_table(people, judge, scale=GRADED))
        )
    assert named <= 4


def test_a_slice_is_named_where_the_search_is_sure_and_no_other() -> None:
    """One planted, and none in noise."""
    rng = np.random.default_rng(1)
    people, table = rng.integers(0, 2, 800), rng.random(800) < 0.3
    judge = np.where(rng.random(800) < np.where(table, 0.45, 0.1), 1 - people, people)
    planted = judged_table(people, judge, scale=BINARY)
    rows = [
        replace(row, meta={"channel": "table" if t else "prose"})
        for row, t in zip(planted.dataset.rows, table, strict=True)
    ]
    planted = replace(planted, dataset=replace(planted.dataset, rows=tuple(rows)))
    line = said_of(planted)[-1]
    assert "is poorest where channel = table" in line
    assert "(confirmed, p" in line
    even = np.where(rng.random(800) < 0.2, 1 - people, people)
    noise = judged_table(people, even, scale=BINARY)
    noise = replace(noise, dataset=replace(noise.dataset, rows=tuple(rows)))
    assert not any("poorest" in line for line in said_of(noise))


def test_what_an_older_benchmark_kept_is_said_too() -> None:
    """Without a warning or a table of grades in it, as earlier versions wrote."""
    body = measure(judged_table([0, 1] * 60, [0, 1] * 60, scale=PROBABILITY)).to_json()
    del body["warning"], body["grades"]
    assert first_sentences(first_figure(body).to_json())[0].startswith(
        "Your judge agrees with people on 100 % of 120"
    )


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published verdicts are not here")
@pytest.mark.parametrize(
    "name", ["diras_chatreport.gpt-3.5-turbo", "wice_claim.gpt-4-0613", "trecdl19.gpt-4o-umbrela"]
)
def test_published_verdicts_are_counted_as_sklearn_counts_them(name: str) -> None:
    """Real judges, real labels."""
    judged = load_verdicts(PUBLISHED / f"{name}.jsonl")
    figure = figure_of(judged)
    (tn, fp), (fn, tp) = confusion_matrix(judged.positive, judged.predicted).tolist()
    assert figure.agreed is not None
    assert figure.agreed.count == tn + tp
    assert figure.kappa is not None
    assert figure.kappa["value"] == pytest.approx(
        cohen_kappa_score(judged.positive, judged.predicted)
    )
    text = " ".join(first_sentences(figure.to_json()))
    assert f"of {fn + tp:,}" in text or f"the {fn + tp} good" in text
    assert f"of {fp + tn:,}" in text or f"the {fp + tn} bad" in text


def test_labels_the_other_way_round_are_said_and_no_more_of_them_are_asked_for() -> None:
    """A judge that agrees less than chance would has no use for more such labels."""
    people, judge = [1] * 50 + [0] * 50, [0] * 45 + [1] * 5 + [1] * 44 + [0] * 6
    figure = figure_of(judged_table(people, judge, scale=BINARY))
    assert "the other way round" in first_sentences(figure.to_json())[0]
    assert figure.reach is None


def test_a_share_that_is_all_or_one_row_reads_well() -> None:
    """No `100 %`, and no `1 rows`."""
    lines = said_of(judged_table([1] * 60 + [0] * 40, [1] * 100, scale=BINARY))
    assert lines[-1] == "It calls all 40 bad ones good, and none of the 60 good ones bad."
    assert "on 0 of 1 row (" in said_of(judged_table([1], [0], scale=BINARY))[0]
