"""Export a judge to other tools, one file for each, and load what was written in the real tool to
prove it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
