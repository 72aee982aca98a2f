from .foreign_judge import Imported, Wishes
from .installed import TOOLS, find_installed, list_installed
from .our_exports import ReadBack, read_back
from .source import SOURCES, import_judge
from .template_syntaxes import joined, read_double_brace, read_f_string, read_jinja, read_loose, read_mustache
from .tool_formats import ARTEFACTS

__all__ = [
    "ARTEFACTS",
    "SOURCES",
    "TOOLS",
    "Imported",
    "ReadBack",
    "Wishes",
    "find_installed",
    "import_judge",
    "joined",
    "list_installed",
    "read_back",
    "read_double_brace",
    "read_f_string",
    "read_jinja",
    "read_loose",
    "read_mustache",
]
