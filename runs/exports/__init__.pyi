from .archive import PackedExport, pack_export
from .deepeval import places_of
from .dspy import RESERVED
from .langchain import chat_prompt
from .manifest import MANIFEST_NAME, Export, build_manifest, read_export, text_digest
from .message_templates import messages_part, module_differences, reading_part, stem, user_text_part
from .mlflow import REGISTRY
from .push import push_export
from .readme import README_NAME
from .source_text import literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target, request_settings
from .targets import GONE, TARGETS, named_target
from .template_parts import (
    Field,
    TemplateMessage,
    TemplatePart,
    fill,
    join_literals,
    template_messages,
)
from .template_syntaxes import double_brace, f_string, jinja
from .tool_scripts import SHARED_NAME, ToolScriptFailed, run_tool_script
from .verify import Verification, verify_export
from .write_files import Destination, put_files, write_export

__all__ = [
    "GONE",
    "MANIFEST_NAME",
    "README_NAME",
    "REGISTRY",
    "RESERVED",
    "SHARED_NAME",
    "TARGETS",
    "Destination",
    "Export",
    "ExportContext",
    "ExportedFiles",
    "Field",
    "PackedExport",
    "Refused",
    "ScoreMap",
    "Target",
    "TemplateMessage",
    "TemplatePart",
    "ToolScriptFailed",
    "Verification",
    "build_manifest",
    "chat_prompt",
    "double_brace",
    "f_string",
    "fill",
    "jinja",
    "join_literals",
    "literal",
    "messages_part",
    "module_differences",
    "named_target",
    "pack_export",
    "places_of",
    "push_export",
    "put_files",
    "read_export",
    "reading_part",
    "request_settings",
    "run_tool_script",
    "stem",
    "template_messages",
    "text_digest",
    "user_text_part",
    "verify_export",
    "write_export",
]
