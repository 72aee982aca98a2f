"""The review page: what a run found, for people, with the forms to decide about it. A reader of the
journal.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
