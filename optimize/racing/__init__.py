"""Candidates race on validation rows: `schedule` plans, `race` runs, `confidence_sequence` is the
bound.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
