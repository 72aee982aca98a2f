"""Answers from documents: cut and retrieve, have a model answer, judge the answers, and compare
ways to do so.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
