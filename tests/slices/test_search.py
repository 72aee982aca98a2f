"""What a search proposes: few slices, each beside those before it."""

import numpy as np
import pytest

from judgewright.slices import Rows, encode, propose


@pytest.mark.parametrize("seed", range(5))
def test_no_slice_is_proposed_twice(seed: int) -> None:
    """A slice already proposed still has rows inside and outside a later one that overlaps it."""
    rng = np.random.default_rng(seed)
    columns = tuple(encode(f"c{k}", rng.choice(list("abcdefgh")[:k], 2000).tolist()) for k in (2, 3, 5, 8))
    rows = Rows(columns=columns, loss=rng.random(2000) < 0.2, groups=np.arange(2000))
    proposed = propose(rows, depth=2, min_rows=30).predicates
    assert len(proposed) == len(set(proposed)) == 8
