"""Where a judge is weak, honestly: slices with one error direction, confirmed on rows that did not choose them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
