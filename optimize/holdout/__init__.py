"""What decides on sealed rows: the gate with its guards, and the ledger that counts its looks.

Read `gate` first: it opens the holdout and names the rules. `decision` is what comes out of it,
`guards` and `unanswered` are two of its tests, `projection` says how many rows would decide.
`ledger` is the seam that counts looks, `look_counting` has the rules, and `row_fingerprints` with
`text_fingerprints` knows rows again. `power` asks before any of that what the gate could show.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
