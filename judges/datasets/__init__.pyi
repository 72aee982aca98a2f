from .source import Flat, Opened, ReadOptions, Source, open_source, require_source

__all__ = ["Flat", "Opened", "ReadOptions", "Source", "open_source", "require_source"]
