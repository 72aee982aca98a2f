"""Routing: a catalogue of described sources, the candidates for a question, and the choice among
them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
