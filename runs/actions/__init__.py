"""What the commands and the Python face do, one file a verb. Nothing here reads the command line or
prints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
