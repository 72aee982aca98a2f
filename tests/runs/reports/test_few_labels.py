"""What few labels can show, and what to label next."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

import numpy as np
import pytest

from judgewright.judges import JudgedDataset, OutputScale, measure
from judgewright.judges.reliability import CHURN
from judgewright.optimize import Guard
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.optimize.holdout.power import perfect_gain, smallest_gain
from judgewright.runs.actions.reach import GOAL, MOST_ROWS, reach_of, sealed_of
from judgewright.runs.reports.few_labels import few_labels, label_command, rows_to_label

from ... import judged_tables


def judge_of(n: int, skill: float, seed: int = 0, *, groups: int | None = None) -> JudgedDataset:
    """Return a judge that is right about so many rows of two kinds."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, n)
    judge = np.where(rng.random(n) < skill, people, 1 - people)
    of = None if groups is None else [str(i % groups) for i in range(n)]
    return judged_tables.judged_table(people.tolist(), judge.tolist(), groups=of)


def test_the_gain_is_that_of_the_rows_themselves() -> None:
    """Made-up rows with the same counts give what the power of the gate on the real ones is."""
    judged = judge_of(300, 0.6)
    reach = reach_of(measure(judged).to_json(), "precision")
    assert reach is not None
    assert reach.size is not None
    assert (reach.labelled, reach.holdout) == (300, 90)
    direct = smallest_gain(
        "precision", judged, churn=CHURN, alpha=alpha_of_look(1), rows=90, groups=90
    )
    assert reach.size == pytest.approx(direct, abs=0.03)


def test_rows_that_err_together_weigh_less() -> None:
    """Rows of a group that share their error show less than as many rows by themselves."""
    rng = np.random.default_rng(3)
    people, wrong = rng.integers(0, 2, 60), rng.random(60) < 0.4
    once = judged_tables.judged_table(people.tolist(), np.where(wrong, 1 - people, people).tolist())
    many = judged_tables.judged_table(
        np.repeat(people, 5).tolist(),
        np.repeat(np.where(wrong, 1 - people, people), 5).tolist(),
        groups=np.repeat(np.arange(60), 5).tolist(),
    )
    alone = reach_of(measure(once).to_json(), "precision")
    together = reach_of(measure(many).to_json(), "precision", labelled=300)
    apart = reach_of(measure(judge_of(300, 0.6)).to_json(), "precision")
    assert alone is not None
    assert together is not None
    assert apart is not None
    assert apart.size is not None
    assert together.size is None or together.size > apart.size


@pytest.mark.parametrize("n", [9, 20, 60, 120, 180, 200, 300, 600])
@pytest.mark.parametrize("skill", [0.6, 0.8, 0.95])
def test_every_number_that_is_said_is_reckoned(n: int, skill: float) -> None:
    """Each is in the structure, more labels show smaller gains, and the command asks for them."""
    reach = reach_of(measure(judge_of(n, skill, n)).to_json())
    if reach is None:
        return
    body = asdict(reach)
    text = " ".join(few_labels(body))
    assert text.startswith(f"{n:,} labels leave a gate a holdout of {sealed_of(n):,} rows")
    assert f" is {reach.now['value']:.2f} now" in text
    sizes = [gain for _, gain in reach.steps]
    assert sizes == sorted(sizes, reverse=True)
    if reach.size is not None:
        assert reach.size > GOAL
        assert all(gain < reach.size for gain in sizes)
        assert f"rose by {100 * reach.size:.0f} point" in text
    if reach.perfect is not None:
        assert f"({100 * reach.perfect:.0f} points of" in text
    for more, gain in reach.steps:
        assert f"{more:,} " in text
        assert f"from about {max(1, round(100 * gain))} point" in text
    rows = rows_to_label(body)
    assert label_command(body) == (f"judgewright label --rows FILE --next {rows}" if rows else "")
    if reach.steps:
        assert rows == reach.steps[0][0]


def test_what_shows_ten_points_is_not_few() -> None:
    """Nothing is said of a thousand rows, or where there is no error to mend."""
    assert reach_of(measure(judge_of(1000, 0.8)).to_json()) is None
    assert reach_of(measure(judge_of(MOST_ROWS + 1, 0.95)).to_json()) is None
    assert reach_of(measure(judge_of(60, 1.0)).to_json()) is None


def test_a_metric_that_nobody_can_reckon_with_says_nothing() -> None:
    """Of correlations and of rows without a label no gain is known."""
    body = measure(judge_of(100, 0.7)).to_json()
    assert reach_of(body, "pearson") is None
    assert reach_of(body, "no such metric") is None
    graded = judged_tables.judged_table([0, 3, 1, 2, 3], [0, 3, 2, 2, 1], scale=OutputScale())
    few = measure(graded).to_json()
    assert few["metrics"]["pearson"]["value"] is not None
    assert reach_of(few, "pearson") is None


def test_a_guard_that_wants_more_rows_is_said_with_what_could_be_shown() -> None:
    """A drop of five points takes many rows; what fifty can show stands beside it."""
    body = measure(judge_of(120, 0.7)).to_json()
    reach = reach_of(body, "precision", guards=(Guard(metric="recall", margin=0.05),))
    assert reach is not None
    (need,) = reach.guards
    assert need.rows is not None
    line = next(line for line in few_labels(asdict(reach)) if line.startswith("To show that"))
    assert f"takes about {need.rows:,} holdout rows" in line
    could = 5 * (need.rows / reach.holdout) ** 0.5
    assert line.endswith(f"of about {could:.0f} points.")


def test_the_file_is_named_where_it_has_rows_to_label() -> None:
    """Else FILE stands for one that has."""
    judged = judge_of(120, 0.7)
    rows = tuple(
        replace(row, label=None) if i % 3 == 0 else row for i, row in enumerate(judged.dataset.rows)
    )
    some = replace(judged, dataset=replace(judged.dataset, rows=rows))
    reach = reach_of(measure(some).to_json())
    assert reach is not None
    assert label_command(asdict(reach), "my rows.jsonl").startswith(
        "judgewright label --rows 'my rows.jsonl' --next "
    )
    whole = reach_of(measure(judged).to_json())
    assert whole is not None
    assert "--rows FILE" in label_command(asdict(whole), "my rows.jsonl")


def test_a_choice_is_reckoned_by_its_accuracy() -> None:
    """By the table of its labels."""
    rng = np.random.default_rng(1)
    people = rng.integers(0, 3, 150)
    judge = np.where(rng.random(150) < 0.7, people, rng.integers(0, 3, 150))
    scale = OutputScale(kind="choice", labels=("billing", "technical", "other"))
    judged = judged_tables.judged_table(people.tolist(), judge.tolist(), scale=scale)
    reach = reach_of(measure(judged).to_json())
    assert reach is not None
    assert reach.metric == "accuracy_grades"
    assert "of accuracy" in few_labels(asdict(reach))[0]
    perfect = perfect_gain("accuracy_grades", judged, alpha=alpha_of_look(1), rows=68, groups=68)
    assert reach.perfect == perfect


def test_no_number_promises_what_is_not_there() -> None:
    """Of more labels two digits are said."""
    for n in (60, 90, 180, 300):
        reach = reach_of(measure(judge_of(n, 0.7, n)).to_json())
        assert reach is not None
        for more, _ in reach.steps:
            assert re.fullmatch(r"[1-9]\d?0*", str(more))
