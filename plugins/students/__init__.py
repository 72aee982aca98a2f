"""Students: small models that learn a judge's verdicts, and data to fine-tune larger ones on."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
