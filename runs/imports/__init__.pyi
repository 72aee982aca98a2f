from .add_options import AddOptions
from .answer_format import reply_clause
from .code_strings import CodeString, Parts, prompts_of
from .column_reading import (
    ask_for_columns,
    column_reading,
    header_instruction,
    shown_header,
)
from .foreign_judge import ForeignJudge, JudgeReader, PromptReader, Question, foreign, several
from .messages import ROLES, read_messages
from .model_reading import NO_READING, ModelReading, ask_for_reading, reading_messages
from .our_exports import ReadBack, read_back
from .own_prompt import read_own_prompts
from .placeholders import (
    TemplateReader,
    cut,
    read_double_brace,
    read_f_string,
    read_loose,
    read_parts,
)
from .prompt_files import read_text
from .python_strings import PythonStrings
from .reply_scale import named_scale
from .understand import Understood, understand

__all__ = [
    "NO_READING",
    "ROLES",
    "AddOptions",
    "CodeString",
    "ForeignJudge",
    "JudgeReader",
    "ModelReading",
    "Parts",
    "PromptReader",
    "PythonStrings",
    "Question",
    "ReadBack",
    "TemplateReader",
    "Understood",
    "ask_for_columns",
    "ask_for_reading",
    "column_reading",
    "cut",
    "foreign",
    "header_instruction",
    "named_scale",
    "prompts_of",
    "read_back",
    "read_double_brace",
    "read_f_string",
    "read_loose",
    "read_messages",
    "read_own_prompts",
    "read_parts",
    "read_text",
    "reading_messages",
    "reply_clause",
    "several",
    "shown_header",
    "understand",
]
