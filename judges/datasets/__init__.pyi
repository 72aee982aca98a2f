from .ragtruth import sentence_bounds
from .source import Flat, ReadOptions, Source
from .sources import SOURCES, Opened, open_source

__all__ = [
    "SOURCES",
    "Flat",
    "Opened",
    "ReadOptions",
    "Source",
    "open_source",
    "sentence_bounds",
]
