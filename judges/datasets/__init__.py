"""Labelled rows in the formats of other programs, which plug-ins read: an adapter is a `Source`.

`open_source` gives flat rows with `id`, `label`, `group_id`, the inputs and slice columns; written
as JSONL they are what `load_dataset` reads.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
