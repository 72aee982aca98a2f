from .hotpotqa import answer_kind
from .hub import fetched
from .ragtruth import sentence_bounds
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
    "answer_kind",
    "fetched",
    "open_collection",
    "open_source",
    "read_collection",
    "sentence_bounds",
]
