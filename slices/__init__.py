"""Find where a judge is weak: slices whose errors go one way, confirmed on rows that did not
propose them.

Read `slice` first, then `find`, which names the steps of a search; `inspect_slice` looks
closer at one slice, `audit` asks whether its labels are wrong, `regression` compares two
prompts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
