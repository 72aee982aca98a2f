"""Bring judges home: those that installed tools ship, those in files, and exports of ours, as prompts to compare with.

Their words are read from the user's own installation when the command runs; none of them ship with Judgewright.
"""

from .foreign_judge import Imported, Wishes
from .installed import TOOLS, list_installed
from .our_exports import ReadBack, read_back
from .source import SOURCES, import_judge

__all__ = [
    "SOURCES",
    "TOOLS",
    "Imported",
    "ReadBack",
    "Wishes",
    "import_judge",
    "list_installed",
    "read_back",
]
