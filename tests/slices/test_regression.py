"""What a new prompt breaks is found, what merely gains less is not, and noise is seldom taken for
either.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from judgewright.judges import BINARY, Dataset, InputError, JudgedDataset, Row, Unscored, Verdict
from judgewright.slices import Regression, find_regressions, sign_flip_tail

Columns = dict[str, np.ndarray]


def sides(
    columns: Columns, before: np.ndarray, after: np.ndarray, groups: np.ndarray | None = None
) -> tuple[JudgedDataset, JudgedDataset]:
    """Two answers to the same rows, from whether each row is right; -1 in `after` stands for no
    answer.
    """
    n = len(before)
    label = np.random.default_rng(1).random(n) < 0.5
    groups = np.arange(n) // 3 if groups is None else groups
    rows = tuple(
        Row(id=f"r{i}", inputs={}, label=float(label[i]), group=f"s{groups[i]}", meta=meta)
        for i, meta in enumerate({k: v[j].item() for k, v in columns.items()} for j in range(n))
    )
    tables = []
    for right in (before, after):
        answers = tuple(
            Unscored(row_id=f"r{i}", reason="parse")
            if right[i] < 0
            else Verdict(
                row_id=f"r{i}",
                score=float(label[i] == right[i]),
                positive=bool(label[i] == right[i]),
            )
            for i in range(n)
        )
        tables.append(
            JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)
        )
    return tables[0], tables[1]


def columns_of(n: int, rng: np.random.Generator) -> Columns:
    """Columns of noise, languages and numbers of words."""
    return {
        "kind": rng.integers(0, 4, n),
        "model": rng.integers(0, 6, n),
        "language": rng.integers(0, 8, n),
        "words": rng.lognormal(5, 1, n).round(),
    }


def churned(right: np.ndarray, rate: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    """As many right rows go wrong as wrong ones are mended."""
    share = right.mean()
    return right ^ (rng.random(len(right)) < rate * np.where(right, 0.5 / share, 0.5 / (1 - share)))


def names(regressions: tuple[Regression, ...]) -> list[str]:
    """The predicates found."""
    return [str(found.predicate) for found in regressions]


def planted(n: int, seed: int) -> tuple[JudgedDataset, JudgedDataset]:
    """An even gain of some .3 points in all, with 12 % of the right rows of language 2 broken."""
    rng = np.random.default_rng(seed)
    columns = columns_of(n, rng)
    before = rng.random(n) < 0.8
    after = (before | (rng.random(n) < 0.09)) & ~(rng.random(n) < 0.003)
    after &= ~((columns["language"] == 2) & (rng.random(n) < 0.12))
    return sides(columns, before, after)


def test_the_broken_slice_is_the_only_one_found_inside_an_overall_gain() -> None:
    """10,000 rows, accuracy up by a third of a point: language 2 and nothing else, its numbers as
    counted by hand.
    """
    before, after = planted(10_000, seed=0)
    report = find_regressions(before, after)
    assert names(report) == ["language = 2"]
    found = report[0]
    was, now = (side.positive == side.predicted for side in (before, after))
    inside = np.array([row.meta["language"] == 2 for row in before.rows])
    assert (found.broken, found.mended) == (
        (was & ~now & inside).sum(),
        (~was & now & inside).sum(),
    )
    assert found.change.n == inside.sum()
    assert found.change.difference == pytest.approx(now[inside].mean() - was[inside].mean())
    assert found.change.high is not None
    assert found.change.high < 0


def test_what_is_lost_is_not_hidden_by_what_is_won_elsewhere() -> None:
    """A large gain on long texts makes the rest look poor; the broken language is found, and no
    short text with it.
    """
    rng = np.random.default_rng(3)
    n = 10_000
    columns = columns_of(n, rng)
    before = rng.random(n) < 0.8
    after = churned(before | ((columns["words"] > 200) & (rng.random(n) < 0.6)), 0.05, rng)
    after &= ~((columns["language"] == 2) & (rng.random(n) < 0.12))
    assert names(find_regressions(*sides(columns, before, after))) == ["language = 2"]


def test_a_slice_that_only_gains_less_is_no_regression() -> None:
    """Everything is mended but kind 0, which stays as it was but for noise."""
    rng = np.random.default_rng(4)
    columns = columns_of(6000, rng)
    before = rng.random(6000) < 0.7
    after = churned(before, 0.06, rng) | ((columns["kind"] != 0) & (rng.random(6000) < 0.5))
    assert names(find_regressions(*sides(columns, before, after))) == []


def test_an_even_loss_is_no_slice() -> None:
    """Where every part loses alike, no part is named."""
    rng = np.random.default_rng(5)
    columns = columns_of(6000, rng)
    before = rng.random(6000) < 0.8
    after = before & (rng.random(6000) < 0.9)
    assert names(find_regressions(*sides(columns, before, after))) == []


def test_a_slice_of_which_every_row_is_broken_is_found() -> None:
    """No spread within the slice is not a lack of evidence."""
    rng = np.random.default_rng(6)
    columns = columns_of(2000, rng)
    before = (columns["model"] == 3) | (rng.random(2000) < 0.7)
    after = churned(before, 0.1, rng) & (columns["model"] != 3)
    report = find_regressions(*sides(columns, before, after))
    assert names(report) == ["model = 3"]
    assert (report[0].mended, report[0].change.after) == (0, 0.0)


def test_one_large_source_does_not_make_a_regression() -> None:
    """All that language 2 lost was lost in two sources: rows of one source are one piece of
    evidence.
    """
    rng = np.random.default_rng(7)
    n = 3000
    columns = columns_of(n, rng)
    before = rng.random(n) < 0.9
    lost = (columns["language"] == 2) & (rng.random(n) < 0.3)
    groups = np.where(lost, n + np.arange(n) % 2, np.arange(n))
    assert names(find_regressions(*sides(columns, before, before & ~lost, groups))) == []
    assert names(find_regressions(*sides(columns, before, before & ~lost))) == ["language = 2"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "loud", "by source"])
def test_a_prompt_asked_twice_seldom_shows_a_regression(kind: str) -> None:
    """Noise both ways, also louder in some slices or shared by the rows of a source: at most 5 % of
    60 pairs.
    """
    false = 0
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        n = 900
        columns = columns_of(n, rng)
        before = rng.random(n) < 0.75
        loud = (columns["kind"] == 0) | (columns["words"] > 400)
        after = churned(before, np.where(loud, 0.4, 0.02) if kind == "loud" else 0.12, rng)
        if kind == "by source":
            source = np.arange(n) // 3
            columns |= {name: columns[name][3 * source] for name in ("kind", "model", "language")}
            drawn = (rng.random(n) < 0.15)[source]
            after = np.where(drawn, (rng.random(n) < 0.75)[source], before)
        false += bool(find_regressions(*sides(columns, before, after)))
    assert false <= 3


def test_the_order_of_rows_and_the_second_look_change_nothing() -> None:
    """Shuffled rows give the same report, and the same rows give it again."""
    before, after = planted(5000, seed=2)
    order = np.random.default_rng(0).permutation(5000)
    first = find_regressions(before, after)
    assert names(first) == ["language = 2"]
    assert find_regressions(before, after) == first
    shuffled = find_regressions(before.only(order), after.only(order))[0]
    assert (str(shuffled.predicate), shuffled.broken, shuffled.mended) == (
        "language = 2",
        first[0].broken,
        first[0].mended,
    )
    assert shuffled.p == pytest.approx(first[0].p)


def test_rows_that_one_side_left_unanswered_do_not_count() -> None:
    """A slice the new prompt did not answer is not a slice it answered wrongly."""
    rng = np.random.default_rng(8)
    columns = columns_of(2000, rng)
    before = np.ones(2000, np.int64)
    gone = columns["model"] == 3
    report = find_regressions(*sides(columns, before, np.where(gone, -1, 1)))
    assert names(report) == []
    assert find_regressions(*sides(columns, before, np.full(2000, -1))) == ()


def test_answers_to_other_rows_and_unknown_columns_are_refused() -> None:
    """The two sides must stand row by row."""
    before, after = planted(300, seed=0)
    with pytest.raises(InputError, match="same rows"):
        find_regressions(before, after.only(range(299)))
    with pytest.raises(InputError, match="langage"):
        find_regressions(before, after, exclude=["langage"])


def test_a_column_can_be_left_out() -> None:
    """Then nothing is found in its slices."""
    before, after = planted(6000, seed=1)
    assert find_regressions(before, after, exclude=["language"]) == ()


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=11))
@settings(max_examples=60, deadline=None)
def test_the_sign_flip_tail_is_that_of_all_flips(losses: list[int]) -> None:
    """Every assignment of signs to the groups, counted one by one."""
    sums = [
        sum(s * abs(x) for s, x in zip(signs, losses, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(losses))
    ]
    expected = np.mean(np.array(sums) >= sum(losses))
    assert sign_flip_tail(np.array(losses, np.int64)) == pytest.approx(expected, abs=1e-12)


def test_with_one_row_a_group_the_sign_flip_tail_is_mcnemars_exact_test() -> None:
    """Against SciPy's binomial test, also where there are thousands."""
    for broken, mended in ((9, 1), (0, 4), (30, 30), (2600, 2400)):
        losses = np.array([1] * broken + [-1] * mended + [0] * 5, np.int64)
        expected = binomtest(broken, broken + mended, 0.5, alternative="greater").pvalue
        assert sign_flip_tail(losses) == pytest.approx(expected, abs=1e-12)
