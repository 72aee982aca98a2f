"""How a prompt gets better, and whether it did. Open `loop` first: `optimize` names the steps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
