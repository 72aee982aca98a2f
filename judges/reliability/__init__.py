"""How far a judge's figures can be trusted: repeats, annotators, noise, label errors, planted
instructions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
