from .add_options import AddOptions
from .answer_format import reply_clause
from .foreign_judge import ForeignJudge, PromptReader, Question, foreign, several
from .jinja_templates import one_field, read_computed_jinja
from .messages import ROLES, read_messages
from .model_reading import NO_READING, ModelReading, ask_for_reading, reading_messages
from .our_exports import ReadBack, read_back
from .own_prompt import read_own_prompts
from .placeholders import (
    Parts,
    TemplateReader,
    cut,
    read_double_brace,
    read_f_string,
    read_loose,
    read_parts,
)
from .prompt_files import read_text
from .reply_scale import named_scale
from .understand import Understood, understand

__all__ = [
    "NO_READING",
    "ROLES",
    "AddOptions",
    "ForeignJudge",
    "ModelReading",
    "Parts",
    "PromptReader",
    "Question",
    "ReadBack",
    "TemplateReader",
    "Understood",
    "ask_for_reading",
    "cut",
    "foreign",
    "named_scale",
    "one_field",
    "read_back",
    "read_computed_jinja",
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
    "understand",
]
