"""Language models: the seam, the kinds (endpoint, recorded), and the client that asks them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
