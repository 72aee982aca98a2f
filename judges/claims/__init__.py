"""Responses judged claim by claim: split, judged each against the whole source, joined again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
