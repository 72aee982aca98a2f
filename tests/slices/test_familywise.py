"""What the best of all candidates comes to by chance, and what is left of a slice after the search
that found it.
"""

import itertools
import math
import sys
from types import FrameType

import numpy as np
import pytest
from scipy.stats import norm
from threadpoolctl import threadpool_info, threadpool_limits

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import (
    Rows,
    encode,
    familywise,
    find_slices,
    parse_predicate,
    propose,
)
from judgewright.slices.candidates import Kind
from judgewright.slices.familywise import Familywise, correct_for_all
from judgewright.slices.search import still_poor
from judgewright.slices.significance import effect_without_selection


def table_of(columns: dict[str, np.ndarray], bad: np.ndarray) -> Rows:
    encoded = tuple(encode(name, values.tolist()) for name, values in columns.items())
    return Rows(columns=encoded, loss=bad, groups=np.arange(len(bad)))


def test_the_critical_score_is_that_of_a_bootstrap_over_rows() -> None:
    """A multiplier of its own for each row, and every candidate by hand, give the same scores as
    blocks of rows.
    """
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.choice(list("xyz"), 900),
        "b": rng.choice(list("pqrs"), 900),
        "c": rng.choice(list("mn"), 900),
    }
    rows = table_of(columns, rng.random(900) < 0.2)
    prices = propose(rows, depth=2, min_rows=30).prices
    single = [[values == value for value in np.unique(values)] for values in columns.values()]
    pairs = [
        one & two
        for x, y in itertools.combinations(single, 2)
        for one, two in itertools.product(x, y)
    ]
    members = np.array([member for of_column in single for member in of_column] + pairs)
    assert {kind.conditions: round(math.exp(price)) for kind, price in prices.items()} == {
        1: 9,
        2: 26,
    }
    price = np.array([prices[Kind(1, 0, False)]] * 9 + [prices[Kind(2, 0, False)]] * 26)
    weight = members - members.mean(axis=1, keepdims=True)
    z = weight @ rng.standard_normal((900, 4000)) / np.sqrt((weight**2).sum(axis=1))[:, None]
    best = (np.maximum(z, 0.0) ** 2 / 2 - price[:, None]).max(axis=0)
    familywise = correct_for_all(rows, np.arange(900), prices, min_rows=30)
    for level in (0.05, 0.25, 0.5):
        assert familywise.critical(level) == pytest.approx(np.quantile(best, 1 - level), abs=0.35)


def test_without_draws_the_correction_is_bonferronis() -> None:
    """Too many candidates to draw are summed up, each kind at its own z."""
    prices = {Kind(1, 0, False): math.log(50), Kind(2, 0, False): math.log(4000)}
    familywise = Familywise(prices=prices, draws=np.zeros(0))
    one, two = (familywise.z(2.0, kind) for kind in prices)
    assert familywise.p(2.0) == pytest.approx(50 * norm.sf(one) + 4000 * norm.sf(two))
    assert familywise.p(familywise.critical(0.05)) == pytest.approx(0.05)


@pytest.mark.parametrize("chance", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("mean", [0.3, 2.0, 4.0])
def test_the_effect_without_selection_is_the_mean_whose_selected_part_averages_what_is_seen(
    chance: float, mean: float
) -> None:
    seen = mean + float(norm.pdf(chance - mean) / norm.sf(chance - mean))
    assert effect_without_selection(seen, chance) == pytest.approx(mean, abs=1e-6)
    assert effect_without_selection(chance, chance) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_slice_is_proposed_twice(seed: int) -> None:
    """A slice already proposed still has rows inside and outside a later one that overlaps it."""
    rng = np.random.default_rng(seed)
    columns = tuple(
        encode(f"c{k}", rng.choice(list("abcdefgh")[:k], 2000).tolist()) for k in (2, 3, 5, 8)
    )
    rows = Rows(columns=columns, loss=rng.random(2000) < 0.2, groups=np.arange(2000))
    proposed = propose(rows, depth=2, min_rows=30).predicates
    assert len(proposed) == len(set(proposed)) == 8


def test_a_piece_of_a_slice_is_none_unless_it_is_poorer_than_the_rest_of_that() -> None:
    """Where a second slice holds some of its rows, the first one's pieces look poor there,
    whichever they are.
    """
    rng = np.random.default_rng(0)
    kind, origin, any_ = (
        rng.choice(values, 4000) for values in (list("abc"), list("pq"), list("xyz"))
    )
    loss = rng.random(4000) < 0.1 + 0.3 * (kind == "a") + 0.3 * (origin == "p") + 0.3 * (
        (kind == "a") & (any_ == "z")
    )
    columns = tuple(
        encode(name, values.tolist())
        for name, values in (("kind", kind), ("origin", origin), ("any", any_))
    )
    rows = Rows(columns=columns, loss=loss, groups=np.arange(4000))
    names = ("kind = a", "origin = p", "kind = a and any = x", "kind = a and any = z")
    predicates = [parse_predicate(name) for name in names]
    poor = still_poor(rows, predicates, min_rows=30)
    assert list(poor) == [predicates[0], predicates[1], predicates[3]]
    assert poor[predicates[3]] == predicates[0]


def threads() -> set[int]:
    """How many threads BLAS takes."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_one_thread_draws_and_the_callers_number_stays() -> None:
    """Threads cost four times the CPU there, as they wait for each other longer than they work."""
    draw = np.random.default_rng(0)
    rows = [
        Row(id=str(i), inputs={}, label=float(i % 2), meta={"a": f"v{draw.integers(4)}"})
        for i in range(400)
    ]
    answers = tuple(Verdict(row_id=row.id, score=1.0, positive=True) for row in rows)
    judged = JudgedDataset(dataset=Dataset.of(rows, labels=BINARY), answers=answers, scale=BINARY)
    seen: list[set[int]] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is familywise._highest.__code__:
            seen.append(threads())

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        sys.setprofile(watch)
        try:
            find_slices(judged, metric="precision")
        finally:
            sys.setprofile(None)
        assert threads() == before
    assert seen
    assert all(one == {1} for one in seen)
