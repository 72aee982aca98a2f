"""Rows and verdicts out of files: records read strictly, columns given their roles, damage
named.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
