"""What others published: figures shipped as data, and the rules by which they are computed
again.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
