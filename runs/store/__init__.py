"""What a workspace keeps: calls, runs, events, looks; one SQLite file and one writer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
