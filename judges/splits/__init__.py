"""Splits of a dataset into train, validation and two sealed parts, by whole groups, or as a
benchmark prescribes it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
