"""An objective, and the loss that is written for it.

Read `objective` first, then `loss`. `expression` is the language of losses over `outcomes`;
`axioms` and `costs` try a loss on the made-up rows of `grid`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
