from .foreign_judge import ImportedJudge, ImportOptions
from .installed_tools import TOOLS, list_installed, read_installed
from .our_exports import ReadBack, read_back
from .sources import SOURCES, import_judge
from .template_syntaxes import read_double_brace, read_f_string, read_jinja, read_loose, read_mustache
from .tool_formats import TOOL_FORMATS

__all__ = [
    "SOURCES",
    "TOOLS",
    "TOOL_FORMATS",
    "ImportOptions",
    "ImportedJudge",
    "ReadBack",
    "import_judge",
    "list_installed",
    "read_back",
    "read_double_brace",
    "read_f_string",
    "read_installed",
    "read_jinja",
    "read_loose",
    "read_mustache",
]
