from .answer_format import reply_clause
from .foreign_judge import AddOptions, ForeignJudge, ImportedJudge, ImportOptions
from .installed_tools import TOOLS, list_installed, read_installed
from .label_order import in_order
from .model_reading import ModelReading, Settled, ask_for_reading, reading_messages, settle
from .our_exports import ReadBack, read_back
from .own_prompt import read_own_prompt, read_own_prompts
from .sources import SOURCES, import_judge
from .stated_answer import Question
from .template_syntaxes import (
    read_double_brace,
    read_f_string,
    read_jinja,
    read_loose,
    read_mustache,
)
from .tool_formats import TOOL_FORMATS
from .understand import Understood, understand

__all__ = [
    "SOURCES",
    "TOOLS",
    "TOOL_FORMATS",
    "AddOptions",
    "ForeignJudge",
    "ImportOptions",
    "ImportedJudge",
    "ModelReading",
    "Question",
    "ReadBack",
    "Settled",
    "Understood",
    "ask_for_reading",
    "import_judge",
    "in_order",
    "list_installed",
    "read_back",
    "read_double_brace",
    "read_f_string",
    "read_installed",
    "read_jinja",
    "read_loose",
    "read_mustache",
    "read_own_prompt",
    "read_own_prompts",
    "reading_messages",
    "reply_clause",
    "settle",
    "understand",
]
