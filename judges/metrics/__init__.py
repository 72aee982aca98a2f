"""How well a judge agrees with people: metrics with their intervals and n, and each row's
influence.

`catalog.py` lists every metric, one entry each. To add one of the confusion table:

1. `agreement.py`: write the formula, a `Ratio` of the four cells or a function of tables of shape
   (..., K, K), NaN where it does not exist. An influence function, which a `Ratio` has, lets the
   gate and two judges be compared by the metric.
2. `catalog.py`: add an entry with name, formula, what it needs, and what it is. `score`, its
   interval (Wilson's for a proportion, else the jackknife over rows or groups), cautions,
   `--metric` and the docs read it from there.
3. `docs/measuring.md`: add its line to the table of metrics; a test compares it with the catalog.

A metric of probabilities, ranks, correlations or texts is computed in the file of its family, which
the entry's `needs` names; it gets an entry in the catalog too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
