"""Search tuned on judge labels: features of pairs, their fusion, and what it gains on people's
labels.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
