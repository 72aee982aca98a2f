from .rows import DOCUMENTS, demo_rows, write_demo_rows
from .settings import DEMO_OPTIONS, JUDGE, judge_for_trying

__all__ = [
    "DEMO_OPTIONS",
    "DOCUMENTS",
    "JUDGE",
    "demo_rows",
    "judge_for_trying",
    "write_demo_rows",
]
