"""Which of two prompts is better, from labels of the rows where their verdicts differ.

Read `queue` first: it says which row to label next and what the labels so far decide. `scores`
writes each metric as a sum over rows, most of which need no label; `design` is what is fixed before
the first label; `steps` draws the rows; `wealth` is the test, valid wherever one stops; `forecast`
says how many labels it may take.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
