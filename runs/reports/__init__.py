"""What people see of runs, verdicts and slices: tables, pictures, pages, files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
