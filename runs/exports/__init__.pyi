from .conformance import CheckFailed, run_check
from .deepeval import places_of
from .dspy import RESERVED
from .judge_module import (
    calibration_difference,
    literal,
    messages_part,
    raw_threshold,
    reading_part,
    stem,
    user_text_part,
)
from .langchain import chat_prompt
from .manifest import Export, manifest, read_export, write_export
from .mlflow import REGISTRY
from .push import push_export
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .targets import TARGETS
from .template_parts import Field, TemplateMessage, TemplatePart, fill, template_messages
from .template_syntaxes import double_brace, f_string, jinja, mustache
from .verify import Verification, verify_export
from .writing import Destination, put, text_digest

__all__ = [
    "REGISTRY",
    "RESERVED",
    "TARGETS",
    "CheckFailed",
    "Destination",
    "Export",
    "ExportContext",
    "ExportedFiles",
    "Field",
    "Refused",
    "ScoreMap",
    "Target",
    "TemplateMessage",
    "TemplatePart",
    "Verification",
    "calibration_difference",
    "chat_prompt",
    "double_brace",
    "f_string",
    "fill",
    "jinja",
    "literal",
    "manifest",
    "messages_part",
    "mustache",
    "places_of",
    "push_export",
    "put",
    "raw_threshold",
    "read_export",
    "reading_part",
    "run_check",
    "stem",
    "template_messages",
    "text_digest",
    "user_text_part",
    "verify_export",
    "write_export",
]
