from .rows import SUPPORTED, UNSUPPORTED, DemoDocument, demo_documents, demo_rows, write_demo_rows

__all__ = [
    "SUPPORTED",
    "UNSUPPORTED",
    "DemoDocument",
    "demo_documents",
    "demo_rows",
    "write_demo_rows",
]
