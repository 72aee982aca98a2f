"""Which training rows a step looks at."""

from __future__ import annotations

from collections.abc import Sequence


def minibatch(
    candidates: Sequence[int], weights: Sequence[float], size: int, *, seed: int
) -> list[int]:
    """Draw positions without replacement, each with a chance in proportion to its weight.

    Uses the exponential-keys method of Efraimidis and Spirakis (2006): the `size` largest of
    u^(1/w). Positions of weight 0 are drawn only when the others do not suffice. The result is in
    ascending order.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    keys = rng.random(len(candidates)) ** (1.0 / np.maximum(np.asarray(weights, float), 1e-9))
    drawn = sorted(range(len(candidates)), key=lambda i: (-keys[i], candidates[i]))[:size]
    return sorted(candidates[i] for i in drawn)
