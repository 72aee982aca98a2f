"""Bring judges home: those that installed tools ship, those in files, and exports of ours, as prompts to compare with.

Their words are read from the user's own installation when the command runs; none of them ship with Judgewright.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
