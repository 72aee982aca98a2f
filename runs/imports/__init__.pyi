from .add_options import AddOptions
from .answer_format import reply_clause
from .column_reading import (
    ask_for_columns,
    column_reading,
    header_instruction,
    shown_header,
)
from .foreign_judge import ForeignJudge, Question, several
from .installed_tools import ToolReader, list_installed, read_installed
from .model_reading import NO_READING, ModelReading, ask_for_reading, reading_messages
from .our_exports import ReadBack, read_back
from .own_prompt import read_own_prompts
from .placeholders import read_double_brace, read_f_string, read_loose
from .reply_scale import named_scale
from .understand import Understood, understand

__all__ = [
    "NO_READING",
    "AddOptions",
    "ForeignJudge",
    "ModelReading",
    "Question",
    "ReadBack",
    "ToolReader",
    "Understood",
    "ask_for_columns",
    "ask_for_reading",
    "column_reading",
    "header_instruction",
    "list_installed",
    "named_scale",
    "read_back",
    "read_double_brace",
    "read_f_string",
    "read_installed",
    "read_loose",
    "read_own_prompts",
    "reading_messages",
    "reply_clause",
    "several",
    "shown_header",
    "understand",
]
