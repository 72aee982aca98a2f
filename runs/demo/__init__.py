"""The made-up rows and verdicts of `judgewright demo` and the notebooks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
