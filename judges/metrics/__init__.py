"""How well a judge agrees with people: metrics with their intervals and n, and each row's influence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
