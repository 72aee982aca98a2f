from .rows import DEMO_OPTIONS, DOCUMENTS, JUDGE, demo_rows, write_demo_rows

__all__ = ["DEMO_OPTIONS", "DOCUMENTS", "JUDGE", "demo_rows", "write_demo_rows"]
