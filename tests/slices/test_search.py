"""What a search proposes: few slices, each beside those before it."""

import numpy as np
import pytest

from judgewright.slices import Rows, encode, parse_predicate, propose
from judgewright.slices.search import still_poor


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
