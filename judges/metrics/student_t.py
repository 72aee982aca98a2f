"""Quantiles of Student's t, for intervals whose standard error was estimated from few units."""

from __future__ import annotations

import math

_Z = 1.959963984540054


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t, within 0.2 % of the true one; freedom is rounded
    down.

    Exact for one and two degrees of freedom, above by the expansion of Fisher and Cornish (1960):
    importing SciPy would cost more than everything that is measured with it.
    """
    if freedom < 1:
        return math.inf
    if freedom == math.inf:
        return _Z
    freedom = math.floor(freedom)
    if freedom == 1:
        return math.tan(0.475 * math.pi)
    if freedom == 2:
        return 0.95 * math.sqrt(2 / (1 - 0.95**2))
    z, total = _Z, _Z
    total += (z**3 + z) / (4 * freedom)
    total += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    total += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return total + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (
        92160 * freedom**4
    )
