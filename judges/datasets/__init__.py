"""Published data sets, read from the files their makers release, as rows a judge can be measured
on.

A YAML recipe each, or a file of Python where a recipe cannot say it. `open_source` gives flat rows
with `id`, `label`, `group_id`, the inputs and slice columns; written as JSONL they are what
`load_dataset` reads.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
