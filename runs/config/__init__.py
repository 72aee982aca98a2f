"""What the caller says: the environment, keys and their hosts, the models file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
