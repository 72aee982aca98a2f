"""What is asked of a judge, what came back, and how well it agrees with people.

Read in this order: `rows` and `prompt` go into `judge`, which asks through `models` and reads the
reply into a `verdict`; `judged` is the table of both, and `benchmark` measures it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
