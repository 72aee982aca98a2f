from .rows import demo_rows, write_demo_rows

__all__ = ["demo_rows", "write_demo_rows"]
