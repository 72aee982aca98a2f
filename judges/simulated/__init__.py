"""The simulated model: made-up answers without a key, for the demo, the tests and `judgewright
simulate`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
