"""Published data sets, read from the files their makers release, as rows a judge can be measured on.

One file an adapter. `open_source` gives flat rows with `id`, `label`, `group_id`, the inputs and slice columns;
written as JSONL they are what `load_dataset` reads.
"""

from .hub import fetched
from .source import Flat, ReadOptions, Source
from .sources import SOURCES, Opened, open_source
from .trec_index import Collection, open_collection, read_collection

__all__ = [
    "SOURCES",
    "Collection",
    "Flat",
    "Opened",
    "ReadOptions",
    "Source",
    "fetched",
    "open_collection",
    "open_source",
    "read_collection",
]
