"""What decides on sealed rows: the gate with its guards, and the ledger that counts its looks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
