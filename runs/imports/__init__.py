"""Import judges that installed tools ship, that stand in files, or that we exported, as prompts to
compare with ours.

Their words are read from the user's own installation when the command runs; none of them ship with
Judgewright.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
